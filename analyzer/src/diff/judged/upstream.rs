//! Servers behind others (upstream, as proxies say): where programs that serve are the only ones that ask a server, what takes longer there is harm where the answers that wait for it take longer, and
//! a gain where these take less long.
//!
//! In: judged metrics, turnarounds and requests of both sides. Out: metrics of answers of such servers, called changed and marked as not felt, with the names of these servers. A request is waited for by the answer of
//! its process that was read last before it, and sent after it was answered. Must not touch anything where an answer that users ask for is longer (shorter) itself, or some are much slower and not judged.
//!
//! ```text
//! turnarounds by process + requests by process -> who asks a server, and which answers wait for it -> these as long as before? if not: are their own servers upstream, too?
//! ```

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;

use super::compare::{Metric, PERCENTS};
use super::tails;
use super::unfelt::asked_from_outside;
use crate::analyses::application::{Role, sockets};
use crate::diff::said::verdict::Outcome;
use crate::diff::servers::{
    answers::{LEDGER, server},
    clients::server_of,
    large::Large,
};
use crate::diff::sides::options::{DiffOptions, Recording};
use crate::stat::nearest_rank;

/// Requests that a side must have.
const LEAST: usize = 30;
/// Part of the requests that must come from programs that serve: what others ask, they wait for.
const FROM_SERVERS: f64 = 0.95;
/// Part of the requests that answers may wait for, and nobody does: they lie within one by chance.
const BY_CHANCE: f64 = 0.05;

/// Who asks a server, on one side.
#[derive(Debug, Default)]
struct Asked {
    requests: usize,
    /// By programs that serve.
    by_servers: usize,
    /// How long answers took that waited for them, ns, by the server that gave them.
    waited: BTreeMap<String, Vec<i64>>,
}

impl Asked {
    fn is_from_servers(&self) -> bool {
        self.requests >= LEAST && self.by_servers as f64 >= FROM_SERVERS * self.requests as f64
    }
    fn is_awaited(&self) -> bool {
        let waited: usize = self.waited.values().map(Vec::len).sum();
        waited as f64 > BY_CHANCE * self.by_servers as f64
    }
}

/// A request that was read, and answered.
struct Turn<'n> {
    start_ns: i64,
    read_ns: i64,
    send_ns: i64,
    server: &'n str,
}

fn side(all: &[Recording<'_>]) -> BTreeMap<String, Asked> {
    let mut out: BTreeMap<String, Asked> = BTreeMap::new();
    for r in all {
        let here = r.connections();
        let sockets = sockets(r.facts);
        let own = sockets.iter().filter(|s| s.in_turns);
        let own = own.filter(|s| here.as_ref().is_none_or(|h| h.contains(&s.connection)));
        let named: Vec<_> = own
            .filter_map(|s| Some((s, server(r, s.connection, s.role)?)))
            .collect();
        let mut serving: FxHashMap<i32, Vec<Turn<'_>>> = FxHashMap::default();
        for (s, name) in named.iter().filter(|(s, _)| s.role == Role::Server) {
            // Threads that began and ended meanwhile are in no list; who listens is.
            let row = r.facts.connections.get(s.connection.0 as usize);
            let listens = row.and_then(|row| r.facts.listened_by.get(&row.sport)).copied();
            for t in s.judged_turnarounds() {
                let threads = [t.pid, t.sender_pid].map(|tid| r.facts.process(tid));
                let processes: BTreeSet<i32> = threads.into_iter().chain(listens).collect();
                for process in processes {
                    serving.entry(process).or_default().push(Turn {
                        start_ns: t.start_ns(),
                        read_ns: t.read_ns,
                        send_ns: t.send_ns,
                        server: name,
                    });
                }
            }
        }
        for turns in serving.values_mut() {
            turns.sort_by_key(|t| t.read_ns);
        }
        for (s, name) in named.iter().filter(|(s, _)| s.role == Role::Client) {
            for (ns, row) in s.judged_responses().filter(|(_, row)| r.has(row.send_ns)) {
                let of = out.entry(name.clone()).or_default();
                of.requests = of.requests.saturating_add(1);
                let Some(turns) = serving.get(&r.facts.process(row.pid)) else {
                    continue;
                };
                of.by_servers = of.by_servers.saturating_add(1);
                let read = turns.partition_point(|t| t.read_ns <= row.send_ns);
                let answered = row.send_ns.saturating_add(ns);
                let before = turns.get(..read).unwrap_or_default().iter().rev();
                let waiting = before
                    .take(UNDER_WAY)
                    .find(|t| t.send_ns >= answered && t.server != name);
                if let Some(t) = waiting {
                    let took = t.send_ns.saturating_sub(t.start_ns);
                    of.waited.entry(t.server.to_owned()).or_default().push(took);
                }
            }
        }
    }
    out
}

/// Of what the server behind takes longer: what is less in those that wait for it is not that.
const GONE: f64 = 0.2;
/// Requests under way at once in a process that are looked through.
const UNDER_WAY: usize = 1_000;

/// Both sides.
struct Upstream<'o> {
    sides: [BTreeMap<String, Asked>; 2],
    outside: BTreeSet<String>,
    options: &'o DiffOptions,
}

