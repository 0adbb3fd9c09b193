//! Requests, attempts to connect and bytes, by client address and server end.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use rustc_hash::{FxHashMap, FxHashSet};

use crate::analyses::application::without_answer;
use crate::facts::{ConnectionId, Facts};
use crate::name::Name;
use crate::names::Ends;
use crate::reconstruct::opens::tables::OpenEnd;
use crate::reconstruct::tcp::role::{Role, RoleBy};
use crate::reconstruct::tcp::tables::ConnectionRow;

/// Who asked whom. Rows are in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    /// The server's end, as the client calls it.
    pub server: SocketAddr,
    /// The client's address; `None`: not known.
    pub client: Option<IpAddr>,
}

/// A request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// When it was sent; by the server's view, when it was readable there.
    pub at_ns: i64,
    /// It was answered.
    pub answered: bool,
    /// Until the first byte of the answer; `None`: not answered, or that was not seen to arrive.
    pub took_ns: Option<i64>,
}

/// What is known of a client and a server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Of {
    /// Task that opened connections or read answers most often.
    pub task: Name,
    /// Connections, those opened in the recording, and such that a RST ended.
    pub connections: u64,
    /// As said.
    pub opened: u64,
    /// As said.
    pub reset: u64,
    /// Begins of attempts to connect that failed.
    pub failed: Vec<i64>,
    /// Requests.
    pub requests: Vec<Request>,
    /// Requests without an answer are known: some client's socket is in the recording.
    pub by_client: bool,
    /// Of the answered ones those that the server's turnarounds tell.
    pub by_server: u64,
    /// Turns that are no request of their own.
    pub overlaps: u64,
    /// Answered ones whose link is weak.
    pub weak: u64,
    /// Bytes to the server.
    pub bytes_asked: Option<u64>,
    /// Bytes to the client.
    pub bytes_answered: Option<u64>,
}

impl Of {
    /// Times to the first byte.
    pub fn times(&self) -> impl Iterator<Item = i64> + '_ {
        self.requests.iter().filter_map(|r| r.took_ns)
    }
    /// Requests that were answered.
    pub fn answered(&self) -> u64 {
        self.requests.iter().filter(|r| r.answered).count() as u64
    }
}

/// Which socket of a connection is counted, and whose it is.
struct Counted {
    /// By number of the socket.
    keys: FxHashMap<ConnectionId, (Key, Role)>,
}

impl Counted {
    fn of(facts: &Facts) -> Counted {
        let rows = || facts.connections.iter();
        let role = |c: ConnectionId| facts.connections.get(c.0 as usize).map(|r| r.role().0);
        // Sockets whose peer is in the recording, but not known which: by their ends.
        let clients = rows().filter(|r| r.role().0 == Role::Client);
        let clients: FxHashSet<_> = clients.filter_map(|r| r.local().zip(r.remote())).collect();
        let counted = |r: &&ConnectionRow| match (r.role().0, r.peer.map(|p| (p, role(p)))) {
            // What two sockets of one role are is not known: either, once.
            (own, Some((peer, Some(other)))) if own == other => r.connection < peer,
            (Role::Client, _) => true,
            (Role::Server, Some(_)) => false,
            (Role::Server, None) => r.remote().zip(r.local()).is_none_or(|ends| !clients.contains(&ends)),
        };
        let key = |r: &ConnectionRow| {
            let (client, server) = Ends::of(r).client_and_server();
            let client = client.map(|c| c.ip()).filter(|a| !a.is_unspecified());
            // Of an attempt that had no port or no route yet no event tells whereto.
            let server = server.filter(|s| s.port() != 0 && !s.ip().is_unspecified())?;
            Some((r.connection, (Key { server, client }, r.role().0)))
        };
        Counted {
            keys: rows().filter(counted).filter_map(key).collect(),
        }
    }
    /// The socket that stands for a connection.
    fn socket(&self, facts: &Facts, c: ConnectionId) -> Option<ConnectionId> {
        let peer = || facts.connections.get(c.0 as usize).and_then(|r| r.peer);
        let own = self.keys.contains_key(&c).then_some(c);
        own.or_else(|| peer().filter(|p| self.keys.contains_key(p)))
    }
}

