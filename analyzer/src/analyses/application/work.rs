//! Answers that wait for another client's request: a consumer that asks for work which nobody has brought yet (BLPOP), a long poll, a chat.
//!
//! Needs `turnarounds`, `connections`. A thread that slept through the wait, read a request of another connection, and sent this answer at once. Those
//! that none ended and that are alike ended by a time-out of the server or the client's wish. Must not take for one: a thread that is so busy that some request
//! comes within any millisecond, one that waited for another server, a lock (another thread ends it).
//!
//! ```text
//! consumer    request: read | ........ asleep in epoll_wait ........ | answer
//! producer                                             request: read | answer          within NEAR_NS, by the same thread
//! ```

use rustc_hash::FxHashMap;

use crate::facts::{ConnectionId, Facts};
use crate::name::Name;
use crate::reconstruct::application::tables::TurnaroundRow;
use crate::reconstruct::tcp::role::{Role, RoleBy};
use crate::stat::nearest_rank;

/// Fewest answers that a request ended.
const FEWEST: usize = 3;
/// From the read of that request to the answer, at most, ns.
const NEAR_NS: i64 = 1_000_000;
/// Part of the wait for which the thread sleeps.
const ASLEEP: f64 = 0.9;
/// Part of the answers of which it must be known what ended them.
const MOSTLY: f64 = 0.9;
/// So many times as many as by chance.
const CHANCE: f64 = 5.0;
/// Waits whose p10 and p90 are closer than this part of their median are a time-out: one in so many.
const NARROW: i64 = 10;

/// What ended these waits.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct ForWork {
    /// Answers that another client's request ended.
    pub n: u64,
    /// Of so many.
    pub of: u64,
    /// The program whose requests ended most; empty: not in the recording.
    pub client: String,
    /// The wait of the others, which are alike, ns.
    pub timeout_ns: Option<i64>,
}

/// Calls in which a thread waits for any of its connections.
pub(crate) const FOR_ANY: [&str; 8] = [
    "epoll_wait",
    "epoll_pwait",
    "epoll_pwait2",
    "poll",
    "ppoll",
    "select",
    "pselect6",
    "io_uring_enter",
];

fn slept(r: &TurnaroundRow) -> bool {
    let any = FOR_ANY.iter().any(|c| c.as_bytes() == r.asleep_in.bytes());
    any && r.split.asleep_ns as f64 >= ASLEEP * r.total_ns() as f64 && r.pid == r.sender_pid
}

/// Of these answers.
pub(super) fn for_work(facts: &Facts, rows: &[&TurnaroundRow]) -> Option<ForWork> {
    let waited: Vec<&TurnaroundRow> = rows.iter().copied().filter(|r| slept(r)).collect();
    // Quick answers of the same server are not asked: what they took is next to nothing.
    let time = |of: &[&TurnaroundRow]| of.iter().fold(0i64, |sum, r| sum.saturating_add(r.total_ns()));
    if waited.len() < FEWEST || (time(&waited) as f64) < MOSTLY * time(rows) as f64 {
        return None;
    }
    // What each of these threads read, and when.
    let mut reads: FxHashMap<i32, Vec<(i64, ConnectionId)>> = waited.iter().map(|r| (r.pid, vec![])).collect();
    // Of requests alone: what it reads as a client is an answer.
    let port = waited
        .first()
        .and_then(|r| Some(facts.connections.get(r.connection.0 as usize)?.sport));
    let asked = |c: ConnectionId| {
        let row = facts.connections.get(c.0 as usize);
        row.is_some_and(|row| {
            let sure = matches!(row.role(), (Role::Server, RoleBy::Handshake | RoleBy::Listens));
            Some(row.sport) == port || sure
        })
    };
    for t in facts.turnarounds.iter().filter(|t| asked(t.connection)) {
        if let Some(of) = reads.get_mut(&t.pid) {
            of.push((t.read_ns, t.connection));
        }
    }
    reads.values_mut().for_each(|of| of.sort_unstable());
    let (mut by, mut chance): (FxHashMap<Name, usize>, f64) = (FxHashMap::default(), 0.0);
    let (mut ended, mut others) = (0usize, vec![]);
    for r in &waited {
        let of = reads.get(&r.pid).map(Vec::as_slice).unwrap_or_default();
        let until = of.partition_point(|(at, _)| *at <= r.send_ns);
        let from = of.partition_point(|(at, _)| *at <= r.read_ns);
        let meanwhile = of.get(from..until).unwrap_or_default();
        chance += (meanwhile.len() as f64 * NEAR_NS as f64 / r.total_ns().max(1) as f64).min(1.0);
        let last = meanwhile.iter().rev().find(|(_, c)| *c != r.connection);
        match last.filter(|(at, _)| r.send_ns.saturating_sub(*at) <= NEAR_NS) {
            Some((_, c)) => {
                ended += 1;
                let peer = facts.connections.get(c.0 as usize).and_then(|row| row.peer);
                let task = peer.and_then(|p| facts.connections.get(p.0 as usize)).map(|p| p.task);
                *by.entry(task.unwrap_or_default()).or_default() += 1;
            }
            None => others.push(r.total_ns()),
        }
    }
    let narrow = |p90: i64, p10: i64, p50: i64| p90.saturating_sub(p10) <= p50 / NARROW;
    let p50 = nearest_rank(&mut others.clone(), 50);
    let alike = p50.filter(|p50| {
        let ends = nearest_rank(&mut others.clone(), 90).zip(nearest_rank(&mut others.clone(), 10));
        ends.is_some_and(|(p90, p10)| narrow(p90, p10, *p50))
    });
    let told = ended + alike.map_or(0, |_| others.len());
    let enough = ended >= FEWEST && ended as f64 >= CHANCE * chance;
    let client = by.into_iter().max_by_key(|(name, n)| (*n, std::cmp::Reverse(*name)))?.0;
    (enough && told as f64 >= MOSTLY * waited.len() as f64).then(|| ForWork {
        n: ended as u64,
        of: waited.len() as u64,
        client: client.text().into_owned(),
        timeout_ns: alike,
    })
}
