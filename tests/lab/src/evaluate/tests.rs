use super::cases::{CaseResult, meant};
use super::invariants::of_rows;
use super::links::taken;
use super::rows::LedgerRow;
use super::table::{Figures, Verdict, print};
use super::{Oracle, Report};
use crate::independent::tap::Segment;
use crate::truth::{Case, ReadCall, Truth};
use netmortem_analyzer::Confidence;

fn case(ns: i64) -> Case {
    Case {
        table: "rx".into(),
        sport: 1000,
        dport: 7000,
        from_ns: 10,
        to_ns: 20,
        stage: "gro".into(),
        ns,
        ..Case::default()
    }
}

fn row() -> LedgerRow {
    LedgerRow {
        ports: Some((7000, 1000)),
        pid: Some(5),
        dev: "vb".into(),
        start_ns: 15,
        total_ns: 7,
        unattributed_ns: 2,
        stages: vec![("gro", 4), ("copy", 1)],
        ..LedgerRow::default()
    }
}

fn result(planted: i64, found: Option<i64>) -> CaseResult {
    let row = LedgerRow {
        stages: found.map(|ns| ("gro", ns)).into_iter().collect(),
        total_ns: found.unwrap_or(0),
        ..LedgerRow::default()
    };
    CaseResult {
        case: case(planted),
        answerable: true,
        rows: 1,
        top: netmortem_analyzer::analyses::waits::top([&row]),
        ns: found,
        run_by: String::new(),
        stamps: [None; 3],
        worst: String::new(),
    }
}

/// A packet to port 7000 is received by the socket whose own port that is, and sent by the one whose remote port it is.
#[test]
fn a_case_means_rows_of_its_packets() {
    assert!(meant(&case(1), &row()));
    let other = |f: &dyn Fn(&mut Case)| {
        let mut c = case(1);
        f(&mut c);
        meant(&c, &row())
    };
    assert!(!other(&|c| (c.sport, c.dport) = (7000, 1000)));
    assert!(other(&|c| {
        c.table = "tx".into();
        (c.sport, c.dport) = (7000, 1000);
    }));
    assert!(!other(&|c| c.to_ns = 14));
    assert!(!other(&|c| c.pid = Some(6)));
    assert!(!other(&|c| c.dev = Some("va".into())));
    // Without a socket (UDP) the device must tell.
    let udp = LedgerRow { ports: None, ..row() };
    assert!(!meant(&case(1), &udp));
    assert!(meant(
        &Case {
            dev: Some("vb".into()),
            ..case(1)
        },
        &udp
    ));
}

#[test]
fn sizes_are_right_within_five_per_cent_or_fifty_us() {
    let sized = |planted, found| result(planted, Some(found)).sized();
    assert!(sized(100_000, 150_000) && !sized(100_000, 150_001) && sized(100_000, 50_000));
    assert!(sized(10_000_000, 10_500_000) && !sized(10_000_000, 10_500_001) && !sized(10_000_000, 9_499_999));
    assert!(!result(100, None).sized() && !result(100, None).named());
}

#[test]
fn rows_must_sum_and_not_be_negative() {
    let broken = LedgerRow { total_ns: 8, ..row() };
    let below = LedgerRow {
        unattributed_ns: -5,
        total_ns: 0,
        ..row()
    };
    let found = of_rows("rx", &[row(), broken, below.clone()], 4);
    let counts: Vec<(u64, u64)> = found.iter().map(|o| (o.checked, o.wrong)).collect();
    assert_eq!(counts, [(3, 1), (3, 1)]);
    // Within the clocks' error bar it may be.
    assert_eq!(
        of_rows("rx", &[below], 5).iter().map(|o| o.wrong).collect::<Vec<_>>(),
        [0, 0]
    );
}

