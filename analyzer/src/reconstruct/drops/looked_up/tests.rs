//! Packets and look-ups in their order.

use super::*;

fn way(n: u8) -> Ends {
    ([10, 0, 0, n].into(), [10, 0, 1, n].into())
}

#[test]
fn one_at_a_time() {
    let mut l = LookedUp::default();
    l.receives(1);
    assert_eq!(l.of(1), None);
    l.looks_up(Some(4), way(1));
    // Another table, for the same.
    l.looks_up(Some(4), way(1));
    assert_eq!((l.of(1), l.of(2)), (Some(way(1)), None));
    // The next has a socket, and no look-up; then one has.
    l.receives(2);
    assert_eq!((l.of(1), l.of(2)), (None, None));
    l.receives(3);
    l.looks_up(Some(4), way(3));
    assert_eq!((l.of(2), l.of(3)), (None, Some(way(3))));
    // What this host sends meanwhile is none of it.
    l.receives(4);
    l.looks_up(Some(1), way(9));
    l.looks_up(None, way(9));
    assert_eq!(l.of(4), None);
}

#[test]
fn a_list_needs_as_many_as_it_has_packets() {
    let list = |ways: &[u8]| {
        let mut l = LookedUp::default();
        (1..=3).for_each(|skb| l.lists(skb));
        (1..=3).for_each(|skb| l.receives(skb));
        ways.iter().for_each(|n| _ = l.looks_up(Some(4), way(*n)));
        l
    };
    let all = list(&[1, 2, 2]);
    assert_eq!(
        [1, 2, 3].map(|skb| all.of(skb)),
        [Some(way(1)), Some(way(2)), Some(way(2))]
    );
    for (of, n) in [(&[][..], 0), (&[1, 3][..], 2), (&[1, 2, 3, 4][..], 4)] {
        let l = list(of);
        assert_eq!(l.ways.len(), n);
        assert_eq!([1, 2, 3].map(|skb| l.of(skb)), [None; 3]);
    }
    // The next list.
    let mut l = list(&[1, 2, 3]);
    l.lists(7);
    l.receives(7);
    assert_eq!((l.of(1), l.of(7)), (None, None));
}

#[test]
fn what_passed_before_and_behind_the_first_drop() {
    let mut p = Pairs::default();
    let mut come = |n: u8, dropped: bool| {
        p.looked_up(way(n));
        if dropped {
            p.dropped(way(n));
        }
    };
    for at in 0..10 {
        come(1, at >= 6);
        come(2, at % 5 == 4);
        come(3, true);
    }
    assert_eq!(
        [1, 2, 3, 4].map(|n| p.passed(way(n))),
        [Some((6, 0)), Some((4, 4)), Some((0, 0)), None]
    );
}

/// A gateway without a socket in what it forwards: each attempt of a client that timed out, by its own stopwatch, has its first SYN among the drops, from its
/// address; that clock differs by a constant.
#[test]
fn whom_a_gateway_drops_is_whom_stopwatches_say() {
    let f = crate::tests::facts("gateway/gateway.nmb.zst");
    let dropped: Vec<_> = f.drops.iter().filter(|d| d.expected == Some(false)).collect();
    let to = |to: [u8; 4]| {
        dropped
            .iter()
            .filter(|d| d.way.is_some_and(|w| w.to == IpAddr::from(to)))
            .count()
    };
    // All but one of a scanner go to the end that has no port left.
    assert_eq!(
        (dropped.len(), to([198, 51, 100, 10]), to([203, 0, 113, 2])),
        (22, 21, 1)
    );
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../sample-data/gateway/truth.csv");
    let truth = std::fs::read_to_string(path).unwrap();
    let attempts: Vec<(i64, IpAddr)> = truth
        .lines()
        .skip(1)
        .map(|line| {
            let (at, who) = line.split_once(',').unwrap();
            ((at.parse::<f64>().unwrap() * 1e9) as i64, who.parse().unwrap())
        })
        .collect();
    // The constant by which most agree.
    let first = f.drops.first().unwrap().time_ns;
    let last = f.drops.last().unwrap().time_ns;
    let agree = |shift: i64| {
        let within = attempts.iter().filter(|(at, _)| (first..=last).contains(&(at + shift)));
        let (mut all, mut found) = (0, 0);
        for (at, who) in within {
            all += 1;
            let near = |d: &&&crate::reconstruct::drops::tables::DropRow| {
                d.way.is_some_and(|w| w.from == *who) && (d.time_ns - at - shift).abs() < 10_000_000
            };
            found += usize::from(dropped.iter().find(near).is_some());
        }
        (found, all)
    };
    let shifts = attempts
        .iter()
        .flat_map(|(at, _)| dropped.iter().map(move |d| d.time_ns - at));
    let (found, all) = shifts
        .map(agree)
        .max_by_key(|(found, all)| (*found, std::cmp::Reverse(*all)))
        .unwrap();
    assert!(found >= 9 && found == all, "{found} of {all}");
}
