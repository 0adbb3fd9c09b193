//! Where the SYNs of attempts were dropped, and where their program connected before.

use super::aside::{attempt, facts};
use super::scans::told;
use crate::Confidence;
use crate::analyses::opens::{Before, Shut};
use crate::analyses::verdict::Tone;
use crate::facts::{ConnectionId, Facts};
use crate::name::Name;
use crate::reconstruct::drops::tables::DropRow;
use crate::reconstruct::opens::tables::OpenEnd;
use crate::reconstruct::tcp::tables::ConnectionRow;
use crate::reconstruct::whose::{Carries, Owner};

const S: i64 = 1_000_000_000;

fn dropped(f: &mut Facts, connection: u32, dev: &str, carries: Carries) {
    f.drops.push(DropRow {
        location: 1,
        dev: Name::new(dev.as_bytes()),
        why: "an nftables rule or policy",
        owner: Some(Owner {
            connection: Some(ConnectionId(connection)),
            carries,
            task: Name::default(),
            pid: 0,
            confidence: Confidence::Strong,
        }),
        ..crate::testing::drop_at(S)
    });
}

/// A connection to 10.0.0.`to`:8080 that had data.
fn row(n: u32, to: u8) -> ConnectionRow {
    ConnectionRow {
        daddr: Some([10, 0, 0, to].into()),
        dport: 8080,
        bytes_in: 1,
        ..crate::testing::tcp::connection(n)
    }
}

#[test]
fn where_all_syns_were_dropped_is_told() {
    let shut = |devs: [&str; 3], carries: Carries| {
        let mut f = facts(3, &[]);
        for (n, dev) in (0..).zip(devs) {
            dropped(&mut f, n, dev, carries);
            dropped(&mut f, n, dev, carries);
        }
        told(&f).0.failed[0].shut.clone()
    };
    let Some(Shut {
        syns,
        attempts,
        place,
        why,
        only: None,
    }) = shut(["br0"; 3], Carries::Syn)
    else {
        panic!()
    };
    assert_eq!((syns, attempts, why.as_str()), (6, 3, "an nftables rule or policy"));
    assert!(place.ends_with(" on br0"), "{place}");
    // None of that address gets through since, and others do.
    let mut f = facts(3, &[]);
    (0..3).for_each(|n| dropped(&mut f, n, "br0", Carries::Syn));
    let first = f.opens.iter().min_by_key(|o| o.start_ns).unwrap().clone();
    let stood = |last: u8, start_ns: i64, n: u32| crate::reconstruct::opens::tables::OpenRow {
        connection: Some(ConnectionId(100 + n)),
        from: Some(([10, 0, 9, last].into(), 50_000)),
        start_ns,
        end_ns: start_ns + 1,
        end: OpenEnd::Established,
        syns_again: Some(0),
        error: None,
        ..first.clone()
    };
    f.opens
        .iter_mut()
        .for_each(|o| o.from = Some(([10, 0, 9, 1].into(), 50_000)));
    f.opens
        .extend((0..2).map(|n| stood(1, first.start_ns - 2 + i64::from(n), n)));
    f.opens.extend((2..6).map(|n| stood(2, first.start_ns + 1, n)));
    let of = |f: &Facts| told(f).0.failed[0].shut.clone().unwrap().only;
    let only = of(&f).unwrap();
    assert_eq!((only.of, only.before, only.others), (vec!["10.0.9.1".to_owned()], 2, 4));
    assert!(told(&f).1.headline.contains(
        " none of 10.0.9.1 got through (2 did before), while 4 of others did: it drops what comes from there (inferred)"
    ));
    // Each of three addresses once; one of them did; others do not.
    let mut each = f.clone();
    for (n, o) in (1u8..).zip(each.opens.iter_mut().filter(|o| o.end != OpenEnd::Established)) {
        o.from = Some(([10, 0, 8, n].into(), 50_000));
    }
    assert_eq!(of(&each), None);
    let mut one = f.clone();
    one.opens.push(stood(1, first.start_ns + 2, 9));
    assert_eq!(of(&one), None);
    f.opens
        .retain(|o| o.from.unwrap().0 != std::net::Ipv4Addr::new(10, 0, 9, 2));
    assert_eq!(of(&f), None);
    // In two places; other packets of theirs; of one of them nothing was dropped.
    assert_eq!(shut(["br0", "br0", "br1"], Carries::Syn), None);
    assert_eq!(shut(["br0"; 3], Carries::Data), None);
    let mut f = facts(3, &[]);
    (0..2).for_each(|n| dropped(&mut f, n, "br0", Carries::Syn));
    assert_eq!(told(&f).0.failed[0].shut, None);
    // One of ten may have failed for something else.
    let nearly = |attempts, met: u32| {
        let mut f = facts(attempts, &[]);
        (0..met).for_each(|n| dropped(&mut f, n, "br0", Carries::Syn));
        let (o, line) = told(&f);
        let met = o.failed[0].shut.as_ref().map(|s| s.attempts);
        (
            met,
            line.headline
                .contains(": 9 SYNs of 9 of them were dropped by this host for "),
        )
    };
    assert_eq!([nearly(10, 9), nearly(10, 8)], [(Some(9), true), (None, false)]);
    // Refused: by who got another one.
    (2..3).for_each(|n| dropped(&mut f, n, "br0", Carries::Syn));
    assert!(told(&f).0.failed[0].shut.is_some());
    f.opens.iter_mut().for_each(|o| o.end = OpenEnd::Refused);
    assert_eq!(told(&f).0.failed[0].shut, None);
}

