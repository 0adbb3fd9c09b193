//! The socket that reads what a connection sends: the window that it offers itself, and its buffer.
//!
//! Needs `tcp_samples` of both ends, `negotiated` with both ends. What is not in the recording is `None`.

use std::net::IpAddr;

use rustc_hash::FxHashMap;

use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::tcp::tables::ConnectionRow;

/// The socket at the other end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reader {
    /// The largest window that it computed, bytes.
    pub offered: Option<u32>,
    /// Its receive buffer, bytes.
    pub rcvbuf: Option<u32>,
    /// Its windows are read smaller than it wrote them: the two do not agree on their scale.
    pub misread: bool,
}

type Ends = (Option<IpAddr>, u16, Option<IpAddr>, u16);

/// Of all connections.
pub(super) struct Readers<'f> {
    facts: &'f Facts,
    /// The one socket with these ends; `None`: several.
    by_ends: FxHashMap<Ends, Option<ConnectionId>>,
    /// The largest window that each computed, bytes.
    offered: FxHashMap<ConnectionId, u32>,
}

impl<'f> Readers<'f> {
    pub(super) fn of(facts: &'f Facts) -> Readers<'f> {
        let mut by_ends = FxHashMap::default();
        for c in &facts.connections {
            let of = by_ends.entry((c.saddr, c.sport, c.daddr, c.dport));
            of.and_modify(|one| *one = None).or_insert(Some(c.connection));
        }
        let mut offered: FxHashMap<ConnectionId, u32> = FxHashMap::default();
        for p in &facts.tcp_samples {
            let most = offered.entry(p.connection).or_default();
            *most = p.rcv_wnd.max(*most);
        }
        Readers {
            facts,
            by_ends,
            offered,
        }
    }

    pub(super) fn reader(&self, connection: ConnectionId) -> Option<Reader> {
        let ends = self.facts.negotiated.get(&connection).and_then(|n| n.ends);
        let of = Reader {
            offered: self.offered(connection),
            rcvbuf: ends.and_then(|e| e.peer_rcvbuf),
            misread: ends.is_some_and(|e| e.own.snd_wscale < e.peer.rcv_wscale),
        };
        (of.offered.is_some() || ends.is_some()).then_some(of)
    }

    /// The largest window that the one socket at the other end computed.
    pub(super) fn offered(&self, connection: ConnectionId) -> Option<u32> {
        let c: &ConnectionRow = self.facts.connections.get(connection.0 as usize)?;
        let other = (c.daddr, c.dport, c.saddr, c.sport);
        let peer = self.by_ends.get(&other).copied().flatten();
        self.offered.get(&peer.filter(|_| c.saddr.is_some())?).copied()
    }
}
