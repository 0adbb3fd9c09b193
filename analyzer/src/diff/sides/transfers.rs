//! Transfers that one side alone has: ports with much TCP payload, hardly any requests and answers, and nobody who even tried to connect to them on the other side. What they lose and send again is in no rate; that is said, with
//! how much it was.
//!
//! In: payload, requests and answers, attempts to connect, retransmissions and drops. Out: ports, sentences.

use std::collections::{BTreeMap, BTreeSet};

use super::common::{LeftOut, NAMED};
use super::options::Recording;
use crate::analyses::application::sockets;
use crate::analyses::verdict::{counted, size};
use crate::diff::values::ends::server_port;
use crate::facts::ConnectionId;
use crate::reconstruct::transmit::tables::TxKind;

/// Requests and answers that are a few words beside it, fewer than.
const ANSWERS: u64 = 10;
/// Payload of a transfer, bytes.
const TRANSFER: u64 = 1_000_000;

/// Of a side, by port.
#[derive(Default)]
pub(super) struct Transfers {
    /// TCP payload, by the port at either end.
    payload: BTreeMap<u16, u64>,
    /// Requests answered, in turns or not.
    answers: BTreeMap<u16, u64>,
    /// Where somebody tried to connect to.
    tried: BTreeSet<u16>,
}

/// TCP payload by the port at either end.
fn payload(r: &Recording<'_>, units: impl Iterator<Item = (Option<ConnectionId>, Option<u32>)>) -> BTreeMap<u16, u64> {
    let mut out = BTreeMap::new();
    for (c, bytes) in units {
        let Some(row) = c.and_then(|c| r.facts.connections.get(c.0 as usize)) else {
            continue;
        };
        for port in BTreeSet::from([row.sport, row.dport]) {
            let of: &mut u64 = out.entry(port).or_default();
            *of = of.saturating_add(bytes.unwrap_or(0).into());
        }
    }
    out
}

impl Transfers {
    pub fn of(all: &[Recording<'_>]) -> Transfers {
        let mut out = Transfers::default();
        for r in all {
            for s in &sockets(r.facts) {
                if let Some(port) = server_port(r.facts, s.connection) {
                    *out.answers.entry(port).or_default() += s.all_turns() as u64;
                }
            }
            out.tried.extend(r.facts.opens.iter().filter_map(|o| Some(o.to?.1)));
            let tx = r
                .facts
                .tx
                .iter()
                .filter(|x| x.kind == TxKind::Tcp && r.sees(x.start_ns, x.dev));
            let rx = r.facts.rx.iter().filter(|x| r.sees(x.start_ns, x.dev));
            let sent = payload(r, tx.map(|x| (x.connection, x.bytes)));
            let came = payload(r, rx.map(|x| (x.connection, x.bytes)));
            // Of one within this host both ends tell: the more is it.
            for port in sent.keys().chain(came.keys()).copied().collect::<BTreeSet<u16>>() {
                let bytes = |of: &BTreeMap<u16, u64>| of.get(&port).copied().unwrap_or(0);
                let of = out.payload.entry(port).or_default();
                *of = of.saturating_add(bytes(&sent).max(bytes(&came)));
            }
        }
        out
    }
    /// Those of these ports, which one side alone has, that are transfers.
    pub fn among(&self, ports: &BTreeSet<u16>, other: &Transfers) -> BTreeSet<u16> {
        let n = |of: &BTreeMap<u16, u64>, port: &u16| of.get(port).copied().unwrap_or(0);
        let is = |port: &&u16| {
            let answers = n(&self.answers, port) >= ANSWERS;
            !answers && n(&self.payload, port) >= TRANSFER && !other.tried.contains(port)
        };
        ports.iter().filter(is).copied().collect()
    }
    /// `Not compared are transfers that there are after alone, of port 873: 90.0 MB, 2052 segments sent again, 216 packets dropped here.`
    pub fn said(&self, side: &[Recording<'_>], of: &[LeftOut], ports: &BTreeSet<u16>, when: &str) -> Option<String> {
        if ports.is_empty() {
            return None;
        }
        let (mut again, mut drops) = (0u64, 0u64);
        for (r, left) in side.iter().zip(of) {
            let theirs = |c: Option<ConnectionId>| c.is_some_and(|c| left.transfers.contains(&c));
            let sent = r
                .facts
                .retransmits
                .iter()
                .filter(|t| r.has(t.time_ns) && theirs(t.connection));
            again = sent.fold(again, |sum, t| sum.saturating_add(t.segments.unwrap_or(1).into()));
            let gone = r
                .facts
                .drops
                .iter()
                .filter(|d| r.has(d.time_ns) && d.expected != Some(true));
            let gone = gone.filter(|d| theirs(d.owner.and_then(|o| o.connection)));
            drops = drops.saturating_add(gone.count() as u64);
        }
        let bytes = ports.iter().filter_map(|p| self.payload.get(p));
        let bytes = bytes.fold(0u64, |sum, n| sum.saturating_add(*n));
        let named: Vec<String> = ports.iter().take(NAMED).map(u16::to_string).collect();
        let (of, more) = match ports.len() {
            1 => ("port", ""),
            n if n > NAMED => ("ports", ", ..."),
            _ => ("ports", ""),
        };
        Some(format!(
            "Not compared are transfers that there are {when} alone, of {of} {}{more}: {}, {} sent again, {} dropped here.",
            named.join(", "),
            size(i64::try_from(bytes).unwrap_or(i64::MAX)),
            counted(again, "segment", "segments"),
            counted(drops, "packet", "packets"),
        ))
    }
}
