//! Connections whose server closed them, and of which no FIN went until another process ended that had a copy of their descriptor.
//!
//! Needs `tcp_states` with the thread of each change, `tx`, `rx`, `connections`. A child that is started without close-on-exec keeps its parent's sockets:
//! the kernel sends a FIN when the last copy is closed. Who reads until the connection ends waits that long, though all data came at once.
//!
//! ```text
//! server's program   reads, sends its last byte | close: other copies are left, no FIN
//! child              neither reads nor sends    | ............ HELD_NS or more ............ ends: FIN_WAIT1
//! client             reads all, goes on reading | ......................................... end of file, closes at once
//! ```
//! Must not take for one: a thread of the server's own process that closes what was idle too long. That the closer ended is inferred: no event of that is recorded.

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::facts::{ConnectionId, Facts};
use crate::name::Name;
use crate::reconstruct::tcp::role::Role;
use crate::reconstruct::tcp::states::{CLOSE, CLOSE_WAIT, FIN_WAIT1, LAST_ACK};
use crate::stat::nearest_rank;

/// Shortest time from the last byte to the close that is told, ns.
const HELD_NS: i64 = 100_000_000;
/// Fewest processes that closed one, each at one moment.
const FEWEST: usize = 3;
const MOMENT_NS: i64 = 1_000_000;
/// Threads of the kernel, which end what is left over.
const KERNELS: [&str; 3] = ["kworker/", "ksoftirqd/", "iou-"];
/// Longest time from a FIN to the close of a client that waited for it, ns.
const AT_ONCE_NS: i64 = 50_000_000;
/// Part of the clients whose close is known that must have closed so.
const MOSTLY: f64 = 0.5;

/// What is told of them.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Inherited {
    /// The server's end.
    pub at: String,
    /// Task that served them; empty: not known.
    pub task: String,
    /// Task by whose end they were closed.
    pub by: String,
    /// Connections.
    pub connections: u64,
    /// From the last byte that was sent to the close, median.
    pub held_ns: i64,
    /// The longest.
    pub longest_ns: i64,
    /// Clients that closed as soon as the FIN came: they waited for it.
    pub waited: u64,
    /// Clients of which that is known.
    pub clients: u64,
}

/// A connection that a stranger closed: from its last byte to that, by which process, and whether its client waited.
struct Closed {
    held: i64,
    pid: i32,
    waited: Option<bool>,
}

/// When a connection's last data was sent, when any came, and who used it.
#[derive(Default)]
struct Use {
    sent: Option<i64>,
    came: Option<i64>,
    pids: FxHashSet<i32>,
}

fn uses(facts: &Facts) -> FxHashMap<ConnectionId, Use> {
    let mut all: FxHashMap<ConnectionId, Use> = FxHashMap::default();
    for t in facts.tx.iter().filter(|t| t.bytes != Some(0)) {
        let Some(c) = t.connection else { continue };
        let of = all.entry(c).or_default();
        of.sent = of.sent.max(Some(t.start_ns));
        of.pids.insert(t.pid);
    }
    for r in facts.rx.iter().filter(|r| r.bytes.is_some_and(|n| n > 0)) {
        let Some(c) = r.connection else { continue };
        let of = all.entry(c).or_default();
        of.came = of.came.max(Some(r.start_ns));
        of.pids.insert(r.pid);
    }
    all
}

/// From the peer's FIN to the close of this end, by its states.
fn closed_behind(states: &[(i64, i32)]) -> Option<i64> {
    let at = |wanted: &[i32]| states.iter().find(|(_, s)| wanted.contains(s)).map(|(at, _)| *at);
    Some(at(&[LAST_ACK, CLOSE])?.saturating_sub(at(&[CLOSE_WAIT])?))
}

/// The server with most of them.
pub(super) fn inherited(facts: &Facts) -> Option<Inherited> {
    let mut states: FxHashMap<ConnectionId, Vec<(i64, i32)>> = FxHashMap::default();
    let mut closes: FxHashMap<ConnectionId, (i64, i32, Name)> = FxHashMap::default();
    for s in facts.tcp_states.iter().filter(|s| s.kind == "sock") {
        states.entry(s.connection).or_default().push((s.time_ns, s.state));
        if s.state == FIN_WAIT1 && s.in_task && s.pid > 0 {
            closes.entry(s.connection).or_insert((s.time_ns, s.pid, s.task));
        }
    }
    if closes.len() < FEWEST || !facts.gaps.is_empty() {
        return None;
    }
    // Who closes at several moments has a plan of its own, as a thread that ends what is idle; a child ends once.
    let mut moments: FxHashMap<i32, (i64, i64)> = FxHashMap::default();
    for (at, pid, _) in closes.values() {
        let of = moments.entry(*pid).or_insert((*at, *at));
        *of = (of.0.min(*at), of.1.max(*at));
    }
    let once = |pid: i32| {
        moments
            .get(&pid)
            .is_some_and(|(a, b)| b.saturating_sub(*a) <= MOMENT_NS)
    };
    let uses = uses(facts);
    let users: FxHashSet<i32> = uses.values().flat_map(|u| u.pids.iter().copied()).collect();
    let servers: FxHashSet<i32> = users.iter().map(|pid| facts.process(*pid)).collect();
    let mut by: BTreeMap<(String, Name, Name), Vec<Closed>> = BTreeMap::new();
    for (c, (at, pid, task)) in closes {
        let row = facts
            .connections
            .get(c.0 as usize)
            .filter(|r| r.role().0 == Role::Server);
        let (Some(row), Some(used)) = (row, uses.get(&c)) else {
            continue;
        };
        // Who has a socket in use, or is of a process that has, may close those of others by its own plan.
        let stranger = !users.contains(&pid) && !servers.contains(&facts.process(pid)) && task != row.task;
        let held = used.sent.map_or(0, |sent| at.saturating_sub(sent));
        let kernels = KERNELS.iter().any(|k| task.text().starts_with(k));
        if !stranger || !once(pid) || kernels || task.is_empty() || held < HELD_NS || used.came > used.sent {
            continue;
        }
        let peer = row.peer.and_then(|p| states.get(&p));
        let waited = peer.and_then(|s| closed_behind(s)).map(|ns| ns <= AT_ONCE_NS);
        let end = row.local().map(|a| a.to_string()).unwrap_or_default();
        by.entry((end, row.task, task))
            .or_default()
            .push(Closed { held, pid, waited });
    }
    let ((at, task, closer), all) = by.into_iter().max_by_key(|(_, all)| all.len())?;
    let clients = all.iter().filter(|c| c.waited.is_some()).count();
    let waited = all.iter().filter(|c| c.waited == Some(true)).count();
    let mut held: Vec<i64> = all.iter().map(|c| c.held).collect();
    let pids: FxHashSet<i32> = all.iter().map(|c| c.pid).collect();
    if pids.len() < FEWEST || clients == 0 || (waited as f64) < MOSTLY * clients as f64 {
        return None;
    }
    Some(Inherited {
        at,
        task: task.text().into_owned(),
        by: closer.text().into_owned(),
        connections: held.len() as u64,
        longest_ns: held.iter().copied().max()?,
        held_ns: nearest_rank(&mut held, 50)?,
        waited: waited as u64,
        clients: clients as u64,
    })
}
