//! Fragments of datagrams among the packets that a group of drops lost.
//!
//! A datagram that one send call wrote (a turn of one send in `udp_turns`) and that left as several packets whose payloads sum to it was
//! fragmented; its first packet, with the UDP header, is the first of them in `tx`.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::facts::{Facts, SkbId};
use crate::reconstruct::drops::tables::DropRow;
use crate::reconstruct::transmit::tables::TxKind;

/// Fragments that were dropped.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Fragments {
    /// Datagrams that lost one.
    pub datagrams: u64,
    /// Datagrams of the same threads that were fragmented.
    pub fragmented: u64,
    /// Payload of each; empty: they differ.
    pub bytes: Option<u64>,
    /// Which was lost of each, from 1 on; empty: they differ.
    pub nth: Option<u64>,
}

/// Of these rows; `None`: not all of them are known to be fragments.
pub(super) fn fragments(facts: &Facts, rows: &[&DropRow]) -> Option<Fragments> {
    let pids: FxHashSet<i32> = rows.iter().filter_map(|r| Some(r.owner?.pid)).collect();
    let mut pieces: FxHashMap<(i32, i64), Vec<(SkbId, u64)>> = FxHashMap::default();
    for t in facts
        .tx
        .iter()
        .filter(|t| t.kind == TxKind::Udp && pids.contains(&t.pid))
    {
        let of = pieces.entry((t.pid, t.start_ns)).or_default();
        of.push((t.skb_id, u64::from(t.bytes?)));
    }
    let single = facts.udp_turns.iter().filter(|t| t.sends == 1);
    let written: FxHashMap<SkbId, u64> = single.filter_map(|t| Some((t.skb_id?, t.bytes))).collect();
    // Of each fragmented datagram its payload.
    let whole = |of: &Vec<(SkbId, u64)>| {
        let bytes = written.get(&of.first()?.0)?;
        let sum: u64 = of.iter().map(|p| p.1).sum();
        (of.len() > 1 && sum == *bytes).then_some(sum)
    };
    let whole: Vec<(&Vec<(SkbId, u64)>, u64)> = pieces.values().filter_map(|of| Some((of, whole(of)?))).collect();
    let mut place: FxHashMap<SkbId, (usize, u64, u64)> = FxHashMap::default();
    for (at, (of, bytes)) in whole.iter().enumerate() {
        for (nth, (skb, _)) in (1u64..).zip(of.iter()) {
            place.insert(*skb, (at, nth, *bytes));
        }
    }
    let lost: Option<Vec<(usize, u64, u64)>> = rows.iter().map(|r| place.get(&r.skb_id?).copied()).collect();
    let lost = lost.filter(|l| !l.is_empty())?;
    let same = |of: fn(&(usize, u64, u64)) -> u64| {
        let first = lost.first().map(of);
        first.filter(|v| lost.iter().all(|l| of(l) == *v))
    };
    let datagrams: FxHashSet<usize> = lost.iter().map(|l| l.0).collect();
    Some(Fragments {
        datagrams: datagrams.len() as u64,
        fragmented: whole.len() as u64,
        bytes: same(|l| l.2),
        nth: same(|l| l.1),
    })
}
