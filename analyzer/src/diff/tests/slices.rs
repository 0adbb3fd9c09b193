//! Sides that are slices, or redacted.

use netmortem_formats::{Bytes, Capture, open_bytes};
use serde_json::json;

use super::samples::of;
use crate::diff::Check;
use crate::diff::Diff;
use crate::diff::DiffOptions;
use crate::diff::Level;
use crate::diff::Outcome;
use crate::diff::compare;
use crate::export::bundle::{Change, rewrite};
use crate::export::slice::{Subject, cut};
use crate::facts::Facts;
use crate::tests::sample;

fn facts(c: &Capture) -> Facts {
    crate::analyze(c, &Default::default())
}

fn made(of: &Capture, change: &Change) -> Facts {
    let (bytes, _) = rewrite(of, change, vec![]).unwrap();
    facts(&open_bytes("/tmp/part.nmb", Bytes::Owned(bytes)).unwrap())
}

fn half(of: &Capture, first: bool) -> Facts {
    let info = crate::ingest::check(of, &Default::default());
    let (start, end) = (info.start_ns.unwrap() as u64, info.end_ns.unwrap() as u64);
    let middle = start + (end - start) / 2;
    let window = Some(if first { (start, middle) } else { (middle + 1, end) });
    made(
        of,
        &Change {
            window,
            ..Change::default()
        },
    )
}

fn by_flow(of: &Capture, flow: &str) -> Facts {
    let subject = Subject {
        flows: vec![flow.parse().unwrap()],
        devs: vec![],
    };
    let cut = Some(cut(of, &facts(of), &subject).unwrap().0);
    made(
        of,
        &Change {
            cut,
            ..Change::default()
        },
    )
}

fn redacted(of: &Capture) -> Facts {
    made(
        of,
        &Change {
            redact: true,
            ..Change::default()
        },
    )
}

fn looked_at<'d>(d: &'d Diff, what: &str) -> &'d Check {
    let mut all = d.parity.iter().filter(|c| c.what == what);
    let one = all.next().unwrap();
    assert!(all.next().is_none(), "{what} is told twice");
    one
}

#[test]
fn whole_recordings_are_not_cut() {
    let f = facts(&sample("rpc/rpc.nmb"));
    let d = of(&f, &f);
    for (what, says) in [("slices", "not cut"), ("pseudonyms", "names as recorded")] {
        let c = looked_at(&d, what);
        assert_eq!(
            (c.level, &*c.before, &*c.after, &*c.sentence),
            (Level::Same, says, says, "")
        );
    }
    assert!(d.before[0].told.is_empty() && d.after[0].told.is_empty());
}

/// A slice of time is a recording that began and ended there: it is compared, and said.
#[test]
fn slices_of_time_are_compared_and_told() {
    let capture = sample("rpc/rpc.nmb");
    let (whole, one, other) = (facts(&capture), half(&capture, true), half(&capture, false));
    for (b, a) in [(&whole, &one), (&one, &other)] {
        let d = of(b, a);
        let c = looked_at(&d, "slices");
        assert_eq!(c.level, Level::Differs);
        assert!(c.sentence.starts_with("They are not cut in time alike"), "{c:?}");
        assert!(c.after.starts_with("cut to ") && c.after.ends_with(" of it"), "{c:?}");
        assert_ne!(d.verdict.outcome, Outcome::NotComparable);
        // As much is compared as of other recordings.
        assert!(d.metrics.iter().any(|m| m.which.ledger == "lifetime"));
        assert!(!d.withheld.iter().any(|w| w.because.contains("slice")));
        let told = &d.after[0].told;
        let begin = format!(
            "This is a cut from another recording: {} of {} events, from ",
            a.capture.total_events, whole.capture.total_events
        );
        assert!(told.len() == 1 && told[0].starts_with(&begin), "{told:?}");
        assert_eq!(d.before[0].told.len(), usize::from(!std::ptr::eq(b, &whole)));
    }
    let d = of(&one, &one);
    assert_eq!(looked_at(&d, "slices").level, Level::Same);
    assert_eq!((d.before[0].told.len(), d.after[0].told.len()), (1, 1));
}

/// What others sent is missing on one side: nothing is compared.
#[test]
fn a_slice_of_a_flow_is_not_compared_with_all_traffic() {
    let capture = sample("rpc/rpc.nmb");
    let (whole, flow, time) = (facts(&capture), by_flow(&capture, "7000"), half(&capture, true));
    for (b, a) in [(&whole, &flow), (&flow, &whole), (&time, &flow)] {
        let d = of(b, a);
        assert_eq!(d.verdict.outcome, Outcome::NotComparable);
        assert!(
            d.verdict.sentence.contains("Some are cut to flows or devices"),
            "{:?}",
            d.verdict
        );
        assert!(d.metrics.is_empty() && d.rates.is_empty());
    }
    // In groups one is enough, on whichever side.
    let both = [&whole, &flow];
    let d = compare(&both, &both, &DiffOptions::groups());
    assert_eq!(d.verdict.outcome, Outcome::NotComparable);
    assert_eq!(looked_at(&d, "slices").before, "cut to flow :7000; not cut");
    assert_eq!(d.after.iter().map(|s| s.told.len()).collect::<Vec<_>>(), [0, 1]);
}

