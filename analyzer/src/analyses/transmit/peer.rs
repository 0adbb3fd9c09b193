//! How much of the time from the device to the ACK the peer's application had the data and had not answered, where its socket is in
//! the same recording.
//!
//! Needs `tx`, `connections`, `turnarounds`. An ACK need not wait for the
//! application; when it does (delayed, until the answer carries it), this is how long it did.

use std::collections::BTreeMap;

use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::transmit::Stage;
use crate::reconstruct::transmit::tables::TxRow;

/// Times of segments from the device to the ACK, split by what the peer's socket says.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct PeerPart {
    /// Segments whose peer's socket is in the recording, with its turnarounds.
    pub segments: u64,
    /// Their time from the device to the ACK, ns.
    pub network_ns: i64,
    /// Of it, the peer's application had data and had not sent, ns.
    pub application_ns: i64,
}

/// For each socket the spans in which its application had data and had not sent, ascending and apart.
fn spans(facts: &Facts) -> BTreeMap<ConnectionId, Vec<(i64, i64)>> {
    let mut of: BTreeMap<ConnectionId, Vec<(i64, i64)>> = BTreeMap::new();
    for t in facts.turnarounds.iter().filter(|t| !t.overlap) {
        of.entry(t.connection).or_default().push((t.start_ns(), t.send_ns));
    }
    for all in of.values_mut() {
        all.sort_unstable();
        let mut last = i64::MIN;
        for (from, to) in all.iter_mut() {
            *from = (*from).max(last);
            *to = (*to).max(*from);
            last = *to;
        }
    }
    of
}

/// Peers of sockets, and when their applications had data.
pub(crate) struct Peers<'f> {
    facts: &'f Facts,
    spans: BTreeMap<ConnectionId, Vec<(i64, i64)>>,
}

impl<'f> Peers<'f> {
    pub(crate) fn of(facts: &'f Facts) -> Peers<'f> {
        let spans = spans(facts);
        Peers { facts, spans }
    }

    /// Of a segment's time from the device to the ACK, that for which its peer's application had data and had not sent, ns; `None`: nothing tells.
    pub(crate) fn application_ns(&self, r: &TxRow) -> Option<i64> {
        let (connection, ns, acked) = (r.connection?, r.stage(Stage::Network)?, r.t_ack_ns?);
        let row = self.facts.connections.get(connection.0 as usize)?;
        let spans = self.spans.get(&row.peer?)?;
        let from = acked.saturating_sub(ns);
        let first = spans.partition_point(|(_, to)| *to <= from);
        let within = spans.get(first..)?.iter().take_while(|(a, _)| *a < acked);
        let both = within.map(|(a, b)| (*b).min(acked).saturating_sub((*a).max(from)));
        Some(both.fold(0, i64::saturating_add))
    }
}

/// What of these rows; `None` where the peer of none of them tells.
pub(super) fn peer_part(facts: &Facts, rows: &[&TxRow]) -> Option<PeerPart> {
    let peers = Peers::of(facts);
    let mut part = PeerPart {
        segments: 0,
        network_ns: 0,
        application_ns: 0,
    };
    for r in rows {
        let Some((application_ns, ns)) = peers.application_ns(r).zip(r.stage(Stage::Network)) else {
            continue;
        };
        part.segments += 1;
        part.network_ns = part.network_ns.saturating_add(ns);
        part.application_ns = part.application_ns.saturating_add(application_ns);
    }
    (part.segments > 0 && part.network_ns > 0).then_some(part)
}
