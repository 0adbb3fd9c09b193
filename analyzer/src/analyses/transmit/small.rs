//! Connections whose full segments are far smaller than the MTU of their way allows.
//!
//! Needs `full_segments` (gso_size) or the lists of sockets (TCP_INFO), and the MTU: of the path as TCP_INFO tells it, else of the
//! device. A window bounds the MSS to half of itself (`tcp_bound_to_half_wnd`): such a connection is left out.

use super::senders::Sender;
use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::tcp::tables::SampleRow;
use crate::reconstruct::transmit::tables::TxRow;

/// Full segments that are at most this part of what the MTU allows are small.
const PART: u32 = 2;
/// Fewest full frames, and bytes in full segments, that matter.
const LEAST: (u64, u64) = (10, 100);
/// MTUs of links that carry packets to other hosts; that of the loopback device is none.
const LINK: u32 = 9_216;

/// A connection of small segments.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Small {
    /// Payload of a full segment, bytes.
    pub mss: u32,
    /// What the MTU allows, bytes.
    pub allowed: u32,
    /// The MTU, bytes.
    pub mtu: u32,
    /// Whose MTU it is: a device, or empty for the path's as the socket had it.
    pub dev: String,
    /// Headers of a segment, the link layer's too, bytes.
    pub headers: u32,
}

impl Small {
    /// Share of a full frame that is headers, with a payload.
    pub fn headers_of(&self, payload: u32) -> f64 {
        f64::from(self.headers) / f64::from(self.headers.saturating_add(payload).max(1))
    }
}

pub(super) fn small(facts: &Facts, s: &Sender, rows: &[&TxRow], samples: &[&SampleRow]) -> Option<Small> {
    let connection = ConnectionId(s.connection);
    let full = facts.full_segments.get(&connection)?;
    let path = facts.negotiated.get(&connection).and_then(|n| n.sizes);
    let dev = rows.first()?.dev;
    let one = rows.iter().all(|r| r.dev == dev);
    let (mtu, dev) = match path {
        Some(path) => (path.pmtu, String::new()),
        None => {
            let dev = dev.text().into_owned();
            let mtu = facts.settings.0.get(&format!("{dev} mtu"))?;
            (mtu.parse().ok().filter(|_| one)?, dev)
        }
    };
    let allowed = mtu.checked_sub(full.headers.checked_sub(full.link)?)?;
    let window = samples.iter().map(|p| p.snd_wnd).max()?;
    let many = full.frames >= LEAST.0 && s.bytes >= LEAST.1.saturating_mul(full.mss.into());
    let small = mtu <= LINK && full.mss.saturating_mul(PART) <= allowed && window / 4 >= full.mss;
    (many && small).then_some(Small {
        mss: full.mss,
        allowed,
        mtu,
        dev,
        headers: full.headers,
    })
}