/// Both cut to flows: their units are compared, what counts packets of others is not. Softirqs and polls are whole.
#[test]
fn slices_of_flows_compare_their_units() {
    let capture = sample("rpc/rpc.nmb");
    let (whole, flow) = (facts(&capture), by_flow(&capture, "7000"));
    let (all, d) = (of(&whole, &whole), of(&flow, &flow));
    assert_eq!(d.verdict.outcome, Outcome::Same, "{:?}", d.verdict);
    assert_eq!(looked_at(&d, "slices").level, Level::Differs);
    assert!(!looked_at(&d, "slices").sentence.contains("alike"));
    // Of other flows, or it is not known of which.
    let mut other = by_flow(&capture, "7000");
    other.capture.part.slice.as_mut().unwrap().subject = vec!["flow :7001".into()];
    assert!(
        looked_at(&of(&flow, &other), "slices")
            .sentence
            .contains("They are not cut alike")
    );
    other.capture.part.slice.as_mut().unwrap().subject = vec!["(redacted)".into()];
    let hidden = of(&other, &other);
    let sentence = &looked_at(&hidden, "slices").sentence;
    assert!(
        sentence.contains("whether they are the same is not known"),
        "{sentence}"
    );
    let has = |d: &Diff, begin: &str| {
        let metrics = d.metrics.iter().any(|m| m.metric.starts_with(begin));
        metrics || d.rates.iter().any(|r| r.metric.starts_with(begin))
    };
    for begin in ["lifetime.", "device.", "drops.", "tcp.retransmits"] {
        assert!(!has(&d, begin), "{begin}");
        let mut why = d.withheld.iter().filter(|w| w.metric.starts_with(begin));
        assert_eq!(
            why.any(|w| w.because.contains("which were cut")),
            has(&all, begin),
            "{begin}"
        );
    }
    assert!(has(&all, "lifetime.") && has(&d, "rx.total") && has(&d, "tx.total"));
    // The host's, in a slice as in the whole.
    assert_eq!(
        (flow.softirqs.len(), flow.polls.len()),
        (whole.softirqs.len(), whole.polls.len())
    );
    let times = |f: &Facts| {
        f.softirqs
            .iter()
            .map(|s| (s.start_ns, s.end_ns, s.raise_ns))
            .collect::<Vec<_>>()
    };
    assert_eq!(times(&flow), times(&whole));
    assert!(has(&d, "softirq.run") && has(&d, "softirq.share"));
}

/// The control connection of iperf3 waited with the data: nearly all packets of its slice are the other's.
#[test]
fn a_slice_full_of_others_is_not_compared() {
    let capture = sample("kernel-6.1/netem.nmb");
    let flow = by_flow(&capture, "conn:0");
    let own = flow
        .rx
        .iter()
        .filter(|r| r.connection.is_some_and(|c| c.0 == 0))
        .count();
    assert!(own * 10 < flow.rx.len(), "{own} of {}", flow.rx.len());
    let d = of(&flow, &flow);
    assert_eq!(d.verdict.outcome, Outcome::NotComparable);
    assert!(
        d.verdict.sentence.contains("Most packets in a slice are of others"),
        "{:?}",
        d.verdict
    );
}

#[test]
fn a_slice_that_does_not_say_of_what_is_not_compared() {
    let mut capture = sample("rpc/rpc.nmb");
    let whole = facts(&capture);
    for field in [json!({}), json!({"events_cut": 5}), json!({"subject": ["flow :7000"]})] {
        capture.manifest.as_mut().unwrap()["slice"] = field;
        let part = facts(&capture);
        let d = of(&part, &part);
        assert_eq!(d.verdict.outcome, Outcome::NotComparable);
        assert!(d.verdict.sentence.contains("not known by what"), "{:?}", d.verdict);
        assert_eq!(of(&whole, &part).verdict.outcome, Outcome::NotComparable);
    }
}

/// Pseudonyms are of each bundle its own: nothing is matched by them.
#[test]
fn redacted_recordings_are_not_matched_by_names() {
    let capture = sample("rpc/rpc.nmb");
    let (whole, hidden) = (facts(&capture), redacted(&capture));
    let all = of(&whole, &whole);
    let by_device = |d: &Diff| {
        let frames = d.rates.iter().filter(|r| r.metric.starts_with("device."));
        d.metrics.iter().filter(|m| m.which.dev.is_some()).count() + frames.count()
    };
    assert!(by_device(&all) > 0);
    for (b, a) in [(&whole, &hidden), (&hidden, &whole), (&hidden, &hidden)] {
        let d = of(b, a);
        assert_eq!(by_device(&d), 0);
        // Nor are servers: one that hangs would not be seen.
        assert!(d.withheld.iter().any(|w| w.metric == "app.stopped"), "{:?}", d.withheld);
        assert!(d.verdict.outcome != Outcome::Same || d.verdict.reserved);
        let said = "Servers that answer on one side alone were not looked for: names are pseudonyms";
        assert!(d.verdict.sentence.contains(said), "{}", d.verdict.sentence);
        let why = d.withheld.iter().filter(|w| w.because.contains("pseudonyms"));
        assert!(why.count() >= by_device(&all));
        assert_eq!(looked_at(&d, "pseudonyms").level, Level::Differs);
        let said: Vec<&str> = d.parity.iter().map(|c| c.sentence.as_str()).collect();
        assert!(
            !said
                .iter()
                .any(|s| s.contains("went over other devices") || s.contains("of different machines")),
            "{said:?}"
        );
        // What is not of a device is compared as before.
        assert_eq!(d.verdict.outcome, Outcome::Same, "{:?}", d.verdict);
        assert!(d.metrics.iter().any(|m| m.metric == "rx.total"));
        assert_eq!(d.after[0].told.len(), usize::from(a.capture.part.redacted));
    }
}