#[test]
fn figures_say_what_they_miss() {
    let oracle = |name, checked, wrong| Oracle {
        name,
        checked,
        wrong,
        doubtful: 0,
        note: "n".into(),
    };
    let report = |cases, oracles| Report {
        rig: "r".into(),
        kernel: "k".into(),
        cases,
        oracles,
    };
    let mut later = result(100, None);
    later.answerable = false;
    let mut good = vec![result(1_000_000, Some(1_000_001)); 19];
    good.push(result(1_000_000, Some(2_000_000)));
    good.push(later);
    let fine = report(
        good.clone(),
        vec![oracle("links by kmem", 1001, 1), oracle("bytes explained", 201, 1)],
    );
    let f = Figures::of(std::slice::from_ref(&fine));
    assert_eq!((f.cases, f.later, f.named, f.sized), (20, 1, 20, 19));
    assert_eq!(f.misses(), Vec::<String>::new());
    good.truncate(1);
    good.push(result(1_000_000, None));
    let bad = report(
        good,
        vec![
            oracle("links by kmem", 1000, 1),
            oracle("bytes explained", 200, 1),
            oracle("sums", 2, 1),
        ],
    );
    let misses = Figures::of(std::slice::from_ref(&bad)).misses();
    let starts = [
        "r: sums: 1 of 2 (n)",
        "50.0 % of the top",
        "50.0 % of the sizes",
        "0.100 % of the links",
        "0.500 % of the bytes",
    ];
    assert_eq!(misses.len(), starts.len(), "{misses:?}");
    assert!(misses.iter().zip(starts).all(|(m, s)| m.starts_with(s)), "{misses:?}");
    let text = print(&[bad], true);
    assert!(text.contains("planted gro 1000.0us, found nothing in 1 rows"), "{text}");
}

/// Two units of 100 and 50 bytes, read by one call each; the second segment came twice.
#[test]
fn readers_and_the_tap_find_units_read_by_the_wrong_call() {
    let unit = |bytes, start_ns, total_ns| LedgerRow {
        ports: Some((7000, 1000)),
        pid: Some(5),
        connection: Some(3),
        bytes: Some(bytes),
        start_ns,
        total_ns,
        end: "read".into(),
        confidence: Confidence::Certain,
        ..LedgerRow::default()
    };
    let call = |before_ns, after_ns, offset, bytes| ReadCall {
        sport: 1000,
        dport: 7000,
        pid: 5,
        before_ns,
        after_ns,
        offset,
        bytes,
    };
    let truth = Truth {
        reads: vec![call(100, 110, 0, 100), call(200, 210, 100, 50)],
        ..Truth::default()
    };
    let segment = |seq, bytes| Segment {
        outgoing: false,
        sport: 1000,
        dport: 7000,
        seq,
        bytes,
    };
    let tap = [
        segment(u32::MAX, 100),
        segment(99, 50),
        segment(99, 50),
        segment(119, 20),
    ];
    let wrong = |rows: &[LedgerRow]| {
        taken(&truth, rows, Some(&tap))
            .iter()
            .map(|o| (o.checked, o.wrong))
            .collect::<Vec<_>>()
    };
    // In order: reads, arrivals, bytes.
    assert_eq!(
        wrong(&[unit(100, 10, 95), unit(50, 20, 185)]),
        [(2, 0), (2, 0), (150, 0)]
    );
    // The second is said to be read by the first call.
    assert_eq!(
        wrong(&[unit(100, 10, 95), unit(50, 20, 85)]),
        [(2, 1), (2, 0), (150, 0)]
    );
    // A size that no segment had: not a unit that arrived, and not the bytes that were read.
    assert_eq!(
        wrong(&[unit(100, 10, 95), unit(40, 20, 185)]),
        [(1, 0), (2, 1), (150, 10)]
    );
    // The first is not told at all, and no tap says so: the second is still read by the second call.
    let of = |rows: &[LedgerRow]| {
        taken(&truth, rows, None)
            .iter()
            .map(|o| (o.checked, o.wrong))
            .collect::<Vec<_>>()
    };
    assert_eq!(of(&[unit(50, 20, 185)]), [(1, 0), (150, 100)]);
    assert_eq!(of(&[unit(50, 20, 500)]), [(1, 1), (150, 100)]);
}

