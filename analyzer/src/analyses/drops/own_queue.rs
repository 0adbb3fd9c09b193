//! A queue that transfers fill by themselves: does anybody else wait in it, does anybody wait for them, and do they keep it full?
//!
//! Needs `tx`, `xmits`, `connections`, `turnarounds`. What is asked here makes a loss by which a transfer finds its rate somebody's trouble.
//! Where no packet is known to have lain in the queue it is not known whether it was kept full, and nothing is said against it.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::analyses::application::Spans;
use crate::facts::{ConnectionId, Facts, SkbId};
use crate::reconstruct::transmit::stages::Stage;
use crate::reconstruct::transmit::tables::TxKind;

/// Others' packets that lay so long in it, ns, and so many of them, waited.
const WAIT_NS: i64 = 5_000_000;
const WAITED: usize = 5;
/// Part of a transfer's time in which some packet must lie in the queue: else something keeps it far below its rate.
const FULL: f64 = 0.5;

/// Whether what others sent lay behind them in this device's queue: data, SYNs, datagrams, of this host or of one that it sends on for.
pub(super) fn others_wait(facts: &Facts, dev: &str, theirs: &FxHashSet<ConnectionId>) -> bool {
    let others = facts.tx.iter().filter(|t| match t.kind {
        TxKind::Tcp | TxKind::TcpControl | TxKind::TcpUnknown => t.connection.is_some_and(|c| !theirs.contains(&c)),
        TxKind::Udp => true,
        TxKind::Other => false,
    });
    let mut first = 0;
    let mut skbs: FxHashSet<SkbId> = FxHashSet::default();
    for t in others {
        first += usize::from(t.dev.text() == dev && t.stage(Stage::Qdisc) >= Some(WAIT_NS));
        if t.dev.text() != dev {
            skbs.insert(t.skb_id);
        }
    }
    // On its way a packet is the same, or a part of it.
    let passed = facts.xmits.iter().filter(|p| p.dev.text() == dev);
    let later = passed.filter(|p| {
        let waited = p.queued_ns.zip(p.started_ns).map(|(from, to)| to.saturating_sub(from));
        let known = [p.skb_id, p.parent].into_iter().flatten().any(|s| skbs.contains(&s));
        waited >= Some(WAIT_NS) && known
    });
    first + later.take(WAITED + 1).count() > WAITED
}

/// Whether a thread that sends or reads one of them answered somebody else only when that had lost its last: it may have answered by it.
pub(super) fn is_waited_for(facts: &Facts, during: &FxHashMap<ConnectionId, (i64, i64)>) -> bool {
    let mut threads: FxHashMap<i32, Vec<(i64, i64)>> = FxHashMap::default();
    for (c, times) in during {
        let pid = facts.connections.get(c.0 as usize).map(|row| row.pid);
        if let Some(pid) = pid.filter(|pid| *pid > 0) {
            threads.entry(pid).or_default().push(*times);
        }
    }
    let mut others = facts.turnarounds.iter().filter(|t| !during.contains_key(&t.connection));
    others.any(|t| {
        let of = threads
            .get(&t.sender_pid)
            .into_iter()
            .chain(threads.get(&t.pid))
            .flatten();
        let (from, to) = (t.start_ns(), t.send_ns);
        of.into_iter().any(|(first, last)| from <= *first && to >= *last)
    })
}

/// Part of these times in which some packet lay in it; `None`: of none is it known when it lay there.
pub(super) fn lay_in(facts: &Facts, dev: &str, times: Vec<(i64, i64)>) -> Option<f64> {
    let lay = facts.xmits.iter().filter(|p| p.dev.text() == dev);
    let lay = lay.filter_map(|p| Some((p.queued_ns?, p.started_ns?)));
    let lay = Spans::of(lay.collect());
    lay.each().next()?;
    let (mut full, mut whole) = (0i64, 0i64);
    for (from, to) in Spans::of(times).each() {
        full = full.saturating_add(lay.within(from, to));
        whole = whole.saturating_add(to.saturating_sub(from));
    }
    Some(full as f64 / whole.max(1) as f64)
}

/// Whether packets waited in it in most of the time that these lasted.
pub(super) fn kept_full(facts: &Facts, dev: &str, lost: &FxHashMap<ConnectionId, (i64, i64, u64)>) -> bool {
    let lasted = lost.iter().filter_map(|(c, (first, last, _))| {
        let row = facts.connections.get(c.0 as usize)?;
        Some((row.first_ns.min(*first), row.last_ns.max(*last)))
    });
    lay_in(facts, dev, lasted.collect()).is_none_or(|share| share >= FULL)
}

/// Bytes that left by it.
pub(super) fn left_by(facts: &Facts, dev: &str) -> u64 {
    let left = facts.xmits.iter();
    let left = left.filter(|p| p.started_ns.is_some() && p.dev.text() == dev);
    left.filter_map(|p| p.bytes).map(u64::from).fold(0, u64::saturating_add)
}
