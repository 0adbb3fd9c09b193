//! Connections that are paced at one even rate: as a rate set by their program (SO_MAX_PACING_RATE) does, and no congestion control that feels for
//! more (BBR varies its rate by a quarter).
//!
//! ```text
//! first queued on the device, segment by segment -> payload over the gap to the next = its rate -> nearly all the same, and pacing held the connection
//! ```

use super::senders::Sender;
use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::tcp::tables::ConnectionRow;
use crate::reconstruct::transmit::stages::Stage;
use crate::reconstruct::transmit::tables::TxRow;
use crate::snapshots::{field, number};

/// Fewest gaps between segments that tell.
const GAPS: usize = 200;
/// Part of the time in which it was busy that pacing held it.
const HELD: f64 = 0.8;
/// Nine of ten rates lie within this part of the middle one.
const EVEN: f64 = 0.05;
/// Windows are not full: pacing alone holds what goes.
const UNUSED: f64 = 0.9;

/// An even rate.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Paced {
    /// The rate, payload, Mbit/s.
    pub mbit_per_s: f64,
    /// From the twentieth to the nineteen twentieths of all rates, as a part of the middle one.
    pub spread: f64,
    /// What the list of sockets says that its program allows, Mbit/s; `None`: nothing, or it is not in a list.
    pub allowed_mbit_per_s: Option<f64>,
}

pub(super) fn paced(facts: &Facts, s: &Sender, rows: &[&TxRow]) -> Option<Paced> {
    let pacing = Stage::Pacing.name();
    let held = s.limiters.iter().any(|(by, share)| *by == pacing && *share >= HELD);
    let flight = s.flight.as_ref().filter(|_| held)?;
    let row = facts.connections.get(s.connection as usize)?;
    // In segments of the size that it sends.
    let full = facts.full_segments.get(&ConnectionId(s.connection))?;
    let window = flight.snd_cwnd.saturating_mul(full.mss.into());
    if flight.bytes as f64 > UNUSED * window as f64 {
        return None;
    }
    let mut sent: Vec<(i64, u32)> = rows
        .iter()
        .filter(|r| r.retransmits == 0)
        .filter_map(|r| Some((r.t_sched_ns, r.bytes?)))
        .collect();
    sent.sort_unstable();
    let gap = |w: &[(i64, u32)]| match w {
        [(a, bytes), (b, _)] => (b > a).then(|| f64::from(*bytes) * 8e3 / b.saturating_sub(*a) as f64),
        _ => None,
    };
    let mut rates: Vec<f64> = sent.windows(2).filter_map(gap).collect();
    if rates.len() < GAPS {
        return None;
    }
    rates.sort_by(f64::total_cmp);
    let at = |part: usize| rates.get(rates.len() * part / 20).copied();
    let (low, middle, high) = (at(1)?, at(10)?, at(19)?);
    let spread = (high - low) / middle.max(f64::MIN_POSITIVE);
    (spread <= EVEN).then(|| Paced {
        mbit_per_s: middle,
        spread,
        allowed_mbit_per_s: allowed(facts, row),
    })
}

/// `max_pacing_rate` of TCP_INFO, where the program set it.
fn allowed(facts: &Facts, row: &ConnectionRow) -> Option<f64> {
    let end = |address: Option<std::net::IpAddr>, port| address.map(|a| std::net::SocketAddr::new(a.to_canonical(), port).to_string());
    let (from, to) = (end(row.saddr, row.sport)?, end(row.daddr, row.dport)?);
    let is = |l: &&str| field(l, "src") == Some(&from) && field(l, "dst") == Some(&to);
    let sockets = facts.snapshots.iter().filter(|s| s.what == "sockets").map(|s| s.line.as_str());
    let bytes = sockets.filter(is).filter_map(|l| number(l, "tcp.max_pacing_rate")).last()?;
    // All ones, of 32 or 64 bits: none is set.
    (!matches!(bytes, 0 | u64::MAX) && bytes != u64::from(u32::MAX)).then_some(bytes as f64 * 8.0 / 1e6)
}
