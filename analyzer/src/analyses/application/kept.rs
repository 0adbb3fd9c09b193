//! First requests that lie unread until a thread is free: each keeps the connection it answered on last until that is closed, and accepts none meanwhile.
//!
//! Needs `turnarounds`, `tcp_states`. One thread or process for each connection (Apache's prefork, many database and application servers), and
//! more clients than threads. Must not take for one: threads that serve several connections at once, where the thread that reads it was at work.
//!
//! ```text
//! its last connection   answer | ........ no request, kept_ns ........ | closed
//! this one                     request: readable | ........ unread ........ | read: within NEAR_NS, by the same thread
//! ```

use rustc_hash::{FxHashMap, FxHashSet};

use crate::facts::{ConnectionId, Facts};
use crate::name::Name;
use crate::reconstruct::application::tables::TurnaroundRow;
use crate::reconstruct::tcp::states::{ESTABLISHED, FIN_WAIT1};
use crate::reconstruct::transmit::tables::TxKind;
use crate::stat::nearest_rank;

/// Fewest requests, and part of those given.
const FEWEST: usize = 3;
const MOSTLY: f64 = 0.5;
/// From the close to the read of the next connection's request, ns.
const NEAR_NS: i64 = 20_000_000;
/// Shortest time for which a connection without a request is kept, ns.
const KEPT_NS: i64 = 100_000_000;
/// Times whose p10 and p90 are closer than this part of their median are a time-out: one in so many.
const NARROW: i64 = 10;

/// What kept the threads.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Kept {
    /// Requests that waited so.
    pub n: u64,
    /// Of so many.
    pub of: u64,
    /// Threads that read them.
    pub threads: u64,
    /// Their name.
    pub task: String,
    /// From their last answer on the connection before to its close, median, ns.
    pub kept_ns: i64,
    /// The server closed most of those, after times that are alike: its own time-out.
    pub timeout: bool,
}

/// When each socket left ESTABLISHED, and whether it was the server itself that closed it: not its peer, nor a RST.
fn closes(facts: &Facts, of: &FxHashSet<ConnectionId>) -> FxHashMap<ConnectionId, (i64, bool)> {
    let mut out = FxHashMap::default();
    let left = facts.tcp_states.iter();
    for s in left.filter(|s| s.kind == "sock" && s.state > ESTABLISHED && of.contains(&s.connection)) {
        if !matches!(s.state, 2 | 3) {
            out.entry(s.connection).or_insert((s.time_ns, s.state == FIN_WAIT1));
        }
    }
    out
}

/// Of these turnarounds.
pub(super) fn kept(facts: &Facts, rows: &[&TurnaroundRow]) -> Option<Kept> {
    let unread = |r: &TurnaroundRow| r.read_ns.saturating_sub(r.start_ns());
    let waited: Vec<&TurnaroundRow> = (rows.iter().copied())
        .filter(|r| unread(r) as f64 >= MOSTLY * r.total_ns() as f64 && unread(r) >= NEAR_NS)
        .collect();
    if waited.len() < FEWEST || (waited.len() as f64) < MOSTLY * rows.len() as f64 {
        return None;
    }
    let mut by_thread: FxHashMap<i32, Vec<&TurnaroundRow>> = waited.iter().map(|r| (r.pid, vec![])).collect();
    let mut first: FxHashMap<ConnectionId, i64> = FxHashMap::default();
    for t in &facts.turnarounds {
        let of = first.entry(t.connection).or_insert(t.read_ns);
        *of = t.read_ns.min(*of);
        if let Some(of) = by_thread.get_mut(&t.sender_pid) {
            of.push(t);
        }
    }
    by_thread.values_mut().for_each(|of| of.sort_by_key(|t| t.send_ns));
    let before = |r: &TurnaroundRow| {
        let of = by_thread.get(&r.pid)?;
        let last = of.get(of.partition_point(|t| t.send_ns < r.read_ns).checked_sub(1)?)?;
        (last.connection != r.connection && first.get(&r.connection) == Some(&r.read_ns)).then_some(*last)
    };
    let pairs: Vec<(&TurnaroundRow, &TurnaroundRow)> = waited.iter().filter_map(|r| Some((*r, before(r)?))).collect();
    let closes = closes(facts, &pairs.iter().map(|p| p.1.connection).collect());
    // The last byte of an answer may leave long after its first.
    let mut last_sent: FxHashMap<ConnectionId, i64> = closes.keys().map(|c| (*c, i64::MIN)).collect();
    for t in facts.tx.iter().filter(|t| t.kind == TxKind::Tcp && t.bytes != Some(0)) {
        let Some(c) = t.connection else { continue };
        let open = closes.get(&c).is_some_and(|(at, _)| t.t_sched_ns <= *at);
        if let Some(of) = last_sent.get_mut(&c).filter(|_| open) {
            *of = t.t_sched_ns.max(*of);
        }
    }
    let (mut times, mut own, mut threads) = (vec![], 0usize, FxHashSet::default());
    let mut task = Name::default();
    for (r, last) in pairs {
        let Some((at, by_server)) = closes.get(&last.connection).copied() else {
            continue;
        };
        let sent = last_sent
            .get(&last.connection)
            .map_or(last.send_ns, |ns| last.send_ns.max(*ns));
        let (long, gap) = (at.saturating_sub(sent), r.read_ns.saturating_sub(at));
        if long >= KEPT_NS && (0..=NEAR_NS).contains(&gap) && at > r.start_ns() {
            times.push(long);
            own += usize::from(by_server);
            threads.insert(r.pid);
            task = r.task;
        }
    }
    let n = times.len();
    if n < FEWEST || (n as f64) < MOSTLY * rows.len() as f64 {
        return None;
    }
    let p50 = nearest_rank(&mut times, 50)?;
    let spread = nearest_rank(&mut times, 90)?.saturating_sub(nearest_rank(&mut times, 10)?);
    Some(Kept {
        n: n as u64,
        of: rows.len() as u64,
        threads: threads.len() as u64,
        task: task.text().into_owned(),
        kept_ns: p50,
        timeout: own as f64 > MOSTLY * n as f64 && spread <= p50 / NARROW,
    })
}
