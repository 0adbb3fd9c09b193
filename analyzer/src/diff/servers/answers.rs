//! What users of an application feel: how long answers took, and how many connections were opened for them, by server.
//!
//! In: `responses`, `turnarounds`, `opens`, `connections` of sockets that speak in turns, and the queues that their received
//! packets passed (`rx` and `xmits` of one skb). Out: metrics and counts of the ledger `app`. A server is its address and port;
//! only servers that both sides have are compared, or, where none is, all requests together; where names are pseudonyms, servers are those of a port.
//!
//! ```text
//! SYN sent -- connect --> established ... send -- response --> readable      call = connect of its connection + response,
//!                                           |-- request --> turnaround --|    for the first answer on a connection
//!                                                           unread, then work
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use rustc_hash::FxHashMap;

use super::clients::server_of;
use super::exchanges::CONVERSATION;
use crate::analyses::application::{Role, paused, sockets, tells};
use crate::diff::Withheld;
use crate::diff::sides::options::Recording;
use crate::diff::values::{
    counted::{Counted, Exposure, Key, Kind},
    ends::known,
    metrics::{Filling, Table, Values, Which},
};
use crate::facts::{ConnectionId, Facts, SkbId};
use crate::name::Name;
use crate::reconstruct::opens::tables::OpenEnd;

/// The ledger of all of these.
pub(in crate::diff) const LEDGER: &str = "app";
/// The stage that is no time of an answer: in a queue.
pub(in crate::diff) const QUEUE: &str = "qdisc";
/// Answers that a server must have on each side to be compared by itself.
pub(in crate::diff) const LEAST: usize = 30;
/// Most servers compared one by one: those with most answers.
const SERVERS: usize = 6;
/// Part of the answers that must have waited for a connection to open for these times to be told beside the answers'.
const OPENED: f64 = 0.05;

/// Address and port of the server that a socket belongs to, or speaks to; `None`: which end it is, is not known.
/// Where addresses are pseudonyms of their own on each side, any server of that port.
pub(in crate::diff) fn server(r: &Recording<'_>, connection: ConnectionId, role: Role) -> Option<String> {
    let facts = r.facts;
    let row = facts.connections.get(connection.0 as usize)?;
    known(facts, connection).filter(|of| *of == role)?;
    let (address, port) = match role {
        Role::Client => (row.daddr?, row.dport),
        Role::Server => (row.saddr?, row.sport),
    };
    Some(match r.by_port {
        true => format!("*:{port}"),
        false => SocketAddr::new(address.to_canonical(), port).to_string(),
    })
}

/// Begin of each socket's opening as a client, and when it was established; `None`: it never was, or that is not sure.
pub(in crate::diff) fn openings(facts: &Facts) -> FxHashMap<ConnectionId, (i64, Option<i64>)> {
    let of = facts.opens.iter().filter_map(|r| {
        let stood = r.end == OpenEnd::Established && r.confidence.is_solid();
        Some((r.connection?, (r.start_ns, stood.then_some(r.end_ns))))
    });
    of.collect()
}

/// Fills in the durations of one recording.
pub(in crate::diff) fn durations(f: &mut Filling<'_, '_>) {
    let facts = f.of.facts;
    let here = f.of.connections();
    let opened = openings(facts);
    let mut servers: FxHashMap<ConnectionId, String> = FxHashMap::default();
    let all = sockets(facts);
    for s in all.iter().filter(|s| s.in_turns) {
        if here.as_ref().is_some_and(|h| !h.contains(&s.connection)) {
            continue;
        }
        let Some(server) = server(f.of, s.connection, s.role) else {
            continue;
        };
        let server = match (s.role, f.of.apart) {
            (Role::Client, Some(apart)) => apart.name(facts, s.connection, &server),
            _ => server,
        };
        let of = |stage| [Which::new(LEDGER, stage), Which::new(LEDGER, stage).of_service(&server)];
        let mut put = |which: &[Which; 2], time_ns, value: Option<i64>| {
            for w in which {
                match value {
                    Some(_) => f.put(w, time_ns, value),
                    None => f.exclude(w, time_ns),
                }
            }
        };
        match s.role {
            Role::Client => {
                let (response, call) = (of("response"), of("call"));
                let took = opened
                    .get(&s.connection)
                    .and_then(|(from, to)| Some((*from, (*to)? - from)));
                if let Some((from, ns)) = took {
                    put(&of("connect"), from, Some(ns));
                }
                let mut opening = took.map(|(_, ns)| ns);
                for (ns, r) in s.judged_responses() {
                    let solid = Some(ns).filter(|_| r.confidence.is_solid());
                    put(&response, r.send_ns, solid);
                    // The first one waited for the connection, too.
                    let waited = opening.take().unwrap_or(0);
                    put(&call, r.send_ns, solid.map(|ns| ns.saturating_add(waited)));
                }
            }
            Role::Server => {
                let (turnaround, unread) = (of("turnaround"), of("unread"));
                for r in s.judged_turnarounds() {
                    let solid = Some(r.total_ns()).filter(|_| r.confidence.is_solid());
                    put(&turnaround, r.start_ns(), solid);
                    let lay = r.ready_ns.map(|t| r.read_ns.wrapping_sub(t));
                    put(&unread, r.start_ns(), solid.and(lay));
                }
            }
        }
        servers.insert(s.connection, server);
    }
    queues(f, &servers);
}

