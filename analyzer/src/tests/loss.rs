//! Metamorphic: a recording with events taken out, and said to be lost, may say less, never otherwise.

use rustc_hash::FxHashMap;

use crate::facts::{Facts, SkbId};
use crate::reconstruct::lineage::tables::{LineageKind, LineageRow};
use crate::reconstruct::receive::tables::RxRow;
use crate::reconstruct::skb::tables::{DeathKind, SkbRow};
use crate::testing::rewrite::{thinned, without_events};

pub(super) fn check_invariants(f: &Facts) {
    for r in &f.rx {
        assert_eq!(r.stages.sum() + r.unattributed_ns, r.total_ns, "{r:?}");
    }
    for r in &f.tx {
        assert_eq!(r.stages.sum() + r.unattributed_ns, r.total_ns, "{r:?}");
    }
    for r in &f.turnarounds {
        assert_eq!(r.split.sum(), r.total_ns(), "{r:?}");
        assert!(r.asleep_in_ns <= r.split.asleep_ns, "{r:?}");
    }
    for s in &f.skbs {
        assert!(s.life_ns().is_none_or(|l| l >= 0), "{s:?}");
        assert!(s.confidence <= s.links && s.last_ns >= s.birth_ns, "{s:?}");
    }
    for r in &f.softirqs {
        assert!(r.end_ns.is_none_or(|e| e >= r.start_ns) && r.raise_ns.is_none_or(|x| x <= r.start_ns));
    }
    for p in &f.polls {
        assert!(p.start_ns.is_none_or(|s| s <= p.end_ns));
    }
}

fn lives(f: &Facts) -> FxHashMap<(u64, i64), &SkbRow> {
    f.skbs.iter().map(|s| ((s.skbaddr, s.birth_ns), s)).collect()
}
type Edge = ((u64, i64), (u64, i64), LineageKind);
fn edges(f: &Facts) -> FxHashMap<Edge, &LineageRow> {
    let key = |id: SkbId| {
        let s = &f.skbs[id.0 as usize];
        (s.skbaddr, s.birth_ns)
    };
    f.lineage
        .iter()
        .map(|r| ((key(r.parent), key(r.child), r.kind), r))
        .collect()
}
fn units(f: &Facts) -> FxHashMap<(u64, i64), &RxRow> {
    f.rx.iter()
        .map(|r| ((f.skbs[r.skb_id.0 as usize].skbaddr, r.start_ns), r))
        .collect()
}

/// Rows of both: no more confidence than before, and what is still solid says what it said.
fn compare(whole: &Facts, less: &Facts, what: &str) -> (usize, usize) {
    let (a, b) = (lives(whole), lives(less));
    let mut same = 0;
    for (key, row) in &b {
        let Some(before) = a.get(key) else { continue };
        // Acknowledged with a segment: of one whose wait is not named any more, nothing is in doubt; nor where no end is claimed.
        let acked = row.death_kind == DeathKind::InferredAcked
            || (row.death_ns.is_none() && before.death_kind == DeathKind::InferredAcked);
        let segment = acked && !before.confidence.is_solid();
        assert!(
            segment || row.confidence <= before.confidence,
            "{what}\n{before:?}\n{row:?}"
        );
        if let (true, Some(now), Some(then)) = (row.confidence.is_solid(), row.life_ns(), before.life_ns()) {
            assert_eq!(now, then, "{what}\n{before:?}\n{row:?}");
            same += 1;
        }
    }
    let (known, a, b) = (a, edges(whole), edges(less));
    for (key, row) in &b {
        // Between lives that are known anyway, nothing is claimed that was not so before.
        if row.confidence.is_solid() && known.contains_key(&key.0) && known.contains_key(&key.1) {
            assert!(a.contains_key(key), "{what}\n{key:?} {row:?}");
        }
    }
    let (a, b) = (units(whole), units(less));
    let (mut read, mut exempt) = (0, 0);
    for (key, row) in &b {
        let Some(before) = a.get(key) else { continue };
        // A queue whose order was in doubt starts anew after a loss: such rows may be cleared up by it.
        let doubt = !before.confidence.is_solid();
        // A life of which only the later part is known claims no link to what came before it.
        let later = less.skbs[row.skb_id.0 as usize].birth_ns > whole.skbs[before.skb_id.0 as usize].birth_ns;
        exempt += usize::from(!doubt && row.confidence > before.confidence);
        assert!(
            doubt || later || row.confidence <= before.confidence,
            "{what}\n{before:?}\n{row:?}"
        );
        if row.confidence.is_solid() && before.confidence.is_solid() {
            assert_eq!(
                (row.end, row.rcvq_ns),
                (before.end, before.rcvq_ns),
                "{what}\n{before:?}\n{row:?}"
            );
            read += 1;
        }
    }
    // Few lives lose their beginning.
    assert!(exempt * 50 <= b.len(), "{what}: {exempt} of {} surer", b.len());
    let more = super::claims::contradictions(whole, less, |a| a);
    let mut wrong = more.wrong;
    wrong.extend(super::claims::surer(whole, less));
    assert!(
        wrong.is_empty(),
        "{what}: of {:?}\n{}",
        more.compared,
        super::claims::summary(&wrong)
    );
    (same, read)
}

