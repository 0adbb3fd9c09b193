//! SYNs, and whose they are.
//!
//! In: states, events of SYNs that are sent again, lives, hops. A socket's first frame after SYN_SENT is its SYN, on the CPU that set the state; one that is sent again is what its event names,
//! or where it names none the last one of its length before it.

use rustc_hash::{FxHashMap, FxHashSet};

use super::{NEAR, SYN_NS, Whose};
use crate::confidence::Confidence;
use crate::facts::{ConnectionId, SkbId};
use crate::reconstruct::skb::tables::SkbClass;
use crate::reconstruct::tcp::states::SYN_SENT;
use crate::reconstruct::tcp::tables::RetransmitClass;
use crate::reconstruct::transmit::tables::TxKind;

/// Lengths of a SYN with its headers: no options, to IPv6 with all of them and a VLAN tag.
const SYN_BYTES: std::ops::RangeInclusive<u32> = 54..=98;

/// When a SYN was sent, whose, on which CPU for the first time; else what the event of one that is sent again names, and its length.
type Moment = (i64, ConnectionId, Option<u16>, (Option<SkbId>, Option<u32>));

impl Whose<'_> {
    /// Originals (or, without any, frames) that are SYNs, and whose: the first frame after a socket went to SYN_SENT, and the one that
    /// the event names which tells one sent again, or the last before it. A frame that fits two sockets is neither's.
    pub(super) fn syns(&self) -> FxHashMap<SkbId, (ConnectionId, Confidence)> {
        let sent = self.known.states.iter();
        let sent = sent.filter(|s| s.kind == "sock" && s.state == SYN_SENT);
        let again = self.known.retransmits.iter();
        let again = again.filter(|r| r.class == RetransmitClass::Syn);
        let moments = sent.map(|s| (s.time_ns, s.connection, Some(s.cpu), (None, None)));
        let moments =
            moments.chain(again.filter_map(|r| Some((r.time_ns, r.connection?, None, (r.original, r.bytes)))));
        let moments: Vec<Moment> = moments.collect();
        if moments.is_empty() {
            return FxHashMap::default();
        }
        let mut frames = self.may_be_syns();
        frames.sort_unstable();
        let framed: FxHashSet<SkbId> = frames.iter().map(|f| self.original(f.1)).collect();
        let mut of: FxHashMap<SkbId, Option<ConnectionId>> = FxHashMap::default();
        for (at, connection, first_on, (original, bytes)) in moments {
            // Two CPUs may send one again at the same tick: what the event names is surer than what came before it.
            let named = original.filter(|skb| framed.contains(skb)).map(|skb| (at, skb));
            let frame = match first_on {
                None if named.is_some() => named.as_ref(),
                // Sent by the thread that set the state, which is on that CPU.
                Some(cpu) => (frames.iter().skip(frames.partition_point(|f| f.0 < at)))
                    .take_while(|f| f.0 <= at.saturating_add(SYN_NS))
                    .take(NEAR)
                    .find(|f| self.queued_on(f) == Some(cpu)),
                // A FIN is shorter.
                None => self.last_before(&frames, at, bytes),
            };
            let Some((_, frame)) = frame else { continue };
            let original = self.original(*frame);
            let whose = of.entry(original).or_insert(Some(connection));
            if *whose != Some(connection) {
                *whose = None;
            }
        }
        let sure = |(skb, whose): (SkbId, Option<ConnectionId>)| Some((skb, (whose?, Confidence::Strong)));
        of.into_iter().filter_map(sure).collect()
    }

    /// The CPU of a frame's first step.
    fn queued_on(&self, (born_ns, frame): &(i64, SkbId)) -> Option<u16> {
        let from = self.known.hops.partition_point(|h| h.time_ns < *born_ns);
        let steps = self.known.hops.get(from..)?.iter();
        let mut steps = steps.take_while(|h| h.time_ns == *born_ns).take(NEAR);
        steps.find(|h| h.skb_id == *frame).map(|h| h.cpu)
    }

    /// Frames that are as long as a SYN and carry no known payload, by time: companions of originals, where there are any.
    fn may_be_syns(&self) -> Vec<(i64, SkbId)> {
        let of = |classes: &[SkbClass]| -> Vec<(i64, SkbId)> {
            let frames = self.known.lives.iter().filter(|l| {
                let payload = || {
                    let row = self
                        .sent
                        .get(&self.original(l.skb_id))
                        .and_then(|at| self.known.tx.get(*at));
                    row.is_some_and(|r| r.kind == TxKind::Tcp)
                };
                classes.contains(&l.class) && l.bytes.is_some_and(|b| SYN_BYTES.contains(&b)) && !payload()
            });
            frames.map(|l| (l.birth_ns, l.skb_id)).collect()
        };
        match of(&[SkbClass::TxClone]) {
            none if none.is_empty() => of(&[SkbClass::TxOther, SkbClass::Tx]),
            clones => clones,
        }
    }
}