/// Time in each queue that packets of these sockets passed on their way to them.
fn queues(f: &mut Filling<'_, '_>, servers: &FxHashMap<ConnectionId, String>) {
    let facts = f.of.facts;
    let mut of: FxHashMap<SkbId, &str> = FxHashMap::default();
    for r in &facts.rx {
        if let Some(server) = r.connection.and_then(|c| servers.get(&c)) {
            of.insert(r.skb_id, server);
        }
    }
    let mut names: FxHashMap<(Name, &str), Which> = FxHashMap::default();
    for p in facts
        .xmits
        .iter()
        .filter(|p| p.parent.is_none() && p.confidence.is_solid())
    {
        let Some(server) = p.skb_id.and_then(|s| of.get(&s)).filter(|_| f.of.on(p.dev)) else {
            continue;
        };
        let which = names
            .entry((p.dev, server))
            .or_insert_with(|| Which::new(LEDGER, QUEUE).of_dev(&p.dev.text()).of_service(server));
        f.put(which, p.first_ns(), p.qdisc_ns);
    }
}

/// The servers that are compared one by one; and whether all together may be, where there is none: both sides have the same, or none has enough by itself.
fn compared(before: &[Table], after: &[Table], withheld: &mut Vec<Withheld>) -> (BTreeSet<String>, bool) {
    let count = |side: &[Table]| {
        let mut out: BTreeMap<String, usize> = BTreeMap::new();
        for table in side {
            // Of one recording whichever its clients or it itself tell more of.
            let mut here: BTreeMap<&String, usize> = BTreeMap::new();
            for (which, values) in table {
                if let ("response" | "turnaround", Some(server)) = (which.stage, &which.service) {
                    let n = here.entry(server).or_default();
                    *n = (*n).max(values.at.len());
                }
            }
            for (server, n) in here {
                *out.entry(server.clone()).or_default() += n;
            }
        }
        out
    };
    let (b, a) = (count(before), count(after));
    let enough = |side: &BTreeMap<String, usize>, server: &String| side.get(server).is_some_and(|n| *n >= LEAST);
    let mut both: Vec<(usize, &String)> = vec![];
    for server in b.keys().chain(a.keys()).collect::<BTreeSet<_>>() {
        match (enough(&b, server), enough(&a, server)) {
            (true, true) => both.push((b.get(server).min(a.get(server)).copied().unwrap_or(0), server)),
            (false, false) => {}
            (before, _) => withheld.push(Withheld {
                metric: format!("{LEDGER}[{server}]"),
                because: format!(
                    "{LEAST} answers or more only {}",
                    if before { "before" } else { "after" }
                ),
            }),
        }
    }
    both.sort_by(|x, y| y.0.cmp(&x.0).then(x.1.cmp(y.1)));
    let mut most: Vec<&str> = vec![];
    let mut out = BTreeSet::new();
    for (_, name) in both {
        let server = server_of(name);
        match most.contains(&server) {
            false if most.len() >= SERVERS => withheld.push(Withheld {
                metric: format!("{LEDGER}[{name}]"),
                because: format!("of the {SERVERS} servers with most answers only"),
            }),
            known => {
                if !known {
                    most.push(server);
                }
                out.insert(name.clone());
            }
        }
    }
    let many = |side: &BTreeMap<String, usize>| side.values().any(|n| *n >= LEAST);
    let together = b.keys().eq(a.keys()) || !(many(&b) || many(&a));
    if out.is_empty() && !together {
        withheld.push(Withheld {
            metric: LEDGER.into(),
            because: "the sides have not the same servers".into(),
        });
    }
    (out, together)
}

