//! Connections that stalled longer than what stopped them: the retransmission timer, backed off each time it ran out in vain (RFC 6298,
//! net/ipv4/tcp_timer.c `tcp_retransmit_timer`), ran on after the last packet was lost.
//!
//! Needs `retransmits` (class rto), `tcp_samples`, `drops`. A stand-still is from the last ACK of something new to the next, with two or more
//! timeouts between; of one that had not ended nothing is told.
//!
//! ```text
//! ACK ... dropped ... timeout, dropped ... timeout, dropped ....... timeout ... ACK
//!         |<------ while it was dropped ------>|<--- the timer --->|
//! ```

use super::senders::Sender;
use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::drops::tables::DropRow;
use crate::reconstruct::tcp::tables::{RetransmitClass, SampleRow};
use crate::reconstruct::whose::Carries;

/// Shortest stand-still that is told, ns.
const LEAST_NS: i64 = 500_000_000;
/// Part of it that must be the last run of the timer.
const PART: i64 = 4;

/// The longest stand-still of a connection whose last part was its timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Backoff {
    /// From the last ACK of something new to the next, on the trace clock.
    pub start_ns: i64,
    /// Its end.
    pub end_ns: i64,
    /// Timeouts in it; each but the first after a timer twice as long as the one before.
    pub timeouts: u64,
    /// Packets of the connection that are known to have been dropped by this host meanwhile.
    pub dropped: u64,
    /// From the start to the last of them; `None`: none is known.
    pub dropped_until_ns: Option<i64>,
    /// What it sent last before the timeout that was answered (dropped, else the timeout before) to that timeout.
    pub silent_ns: i64,
}

/// When something new was acknowledged: a probe shows the socket before its segment, so the first with a new `snd_una` is the one after.
fn advances(samples: &[&SampleRow]) -> Vec<i64> {
    let pairs = samples.iter().zip(samples.iter().skip(1));
    let new = pairs.filter(|(a, b)| b.snd_una.wrapping_sub(a.snd_una).wrapping_sub(1) < 1 << 31);
    new.map(|(a, _)| a.time_ns).collect()
}

/// Data of this connection that nobody meant to drop.
fn own(d: &DropRow, c: Option<ConnectionId>) -> bool {
    let owner = d.owner.as_ref();
    d.expected == Some(false)
        && owner
            .is_some_and(|o| o.connection == c && matches!(o.carries, Carries::Data | Carries::SynData | Carries::Fin))
}

/// Those of sorted times from one on and before another.
fn within(times: &[i64], from: i64, to: i64) -> &[i64] {
    let (a, b) = (times.partition_point(|t| *t < from), times.partition_point(|t| *t < to));
    times.get(a..b).unwrap_or_default()
}

pub(super) fn backoff(facts: &Facts, s: &Sender, samples: &[&SampleRow]) -> Option<Backoff> {
    let c = Some(ConnectionId(s.connection));
    if s.retransmits == 0 {
        return None;
    }
    let again = facts
        .retransmits
        .iter()
        .filter(|r| r.connection == c && r.class == RetransmitClass::Rto);
    let mut timeouts: Vec<i64> = again.map(|r| r.time_ns).collect();
    timeouts.sort_unstable();
    let mut drops: Vec<i64> = facts.drops.iter().filter(|d| own(d, c)).map(|d| d.time_ns).collect();
    drops.sort_unstable();
    let advances = advances(samples);
    let of = advances.iter().zip(advances.iter().skip(1)).filter_map(|(start, end)| {
        let (start_ns, end_ns) = (*start, *end);
        let between = within(&timeouts, start_ns, end_ns);
        let [.., last_but_one, last] = between else {
            return None;
        };
        let lost = facts
            .gaps
            .iter()
            .any(|g| g.start_ns.is_none_or(|from| from < end_ns) && g.end_ns.is_none_or(|to| to > start_ns));
        let dropped = within(&drops, start_ns, last.saturating_add(1));
        // Only where the last try but one was dropped here, too: else others were lost elsewhere.
        let until = dropped.last().copied().filter(|until| until >= last_but_one);
        let silent_ns = last.saturating_sub(until.unwrap_or(*last_but_one).max(*last_but_one));
        let whole = end_ns.saturating_sub(start_ns);
        (!lost && whole >= LEAST_NS && silent_ns >= whole / PART).then(|| Backoff {
            start_ns,
            end_ns,
            timeouts: between.len() as u64,
            dropped: dropped.len() as u64,
            dropped_until_ns: until.map(|t| t.saturating_sub(start_ns)),
            silent_ns,
        })
    });
    of.max_by_key(|b| (b.end_ns.saturating_sub(b.start_ns), std::cmp::Reverse(b.start_ns)))
}
