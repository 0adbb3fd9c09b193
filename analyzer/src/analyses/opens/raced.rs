//! A server closed idle connections just as their clients asked again: what they asked met a closed socket, was answered by a RST, and is lost.
//!
//! Needs `resets` with their reasons, `tcp_states`, `rx`, `tx`. Told where connections of one listening address were closed after silences
//! that are alike, and data came right behind: then the silence is the server's own limit (inferred), and the client keeps connections as long or longer. Must not take
//! for one: a server that closes after an answer whatever comes (no silence), one that is stopped (silences of all lengths), a request that it read and did not answer,
//! what TLS and HTTP/2 send as a farewell (close_notify, GOAWAY: a short segment),
//! and a client that had the server's FIN and did not look (where it is in the recording).
//!
//! ```text
//! server   answer | ...... idle_ns, alike ...... | closes (FIN_WAIT1) |             RST: TCP_ABORT_ON_DATA
//! client                                                    | next request, behind_ns later ^
//! ```

use std::collections::BTreeMap;
use std::net::SocketAddr;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::facts::{ConnectionId, Facts, SkbId};
use crate::reconstruct::drops::tables::DropRow;
use crate::reconstruct::opens::tables::End;
use crate::reconstruct::tcp::role::Role;
use crate::reconstruct::tcp::states::{CLOSE_WAIT, FIN_WAIT1};
use crate::reconstruct::tcp::tables::StateRow;
use crate::reconstruct::transmit::tables::TxKind;
use crate::stat::nearest_rank;
use crate::table::Cell;

/// The kernel's word for data at a socket that its program had closed.
const REASON: &str = "TCP_ABORT_ON_DATA";
/// Fewest connections of which the silence is known.
const FEWEST: usize = 3;
/// Shortest silence, and how late the data may come, ns.
const IDLE_NS: i64 = 100_000_000;
const BEHIND_NS: i64 = 50_000_000;
/// From the last look at a connection to what is sent on it, at most, ns.
const LOOKED_NS: i64 = 5_000_000;
/// Nine tenths of the silences are within one such part of the median, or within 10 ms.
const ALIKE: i64 = 20;
const ALIKE_NS: i64 = 10_000_000;

/// Shorter segments, headers included, may be no request.
const REQUEST_BYTES: u32 = 200;
/// From the RST to the event of the freed segment, at most, ns.
const FREED_NS: i64 = 1_000_000;

/// Connections of one listening address.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Raced {
    /// `address:port` of the server.
    pub at: String,
    /// Its task; empty: not known.
    pub by: String,
    /// Connections.
    pub connections: u64,
    /// The silence before it closed them, median.
    pub idle_ns: i64,
    /// From its close to what came then, median.
    pub behind_ns: i64,
}

