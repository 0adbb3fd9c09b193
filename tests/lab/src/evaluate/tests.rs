use super::cases::{CaseResult, meant};
use super::invariants::of_rows;
use super::rows::LedgerRow;
use super::table::{Figures, print};
use super::{Oracle, Report};
use crate::truth::Case;

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
    let found = of_rows("rx", &[row(), broken, below]);
    let counts: Vec<(u64, u64)> = found.iter().map(|o| (o.checked, o.wrong)).collect();
    assert_eq!(counts, [(3, 1), (3, 1)]);
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