/// All of them.
pub(super) fn all(facts: &Facts) -> BTreeMap<Key, Of> {
    let counted = Counted::of(facts);
    let mut all: BTreeMap<Key, Of> = BTreeMap::new();
    let mut tasks: BTreeMap<Key, BTreeMap<Name, u64>> = BTreeMap::new();
    for row in &facts.connections {
        let Some((key, role)) = counted.keys.get(&row.connection) else {
            continue;
        };
        let of = all.entry(*key).or_default();
        of.connections += 1;
        let sampled = |bytes: u64| (row.samples > 0).then_some(bytes);
        let (read, written) = (
            row.bytes_read.or(sampled(row.bytes_in)),
            row.bytes_written.or(sampled(row.bytes_out)),
        );
        let (asked, answered) = match role {
            Role::Client => (written, read),
            Role::Server => (read, written),
        };
        of.bytes_asked = sum(of.bytes_asked, asked);
        of.bytes_answered = sum(of.bytes_answered, answered);
        match role {
            Role::Client => {
                of.by_client = true;
                *tasks.entry(*key).or_default().entry(row.task).or_default() += 1;
            }
            // A client's are told by its attempts.
            Role::Server => of.opened += u64::from(row.role().1 == RoleBy::Handshake),
        }
    }
    for r in &facts.responses {
        let Some((key, Role::Client)) = counted.keys.get(&r.connection) else {
            continue;
        };
        let of = all.entry(*key).or_default();
        if r.overlap {
            of.overlaps += 1;
            continue;
        }
        *tasks.entry(*key).or_default().entry(r.task).or_default() += 1;
        of.weak += u64::from(!r.confidence.is_solid());
        of.requests.push(Request {
            at_ns: r.send_ns,
            answered: true,
            took_ns: r.response_ns(),
        });
    }
    for t in &facts.turnarounds {
        let Some((key, Role::Server)) = counted.keys.get(&t.connection) else {
            continue;
        };
        let of = all.entry(*key).or_default();
        if t.overlap {
            of.overlaps += 1;
            continue;
        }
        of.by_server += 1;
        of.weak += u64::from(!t.confidence.is_solid());
        of.requests.push(Request {
            at_ns: t.start_ns(),
            answered: true,
            took_ns: Some(t.total_ns()),
        });
    }
    for (c, at_ns) in without_answer(facts) {
        if let Some((key, Role::Client)) = counted.keys.get(&c) {
            all.entry(*key).or_default().requests.push(Request {
                at_ns,
                answered: false,
                took_ns: None,
            });
        }
    }
    let failed = opens(facts, &mut all, &mut tasks);
    let mut reset: FxHashSet<ConnectionId> = FxHashSet::default();
    for r in &facts.resets {
        let of = r.connection.and_then(|c| counted.socket(facts, c));
        // One that refuses an attempt is told as that.
        if let Some(c) = of.filter(|c| !failed.contains(c) && reset.insert(*c))
            && let Some((key, _)) = counted.keys.get(&c)
        {
            all.entry(*key).or_default().reset += 1;
        }
    }
    for (key, of) in &mut all {
        of.requests.sort_unstable_by_key(|r| r.at_ns);
        let named = tasks
            .get(key)
            .into_iter()
            .flatten()
            .filter(|(task, _)| !task.is_empty());
        let most = named.max_by_key(|(task, n)| (**n, std::cmp::Reverse(**task)));
        of.task = most.map_or(Name::EMPTY, |(task, _)| *task);
    }
    all
}

/// Attempts to connect; the sockets of those that failed.
fn opens(
    facts: &Facts,
    all: &mut BTreeMap<Key, Of>,
    tasks: &mut BTreeMap<Key, BTreeMap<Name, u64>>,
) -> FxHashSet<ConnectionId> {
    let mut failed = FxHashSet::default();
    for o in &facts.opens {
        let Some((to, port)) = o.to else { continue };
        let from = o.from.map(|f| f.0.to_canonical()).filter(|a| !a.is_unspecified());
        let key = Key {
            server: SocketAddr::new(to.to_canonical(), port),
            client: from,
        };
        let of = all.entry(key).or_default();
        of.by_client = true;
        match o.end {
            OpenEnd::Established => of.opened += 1,
            OpenEnd::Waiting => {}
            _ => {
                of.failed.push(o.start_ns);
                failed.extend(o.connection);
            }
        }
        *tasks.entry(key).or_default().entry(o.task).or_default() += 1;
    }
    failed
}

fn sum(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.saturating_add(b)),
        (a, b) => a.or(b),
    }
}
