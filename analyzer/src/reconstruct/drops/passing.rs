//! Who speaks with whom through this host, and whether answers still come: look-ups of routes by pairs of addresses.
//!
//! ```text
//! a > b   x  x  x  x  x  x   x   x    x       since the last b > a: 4, the first of them here
//! b > a    x  x  x  x  x           ^
//! ```
//! Each look-up is a packet's, so that the counts are least numbers: of packets in a list the next to the same address needs none. Where a list had more packets than look-ups, whoever it
//! went to may have had its answer. Not seen: what a flow table passes on (nf_flowtable, hardware), and a router's answer that stands behind its question in one list. No ports are
//! known. What a socket of this host gets or sends is not among them: its way back is no look-up of what came in.

use std::net::IpAddr;

/// From one address to another.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct OneWay {
    /// Looked up.
    pub looked_up: u32,
    /// Of these: since the last look-up of the way back.
    pub since: u32,
    /// The first and the last of those.
    pub since_ns: i64,
    pub last_ns: i64,
}

impl OneWay {
    pub(super) fn goes(&mut self, ts: i64) {
        self.looked_up = self.looked_up.saturating_add(1);
        if self.since == 0 {
            self.since_ns = ts;
        }
        self.since = self.since.saturating_add(1);
        self.last_ns = ts;
    }
    /// One came back.
    pub(super) fn answered(&mut self) {
        self.since = 0;
    }
}

/// Two addresses that spoke with each other through this host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Passing {
    /// One of them.
    pub from: IpAddr,
    /// The other.
    pub to: IpAddr,
    /// Packets from the one to the other, at least.
    pub sent: u32,
    /// And back.
    pub answers: u32,
    /// Sent since the last that came back.
    pub since: u32,
    /// The first of these, and the last of all, ns.
    pub since_ns: i64,
    /// As said.
    pub last_ns: i64,
    /// Dropped in this host, both ways.
    pub dropped: u32,
}
