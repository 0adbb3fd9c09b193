//! Who could not accept connections for want of descriptors or memory, and what came of those that stood meanwhile.
//!
//! Needs the failed calls, `connections`, `tcp_states`, `rx`. A connection stands once its handshake is done, whether or not anybody accepts it: its client waits
//! for an answer to a request that nobody reads.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::opens::tables::{NotAccepted, errno};
use crate::reconstruct::receive::tables::RxEnd;
use crate::reconstruct::tcp::role::{Role, role};
use crate::reconstruct::tcp::states::{CLOSE, CLOSE_WAIT, ESTABLISHED};

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
    /// Connections to that port that stood between the first and the last of them.
    pub stood: u64,
    /// Of these, those to which data came and of which nothing was read until the last of them; `None`: events were lost, a read may be among them.
    pub unread: Option<u64>,
    /// Of the unread, those that their clients had closed until then.
    pub closed_unread: u64,
    /// Sockets of that port that a client had closed and the process had not, when the recording ended, these not among them.
    pub close_wait: u64,
}

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

fn at_port(facts: &Facts, row: &NotAccepted) -> AtPort {
    // Sockets of other namespaces may listen at it, too: then whose its connections are is not known.
    let port = row
        .port
        .filter(|port| facts.listeners.get(port).is_none_or(|n| *n == 1));
    let Some(port) = port else { return AtPort::default() };
    let servers =
        (facts.connections.iter()).filter(|c| c.sport == port && role(c.born, c.sport, c.dport).0 == Role::Server);
    let servers: FxHashSet<ConnectionId> = servers.map(|c| c.connection).collect();
    let (mut stood, mut closed): (FxHashSet<ConnectionId>, FxHashSet<ConnectionId>) = Default::default();
    let mut last: FxHashMap<ConnectionId, i32> = FxHashMap::default();
    let states = (facts.tcp_states.iter()).filter(|s| s.kind == "sock" && servers.contains(&s.connection));
    for s in states {
        match s.state {
            ESTABLISHED if (row.first_ns..=row.last_ns).contains(&s.time_ns) => _ = stood.insert(s.connection),
            CLOSE_WAIT | CLOSE if s.time_ns <= row.last_ns => _ = closed.insert(s.connection),
            _ => {}
        }
        last.insert(s.connection, s.state);
    }
    let (came, read) = data(facts, &stood, row.last_ns);
    let unread = || came.difference(&read);
    let waits = last.iter().filter(|(c, s)| **s == CLOSE_WAIT && !stood.contains(*c));
    AtPort {
        stood: stood.len() as u64,
        unread: facts.gaps.is_empty().then(|| unread().count() as u64),
        closed_unread: unread().filter(|c| closed.contains(*c)).count() as u64,
        close_wait: waits.count() as u64,
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
