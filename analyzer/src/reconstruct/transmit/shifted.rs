//! Ends of TCP's originals by their acknowledgements, and which of them may have been another, earlier one.
//!
//! In: the rows of `tx`, lives, samples. Out: the death of each original whose last byte was acknowledged.
//!
//! An ACK with selective acknowledgements may merge an original into its neighbour and free it (`tcp_shifted_skb`), or cut it
//! (`tcp_match_skb_to_sack`), so that another one holds its last bytes. No event tells either, but the length of the ACK tells the option:
//!
//! ```text
//! first frame ── ACK of the least length ──────────────── ACK that covers its last byte   freed there
//!             ── ACK longer by 12 to 36 bytes (SACK) ──── ACK that covers its last byte   freed there, or before: weak
//! ```
//! The least is that of ACKs in the congestion state Open: bare ACKs in the others may have the option each time. Where no length is known
//! (tcp_probe names no skb before 6.9; an ACK with payload), a state other than Open tells, and without states an ACK that acknowledges nothing
//! new.

use rustc_hash::FxHashMap;

use super::tables::TxRow;
use crate::confidence::Confidence;
use crate::facts::{ConnectionId, SkbId};
use crate::reconstruct::skb::Identity;
use crate::reconstruct::tcp::Tcp;

/// Number of the congestion state Open.
const OPEN: i32 = 0;
/// A segment's processing takes no longer than this until the congestion state is set, ns.
const AT_ONCE_NS: i64 = 1_000_000;

/// When ACKs came that may have had selective acknowledgements, by socket; ascending.
pub struct Sacks(FxHashMap<ConnectionId, Vec<i64>>);

impl Sacks {
    /// Of all sockets, while it is known which life each event is about.
    pub fn of(identity: &Identity, tcp: &Tcp) -> Sacks {
        let pure = |at: usize| -> Option<u32> {
            let sample = tcp.samples.get(at).filter(|s| s.data_len == 0)?;
            let probe = tcp.probes.get(at).filter(|p| p.1 == sample.connection)?;
            identity.life(identity.of(probe.0)?)?.bytes
        };
        let states = States::of(tcp);
        let mut least: FxHashMap<ConnectionId, u32> = FxHashMap::default();
        for (at, s) in tcp.samples.iter().enumerate() {
            let open = || states.left_open(s.connection, s.time_ns) != Some(true);
            if let Some(len) = pure(at).filter(|_| open()) {
                let had = least.entry(s.connection).or_insert(len);
                *had = len.min(*had);
            }
        }
        let mut last: FxHashMap<ConnectionId, u32> = FxHashMap::default();
        let mut all: FxHashMap<ConnectionId, Vec<i64>> = FxHashMap::default();
        for (at, s) in tcp.samples.iter().enumerate() {
            let before = last.insert(s.connection, s.snd_una);
            let may = match (
                pure(at).zip(least.get(&s.connection)),
                states.left_open(s.connection, s.time_ns),
            ) {
                _ if s.snd_una == s.snd_nxt => false,
                (Some((len, least)), _) => len > *least,
                (None, Some(left)) => left,
                (None, None) => s.data_len == 0 && before == Some(s.snd_una),
            };
            if may {
                all.entry(s.connection).or_default().push(s.time_ns);
            }
        }
        Sacks(all)
    }
    /// Whether such an ACK came in between.
    fn within(&self, of: ConnectionId, from: i64, to: i64) -> bool {
        let Some(all) = self.0.get(&of) else { return false };
        all.get(all.partition_point(|t| *t < from)).is_some_and(|t| *t < to)
    }
}

/// Times at which a socket's congestion state was set, and whether to another than Open.
type Set = Vec<(i64, bool)>;

/// Congestion states of sockets.
struct States(FxHashMap<ConnectionId, Set>);

impl States {
    fn of(tcp: &Tcp) -> States {
        let mut all: FxHashMap<ConnectionId, Set> = FxHashMap::default();
        for s in tcp.states.iter().filter(|s| s.kind == "cong") {
            all.entry(s.connection).or_default().push((s.time_ns, s.state != OPEN));
        }
        States(all)
    }
    /// Whether a socket had left Open at a time or did so right after; `None`: no event tells of any socket.
    fn left_open(&self, of: ConnectionId, ns: i64) -> Option<bool> {
        if self.0.is_empty() {
            return None;
        }
        let Some(all) = self.0.get(&of) else { return Some(false) };
        let next = all.partition_point(|s| s.0 < ns);
        let was = next.checked_sub(1).and_then(|at| all.get(at)).is_some_and(|s| s.1);
        Some(was || all.get(next).is_some_and(|s| s.1 && s.0 - ns < AT_ONCE_NS))
    }
}

/// Originals die when their last byte is acknowledged: silently.
pub fn acknowledged(identity: &mut Identity, sacks: &Sacks, rows: &[TxRow]) {
    let mut first: FxHashMap<SkbId, i64> = FxHashMap::default();
    for sent in identity.clones.iter().filter(|_| !sacks.0.is_empty()) {
        first.entry(sent.original).or_insert(sent.ts_ns);
    }
    for r in rows {
        let original = r.original.or_else(|| identity.original_of(r.skb_id));
        if let (Some(original), Some(acked)) = (original, r.t_ack_ns) {
            let from = first.get(&original).map_or(r.t_sched_ns, |t| r.t_sched_ns.min(*t));
            let cut = r.connection.is_some_and(|c| sacks.within(c, from, acked));
            let label = if cut { Confidence::Weak } else { Confidence::Certain };
            identity.acked(original, acked, r.confidence.min(label));
        }
    }
}
