//! Who could not accept connections for want of descriptors or memory, and what came of those that stood meanwhile.
//!
//! Needs the failed calls, `connections`, `tcp_states`, `rx`. A connection stands once its handshake is done, whether or not anybody accepts it: its client waits
//! for an answer to a request that nobody reads. What a client closes and nobody accepted is in CLOSE_WAIT, too, and has no descriptor: a leak is told by sockets that a
//! program used.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::opens::tables::{NotAccepted, errno};
use crate::reconstruct::receive::tables::RxEnd;
use crate::reconstruct::tcp::role::Role;
use crate::reconstruct::tcp::states::{CLOSE, CLOSE_WAIT, ESTABLISHED};
use crate::reconstruct::transmit::tables::TxKind;

/// A thread whose calls failed alike.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct FailedAccepts {
    /// `task/thread`.
    pub by: String,
    /// errno.
    pub error: &'static str,
    /// Calls.
    pub times: u64,
    /// First and last, ns since the start of the recording.
    pub within_ns: (i64, i64),
    /// Port at which its process listens, where that is one only.
    pub port: Option<u16>,
    /// Connections to that port that were established between the first and the last of them, and of which nothing was read and to which nothing was written until the last.
    pub stood: u64,
    /// Of these, those to which data came and of which nothing was read until the last of them; `None`: events were lost, a read may be among them.
    pub unread: Option<u64>,
    /// Of the unread, those that their clients had closed until then.
    pub closed_unread: u64,
    /// Sockets of that port that the process had used, that a client had closed and the process had not for a second when the recording ended, these not among them.
    pub close_wait: u64,
}

/// Least time in CLOSE_WAIT, ns: any busy server has some for a moment.
const LEFT_OPEN_NS: i64 = 1_000_000_000;

/// Of connections at the port of one that failed.
#[derive(Default)]
struct AtPort {
    stood: u64,
    unread: Option<u64>,
    closed_unread: u64,
    close_wait: u64,
}

/// Of these connections, those to which data had come until then, and those of which some had been read.
fn data(facts: &Facts, of: &FxHashSet<ConnectionId>, until: i64) -> (FxHashSet<ConnectionId>, FxHashSet<ConnectionId>) {
    let (mut came, mut read) = (FxHashSet::default(), FxHashSet::default());
    let rows = facts
        .rx
        .iter()
        .filter(|r| r.end != RxEnd::Protocol && r.start_ns <= until);
    for r in rows {
        if let Some(c) = r.connection.filter(|c| of.contains(c)) {
            came.insert(c);
            if r.end == RxEnd::Read && r.start_ns.saturating_add(r.total_ns) <= until {
                read.insert(c);
            }
        }
    }
    (came, read)
}

/// Whether a program had the socket.
fn used(facts: &Facts, c: ConnectionId) -> bool {
    let row = facts.connections.get(c.0 as usize);
    row.is_some_and(|r| r.bytes_read.unwrap_or(0) > 0 || r.bytes_written.unwrap_or(0) > 0)
}

fn at_port(facts: &Facts, row: &NotAccepted) -> AtPort {
    // Sockets of other namespaces may listen at it, too: then whose its connections are is not known.
    let one = |port: &u16| facts.listeners.is_empty() || facts.listeners.get(port) == Some(&1);
    let port = row.port.filter(one);
    let Some(port) = port else { return AtPort::default() };
    let servers = (facts.connections.iter()).filter(|c| c.sport == port && c.role().0 == Role::Server);
    let servers: FxHashSet<ConnectionId> = servers.map(|c| c.connection).collect();
    let (mut stood, mut closed): (FxHashSet<ConnectionId>, FxHashSet<ConnectionId>) = Default::default();
    let mut last: FxHashMap<ConnectionId, (i32, i64)> = FxHashMap::default();
    let states = (facts.tcp_states.iter()).filter(|s| s.kind == "sock" && servers.contains(&s.connection));
    for s in states {
        match s.state {
            ESTABLISHED if (row.first_ns..=row.last_ns).contains(&s.time_ns) => _ = stood.insert(s.connection),
            CLOSE_WAIT | CLOSE if s.time_ns <= row.last_ns => _ = closed.insert(s.connection),
            _ => {}
        }
        last.insert(s.connection, (s.state, s.time_ns));
    }
    let (came, read) = data(facts, &stood, row.last_ns);
    // Those were accepted between two failures.
    let written = (facts.tx.iter()).filter(|t| t.kind == TxKind::Tcp && t.t_sched_ns <= row.last_ns);
    let mut served = read.clone();
    served.extend(written.filter_map(|t| t.connection));
    let waits = last.iter().filter(|(c, _)| !stood.contains(*c));
    let end_ns = facts.capture.end_ns.unwrap_or(i64::MIN);
    let left_open = |(c, (state, at)): &(&ConnectionId, &(i32, i64))| {
        *state == CLOSE_WAIT && end_ns.saturating_sub(*at) >= LEFT_OPEN_NS && used(facts, **c)
    };
    let close_wait = waits.filter(left_open).count() as u64;
    stood.retain(|c| !served.contains(c));
    let unread = || came.difference(&served);
    AtPort {
        stood: stood.len() as u64,
        unread: facts.gaps.is_empty().then(|| unread().count() as u64),
        closed_unread: unread().filter(|c| closed.contains(*c)).count() as u64,
        close_wait,
    }
}

pub(super) fn failed(facts: &Facts) -> Vec<FailedAccepts> {
    let since = |ns: i64| ns.saturating_sub(facts.capture.start_ns.unwrap_or(0));
    let one = |row: &NotAccepted| {
        let at = at_port(facts, row);
        FailedAccepts {
            by: format!("{}/{}", row.task.text(), row.pid),
            error: errno(row.error).unwrap_or("error"),
            times: row.times,
            within_ns: (since(row.first_ns), since(row.last_ns)),
            port: row.port,
            stood: at.stood,
            unread: at.unread,
            closed_unread: at.closed_unread,
            close_wait: at.close_wait,
        }
    };
    facts.not_accepted.iter().take(super::GROUPS).map(one).collect()
}
