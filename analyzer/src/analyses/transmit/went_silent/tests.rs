//! Pairs of addresses that have no answer any more, on a host that passes packets on.

use std::net::IpAddr;

use netmortem_formats::capture::SnapshotWhen::{End, Start};

use crate::analyses::transmit::went_silent::went_silent;
use crate::analyses::verdict::Tone;
use crate::facts::{Facts, SkbId};
use crate::name::Name;
use crate::reconstruct::drops::Passing;
use crate::reconstruct::skb::Forwarded;
use crate::reconstruct::skb::tables::SkbClass;
use crate::reconstruct::transmit::tables::{TxKind, TxRow};

const S: i64 = 1_000_000_000;

fn ip(n: u8) -> IpAddr {
    [10, 0, 0, n].into()
}

/// Both ends of a pair: `since` packets of the first since 4 s, each second.
fn pair(f: &mut Facts, (a, b): (u8, u8), since: u32) {
    let last = 4 * S + i64::from(since.saturating_sub(1)) * S;
    let of = |from, to, since, last_ns| Passing {
        from: ip(from),
        to: ip(to),
        sent: 40,
        answers: 40,
        since,
        since_ns: 4 * S,
        last_ns,
        dropped: 0,
    };
    let back = if since == 0 { 9 * S } else { 3 * S };
    f.passing.push(of(a, b, since, if since == 0 { 9 * S } else { last }));
    f.passing.push(of(b, a, 0, back));
}

/// 10.0.0.1 to .3 ask 10.0.0.9 and .8 in vain; two other pairs speak on. 200 packets are passed on, by wan1 until 4 s, by wan2 since.
fn facts() -> Facts {
    let mut f = Facts::empty();
    (f.capture.start_ns, f.capture.end_ns, f.capture.duration_ns) = (Some(0), Some(10 * S), 10 * S);
    f.capture.events.insert("net:net_dev_queue".into(), 1);
    for (a, b) in [(1, 9), (2, 9), (3, 8)] {
        pair(&mut f, (a, b), 5);
    }
    pair(&mut f, (1, 7), 0);
    pair(&mut f, (2, 7), 0);
    for n in 0..200u32 {
        let at = i64::from(n) * S / 20;
        let mut life = crate::testing::life(n);
        life.class = SkbClass::Rx;
        f.skbs.push(life);
        f.hops.push(crate::testing::hop(n, at, "queue", "wan"));
        f.tx.push(TxRow {
            skb_id: SkbId(n),
            kind: TxKind::Other,
            connection: None,
            ..crate::testing::sent()
        });
        f.forwarded.push(Forwarded {
            skb: SkbId(n),
            cpu: 0,
            from: Name::new(b"lan"),
            to: Name::new(if at < 4 * S { b"wan1" } else { b"wan2" }),
            at_ns: at,
            ns: 1_000,
        });
    }
    f
}

#[test]
fn who_spoke_both_ways_and_has_no_answer_is_told() {
    let f = facts();
    let w = went_silent(&f).unwrap();
    assert_eq!(
        (w.pairs, w.since_ns, w.packets, w.askers, w.answered),
        (3, 4 * S, 15, 3, 2)
    );
    assert_eq!(
        (w.silent.as_slice(), w.others),
        (&[("10.0.0.9".to_owned(), 2), ("10.0.0.8".into(), 1)][..], 0)
    );
    assert_eq!(w.moved, Some(("wan1".into(), "wan2".into())));
    let line = crate::analyses::answer(&f)
        .verdict
        .into_iter()
        .find(|l| l.subject == "transmit")
        .unwrap();
    let says = "from 4.000 s on 3 pairs of addresses that had spoken through this host have no answer any more, from 10.0.0.9 (2) and 10.0.0.8 (1), to 15 packets that went on at least, while 2 other pairs have: these, or their answers, are lost beyond this host, come back by another way, or who should answer is gone (inferred); what went on by wan1 until then goes on by wan2 since";
    assert_eq!(
        (line.tone, line.headline.as_str(), line.names_cause),
        (Tone::Bad, says, true)
    );
}

#[test]
fn one_host_that_goes_away_is_worth_a_look_and_what_ends_is_none() {
    // One that two others still send to.
    let mut f = facts();
    f.passing.retain(|p| ![p.from, p.to].contains(&ip(8)));
    let line = crate::analyses::answer(&f)
        .verdict
        .into_iter()
        .find(|l| l.subject == "transmit")
        .unwrap();
    assert_eq!((line.tone, line.names_cause), (Tone::Notice, false), "{line:?}");
    // The last packet of a conversation; what never had answers, or few; what is dropped here; what is quiet for less than a second; lost events.
    let changes: [fn(&mut Passing); 6] = [
        |p| p.since = p.since.min(2),
        |p| p.answers = 4,
        |p| p.sent = 4_000,
        |p| p.sent = 6,
        |p| p.dropped = 1,
        |p| p.last_ns = p.last_ns.min(4 * S + 900_000_000),
    ];
    for (nth, change) in changes.into_iter().enumerate() {
        let mut f = facts();
        f.passing.iter_mut().for_each(change);
        assert_eq!(went_silent(&f), None, "{nth}");
    }
    let mut f = facts();
    f.gaps.push(crate::testing::gap(S, 2 * S));
    assert_eq!(went_silent(&f), None);
}

#[test]
fn a_default_route_that_changed_is_said() {
    let mut f = facts();
    let before = "netns=1 family=2 to=default via=10.18.1.1 ifindex=3 table=254 protocol=3 scope=0 type=1 tos=0\n";
    let after = "netns=1 family=2 to=default via=10.18.8.1 ifindex=4 table=254 protocol=3 scope=0 type=1 tos=0\n";
    let capture = crate::testing::listed(&[("routes", Start, before), ("routes", End, after)]);
    f.snapshots = crate::analyze(&capture, &Default::default()).snapshots;
    let expect = Some(("via 10.18.1.1".to_owned(), "via 10.18.8.1".to_owned()));
    assert_eq!(went_silent(&f).unwrap().routes, expect);
    let line = crate::analyses::answer(&f)
        .verdict
        .into_iter()
        .find(|l| l.subject == "transmit")
        .unwrap();
    assert!(
        line.headline
            .contains("; meanwhile the default route was changed from via 10.18.1.1 to via 10.18.8.1: "),
        "{line:?}"
    );
}

/// Hosts that are switched off one after the other have nothing to do with each other; nor has a small part of many.
#[test]
fn what_began_apart_is_not_told_together() {
    let mut f = facts();
    for p in f.passing.iter_mut().filter(|p| [p.from, p.to].contains(&ip(8))) {
        (p.since_ns, p.last_ns) = (p.since_ns + 3 * S, p.last_ns + 3 * S);
    }
    let w = went_silent(&f).unwrap();
    assert_eq!((w.pairs, w.since_ns, w.wrong()), (2, 4 * S, false));
    let mut f = facts();
    for n in 20..60 {
        pair(&mut f, (n, 7), 0);
    }
    let w = went_silent(&f).unwrap();
    assert_eq!((w.pairs, w.answered, w.wrong()), (3, 42, false));
}
