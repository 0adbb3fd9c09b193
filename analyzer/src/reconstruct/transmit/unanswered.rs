//! Segments of a socket to which nothing came: no window tells how long its headers are, and no ACK that they arrived.

use super::censor;
use super::device::Device;
use super::ledger::{Ledger, finish};
use super::packet::Packet;
use super::tables::{TxEnd, TxKind, TxRow};
use crate::confidence::Confidence;
use crate::reconstruct::skb::tables::SkbClass;

/// Longest TCP header, bytes.
const TCP_HEADER_MOST: u32 = 60;

/// Whether a packet of the stream is longer than any headers: then it carries payload.
pub(super) fn full(p: &Packet) -> bool {
    let headers = p.before_transport.map(|before| u32::from(before) + TCP_HEADER_MOST);
    p.class == SkbClass::TxClone && headers.is_some_and(|h| p.len > h)
}

impl Ledger<'_> {
    /// Its row; how much payload it has is not known.
    pub(super) fn unanswered(&self, p: &Packet) -> TxRow {
        let mut row = self.begin(p, TxKind::Tcp, p.link);
        let device = Device::of(self.inputs, &mut row.stages, p, None);
        row.confidence = row.confidence.min(device.link).min(Confidence::Weak);
        row.end = match device.dropped {
            Some(_) => TxEnd::Dropped,
            None => TxEnd::Open,
        };
        let mut row = finish(row, device.dropped.unwrap_or(device.ended));
        censor::by_ends(&mut row, || self.inputs.end_ns);
        censor::by_loss(&mut row, self.lost, |gap| gap);
        row
    }
}
