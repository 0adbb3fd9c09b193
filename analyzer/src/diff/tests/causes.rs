//! A cause that one side has and the other has not heads the comparison, with the figures of ss (sample-data/named).

use super::samples::of;
use crate::diff::Outcome;
use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::negotiated::Negotiated;
use crate::tests::named::{beside, facts, ss};

/// The connection of a plant, as its sender has it.
fn connection(f: &Facts, plant: &str) -> ConnectionId {
    let words = ss(plant);
    let is = |c: &&crate::reconstruct::tcp::tables::ConnectionRow| {
        crate::analyses::tcp::label(c) == format!("{} > {}", words[3], words[4])
    };
    f.connections.iter().find(is).unwrap().connection
}

#[test]
fn what_both_sides_have_is_not_said() {
    let f = facts();
    let v = of(&f, &f).verdict;
    assert_eq!(v.outcome, Outcome::Same);
    for word in ["slow start", "Full segments", "window scaling"] {
        assert!(!v.sentence.contains(word), "{}", v.sentence);
    }
}

#[test]
fn what_one_side_alone_has_is_said_first() {
    let (f, mut healthy) = (facts(), facts());
    let (idle, clamped, unscaled) = (
        connection(&f, "idle"),
        connection(&f, "clamped"),
        connection(&f, "unscaled"),
    );
    let most = f
        .tcp_samples
        .iter()
        .filter(|s| s.connection == idle)
        .map(|s| s.snd_cwnd)
        .max();
    for s in healthy.tcp_samples.iter_mut().filter(|s| s.connection == idle) {
        s.snd_cwnd = most.unwrap();
    }
    healthy.full_segments.get_mut(&clamped).unwrap().mss = 1448;
    let scaled = Negotiated {
        window_scaling: true,
        congestion: None,
        delivered_ce: None,
        sizes: None,
        ends: None,
    };
    healthy.negotiated.insert(unscaled, scaled);
    let v = of(&healthy, &f).verdict;
    assert!(v.reserved, "{v:?}");
    let pauses = beside("truth.csv").lines().filter(|l| l.starts_with("idle,")).count() - 1;
    let falls = format!("falls in pauses only after: in {pauses} of {pauses}, without loss, from ");
    let none = format!("on the other side in none of {pauses}. That is slow start after idle");
    let sizes = "Full segments (MSS) of what is sent to 10.82.1.2:7003 have 1448 bytes before and 188 after, 3.5 % and 21.7 % of each frame headers.";
    let scaling = "For what is sent to 10.82.1.2:7001 there is no window scaling after";
    for said in [&falls, &none, sizes, scaling] {
        assert!(v.sentence.contains(said), "{said}: {}", v.sentence);
    }
    assert!(
        v.sentence.starts_with("For what is sent to 10.82.1.2:7001"),
        "{}",
        v.sentence
    );
    assert!(v.sentence.contains("No other difference found"), "{}", v.sentence);
    // The other way round it is what was.
    let v = of(&f, &healthy).verdict;
    assert!(v.sentence.contains("falls in pauses only before"), "{}", v.sentence);
}

#[test]
fn another_congestion_control_of_nearly_all_is_told_first() {
    let with = |name: &'static [u8], other: usize| {
        let mut f = facts();
        let all: Vec<_> = f.connections.iter().map(|c| c.connection).collect();
        for (n, c) in all.iter().enumerate() {
            let own = Negotiated {
                window_scaling: true,
                congestion: Some(crate::name::Name::new(if n < other { b"vegas" } else { name })),
                delivered_ce: None,
                sizes: None,
                ends: None,
            };
            f.negotiated.insert(*c, own);
        }
        f
    };
    let said = |b: &Facts, a: &Facts| of(b, a).verdict.sentence.contains(" is cubic in place of bbr (of ");
    assert!(said(&with(b"bbr", 0), &with(b"cubic", 0)));
    assert!(!said(&with(b"cubic", 0), &with(b"cubic", 0)));
    assert!(!said(&with(b"bbr", 0), &with(b"cubic", 99)));
}

/// With a socket that woke all so many times; `long`: so many times as long.
fn herd(times: u64, recorded: bool, long: i64) -> Facts {
    let mut f = facts();
    f.herds.clear();
    f.herds.push(crate::reconstruct::herds::HerdRow {
        sk: 1,
        task: crate::name::Name::new(b"gunicorn"),
        ready: times,
        times,
        woken: times * 16,
        most: 16,
    });
    let start = f.capture.start_ns.unwrap();
    f.capture.end_ns = f.capture.end_ns.map(|end| start + (end - start) * long);
    for key in ["sock:sk_data_ready", "sched:sched_waking"] {
        match recorded {
            true => f.capture.events.insert(key.into(), 1),
            false => f.capture.events.remove(key),
        };
        let enabled = f.capture.enabled_events.iter_mut();
        enabled.for_each(|e| e.retain(|n| n != key));
    }
    f
}

#[test]
fn a_herd_is_of_one_side_where_the_other_could_have_seen_it() {
    let said = |b: &Facts, a: &Facts| {
        let told = of(b, a).verdict.sentence;
        let of = |when: &'static str| told.contains(&format!("Only {when}: one socket")).then_some(when);
        of("after").or(of("before"))
    };
    let (after, before) = (Some("after"), Some("before"));
    assert_eq!(said(&herd(0, true, 1), &herd(50, true, 1)), after);
    assert_eq!(said(&herd(50, true, 1), &herd(1, true, 1)), before);
    // Not recorded there; as often in the time there was; nearly as often.
    assert_eq!(said(&herd(0, false, 1), &herd(50, true, 1)), None);
    assert_eq!(said(&herd(0, true, 1), &herd(50, true, 6)), None);
    assert_eq!(said(&herd(19, true, 1), &herd(50, true, 1)), None);
}