/// Which names of the ledger are compared: servers that both sides have, or, without one, all together; nothing twice.
pub(in crate::diff) fn chosen(
    names: &mut BTreeSet<&Which>,
    before: &[Table],
    after: &[Table],
    withheld: &mut Vec<Withheld>,
) {
    let (servers, together) = compared(before, after, withheld);
    let values = |side: &[Table], w: &Which| -> Vec<i64> {
        let all = side.iter().filter_map(|t| t.get(w));
        all.flat_map(|v: &Values| v.at.iter().map(|v| v.value)).collect()
    };
    names.retain(|w| {
        if w.ledger != LEDGER {
            return true;
        }
        let asked = match &w.service {
            // Of whole conversations clients are not told apart.
            Some(server) => {
                let whole = || w.stage == CONVERSATION && servers.iter().any(|s| server_of(s) == server);
                servers.contains(server) || whole()
            }
            None => servers.is_empty() && together,
        };
        // Nothing waited in any queue; no answer waited for its connection.
        let says = |side: &[Table]| match w.stage {
            QUEUE => values(side, w).iter().any(|v| *v > 0),
            "call" => {
                let plain = Which {
                    stage: "response",
                    ..(*w).clone()
                };
                let (call, plain) = (values(side, w), values(side, &plain));
                let longer = call.iter().zip(&plain).filter(|(c, p)| c > p).count();
                longer as f64 >= OPENED * call.len().max(1) as f64
            }
            _ => true,
        };
        asked && (says(before) || says(after))
    });
}

/// Counts connections opened, requests in which a client paused, and answers, of each server and of all (the empty name).
pub(in crate::diff) fn opened(r: &Recording<'_>, out: &mut Counted, block: impl Fn(i64) -> Option<usize>) {
    let facts = r.facts;
    let here = r.connections();
    let begun = openings(facts);
    for s in sockets(facts).iter().filter(|s| s.in_turns && s.role == Role::Client) {
        if here.as_ref().is_some_and(|h| !h.contains(&s.connection)) {
            continue;
        }
        let Some(server) = server(r, s.connection, s.role) else {
            continue;
        };
        for server in [server, String::new()] {
            let per = Exposure::Answers(server.clone());
            let name = match server.is_empty() {
                true => format!("{LEDGER}.{OPENED_RATE}"),
                false => format!("{LEDGER}.{OPENED_RATE}[{server}]"),
            };
            let key = Key::new(name, "connections that clients opened, per answer", Kind::Count, false)
                .needs(&["sock:inet_sock_set_state"]);
            if let Some(b) = begun.get(&s.connection).and_then(|(from, _)| block(*from)) {
                out.count(key, per.clone(), b, 1.0);
            }
            let name = match server.is_empty() {
                true => format!("{LEDGER}.{PAUSED_RATE}"),
                false => format!("{LEDGER}.{PAUSED_RATE}[{server}]"),
            };
            let apart = "requests that their client sent in parts, 100 ms or longer from one to the next, per answer";
            let paused_key = Key::new(name, apart, Kind::Units, true).needs(&["sock:sock_send_length"]);
            let tells = tells(s);
            for (_, row) in s.judged_responses() {
                if let Some(b) = block(row.send_ns) {
                    out.expose(per.clone(), b, 1.0);
                    if tells && paused(row) {
                        out.count(paused_key.clone(), per.clone(), b, 1.0);
                    }
                }
            }
        }
    }
}

/// Name of the rate of requests in which a client paused.
pub(in crate::diff) const PAUSED_RATE: &str = "paused_per_answer";
/// Name of the rate of connections opened.
pub(in crate::diff) const OPENED_RATE: &str = "opened_per_answer";

/// Whether the answers of this server (empty: of all) are counted by themselves.
pub(in crate::diff) fn counts(server: &str, before: &[Counted], after: &[Counted]) -> bool {
    let answers = |side: &[Counted], server: &str| -> f64 {
        let of = side.iter().map(|c| c.exposed(&Exposure::Answers(server.to_owned())));
        of.sum()
    };
    let enough = |server: &str| {
        let least = answers(before, server).min(answers(after, server));
        least >= LEAST as f64
    };
    let servers = |side: &[Counted]| -> BTreeSet<String> {
        let all = side.iter().flat_map(Counted::servers);
        all.map(str::to_owned).collect()
    };
    let (b, a) = (servers(before), servers(after));
    let many = |side: &[Counted], of: &BTreeSet<String>| of.iter().any(|s| answers(side, s) >= LEAST as f64);
    let together = b == a || !(many(before, &b) || many(after, &a));
    let named = b.iter().any(|s| enough(s));
    match server.is_empty() {
        true => !named && together && enough(""),
        false => enough(server),
    }
}
