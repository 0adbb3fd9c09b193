//! Answers that all waited for one peer to come back: a database's synchronous standby, a member of a quorum.
//!
//! ```text
//! peer P's connection to the server  ──── closed │                      │ stands again ────
//! these requests                          readable, readable, ... asleep ....... woken by the thread of that connection, answered
//! other requests of the same server       answered   answered   answered   answered
//! ```
//! Needs `turnarounds` (`woken_by`), `connections`, `tcp_states`. Of answers of one server whose threads slept until one thread woke them within a moment: the one connection that this thread serves, where it
//! was opened after they had begun to wait, and where its client had another one there, which ended before most of them began, and none between. That they
//! waited for that peer is inferred. Must not take for one: a client that connects anew for each request, a thread that serves many, what was woken at many times.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};

use rustc_hash::{FxHashMap, FxHashSet};

use super::sockets::{Role, Socket};
use super::task;
use crate::analyses::lives::{Life, lives};
use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::application::tables::TurnaroundRow;

/// Fewest answers, and the shortest.
const FEWEST: usize = 3;
const LEAST_NS: i64 = 200_000_000;
/// Threads that woke so many that are looked at.
const WAKERS: usize = 32;
/// Part of a turnaround that it slept until the thread woke it.
const MOSTLY: f64 = 0.9;
/// From the first to the last of the answers: at most one part in so many of the shortest of them.
const TOGETHER: i64 = 4;
/// Other answers meanwhile take at most one part in so many of these.
const QUICK: i64 = 4;
/// The peer's connection before may have ended so long before the first of them was readable.
const BEFORE_NS: i64 = 1_000_000_000;

/// A peer that answers waited for.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct AwaitedPeer {
    /// `address:port`.
    pub server: String,
    /// Answers that waited.
    pub n: u64,
    /// The longest, ns.
    pub longest_ns: i64,
    /// First readable and last answered, ns since the start of the recording.
    pub within_ns: (i64, i64),
    /// Answers of that server meanwhile that took far less.
    pub others: u64,
    /// `task/thread` that woke them.
    pub woken_by: String,
    /// Address of its client.
    pub peer: String,
    /// When that one's connection before ended, ns since the start of the recording.
    pub left_ns: i64,
    /// When its new one stood.
    pub back_ns: i64,
}

/// Slept nearly all its time until another thread woke it.
fn woken(t: &TurnaroundRow) -> bool {
    t.woken_by_pid != 0 && t.total_ns() >= LEAST_NS && t.woken_by_ns as f64 >= MOSTLY * t.total_ns() as f64
}

/// The one that most waited for.
pub(super) fn awaited_peer(facts: &Facts, sockets: &[Socket<'_>]) -> Option<AwaitedPeer> {
    if !facts.gaps.is_empty() {
        return None;
    }
    let servers = || sockets.iter().filter(|s| s.in_turns && s.role == Role::Server);
    let mut by: BTreeMap<(SocketAddr, i32), Vec<&TurnaroundRow>> = BTreeMap::new();
    for s in servers() {
        let Some(end) = s.local(facts) else { continue };
        for t in s.judged_turnarounds().filter(|t| woken(t)) {
            by.entry((end, t.woken_by_pid)).or_default().push(t);
        }
    }
    let mut most: Vec<usize> = by.values().map(Vec::len).filter(|n| *n >= FEWEST).collect();
    most.sort_unstable_by_key(|n| std::cmp::Reverse(*n));
    // Of so many wakers those of most answers.
    let least = most.get(WAKERS - 1).or(most.last()).copied()?;
    by.retain(|_, of| of.len() >= least);
    let lives = lives(facts);
    // Connections of each thread that woke.
    let mut theirs: FxHashMap<i32, BTreeSet<ConnectionId>> = FxHashMap::default();
    let wakers: FxHashSet<i32> = by.keys().map(|(_, waker)| *waker).collect();
    for t in &facts.turnarounds {
        for pid in [t.pid, t.sender_pid].into_iter().filter(|pid| wakers.contains(pid)) {
            theirs.entry(pid).or_default().insert(t.connection);
        }
    }
    let start = facts.capture.start_ns.unwrap_or(0);
    let one = |((end, waker), of): (&(SocketAddr, i32), &Vec<&TurnaroundRow>)| -> Option<AwaitedPeer> {
        let mut begins: Vec<i64> = of.iter().map(|t| t.start_ns()).collect();
        begins.sort_unstable();
        let (first, median) = (*begins.first()?, *begins.get(begins.len() / 2)?);
        let (done, last) = (of.iter().map(|t| t.send_ns).min()?, of.iter().map(|t| t.send_ns).max()?);
        let shortest = of.iter().map(|t| t.total_ns()).min()?;
        let connection = theirs.get(waker).filter(|of| of.len() == 1)?.first()?;
        let row = facts.connections.get(connection.0 as usize)?;
        let peer = row.remote().filter(|_| row.local() == Some(*end))?.ip();
        let back = lives.get(connection)?.stood.filter(|at| *at > median && *at <= done)?;
        if last.saturating_sub(done).saturating_mul(TOGETHER) > shortest {
            return None;
        }
        let left = left(facts, &lives, (*end, peer, *connection), back)?;
        if left < first.saturating_sub(BEFORE_NS) || left > median {
            return None;
        }
        let at_that_end = servers().filter(|s| s.connection != *connection && s.local(facts) == Some(*end));
        let others = at_that_end
            .flat_map(|s| s.judged_turnarounds())
            .filter(|t| t.start_ns() >= first && t.send_ns < done && t.total_ns().saturating_mul(QUICK) <= shortest);
        let by = of.first()?;
        Some(AwaitedPeer {
            server: end.to_string(),
            n: of.len() as u64,
            longest_ns: of.iter().map(|t| t.total_ns()).max()?,
            within_ns: (first.saturating_sub(start), last.saturating_sub(start)),
            others: others.count() as u64,
            woken_by: task(&by.woken_by, *waker),
            peer: peer.to_string(),
            left_ns: left.saturating_sub(start),
            back_ns: back.saturating_sub(start),
        })
    };
    let looked_at = by.iter().take(WAKERS);
    looked_at.filter_map(one).max_by_key(|a| (a.n, a.longest_ns))
}

/// When the last connection of that peer to that end was closed; `None`: one was there until it came back.
fn left(
    facts: &Facts,
    lives: &FxHashMap<ConnectionId, Life>,
    (end, peer, now): (SocketAddr, IpAddr, ConnectionId),
    back_ns: i64,
) -> Option<i64> {
    let same = facts
        .connections
        .iter()
        .filter(|r| r.local() == Some(end) && r.remote().map(|to| to.ip()) == Some(peer) && r.connection != now);
    let mut last = None;
    for row in same {
        let life = lives.get(&row.connection).copied().unwrap_or_default();
        match life.ended {
            Some((at, _)) if at < back_ns => last = last.max(Some(at)),
            // Of those that came later it does not matter.
            _ if life.stood.is_some_and(|at| at >= back_ns) => {}
            _ => return None,
        }
    }
    last
}
