//! Who could not accept connections for want of descriptors or memory, and what came of those that stood meanwhile.
//!
//! Needs the failed calls, `connections`, `tcp_states`. A connection stands once its handshake is done, whether or not anybody accepts it: its client waits
//! for an answer to a request that nobody reads.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::opens::tables::NotAccepted;
use crate::reconstruct::tcp::role::{Role, role};
use crate::reconstruct::tcp::states::{CLOSE, CLOSE_WAIT, ESTABLISHED};

/// A thread whose calls failed alike.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Refusal {
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
    /// Connections to that port that stood between the first and the last of them.
    pub stood: u64,
    /// Of these, closed by their clients with nothing read.
    pub closed_unread: u64,
    /// Sockets of that port that a client had closed and the process had not, when the recording ended, these not among them.
    pub close_wait: u64,
}

fn error(of: i32) -> &'static str {
    match of {
        24 => "EMFILE, too many open files",
        23 => "ENFILE, the host's table of open files is full",
        12 => "ENOMEM",
        _ => "ENOBUFS",
    }
}

fn of_port(facts: &Facts, row: &NotAccepted) -> (u64, u64, u64) {
    let Some(port) = row.port else { return (0, 0, 0) };
    let servers =
        (facts.connections.iter()).filter(|c| c.sport == port && role(c.born, c.sport, c.dport).0 == Role::Server);
    let unread: FxHashMap<ConnectionId, bool> = servers
        .map(|c| (c.connection, c.bytes_read.unwrap_or(0) == 0))
        .collect();
    let mut stood: FxHashSet<ConnectionId> = FxHashSet::default();
    let mut last: FxHashMap<ConnectionId, i32> = FxHashMap::default();
    let states = facts
        .tcp_states
        .iter()
        .filter(|s| s.kind == "sock" && unread.contains_key(&s.connection));
    for s in states {
        if s.state == ESTABLISHED && (row.first_ns..=row.last_ns).contains(&s.time_ns) {
            stood.insert(s.connection);
        }
        last.insert(s.connection, s.state);
    }
    let closed = |c: &&ConnectionId| unread.get(c) == Some(&true) && matches!(last.get(c), Some(&(CLOSE_WAIT | CLOSE)));
    let closed = stood.iter().filter(closed).count() as u64;
    let waits = last.iter().filter(|(c, s)| **s == CLOSE_WAIT && !stood.contains(*c));
    (stood.len() as u64, closed, waits.count() as u64)
}

pub(super) fn refusals(facts: &Facts) -> Vec<Refusal> {
    let since = |ns: i64| ns.saturating_sub(facts.capture.start_ns.unwrap_or(0));
    let one = |row: &NotAccepted| {
        let (stood, closed_unread, close_wait) = of_port(facts, row);
        Refusal {
            by: format!("{}/{}", row.task.text(), row.pid),
            error: error(row.error),
            times: row.times,
            within_ns: (since(row.first_ns), since(row.last_ns)),
            port: row.port,
            stood,
            closed_unread,
            close_wait,
        }
    };
    facts.not_accepted.iter().take(super::GROUPS).map(one).collect()
}
