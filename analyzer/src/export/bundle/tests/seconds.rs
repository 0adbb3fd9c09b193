//! Readings of every second in slices of time: those of the whole recording, and no others.

use std::collections::BTreeSet;

use super::*;
use crate::counters::over_time::OverTime;

fn over_time(of: &Capture) -> OverTime {
    crate::counters::over_time::of(of)
}

/// What rose between two moments, each with these.
fn rises(of: &OverTime, from: i64, to: i64) -> BTreeSet<String> {
    let inside = |r: &&crate::counters::over_time::tables::RiseRow| {
        r.from_ns.is_some_and(|ns| ns >= from) && r.to_ns.is_some_and(|ns| ns <= to)
    };
    of.rows.iter().filter(inside).map(|r| format!("{r:?}")).collect()
}

#[test]
fn a_slice_of_time_has_the_readings_of_its_time_and_one_on_either_side() {
    let capture = crate::tests::sample("seconds/seconds.nmb.zst");
    let whole = over_time(&capture);
    let all = &whole.readings;
    assert!(all.len() > 8);
    let at = |nth: usize| u64::try_from(all[nth]).unwrap();
    for (window, kept) in [
        ((at(2) + 1, at(5) + 1), 2..=6),
        // Their own moments are inside.
        ((at(2), at(5)), 1..=6),
        ((at(4) + 1, at(4) + 200_000_000), 4..=5),
        ((0, at(1) + 1), 0..=2),
        ((at(6) + 1, u64::MAX), 6..=all.len() - 1),
    ] {
        for redact in [false, true] {
            let change = Change {
                window: Some(window),
                cut: None,
                redact,
            };
            let (bytes, done) = rewrite(&capture, &change, vec![]).unwrap();
            let slice = netmortem_formats::open_bytes("slice.nmb", Bytes::Owned(bytes)).unwrap();
            let of_slice = over_time(&slice);
            assert_eq!(of_slice.readings, all[kept.clone()], "{window:?}");
            assert!(of_slice.unknown.is_empty(), "none is missing, none of another time");
            let left = done.left_out.iter().filter(|n| n.starts_with("seconds/")).count();
            assert_eq!(left, all.len() - kept.clone().count());
            if redact {
                continue;
            }
            let (from, to) = (all[*kept.start()], all[*kept.end()]);
            let (expected, found) = (rises(&whole, from, to), rises(&of_slice, from, to));
            assert!(found.is_subset(&expected), "{:?}", found.difference(&expected).next());
            let own = |of: &BTreeSet<String>| -> BTreeSet<String> {
                let is_own = |r: &&String| r.contains("\"snmp\"") || r.contains("\"netstat\"");
                of.iter().filter(is_own).cloned().collect()
            };
            assert_eq!(own(&found), own(&expected), "{window:?}");
            assert!(own(&found).len() > 5);
        }
    }
    // Of a flow they are not: they count all.
    let facts = crate::analyze(&capture, &Default::default());
    let subject = crate::export::slice::Subject {
        flows: vec!["conn:0".parse().unwrap()],
        devs: vec![],
    };
    let change = Change {
        window: Some((at(2), at(5))),
        cut: Some(crate::export::slice::cut(&capture, &facts, &subject).unwrap().0),
        redact: false,
    };
    let (bytes, _) = rewrite(&capture, &change, vec![]).unwrap();
    let slice = netmortem_formats::open_bytes("slice.nmb", Bytes::Owned(bytes)).unwrap();
    assert_eq!(over_time(&slice), OverTime::default());
}

/// What was changed before a slice is no change of it, and what was so then is known there.
#[test]
fn a_slice_tells_changes_of_its_time_by_what_was_before_it() {
    let capture = crate::tests::sample("changes/changes.nmb.zst");
    let all = |c: &Capture| crate::announced::of(c, &|_, _| None).rows;
    let whole = all(&capture);
    let nth = |says: &str| whole.iter().position(|r| r.says.contains(says)).unwrap();
    // The queue that is taken away was set before.
    let (first, last) = (nth("root qdisc of rb was removed"), nth("rp_filter"));
    let ns = |n: usize| u64::try_from(whole[n].at_ns).unwrap();
    for redact in [false, true] {
        let change = Change {
            window: Some((ns(first) - 1_000_000, ns(last))),
            cut: None,
            redact,
        };
        let (bytes, _) = rewrite(&capture, &change, vec![]).unwrap();
        let slice = netmortem_formats::open_bytes("slice.nmb", Bytes::Owned(bytes)).unwrap();
        let found = all(&slice);
        let of = |r: &crate::announced::tables::ChangeRow| (r.at_ns, r.what, r.comes_and_goes, r.by);
        assert_eq!(
            found.iter().map(of).collect::<Vec<_>>(),
            whole[first..=last].iter().map(of).collect::<Vec<_>>()
        );
        if !redact {
            assert_eq!(found[..], whole[first..=last]);
        }
        let text = format!("{found:?}");
        assert_eq!(text.contains("10.86."), !redact, "{text}");
        assert_eq!(text.contains("nmlab-"), !redact);
    }
}