/// Stamps that show a failed plant void the case: over too early, lasted too long, or not most of the time.
#[test]
fn a_failed_plant_asks_nothing() {
    let void = |ns, planned, whole| !case(ns).unless_disturbed(planned, whole).void.is_empty();
    assert!(!void(5_000_000, Some(5_000_000), 5_200_000));
    // The unit was through before its cause was over.
    assert!(void(5_000_000, None, 4_000_000));
    let rough = |ns, whole| !case(ns).unless_disturbed(None, whole).rough.is_empty();
    let long = case(5_400_000).unless_disturbed(Some(5_000_000), 5_400_000);
    assert!(long.void.is_empty() && !long.rough.is_empty());
    assert!(rough(5_000_000, 5_300_000) && !rough(5_000_000, 5_200_000));
    assert!(void(-1, None, 10) && void(9_000_000, Some(5_000_000), 9_000_000) && void(5_000_000, None, 9_000_000));
    let report = Report {
        cases: vec![CaseResult {
            case: case(-1).unless_disturbed(None, 10),
            ..result(1_000_000, Some(1_000_000))
        }],
        ..Report::default()
    };
    let f = Figures::of(&[report]);
    assert_eq!((f.cases, f.void, f.named), (0, 1, 0));
    // Nothing but failed plants is no success.
    assert!(f.inconclusive().is_some());
    assert_eq!(f.verdict(), Verdict::Inconclusive);
}

/// Plants that failed excuse what is not named, and nothing else: rows that do not sum, wrong links, bytes.
#[test]
fn failed_plants_excuse_no_broken_row() {
    let void = CaseResult {
        case: case(-1).unless_disturbed(None, 10),
        ..result(1_000_000, None)
    };
    let verdict = |name, checked, wrong| {
        let oracle = Oracle {
            name,
            checked,
            wrong,
            ..Oracle::default()
        };
        let report = Report {
            cases: vec![void.clone(), void.clone(), result(1_000_000, None)],
            oracles: vec![oracle],
            ..Report::default()
        };
        Figures::of(&[report]).verdict()
    };
    assert_eq!(verdict("rx: parts sum to total", 9, 1), Verdict::Missed);
    assert_eq!(verdict("links by something", 900, 1), Verdict::Missed);
    assert_eq!(verdict("bytes explained", 100, 1), Verdict::Missed);
    assert_eq!(verdict("rx: parts sum to total", 9, 0), Verdict::Inconclusive);
    let unnamed = |cases| {
        Figures::of(&[Report {
            cases,
            ..Report::default()
        }])
        .verdict()
    };
    assert_eq!(unnamed(vec![result(1_000_000, None)]), Verdict::Missed);
    assert_eq!(unnamed(vec![result(1_000_000, Some(1_000_000))]), Verdict::Kept);
}

/// On a kernel that cannot tell, nothing or a weak guess will do; another wait claimed with confidence will not.
#[test]
fn a_kernel_that_cannot_tell_excuses_only_doubt() {
    let of = |stage: &'static str, confidence| {
        let row = LedgerRow {
            stages: vec![(stage, 100)],
            total_ns: 100,
            confidence,
            ..LedgerRow::default()
        };
        let mut c = result(100, None);
        c.top = netmortem_analyzer::analyses::waits::top([&row]);
        c.case.weaker = "no event of it".into();
        c
    };
    let weak = of("copy", netmortem_analyzer::Confidence::Weak);
    assert!(weak.excused() && !weak.misled());
    let strong = of("copy", netmortem_analyzer::Confidence::Strong);
    assert!(!strong.excused() && strong.misled());
    let right = of("gro", netmortem_analyzer::Confidence::Strong);
    assert!(!right.excused() && !right.misled() && right.named());
    let nothing = result(100, None);
    assert!(!nothing.excused(), "a kernel that can tell must");
    let reports = [Report {
        rig: "r".into(),
        kernel: "k".into(),
        cases: vec![weak, strong, right],
        oracles: vec![],
    }];
    let f = Figures::of(&reports);
    assert_eq!((f.cases, f.weaker, f.misled, f.named), (2, 1, 1, 1));
}
