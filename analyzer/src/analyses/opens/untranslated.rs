//! Connections whose packets went untranslated, as while the rules of a NAT are loaded anew in more than one step: then conntrack has no hook. Or their entries were gone.
//!
//! Needs `resets` and `connections` with their peers. What the server sends meanwhile comes to the client from the server's own address, where no socket knows of it:
//!
//! ```text
//! server  p:80 > a:50001    its answer          ──> a:50001, whose socket is connected to v:80: RST sent to p:80 for want of a socket
//! server  RST received                          <──
//! client  a:50001 > v:80    its next segment    ──> p:80, translated again, where the socket is gone: RST
//! ```
//! Must not take for one a port that was used again: the client's socket that is reset, or lives, has the port and the server as its peer.

use rustc_hash::{FxHashMap, FxHashSet};

use super::translated::Unknown;
use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::opens::tables::{End, ResetRow};

/// What a RST was of such a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Untranslated {
    /// None of one.
    No,
    /// The one that ended it at the client, or where none came there, at the server; with the server's own end.
    Ended(End),
    /// The other end's.
    Same,
}

/// Of each RST that came.
pub(super) fn untranslated(facts: &Facts) -> impl Fn(&ResetRow) -> Untranslated {
    let unknown = Unknown::of(facts);
    let row = |c: ConnectionId| facts.connections.get(c.0 as usize);
    let mut servers: FxHashSet<ConnectionId> = FxHashSet::default();
    let mut clients: FxHashMap<ConnectionId, End> = FxHashMap::default();
    // With events lost, the RST may have been another's.
    for r in facts.resets.iter().filter(|r| r.received && facts.gaps.is_empty()) {
        let found = || {
            let server = row(r.connection?)?;
            let client = row(server.peer?)?;
            let (own, remote) = ((server.saddr?, server.sport), (server.daddr?, server.dport));
            let asked = client.daddr.filter(|v| *v != own.0);
            let same = client.saddr? == remote.0 && client.sport == remote.1;
            let refused = asked.is_some() && same && unknown.sent(remote, own, r.time_ns);
            refused.then_some((server.connection, client.connection, own))
        };
        if let Some((server, client, own)) = found() {
            servers.insert(server);
            clients.insert(client, own);
        }
    }
    let came: FxHashSet<ConnectionId> = (facts.resets.iter())
        .filter(|r| r.received)
        .filter_map(|r| r.connection)
        .collect();
    let both: FxHashSet<ConnectionId> = servers
        .iter()
        .copied()
        .filter(|s| row(*s).and_then(|s| s.peer).is_some_and(|c| came.contains(&c)))
        .collect();
    let own: FxHashMap<ConnectionId, End> = servers
        .iter()
        .filter_map(|s| Some((*s, *clients.get(&row(*s)?.peer?)?)))
        .collect();
    move |r| {
        let Some(c) = r.connection.filter(|_| r.received) else {
            return Untranslated::No;
        };
        match (clients.get(&c).or(own.get(&c)), both.contains(&c)) {
            (Some(_), true) => Untranslated::Same,
            (Some(end), false) => Untranslated::Ended(*end),
            (None, _) => Untranslated::No,
        }
    }
}
