//! Connections that were opened without window scaling (RFC 7323) and that this held: at most 65,535 bytes a round trip.
//!
//! Needs `negotiated` (the lists of sockets), or both ends in `tcp_samples`: an end whose own window was beyond 65,535 bytes while
//! the other never saw more than that of it cannot have scaled it.

use super::reader::Readers;
use super::senders::Sender;
use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::tcp::tables::SampleRow;

/// The largest window that a TCP header holds without scaling, bytes.
pub const WINDOW: u32 = 65_535;
/// Share of its time for which the peer's window must have held the connection.
const HELD: f64 = 0.25;
/// So near to the largest window it must have come, bytes: a segment of Ethernet less than it.
const NEAR: i64 = 1_500;

/// A connection without window scaling.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Unscaled {
    /// Most bytes in flight.
    pub max_bytes: i64,
    /// The largest window that the other end's own socket computed, bytes; `None`: it is not in the recording.
    pub offered: Option<u32>,
    /// Median from the device to the ACK, ns.
    pub rtt_ns: i64,
}

impl Unscaled {
    /// What the largest window is a round trip, Mbit/s.
    pub fn most_mbit_per_s(&self) -> f64 {
        f64::from(WINDOW) * 8e3 / self.rtt_ns.max(1) as f64
    }
}

pub(super) fn unscaled(facts: &Facts, s: &Sender, samples: &[&SampleRow], readers: &Readers<'_>) -> Option<Unscaled> {
    let held = s.limiters.iter().find(|l| l.0 == "rwnd").map_or(0.0, |l| l.1);
    let flight = s
        .flight
        .filter(|f| held >= HELD && f.max_bytes >= i64::from(WINDOW) - NEAR)?;
    let seen = samples.iter().map(|p| p.snd_wnd).max().filter(|w| *w <= WINDOW)?;
    let connection = ConnectionId(s.connection);
    let offered = readers.offered(connection);
    let told = facts.negotiated.get(&connection).map(|n| n.window_scaling);
    let scaled = told.unwrap_or(offered.is_none_or(|o| o <= WINDOW || seen == 0));
    (!scaled).then_some(Unscaled {
        max_bytes: flight.max_bytes,
        offered: offered.filter(|o| *o > WINDOW),
        rtt_ns: s.rtt.p50_ns?,
    })
}
