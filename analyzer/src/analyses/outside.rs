//! Remote hosts that are not in the recording: of what became of segments to them nothing else tells.
//!
//! Needs `connections`. A socket of this recording that has an address, or stands for it (NAT), tells of that host itself.

use std::net::IpAddr;

use rustc_hash::FxHashSet;

use crate::facts::{ConnectionId, Facts};

/// Addresses of sockets of this recording.
pub(super) struct Outside<'f> {
    facts: &'f Facts,
    here: FxHashSet<IpAddr>,
}

impl<'f> Outside<'f> {
    pub(super) fn of(facts: &'f Facts) -> Outside<'f> {
        let here = facts.connections.iter().filter_map(|c| Some(c.saddr?.to_canonical()));
        Outside {
            facts,
            here: here.collect(),
        }
    }
    /// Whether a socket of this recording has the address.
    pub(super) fn has_here(&self, address: IpAddr) -> bool {
        self.here.contains(&address.to_canonical())
    }
    /// To whom a connection goes, where that is outside.
    pub(super) fn to(&self, c: ConnectionId) -> Option<IpAddr> {
        let row = self.facts.connections.get(c.0 as usize)?;
        let to = row.daddr.filter(|_| row.peer.is_none())?;
        (!self.has_here(to)).then_some(to)
    }
}
