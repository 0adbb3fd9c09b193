//! For how long questions were parked at home, until the link-layer address of their next hop was resolved. Needs `tx` (stage `neighbour`) and `udp_turns`.

use rustc_hash::FxHashMap;

use super::questions::Question;
use crate::facts::{Facts, SkbId};
use crate::reconstruct::transmit::stages::Stage;

/// Of packets, ns.
pub(super) struct Parked {
    of: FxHashMap<SkbId, i64>,
}

impl Parked {
    pub(super) fn of(facts: &Facts) -> Parked {
        let parked = facts
            .tx
            .iter()
            .filter_map(|p| Some((p.skb_id, p.stage(Stage::Neighbour)?)));
        Parked { of: parked.collect() }
    }
    /// Of these, as far as their answers' time reaches.
    pub(super) fn sum(&self, of: &[Question<'_>]) -> i64 {
        let each = of.iter().filter_map(|q| {
            let ns = self.of.get(&q.turn.skb_id?)?;
            Some((*ns).clamp(0, q.response_ns().max(0)))
        });
        each.fold(0i64, i64::saturating_add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A question that was parked for longer than its answer took counts no more than that; others not at all.
    #[test]
    fn only_what_an_answer_waited_counts() {
        let f = crate::tests::facts("datagrams/datagrams.nmb.zst");
        let all: Vec<Question<'_>> = crate::analyses::datagrams::questions::questions(&f).collect();
        let first = all.iter().find(|q| q.turn.skb_id.is_some()).unwrap();
        let skb = first.turn.skb_id.unwrap();
        let of = |ns| {
            Parked {
                of: [(skb, ns)].into_iter().collect(),
            }
            .sum(&all)
        };
        assert_eq!((of(5), of(-5)), (5, 0));
        assert_eq!(of(i64::MAX), first.response_ns());
        assert_eq!(
            Parked {
                of: FxHashMap::default()
            }
            .sum(&all),
            0
        );
    }
}
