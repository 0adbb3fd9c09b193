//! Round trips that rose, in words.

use crate::analyses::paths::{Change, Direction, Evidence, Filled, Host, Kind, Own, Paths, Sides, Times};
use crate::analyses::verdict::paths::{NOT_RECORDED, clause, with_the_paths};
use crate::analyses::verdict::{Line, Tone};

const MS: i64 = 1_000_000;

/// 2.6 ms, 42.9 from 2.48 s on: handshakes say so, another host did not change.
fn paths(with: impl Fn(&mut Change)) -> Paths {
    let mut change = Change {
        kind: Kind::Rose,
        from_ns: 12_480 * MS,
        to_ns: None,
        low_ns: 2_600_000,
        high_ns: 42_900_000,
        handshakes: Some(Sides {
            other_n: 13,
            other_ns: 3_200_000,
            in_n: 10,
            in_ns: 43_100_000,
        }),
        acks: None,
        answers: None,
        in_flight: None,
        received_per_s: (0, 0),
        own_ns: Some((2_000, 2_000)),
        evidence: Evidence::Handshakes,
        own: Own::Nothing,
        also: vec![],
        not: vec!["10.20.3.2".into()],
    };
    with(&mut change);
    let host = Host {
        worst: None,
        host: "10.20.2.2".into(),
        recorded: false,
        handshakes: Times::default(),
        acks: Times::default(),
        answers: Times::default(),
        windows: vec![],
        change: Some(change),
    };
    Paths {
        hosts: vec![host],
        others: 0,
        filled: None,
        start_ns: 10_000 * MS,
    }
}

fn said(with: impl Fn(&mut Change)) -> String {
    clause(&paths(with)).unwrap_or_default()
}

#[test]
fn the_clause_says_no_more_than_the_samples() {
    assert_eq!(
        said(|_| {}),
        "round trips to 10.20.2.2 rose from 2.60 ms to 42.90 ms at 2.48 s (handshakes 3.20 ms -> 43.10 ms, so not its program; 10.20.3.2 did not change): on the way to it or in its kernel, not in this host"
    );
    let spell = said(|c| (c.kind, c.to_ns, c.own_ns) = (Kind::Spell, Some(14_400 * MS), None));
    assert!(
        spell.contains("42.90 ms from 2.48 s to 4.40 s (") && spell.ends_with("or in its kernel"),
        "{spell}"
    );
    let fell = said(|c| (c.kind, c.to_ns) = (Kind::Fell, Some(14_400 * MS)));
    assert!(
        fell.starts_with("round trips to 10.20.2.2 were 42.90 ms until 4.40 s and 2.60 ms from then on"),
        "{fell}"
    );
    // All of them: what they share. Nobody else: no witness.
    let all = said(|c| std::mem::swap(&mut c.also, &mut c.not));
    assert!(
        all.ends_with("so did 10.20.3.2): on the part of the way that they share, not in this host (inferred)"),
        "{all}"
    );
    assert!(said(|c| c.not.clear()).contains("no other remote host to compare with"));
    // Without handshakes the program may be the reason, but of more than a delayed ACK.
    let short = said(|c| (c.evidence, c.high_ns) = (Evidence::Answers, 32_000_000));
    assert!(
        short.contains("its program may have sent") && short.contains("in its kernel or in its program"),
        "{short}"
    );
    let long = said(|c| (c.evidence, c.high_ns) = (Evidence::Answers, 62_000_000));
    assert!(long.contains("inferred") && !long.contains("in its program"), "{long}");
    for not in [Evidence::Acks, Evidence::Bulk, Evidence::NotHandshakes] {
        assert_eq!(said(|c| c.evidence = not), "");
    }
    for own in [Own::InFlight, Own::Received, Own::Others, Own::Host] {
        assert_eq!(said(|c| c.own = own), "");
    }
}

#[test]
fn it_stands_in_place_of_what_is_not_in_the_recording() {
    let line = |tone, sentence: &str, headline: &str| Line {
        subject: "application",
        tone,
        sentence: sentence.into(),
        headline: headline.into(),
        minor: false,
        names_cause: false,
        neutral: false,
        follows: None,
    };
    let weak = format!("Answers came p50 3 ms; {NOT_RECORDED}, the fastest round trip took 2.50 ms.");
    let with = |line, paths: &Paths| with_the_paths(line, paths);
    let (paths, clause) = (paths(|_| {}), said(|_| {}));
    let l = with(line(Tone::Ok, &weak, ""), &paths);
    let expected = format!("Answers came p50 3 ms; {clause}; the fastest round trip took 2.50 ms.");
    assert_eq!(
        (l.tone, l.sentence.as_str(), l.headline.as_str()),
        (Tone::Notice, expected.as_str(), clause.as_str())
    );
    let l = with(
        line(Tone::Bad, "1 request had no answer.", "1 request had no answer"),
        &paths,
    );
    assert_eq!(
        (l.tone, l.headline),
        (Tone::Bad, format!("1 request had no answer; {clause}"))
    );
    // Of a host that is in the recording other lines speak.
    let mut inside = paths.clone();
    inside.hosts[0].recorded = true;
    let l = with(line(Tone::Ok, &weak, ""), &inside);
    assert_eq!((l.tone, l.sentence), (Tone::Ok, weak));
}

/// Who fills a queue beyond this host stands in place of how the way changed.
#[test]
fn who_fills_it_is_said_with_who_waits() {
    let mut p = paths(|_| {});
    p.filled = Some(Filled {
        direction: Direction::Sent,
        host: "10.61.6.2".into(),
        at: "10.61.1.2:6379".into(),
        task: "redis-server".into(),
        connections: 2,
        bytes: 5_500_000,
        rate_per_s: 987_000,
        spells: vec![(3_920 * MS, 6_500 * MS), (8_000 * MS, 10_900 * MS)],
        also: vec!["10.61.5.2".into(), "10.61.7.3".into()],
        not: vec![],
        low_ns: 600_000,
        high_ns: 77 * MS,
        low_n: 295,
        high_n: 230,
    });
    let line = |tone| Line::of("application", tone, "Answers came.".into(), String::new());
    let said = "round trips to 10.61.5.2 and 10.61.7.3 took p50 77.00 ms (n 230) instead of 600.0 µs (n 295) while this host had much under way to 10.61.6.2 \
                (redis-server at 10.61.1.2:6379: 5.5 MB on 2 connections, 7.9 Mbit/s with others; 3.92 s to 6.50 s and 8.00 s to 10.90 s): \
                a queue beyond this host that this fills, and that all of these go through (inferred)";
    let of = with_the_paths(line(Tone::Ok), &p);
    assert_eq!((of.tone, of.headline.as_str(), of.names_cause), (Tone::Bad, said, true));
    assert!(of.sentence.starts_with("Answers came. Round trips to 10.61.5.2") && !of.sentence.contains("10.20.2.2"));
    // What hardly hurts is no alarm; a download fills the way here.
    if let Some(f) = &mut p.filled {
        (f.high_ns, f.direction, f.not) = (15 * MS, Direction::Received, vec!["10.61.8.2".into()]);
    }
    let of = with_the_paths(line(Tone::Ok), &p);
    assert_eq!(of.tone, Tone::Notice);
    assert!(
        of.headline.contains("while this host got much from 10.61.6.2 (")
            && of
                .headline
                .contains("; those to 10.61.8.2 did not change: a queue on the way to this host")
    );
}
