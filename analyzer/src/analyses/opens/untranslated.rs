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
    let came: FxHashSet<ConnectionId> = (facts.resets.iter())
        .filter(|r| r.received)
        .filter_map(|r| r.connection)
        .collect();
    let mut ended: FxHashMap<ConnectionId, Untranslated> = FxHashMap::default();
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
            let told = came.contains(&client);
            ended.insert(client, Untranslated::Ended(own));
            ended.insert(
                server,
                if told {
                    Untranslated::Same
                } else {
                    Untranslated::Ended(own)
                },
            );
        }
    }
    move |r| {
        let of = r.connection.filter(|_| r.received).and_then(|c| ended.get(&c));
        of.copied().unwrap_or(Untranslated::No)
    }
}
