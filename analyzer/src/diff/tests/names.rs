//! Sides that were redacted: with pseudonyms of their own, or of one list.

use netmortem_formats::{Bytes, Capture, open_bytes};

use super::samples::of;
use crate::diff::{Diff, Level};
use crate::export::bundle::{Change, Names, rewrite, rewrite_with};
use crate::facts::Facts;
use crate::tests::sample;

fn open(bytes: Vec<u8>) -> Capture {
    open_bytes("/tmp/part.nmb", Bytes::Owned(bytes)).unwrap()
}

fn facts(of: &Capture) -> Facts {
    crate::analyze(of, &Default::default())
}

fn halves(of: &Capture) -> [Capture; 2] {
    let info = crate::ingest::check(of, &Default::default());
    let (start, end) = (info.start_ns.unwrap() as u64, info.end_ns.unwrap() as u64);
    let middle = start + (end - start) / 2;
    [(start, middle), (middle + 1, end)].map(|window| {
        let change = Change {
            window: Some(window),
            ..Change::default()
        };
        open(rewrite(of, &change, vec![]).unwrap().0)
    })
}

fn redacted(of: &Capture, names: &mut Names) -> Facts {
    let change = Change {
        redact: true,
        ..Change::default()
    };
    facts(&open(rewrite_with(of, &change, names, vec![]).unwrap().0))
}

/// What was compared, with its figures and without its names.
fn figures(d: &Diff) -> Vec<String> {
    let metrics = d.metrics.iter().map(|m| {
        let (ledger, stage) = (m.which.ledger, m.which.stage);
        format!("{ledger}.{stage} {:?} {} {}", m.outcome, m.before.n, m.after.n)
    });
    let rates = d.rates.iter().map(|r| {
        let plain = r.metric.split('[').next().unwrap_or_default();
        format!("{plain} {:?} {:?} {:?}", r.outcome, r.before, r.after)
    });
    let mut all: Vec<String> = metrics.chain(rates).collect();
    all.sort();
    all
}

/// The later side redacted first, behind another recording, so that no two names have their numbers by chance.
#[test]
fn with_one_list_all_is_compared_as_before() {
    let capture = sample("rpc/rpc.nmb");
    let [first, second] = halves(&capture);
    let plain = of(&facts(&first), &facts(&second));
    let mut names = Names::new_list();
    redacted(&sample("overlay/overlay.nmb"), &mut names);
    let after = redacted(&second, &mut names);
    let kept = names.to_list();
    let mut names = Names::from_list(kept.as_bytes()).unwrap();
    let before = redacted(&first, &mut names);
    let d = of(&before, &after);
    assert_eq!(figures(&d), figures(&plain));
    assert_eq!(d.verdict.outcome, plain.verdict.outcome);
    let server = names.ip("10.78.1.2".parse().unwrap());
    let name = format!("app.response[{server}:7000]");
    assert!(d.metrics.iter().any(|m| m.metric == name), "{:?}", figures(&d));
    let told = d.parity.iter().find(|c| c.what == "pseudonyms").unwrap();
    assert_eq!(
        (told.level, &*told.before),
        (Level::Same, "redacted, with one list of names")
    );
    // The name of the host is in no list: nobody knows whether it is the same, which is no difference.
    let level = |d: &Diff, what: &str| d.parity.iter().find(|c| c.what == what).unwrap().level;
    assert_eq!(
        (level(&d, "machine"), level(&plain, "machine")),
        (Level::Unknown, Level::Same)
    );
    assert!(!d.verdict.sentence.contains("machine"), "{}", d.verdict.sentence);
    // Of another list, of none, of a copy of the list that went on apart, and what was not redacted: their names are not known to be the same.
    let mut copy = Names::from_list(kept.as_bytes()).unwrap();
    let others = [
        redacted(&second, &mut copy),
        redacted(&second, &mut Names::new_list()),
        redacted(&second, &mut Names::default()),
        facts(&second),
    ];
    for after in others {
        let d = of(&before, &after);
        assert!(d.metrics.iter().all(|m| m.which.dev.is_none()));
        assert!(d.metrics.iter().any(|m| m.metric == "app.response[*:7000]"));
        assert!(
            d.parity
                .iter()
                .any(|c| c.what == "pseudonyms" && c.level == Level::Differs)
        );
    }
}

/// What is redacted a second time has pseudonyms of pseudonyms, which no list knows.
#[test]
fn twice_redacted_is_of_no_list() {
    let capture = sample("rpc/rpc.nmb");
    let change = Change {
        redact: true,
        ..Change::default()
    };
    let mut names = Names::new_list();
    let once = open(rewrite_with(&capture, &change, &mut names, vec![]).unwrap().0);
    let twice = open(rewrite_with(&once, &change, &mut names, vec![]).unwrap().0);
    let list = |c: &Capture| facts(c).capture.part.pseudonyms.clone();
    assert_eq!((&list(&once)[..], list(&twice)), (names.list(), vec![]));
}

/// What is told by addresses is not compared by the numbers of pseudonyms.
#[test]
fn speeds_are_withheld_where_names_are_the_sides_own() {
    let capture = sample("sawtooth/sawtooth.nmb");
    let speeds = |d: &Diff| d.rates.iter().filter(|r| r.metric.starts_with("tcp.speed")).count();
    let (plain, own) = (facts(&capture), redacted(&capture, &mut Names::default()));
    assert_eq!(speeds(&of(&plain, &plain)), 1);
    let d = of(&own, &own);
    assert_eq!(speeds(&d), 0);
    assert!(d.withheld.iter().any(|w| w.metric == "tcp.speed"), "{:?}", d.withheld);
}
