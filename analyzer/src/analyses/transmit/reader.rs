//! The socket that reads what a connection sends: the window that it offers itself, and its buffer.
//!
//! Needs `tcp_samples` of both ends, `negotiated` with both ends. What is not in the recording is `None`.

use crate::facts::{ConnectionId, Facts};

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

pub(super) fn reader(facts: &Facts, connection: ConnectionId) -> Option<Reader> {
    let ends = facts.negotiated.get(&connection).and_then(|n| n.ends);
    let of = Reader {
        offered: offered(facts, connection),
        rcvbuf: ends.and_then(|e| e.peer_rcvbuf),
        misread: ends.is_some_and(|e| e.own.snd_wscale < e.peer.rcv_wscale),
    };
    (of.offered.is_some() || ends.is_some()).then_some(of)
}

/// The largest window that the one socket at the other end computed.
pub(super) fn offered(facts: &Facts, connection: ConnectionId) -> Option<u32> {
    let c = facts.connections.get(connection.0 as usize)?;
    let ends = (c.daddr, c.dport, c.saddr, c.sport);
    let mut peers = facts
        .connections
        .iter()
        .filter(|p| (p.saddr, p.sport, p.daddr, p.dport) == ends && c.saddr.is_some());
    let peer = peers.next().filter(|_| peers.next().is_none())?.connection;
    let of = facts.tcp_samples.iter().filter(|p| p.connection == peer);
    of.map(|p| p.rcv_wnd).max()
}
