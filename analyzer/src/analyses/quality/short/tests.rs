use crate::analyses::quality::{Level, answer};
use crate::facts::Facts;
use crate::ingest::ShortRing;

/// A flight triggered at 10 s, asked for 3 s before it, whose rings of CPUs begin at these times.
fn flight(first_ns: &[Option<i64>]) -> Facts {
    let mut f = Facts::empty();
    let c = &mut f.capture;
    (c.total_events, c.complete, c.clock_is_ns, c.cpus) = (1_000, true, true, 8);
    (c.end_ns, c.clock) = (Some(12_000_000_000), "mono".into());
    let mut flight = netmortem_formats::bundle::Flight::default();
    flight.trigger.clock.monotonic_ns = 10_000_000_000;
    flight.before_ns = 3_000_000_000;
    c.flight = Some(flight);
    c.short_rings = (0..)
        .zip(first_ns)
        .map(|(cpu, first)| ShortRing { cpu, first_ns: *first })
        .collect();
    f
}

/// Level, and what is said up to the semicolon.
fn said(f: &Facts) -> (Level, String) {
    let q = answer(f);
    (q.level, q.sentence.split(": what was older").next().unwrap().to_owned())
}

#[test]
fn how_far_the_rings_reach_is_said_by_time() {
    let of = |level, words: &str| (level, format!("Mind that {words}"));
    assert_eq!(
        said(&flight(&[Some(8_500_000_000)])),
        of(
            Level::Degraded,
            "the ring of CPU 0 holds nothing older than 1.500 s before the trigger (3.000 s before it were asked for)"
        )
    );
    // The worst of them counts.
    assert_eq!(
        said(&flight(&[Some(8_500_000_000), Some(10_498_000_000)])),
        of(
            Level::Bad,
            "the rings of CPUs 0, 1 hold nothing from before the trigger, and begin up to 0.498 s after it (3.000 s before it were asked for)"
        )
    );
    assert_eq!(
        said(&flight(&[Some(10_001_000_000)])),
        of(
            Level::Bad,
            "the ring of CPU 0 holds nothing from before the trigger, and begins 0.001 s after it (3.000 s before it were asked for)"
        )
    );
    // One without an event has nothing at all.
    assert!(
        said(&flight(&[Some(9_000_000_000); 5]))
            .1
            .contains("the rings of 5 CPUs hold nothing older than 1.000 s")
    );
    // Another clock cannot be compared with the trigger's.
    let mut f = flight(&[Some(5)]);
    f.capture.clock = "global".into();
    assert!(
        said(&f)
            .1
            .ends_with("holds less than the time before the trigger (3.000 s before it were asked for)")
    );
    f.capture.flight = None;
    assert!(said(&f).1.ends_with("holds less than the time before the trigger"));
    assert!(!answer(&f).sentence.contains("what the gaps held"));
}

/// Armed, or armed again, less than the time before its trigger: nothing was lost, and it has less than was asked for.
#[test]
fn a_flight_that_triggered_soon_after_it_was_armed_says_so() {
    let armed = |ns: i64| {
        let mut f = flight(&[]);
        f.capture.flight.as_mut().unwrap().armed.monotonic_ns = ns;
        f
    };
    let q = answer(&armed(8_000_000_000));
    assert_eq!(
        (q.level, q.sentence.split(". ").next().unwrap()),
        (
            Level::Degraded,
            "Mind that the flight had been armed for 2.000 s when it triggered (3.000 s before it were asked for); of the events none was lost"
        )
    );
    for whole in [0, 5_000_000_000, 7_000_000_000, 7_000_500_000, 10_500_000_000] {
        let q = answer(&armed(whole));
        assert!(
            q.level == Level::Good && !q.sentence.contains("armed"),
            "{whole}: {}",
            q.sentence
        );
    }
    // A line that is said behind what was found.
    let answers = crate::analyses::answer(&armed(8_000_000_000));
    let line = answers.verdict.iter().find(|l| l.subject == "quality").unwrap();
    assert!(
        line.minor && line.headline.starts_with("the flight had been armed for 2.000 s"),
        "{line:?}"
    );
    let answers = crate::analyses::answer(&flight(&[Some(8_500_000_000)]));
    assert!(!answers.verdict.iter().find(|l| l.subject == "quality").unwrap().minor);
}
