//! Attempts that fail beside work that goes well.

use netmortem_formats::capture::SnapshotWhen;

use super::scans::{facts as refused, told};
use crate::Confidence;
use crate::analyses::opens::aside::{Aside, asides, beside_work};
use crate::analyses::verdict::Tone;
use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::opens::tables::{OpenEnd, OpenRow};
use crate::reconstruct::tcp::tables::{RetransmitClass, RetransmitRow};
use crate::snapshots::spaces::Spaces;
use crate::testing::listed;

const S: i64 = 1_000_000_000;

/// An attempt of 10.0.0.`from` to 10.0.0.`to`:`port`.
pub(super) fn attempt(n: u32, from: u8, (to, port): (u8, u16), end: OpenEnd) -> OpenRow {
    let one: OpenRow = refused(1, 1).opens[0].clone();
    OpenRow {
        connection: Some(ConnectionId(n)),
        from: Some(([10, 0, 0, from].into(), 40_000 + n as u16)),
        to: Some(([10, 0, 0, to].into(), port)),
        start_ns: i64::from(n) * S / 3,
        end_ns: i64::from(n) * S / 3 + if end == OpenEnd::Established { 1_000 } else { 2 * S },
        end,
        message: false,
        syns_again: Some(u32::from(end == OpenEnd::GivenUp)),
        ..one
    }
}

/// So many attempts at 10.0.0.9:8080 that had no answer, and others.
pub(super) fn facts(n: u32, others: &[(u8, u16)]) -> Facts {
    let mut f = refused(1, 0);
    f.opens = (0..n).map(|n| attempt(n, 1, (9, 8080), OpenEnd::GivenUp)).collect();
    let others = others.iter().enumerate();
    f.opens
        .extend(others.map(|(n, to)| attempt(100 + n as u32, 1, *to, OpenEnd::Established)));
    f
}

fn of(f: &Facts) -> Option<Aside> {
    let aside = asides(f).of(&f.opens[0]).cloned();
    assert_eq!(beside_work(f).contains(&ConnectionId(0)), aside.is_some());
    aside
}

#[test]
fn what_goes_well_beside_them_is_told() {
    let pool = facts(3, &[(8, 8080); 3]);
    assert_eq!(of(&pool), Some(Aside::Pool("10.0.0.8:8080".into())));
    let (_, line) = told(&pool);
    let says = "3 attempts to connect to 10.0.0.9:8080 by nessusd/42 had no answer and were given up after 2.000 s at most, while it works by 10.0.0.8:8080 (inferred)";
    assert_eq!((line.tone, line.headline.as_str()), (Tone::Notice, says));
    // Seldom by that one: a few attempts; many ends that are tried, and this one at most in a quarter of the attempts.
    assert_eq!(of(&facts(3, &[(8, 8080); 2])), Some(Aside::Few(3)));
    let ends: Vec<(u8, u16)> = (0..6).map(|n| (20 + n, 9100)).collect();
    assert_eq!(of(&facts(2, &ends)), Some(Aside::Many(7)));
    assert_eq!(of(&facts(3, &ends)), Some(Aside::Few(3)));
}

#[test]
fn what_somebody_may_miss_is_wrong() {
    let none = |f: &Facts| {
        assert_eq!(of(f), None);
        assert_eq!(told(f).1.tone, Tone::Bad, "{}", told(f).1.headline);
    };
    none(&facts(20, &[]));
    none(&facts(20, &[(8, 8080); 30]));
    // Who else got there; three addresses that try.
    none(&facts(3, &[(9, 8080)]));
    let elsewhere = |n| {
        let mut f = facts(n, &[(9, 8080)]);
        f.opens.last_mut().unwrap().from = Some(([10, 0, 0, 2].into(), 50_000));
        f
    };
    none(&elsewhere(3));
    assert_eq!(of(&elsewhere(2)), Some(Aside::Few(2)));
    // A program that is started for each attempt is one.
    let mut each = elsewhere(4);
    (1..).zip(&mut each.opens).for_each(|(pid, o)| o.pid += pid);
    none(&each);
    let mut patient = elsewhere(1);
    patient.opens[0].end_ns += S;
    none(&patient);
    let mut users = facts(3, &[]);
    for (n, o) in users.opens.iter_mut().enumerate() {
        o.from = o.from.map(|f| ([10, 0, 0, 1 + n as u8].into(), f.1));
    }
    none(&users);
    // A rule refuses it to this address, as ICMP tells, and others get there before and behind.
    let mut rule = facts(3, &[(9, 8080), (9, 8080)]);
    rule.opens[4].start_ns = -S;
    for o in &mut rule.opens {
        match o.end {
            OpenEnd::Established => o.from = o.from.map(|f| ([10, 0, 0, 2].into(), f.1)),
            _ => o.message = true,
        }
    }
    assert_eq!(of(&rule), Some(Aside::Few(3)));
    rule.opens[4].start_ns = S;
    assert_eq!(of(&rule), None);
    rule.opens[4].start_ns = -S;
    rule.opens[4].from = rule.opens[0].from;
    assert_eq!(of(&rule), None);
    // Events are lost: an answer that waited may be.
    let mut lost = facts(3, &[]);
    lost.gaps.push(crate::testing::gap(0, 1));
    assert!(asides(&lost).of(&lost.opens[0]).is_none());
    // Somebody listens there, or answers.
    let mut there = facts(3, &[]);
    there.spaces = spaces("10.0.0.9:8080");
    none(&there);
    assert!(
        told(&there)
            .1
            .headline
            .ends_with(" after 2.000 s at most, though a socket listens there")
    );
    there.opens.truncate(2);
    assert_eq!(of(&there), Some(Aside::Few(2)));
    there.opens = facts(3, &[]).opens;
    for message in [true, false] {
        there.opens.iter_mut().for_each(|o| o.message = message);
        assert_eq!(of(&there), message.then_some(Aside::Few(3)));
    }
    there.spaces = spaces("10.0.0.9:8081");
    assert_eq!(of(&there), Some(Aside::Few(3)));
    let ends = (there.opens[0].to.unwrap().into(), there.opens[0].from.unwrap().into());
    there.retransmits.push(RetransmitRow {
        index: 0,
        time_ns: S,
        connection: None,
        synack: Some(ends),
        class: RetransmitClass::Rto,
        err: None,
        bytes: None,
        original: None,
        segments: None,
        confidence: Confidence::Certain,
    });
    none(&there);
}

/// Sockets that listen in the namespace of 10.0.0.9.
fn spaces(at: &str) -> Spaces {
    let addresses = (
        "addresses",
        SnapshotWhen::Start,
        "netns=1 ifindex=2 address=10.0.0.9/24\n",
    );
    let sockets = format!("netns=1 proto=tcp state=listen src={at} if=0 cookie=0x1\n");
    let sockets = |when| ("sockets", when, sockets.as_str());
    Spaces::of(&listed(&[
        addresses,
        sockets(SnapshotWhen::Start),
        sockets(SnapshotWhen::End),
    ]))
}
