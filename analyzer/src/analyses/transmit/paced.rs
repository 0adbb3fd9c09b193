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
/// Rates that are none: all ones, of 32 or 64 bits.
const UNLIMITED: [u64; 3] = [0, u32::MAX as u64, u64::MAX];
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
    let sent = rows
        .iter()
        .filter(|r| r.retransmits == 0)
        .filter_map(|r| Some((r.t_sched_ns, r.bytes?)));
    let (mbit_per_s, spread) = even(sent.collect())?;
    let allowed = allowed(facts, row);
    // Its program set none.
    if allowed.is_some_and(|bytes| UNLIMITED.contains(&bytes)) {
        return None;
    }
    Some(Paced {
        mbit_per_s,
        spread,
        allowed_mbit_per_s: allowed.map(|bytes| bytes as f64 * 8.0 / 1e6),
    })
}

/// The rate of segments (when, bytes) and its spread, where it is even.
fn even(mut sent: Vec<(i64, u32)>) -> Option<(f64, f64)> {
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
    (spread <= EVEN).then_some((middle, spread))
}

/// `max_pacing_rate` of TCP_INFO, bytes per second; `None`: the socket is in no list.
fn allowed(facts: &Facts, row: &ConnectionRow) -> Option<u64> {
    let end = |address: Option<std::net::IpAddr>, port| {
        address.map(|a| std::net::SocketAddr::new(a.to_canonical(), port).to_string())
    };
    let (from, to) = (end(row.saddr, row.sport)?, end(row.daddr, row.dport)?);
    let is = |l: &&str| field(l, "src") == Some(&from) && field(l, "dst") == Some(&to);
    let mut sockets = facts
        .snapshots
        .iter()
        .filter(|s| s.what == "sockets")
        .map(|s| s.line.as_str());
    sockets.rfind(is).and_then(|l| number(l, "tcp.max_pacing_rate"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshots::tables::SnapshotRow;

    /// Segments of 2896 bytes, each so many ns behind the one before.
    fn sent(gaps: impl Iterator<Item = i64>) -> Vec<(i64, u32)> {
        let mut at = 0;
        let of = gaps.map(|ns| {
            at += ns;
            (at, 2896)
        });
        of.collect()
    }

    /// The gaps of a sender with SO_MAX_PACING_RATE 3000000 were 965.3 us, nine of ten from 962.7 to 968.0; BBR's vary by a quarter.
    #[test]
    fn an_even_rate_is_told_from_one_that_feels_for_more() {
        let (rate, spread) = even(sent((0..400).map(|n| 962_700 + 5_300 * (n % 11) / 10))).unwrap();
        assert!((rate - 24.0).abs() < 0.1 && spread < 0.01, "{rate} {spread}");
        let gains = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
        let bbr = (0..400).map(|n| (965_300.0 / gains[n / 25 % 8]) as i64);
        assert_eq!(even(sent(bbr)), None);
        // Too few tell nothing, nor do segments of one moment.
        assert_eq!(even(sent((0..200).map(|_| 965_300))), None);
        assert_eq!(even(sent((0..400).map(|_| 0))), None);
    }

    #[test]
    fn what_a_program_allows_is_in_the_list_of_sockets() {
        let row = ConnectionRow {
            saddr: "10.9.1.2".parse().ok(),
            sport: 32916,
            daddr: "::ffff:10.9.2.2".parse().ok(),
            dport: 7303,
            ..crate::testing::tcp::connection(0)
        };
        let mut facts = Facts::empty();
        let mut told = |rate: &str| {
            facts.snapshots = vec![SnapshotRow {
                what: "sockets".into(),
                netns: Some(1),
                start: false,
                end: true,
                line: format!("netns=1 src=10.9.1.2:32916 dst=10.9.2.2:7303 tcp.max_pacing_rate={rate}"),
            }];
            allowed(&facts, &row)
        };
        assert_eq!(told("3000000"), Some(3_000_000));
        for none in ["18446744073709551615", "4294967295", "0"] {
            assert!(told(none).is_some_and(|n| UNLIMITED.contains(&n)), "{none}");
        }
        assert_eq!(told("x"), None);
    }
}