/// Of the address with most of them.
pub(super) fn raced(facts: &Facts) -> Option<Raced> {
    let mut reset: FxHashMap<ConnectionId, (i64, End)> = FxHashMap::default();
    let rows = facts
        .resets
        .iter()
        .filter(|r| !r.received && r.reason.ends_with(REASON));
    for (c, at, from) in rows.filter_map(|r| Some((r.connection?, r.time_ns, r.from?))) {
        let row = facts.connections.get(c.0 as usize);
        if row.is_some_and(|r| r.role().0 == Role::Server) {
            reset.entry(c).or_insert((at, from));
        }
    }
    if reset.len() < FEWEST {
        return None;
    }
    let mut closed: FxHashMap<ConnectionId, i64> = FxHashMap::default();
    for s in facts
        .tcp_states
        .iter()
        .filter(|s| s.kind == "sock" && s.state == FIN_WAIT1)
    {
        if reset.get(&s.connection).is_some_and(|(at, _)| s.time_ns <= *at) {
            closed.insert(s.connection, s.time_ns);
        }
    }
    // With whether that was an answer.
    let mut last: FxHashMap<ConnectionId, (i64, bool)> = FxHashMap::default();
    let came = facts.rx.iter().filter(|r| r.bytes.is_none_or(|n| n > 0));
    let came = came.filter_map(|r| Some((r.connection?, (r.start_ns, false))));
    let sent = facts.tx.iter().filter(|t| t.kind == TxKind::Tcp);
    let sent = sent.filter_map(|t| Some((t.connection?, (t.start_ns, true))));
    for (c, at) in came.chain(sent) {
        if closed.get(&c).is_some_and(|close| at.0 < *close) {
            let of = last.entry(c).or_insert(at);
            *of = at.max(*of);
        }
    }
    let (freed, knew) = (freed(facts), knew(facts));
    let mut by: BTreeMap<End, Vec<(ConnectionId, i64, i64)>> = BTreeMap::new();
    for (c, (at, from)) in &reset {
        let Some(close) = closed.get(c).filter(|close| !knew(*c, **close, *at)) else {
            continue;
        };
        let behind = at.saturating_sub(*close);
        let idle = last
            .get(c)
            .filter(|last| last.1)
            .map(|last| close.saturating_sub(last.0));
        let idle = idle.filter(|_| is_request(&freed, *at));
        if let Some(idle) = idle.filter(|idle| *idle >= IDLE_NS && behind <= BEHIND_NS) {
            by.entry(*from).or_default().push((*c, idle, behind));
        }
    }
    let (end, of) = by
        .into_iter()
        .max_by_key(|(end, of)| (of.len(), std::cmp::Reverse(*end)))?;
    let mut idle: Vec<i64> = of.iter().map(|o| o.1).collect();
    let (middle, few) = (nearest_rank(&mut idle, 50)?, nearest_rank(&mut idle, 10)?);
    let most = nearest_rank(&mut idle, 90)?;
    let alike = most.saturating_sub(few) <= ALIKE_NS.max(middle / ALIKE);
    (of.len() >= FEWEST && alike).then(|| Raced {
        at: SocketAddr::new(end.0.to_canonical(), end.1).to_string(),
        by: task(facts, &of),
        connections: of.len() as u64,
        idle_ns: middle,
        behind_ns: nearest_rank(&mut of.iter().map(|o| o.2).collect::<Vec<_>>(), 50).unwrap_or(0),
    })
}

/// Whether the client, where it is in the recording, had the server's FIN long before it sent what met the RST: then it raced nothing, it did not look. A proxy that
/// hands on what came to it then is none: its own client raced.
fn knew(facts: &Facts) -> impl Fn(ConnectionId, i64, i64) -> bool {
    let peer = |c: ConnectionId| facts.connections.get(c.0 as usize)?.peer;
    let mut fin: FxHashMap<ConnectionId, i64> = FxHashMap::default();
    for s in facts
        .tcp_states
        .iter()
        .filter(|s| s.kind == "sock" && s.state == CLOSE_WAIT)
    {
        fin.entry(s.connection).or_insert(s.time_ns);
    }
    let mut sent: FxHashMap<ConnectionId, Vec<(i64, i32)>> = FxHashMap::default();
    for t in facts.tx.iter().filter(|t| t.kind == TxKind::Tcp) {
        if let Some(c) = t.connection.filter(|c| fin.contains_key(c)) {
            sent.entry(c).or_default().push((t.start_ns, t.pid));
        }
    }
    let pids: FxHashSet<i32> = sent.values().flatten().map(|s| s.1).collect();
    let closes = closes(facts, &pids);
    let came = came(facts, &pids);
    move |c, close, reset| {
        let asked = peer(c).and_then(|p| Some((p, fin.get(&p)?, sent.get(&p)?)));
        asked.is_some_and(|(p, fin, sent)| {
            let handed_on = |at: i64, pid: i32| {
                let of = came.get(&pid).map_or(&[][..], Vec::as_slice);
                let until = of.partition_point(|r| r.0 <= at);
                let read = of
                    .iter()
                    .take(until)
                    .rev()
                    .take_while(|r| at.saturating_sub(r.0) <= LOOKED_NS);
                let mut others = read.filter(|(_, _, c)| *c != p);
                // One that is busy reads something all the time.
                let one = others.next().filter(|first| others.all(|o| o.2 == first.2));
                one.is_some_and(|(_, came, _)| came >= fin)
            };
            // It handed the close on, and what came on the other connection behind that is in no view.
            let closed_on = |pid: i32| {
                let of = closes.get(&pid).map_or(&[][..], Vec::as_slice);
                let from = of.partition_point(|s| s.0 < *fin);
                let at_once = of
                    .iter()
                    .skip(from)
                    .take_while(|s| s.0.saturating_sub(*fin) <= LOOKED_NS);
                at_once.filter(|s| s.1 != p).count() == 1
            };
            let mut sent = sent.iter().filter(|(at, _)| (close..=reset).contains(at));
            sent.any(|(at, pid)| at.saturating_sub(*fin) >= LOOKED_NS && !handed_on(*at, *pid) && !closed_on(*pid))
        })
    }
}