/// Events were lost while one of them lasted: the others are as sure as before.
#[test]
fn one_in_doubt_leaves_the_others_sure() {
    let mut f = facts(5, &[]);
    f.opens[4].confidence = Confidence::Weak;
    let groups: Vec<_> = told(&f).0.failed.iter().map(|g| (g.attempts, g.sure)).collect();
    assert_eq!(groups, [(4, true), (1, false)]);
}

#[test]
fn where_a_program_went_before_is_told() {
    // Four connections to 10.0.0.8 in the second before, then 10.0.0.9 refuses.
    let moved = |change: &dyn Fn(&mut Facts)| {
        let mut f = facts(0, &[]);
        f.opens = (0..4).map(|n| attempt(n, 1, (8, 8080), OpenEnd::Established)).collect();
        f.opens
            .extend((4..30).map(|n| attempt(n, 1, (9, 8080), OpenEnd::Refused)));
        change(&mut f);
        let (o, line) = told(&f);
        (o.failed[0].before.clone(), line.headline)
    };
    let (before, headline) = moved(&|_| ());
    let expected = Before {
        to: "10.0.0.8:8080".into(),
        connections: 4,
        last_ns: S,
    };
    assert_eq!(before, Some(expected));
    let says = "; before, until 1.000 s, it connected to 10.0.0.8:8080 (4 times), and never since: another address of a name, or another entry of its list, most likely (inferred)";
    assert!(headline.ends_with(says), "{headline}");
    // Another port; still asked later; one of two that were left; twice may be anything; somebody reached the new end.
    let none = |change: &dyn Fn(&mut Facts)| assert_eq!(moved(change).0, None);
    none(&|f| f.opens[..4].iter_mut().for_each(|o| o.to = o.to.map(|t| (t.0, 81))));
    none(&|f| f.opens.push(attempt(31, 1, (8, 8080), OpenEnd::Established)));
    none(&|f| {
        f.opens
            .extend((0..4).map(|n| attempt(n, 1, (7, 8080), OpenEnd::Established)))
    });
    none(&|f| f.opens.truncate(6));
    // No longer than between two before.
    none(&|f| {
        f.opens[3].start_ns = 3 * S;
        f.opens.truncate(14);
        f.opens.iter_mut().skip(4).for_each(|o| o.start_ns += 2 * S);
    });
    none(&|f| f.opens.push(attempt(31, 2, (9, 8080), OpenEnd::Established)));
    // One of two that were left once; a connection of before that is still used; all opened at once.
    none(&|f| f.opens.push(attempt(0, 1, (7, 8080), OpenEnd::Established)));
    none(&|f| {
        f.connections = vec![ConnectionRow {
            last_ns: 2 * S,
            ..row(0, 8)
        }]
    });
    none(&|f| f.opens[..4].iter_mut().for_each(|o| o.start_ns = 0));
}

#[test]
fn who_is_refused_where_nobody_ever_was_is_wrong() {
    let tone = |n: u32, change: &dyn Fn(&mut Facts)| {
        let mut f = facts(0, &[]);
        f.opens = (0..n).map(|n| attempt(n, 1, (9, 8080), OpenEnd::Refused)).collect();
        change(&mut f);
        told(&f).1.tone
    };
    assert_eq!(tone(20, &|_| ()), Tone::Bad);
    // Few; at another time somebody was there; what was lost may say so.
    assert_eq!(tone(19, &|_| ()), Tone::Notice);
    let once = attempt(40, 2, (9, 8080), OpenEnd::Established);
    assert_eq!(tone(20, &|f| f.opens.push(once.clone())), Tone::Notice);
    assert_eq!(tone(20, &|f| f.gaps.push(crate::testing::gap(0, S))), Tone::Notice);
    // So do connections that are older than the recording; and of whom no process is known nothing is.
    assert_eq!(tone(20, &|f| f.connections = vec![row(0, 9)]), Tone::Notice);
    assert_eq!(tone(20, &|f| f.opens.iter_mut().for_each(|o| o.pid = 0)), Tone::Notice);
}