/// Bursts of events lost on random CPUs, the way a full ring buffer loses them.
#[test]
fn lost_events_make_rows_weaker_never_different() {
    let samples = [
        (super::SAMPLES[0], 12),
        (super::SAMPLES[1], 8),
        ("gro/gro.nmb.zst", 24),
        ("overlay/overlay.nmb", 8),
        ("kernel-6.1/netem.nmb", 8),
        ("containers/same-mac.nmb.zst", 8),
        ("one-side/delay.nmb.zst", 8),
        ("one-side/loss.nmb.zst", 8),
        ("cpu/cpu.nmb", 8),
        ("mtu/mtu.nmb", 8),
        ("opens/opens.nmb", 8),
    ];
    for (path, rounds) in samples {
        let capture = super::sample(path);
        let whole = crate::analyze(&thinned(&capture, |_| true), &Default::default());
        check_invariants(&whole);
        let n = whole.capture.total_events;
        let mut x = 0x9e37_79b9_7f4a_7c15u64;
        let mut said = (0, 0);
        for round in 0..rounds {
            let mut next = || {
                x = x
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                x >> 33
            };
            let bursts: Vec<(u64, u64)> = (0..1 + round % 4).map(|_| (next() % n, 1 + next() % 40)).collect();
            let cut = thinned(&capture, |i| {
                !bursts.iter().any(|(at, len)| (*at..at + len).contains(&i))
            });
            let less = crate::analyze(&cut, &Default::default());
            assert!(less.capture.lost_events > 0 && !less.gaps.is_empty());
            check_invariants(&less);
            let what = format!("{path} round {round} {bursts:?}");
            let (a, b) = compare(&whole, &less, &what);
            if super::SAMPLES.contains(&path) {
                let wrong = super::claims::other_blames(&whole, &less);
                assert!(wrong.is_empty(), "{what}: {}", super::claims::summary(&wrong));
            }
            said = (said.0 + a, said.1 + b);
        }
        // The comparison must have compared something.
        assert!(said.0 > 100 && said.1 > 100, "{path} {said:?}");
    }
}

/// A kind of event that is not recorded at all: every answer stands or is missing, none panics, ledgers sum.
#[test]
fn any_event_may_be_missing() {
    let capture = super::sample(super::SAMPLES[0]);
    let mut keys: Vec<String> = capture.event_formats.iter().map(|f| f.key()).collect();
    keys.sort();
    let recorded = crate::ingest::check(&capture, &Default::default()).events;
    let whole = crate::analyze(&capture, &Default::default());
    let mut found = vec![];
    for key in keys.iter().filter(|k| recorded.contains_key(*k)) {
        let less = crate::analyze(&without_events(&capture, key), &Default::default());
        check_invariants(&less);
        let wrong = super::claims::contradictions(&whole, &less, |a| a).wrong;
        found.extend(wrong.iter().map(|w| w.replacen(": ", &format!(" without {key}: "), 1)));
        let answers = crate::analyses::answer(&less);
        assert_eq!(answers.verdict.len(), 9, "{key}");
        assert!(answers.verdict.iter().all(|l| !l.sentence.is_empty()), "{key}");
    }
    assert!(found.is_empty(), "{}", super::claims::summary(&found));
}