/// What these threads closed: when, and which connection.
fn closes(facts: &Facts, pids: &FxHashSet<i32>) -> FxHashMap<i32, Vec<(i64, ConnectionId)>> {
    let mut by: FxHashMap<i32, Vec<(i64, ConnectionId)>> = FxHashMap::default();
    let own = |s: &&StateRow| s.kind == "sock" && s.state == FIN_WAIT1 && pids.contains(&s.pid);
    for s in facts.tcp_states.iter().filter(own) {
        by.entry(s.pid).or_default().push((s.time_ns, s.connection));
    }
    by.values_mut().for_each(|of| of.sort_unstable());
    by
}

/// What these threads read of TCP: when, when it had come, and on which connection.
fn came(facts: &Facts, pids: &FxHashSet<i32>) -> FxHashMap<i32, Vec<(i64, i64, ConnectionId)>> {
    let mut by: FxHashMap<i32, Vec<(i64, i64, ConnectionId)>> = FxHashMap::default();
    for r in facts.rx.iter().filter(|r| pids.contains(&r.pid)) {
        if let Some(c) = r.connection {
            let read = r.start_ns.saturating_add(r.total_ns);
            by.entry(r.pid).or_default().push((read, r.start_ns, c));
        }
    }
    by.values_mut().for_each(|of| of.sort_unstable());
    by
}

/// What was freed for that reason, by time: how long it was, headers included.
fn freed(facts: &Facts) -> Vec<(i64, u32)> {
    let named = |r| matches!(facts.names.drop_reason(r), Cell::Str(name) if name == REASON);
    // Kernels that do not say why a RST was sent do not say either why what it answered was freed.
    let unsaid = |d: &DropRow| facts.names.reset_reasons_inferred && d.expected.is_none();
    let rows = facts.drops.iter().filter(|d| named(d.reason) || unsaid(d));
    let bytes = |id: SkbId| facts.skbs.get(usize::try_from(id.0).ok()?)?.bytes;
    let mut all: Vec<(i64, u32)> = rows.filter_map(|d| Some((d.time_ns, bytes(d.skb_id?)?))).collect();
    all.sort_unstable();
    all
}

/// Whether what a RST answered is as long as a request.
fn is_request(freed: &[(i64, u32)], reset_ns: i64) -> bool {
    let next = freed.get(freed.partition_point(|f| f.0 < reset_ns));
    next.is_some_and(|f| f.0.saturating_sub(reset_ns) <= FREED_NS && f.1 >= REQUEST_BYTES)
}

/// The task of all of them; empty: several, or not known.
fn task(facts: &Facts, of: &[(ConnectionId, i64, i64)]) -> String {
    let rows = of.iter().filter_map(|o| facts.connections.get(o.0.0 as usize));
    let mut names: Vec<_> = rows.map(|r| r.task).filter(|t| !t.is_empty()).collect();
    names.sort_unstable();
    names.dedup();
    match names.as_slice() {
        [one] => one.text().into_owned(),
        _ => String::new(),
    }
}