impl Upstream<'_> {
    /// Programs that serve are the only ones that ask it, on both sides.
    fn is_behind(&self, name: &str) -> bool {
        let from_servers = |side: &BTreeMap<String, Asked>| side.get(name).is_some_and(Asked::is_from_servers);
        !self.outside.contains(name) && self.sides.iter().all(from_servers)
    }
    /// Whether a server that others ask takes longer (shorter) to answer.
    fn is_felt(&self, metrics: &[Metric], outcome: Outcome) -> bool {
        let answers = |m: &&Metric| {
            let stage = matches!(m.which.stage, "call" | "response" | "turnaround");
            m.which.ledger == LEDGER && stage && m.outcome == outcome
        };
        let first = |m: &Metric| m.which.service.as_deref().is_none_or(|s| !self.is_behind(server_of(s)));
        metrics.iter().filter(answers).any(first)
    }
    /// Nobody feels that this one takes longer (shorter): whoever waits for it is as quick as before, or is such a one itself.
    /// `far`: how much longer or less long it takes, ns.
    fn is_unfelt(&self, name: &str, worse: bool, far: i64, above: &mut Vec<String>) -> bool {
        let [Some(b), Some(a)] = self.sides.each_ref().map(|s| s.get(name)) else {
            return false;
        };
        if !self.is_behind(name) {
            return false;
        }
        if !b.is_awaited() && !a.is_awaited() {
            return true;
        }
        if above.iter().any(|n| n == name) {
            return false;
        }
        above.push(name.to_owned());
        let fronts: BTreeSet<&String> = b.waited.keys().chain(a.waited.keys()).collect();
        let none = vec![];
        let alike = |front: &String| {
            let of = |side: &Asked| side.waited.get(front).unwrap_or(&none).clone();
            self.alike(of(b), of(a), worse, far)
        };
        let unfelt = fronts
            .into_iter()
            .all(|front| alike(front) || self.is_unfelt(front, worse, far, above));
        above.pop();
        unfelt
    }
    /// Whether answers that wait take no longer (no less long) than before, or by hardly any of what they would wait for; of few it is not known.
    fn alike(&self, mut b: Vec<i64>, mut a: Vec<i64>, worse: bool, far: i64) -> bool {
        let o = self.options;
        let n = b.len().min(a.len());
        let mut compared = PERCENTS.iter().filter(|(_, need)| n >= *need).peekable();
        compared.peek().is_some()
            && compared.all(|(percent, _)| {
                let (relative, absolute) = match percent {
                    50 => (o.median_relative, o.median_ns),
                    _ => (o.tail_relative, o.tail_ns),
                };
                let at = |v: &mut Vec<i64>| nearest_rank(v, *percent as usize);
                at(&mut b).zip(at(&mut a)).is_some_and(|(b, a)| {
                    let by = if worse {
                        a.saturating_sub(b)
                    } else {
                        b.saturating_sub(a)
                    };
                    by < ((b as f64 * relative) as i64)
                        .max(absolute)
                        .max((far as f64 * GONE) as i64)
                })
            })
    }
}

/// Calls changed, and marks, what is of a server that nobody waits for longer, or less long; their names.
pub(in crate::diff) fn moderate(
    metrics: &mut [Metric],
    large: &mut Vec<Large>,
    sides: [&[Recording<'_>]; 2],
    o: &DiffOptions,
) -> BTreeSet<String> {
    let mut out = BTreeSet::new();
    let of = |m: &&Metric, outcome| m.which.ledger == LEDGER && m.outcome == outcome && m.which.service.is_some();
    let judged = [Outcome::Worse, Outcome::Better];
    if large.is_empty() && !judged.iter().any(|w| metrics.iter().any(|m| of(&m, *w))) {
        return out;
    }
    let upstream = Upstream {
        sides: sides.map(side),
        outside: sides.iter().flat_map(|s| asked_from_outside(s)).collect(),
        options: o,
    };
    for outcome in judged {
        let worse = outcome == Outcome::Worse;
        if upstream.is_felt(metrics, outcome) || worse && !tails::said(metrics).is_empty() {
            continue;
        }
        let mut servers: BTreeMap<String, i64> = BTreeMap::new();
        for m in metrics.iter().filter(|m| of(m, outcome)) {
            let far = m.shifts.iter().filter(|s| s.outcome == outcome);
            let far = far.map(|s| s.shift.saturating_abs()).max().unwrap_or(0);
            if let Some(s) = m.which.service.as_deref() {
                let most = servers.entry(server_of(s).to_owned()).or_default();
                *most = far.max(*most);
            }
        }
        for l in large.iter().filter(|l| l.worse == worse) {
            let most = servers.entry(server_of(&l.server).to_owned()).or_default();
            *most = l.by_ns.saturating_abs().max(*most);
        }
        let unfelt: BTreeSet<String> = servers
            .into_iter()
            .filter(|(s, far)| upstream.is_unfelt(s, worse, *far, &mut vec![]))
            .map(|(s, _)| s)
            .collect();
        large.retain(|l| l.worse != worse || !unfelt.contains(server_of(&l.server)));
        let theirs = |m: &&mut Metric| {
            let own = m.which.service.as_deref().map(server_of);
            of(&&**m, outcome) && own.is_some_and(|s| unfelt.contains(s))
        };
        for m in metrics.iter_mut().filter(theirs) {
            m.becomes_changed(outcome);
            m.unfelt = true;
        }
        out.extend(unfelt);
    }
    out
}
