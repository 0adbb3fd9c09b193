//! Ends of TCP's originals by their acknowledgements, and which of them may have been another, earlier one.
//!
//! In: the rows of `tx`, lives, samples. Out: the death of each original whose last byte was acknowledged.
//!
//! An ACK with selective acknowledgements may merge an original into its neighbour and free it (`tcp_shifted_skb`), or cut it
//! (`tcp_match_skb_to_sack`), so that another one holds its last bytes; so does a retransmission of a part of it, which shows as a shorter frame. No event tells either, but the length of the ACK tells the option:
//!
//! ```text
//! first frame ── ACK of the least length ──────────────── ACK that covers its last byte   freed there
//!             ── ACK longer by 12 to 36 bytes (SACK) ──── ACK that covers its last byte   freed there, or before: weak
//! ```
//! The least is that of ACKs in the congestion state Open: bare ACKs in the others may have the option each time. Where no length is known
//! (tcp_probe names no skb before 6.9; an ACK with payload), a state other than Open tells. Where no state is told (before 5.19) a socket is taken to have left Open from an
//! ACK that acknowledged nothing new, which the next probe shows, or from the last ACK before something was sent again, until all is acknowledged that was sent then.

use rustc_hash::FxHashMap;

use super::tables::TxRow;
use crate::confidence::Confidence;
use crate::facts::{ConnectionId, SkbId};
use crate::reconstruct::skb::Identity;
use crate::reconstruct::tcp::Tcp;
use crate::reconstruct::tcp::tables::SampleRow;

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
            let open = || !states.left_open(s.connection, s.time_ns);
            if let Some(len) = pure(at).filter(|_| open()) {
                let had = least.entry(s.connection).or_insert(len);
                *had = len.min(*had);
            }
        }
        let mut all: FxHashMap<ConnectionId, Vec<i64>> = FxHashMap::default();
        for (at, s) in tcp.samples.iter().enumerate() {
            let may = match pure(at).zip(least.get(&s.connection)) {
                _ if s.snd_una == s.snd_nxt => false,
                Some((len, least)) => len > *least,
                None => states.left_open(s.connection, s.time_ns),
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
        match all.is_empty() {
            true => States::by_acks(tcp),
            false => States(all),
        }
    }
    /// Of a recording without states.
    fn by_acks(tcp: &Tcp) -> States {
        let mut again: FxHashMap<ConnectionId, Vec<i64>> = FxHashMap::default();
        for r in &tcp.retransmits {
            if let Some(of) = r.connection {
                again.entry(of).or_default().push(r.time_ns);
            }
        }
        let mut samples: FxHashMap<ConnectionId, Vec<&SampleRow>> = FxHashMap::default();
        for s in &tcp.samples {
            samples.entry(s.connection).or_default().push(s);
        }
        let set = |(of, samples): (ConnectionId, Vec<&SampleRow>)| {
            let again = again.get(&of).map_or(&[][..], |a| a);
            (of, left(&samples, again))
        };
        States(samples.into_iter().map(set).collect())
    }
    /// Whether a socket had left Open at a time or did so right after.
    fn left_open(&self, of: ConnectionId, ns: i64) -> bool {
        let Some(all) = self.0.get(&of) else { return false };
        let next = all.partition_point(|s| s.0 < ns);
        let was = next.checked_sub(1).and_then(|at| all.get(at)).is_some_and(|s| s.1);
        was || all.get(next).is_some_and(|s| s.1 && s.0 - ns < AT_ONCE_NS)
    }
}

/// When a socket left Open and was back, by its ACKs and the times at which it sent something again.
fn left(samples: &[&SampleRow], again: &[i64]) -> Set {
    let mut set = Set::default();
    // Until so much is acknowledged.
    let mut until: Option<u32> = None;
    // What is acknowledged, and the first probe that showed it: since then nothing was.
    let (mut una, mut since) = (None, i64::MIN);
    for (at, s) in samples.iter().enumerate() {
        if una != Some(s.snd_una) {
            (una, since) = (Some(s.snd_una), s.time_ns);
        }
        if until.is_some_and(|u| s.snd_una.wrapping_sub(u) < 1 << 31) {
            until = None;
            // This one came behind.
            set.push((s.time_ns.saturating_sub(1), false));
        }
        let next = samples.get(at + 1);
        // A probe shows what was acknowledged before its own segment.
        let nothing_new = s.snd_una != s.snd_nxt && next.is_none_or(|n| n.snd_una == s.snd_una);
        let resent = again.get(again.partition_point(|t| *t < s.time_ns)).copied();
        let resends = resent.is_some_and(|t| next.is_none_or(|n| t < n.time_ns));
        let left = nothing_new || resends;
        if left && until.is_none() {
            set.push((since, true));
        }
        if left {
            until = Some(s.snd_nxt);
        }
    }
    set
}

/// Originals die when their last byte is acknowledged: silently.
pub fn acknowledged(identity: &mut Identity, sacks: &Sacks, rows: &[TxRow]) {
    let mut first: FxHashMap<SkbId, i64> = FxHashMap::default();
    // When one was sent again as a shorter frame (`tcp_fragment`): its last bytes are another's since.
    let mut shorter: FxHashMap<SkbId, i64> = FxHashMap::default();
    let mut longest: FxHashMap<SkbId, u32> = FxHashMap::default();
    for sent in &identity.clones {
        first.entry(sent.original).or_insert(sent.ts_ns);
        let Some(len) = identity.life(sent.clone).and_then(|l| l.bytes) else {
            continue;
        };
        let had = longest.entry(sent.original).or_insert(len);
        if sent.again && len < *had {
            shorter.entry(sent.original).or_insert(sent.ts_ns);
        }
        *had = len.max(*had);
    }
    for r in rows {
        let original = r.original.or_else(|| identity.original_of(r.skb_id));
        if let (Some(original), Some(acked)) = (original, r.t_ack_ns) {
            let from = first.get(&original).map_or(r.t_sched_ns, |t| r.t_sched_ns.min(*t));
            let part = shorter.get(&original).is_some_and(|t| r.t_sched_ns < *t && *t <= acked);
            let cut = part || r.connection.is_some_and(|c| sacks.within(c, from, acked));
            let label = if cut { Confidence::Weak } else { Confidence::Certain };
            identity.acked(original, acked, r.confidence.min(label));
        }
    }
}
