//! Packets and look-ups in their order.

use super::*;

fn way(n: u8) -> Ends {
    ([10, 0, 0, n].into(), [10, 0, 1, n].into())
}

/// Bytes of an event.
fn bytes(way: Ends) -> (Vec<u8>, Vec<u8>) {
    let of = |a: IpAddr| match a {
        IpAddr::V4(a) => a.octets().to_vec(),
        IpAddr::V6(a) => a.octets().to_vec(),
    };
    (of(way.0), of(way.1))
}

/// On CPU 0: packets have the life of their number.
fn receives(w: &mut Ways, skb: u64) {
    w.receives(0, skb, Some(SkbId(skb as u32)));
}

fn looks_up(w: &mut Ways, iif: Option<i32>, n: u8) {
    let (from, to) = bytes(way(n));
    w.looks_up((0, 0), iif, (Some(&from), &to));
}

fn drops(w: &mut Ways, skb: u64) -> Option<Ends> {
    w.drops(skb, Some(SkbId(skb as u32))).map(|w| (w.from, w.to))
}

#[test]
fn one_at_a_time() {
    let mut w = Ways::default();
    receives(&mut w, 1);
    assert_eq!(drops(&mut w, 1), None);
    receives(&mut w, 1);
    looks_up(&mut w, Some(4), 1);
    // Another table, for the same.
    looks_up(&mut w, Some(4), 1);
    // The next has a socket, and no look-up; then one has. What waits in a queue may be dropped later.
    receives(&mut w, 2);
    receives(&mut w, 3);
    looks_up(&mut w, Some(4), 3);
    assert_eq!(
        [1, 2, 3].map(|skb| drops(&mut w, skb)),
        [Some(way(1)), None, Some(way(3))]
    );
    // Its address is another packet's now.
    receives(&mut w, 5);
    looks_up(&mut w, Some(4), 5);
    assert_eq!(w.drops(5, Some(SkbId(99))), None);
    // What this host sends meanwhile is none of it.
    receives(&mut w, 4);
    looks_up(&mut w, Some(1), 9);
    looks_up(&mut w, None, 9);
    assert_eq!(drops(&mut w, 4), None);
}

#[test]
fn a_list_needs_as_many_as_it_has_packets() {
    let list = |ways: &[u8]| {
        let mut w = Ways::default();
        (1..=3).for_each(|skb| w.lists(0, skb));
        (1..=3).for_each(|skb| receives(&mut w, skb));
        ways.iter().for_each(|n| looks_up(&mut w, Some(4), *n));
        [1, 2, 3].map(|skb| drops(&mut w, skb))
    };
    assert_eq!(list(&[1, 2, 1]), [Some(way(1)), Some(way(2)), Some(way(1))]);
    // Two alike side by side may be of two tables (IPv6), or of two packets.
    for ways in [&[][..], &[1, 3], &[1, 2, 2], &[1, 1, 2], &[1, 2, 3, 4]] {
        assert_eq!(list(ways), [None; 3], "{ways:?}");
    }
}

/// Where sources are checked (rp_filter) the way back is looked up behind each.
#[test]
fn the_way_back_is_no_packet() {
    let mut w = Ways::default();
    let both = |w: &mut Ways, n: u8| {
        looks_up(w, Some(4), n);
        let (from, to) = bytes(way(n));
        w.looks_up((0, 0), Some(5), (Some(&to), &from));
    };
    receives(&mut w, 1);
    both(&mut w, 1);
    assert_eq!(w.pairs.passed((way(1).1, way(1).0)), None);
    assert_eq!(drops(&mut w, 1), Some(way(1)));
    (2..=3).for_each(|skb| w.lists(0, skb));
    (2..=3).for_each(|skb| receives(&mut w, skb));
    // The second goes by what is known of the first.
    both(&mut w, 2);
    assert_eq!([2, 3].map(|skb| drops(&mut w, skb)), [None; 2]);
}

/// Looked up in the host and in a container, and then dropped: none got through.
#[test]
fn a_packet_counts_once() {
    let mut w = Ways::default();
    for _ in 0..2 {
        receives(&mut w, 1);
        looks_up(&mut w, Some(4), 1);
    }
    assert_eq!(drops(&mut w, 1), Some(way(1)));
    assert_eq!(w.pairs.passed(way(1)), Some((0, 0)));
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

/// What goes on without an answer is counted from the last that came back. Where a list had more packets than look-ups, to the same address, one of these may be the answer.
#[test]
fn what_goes_on_since_the_last_answer_is_counted() {
    let mut w = Ways::default();
    let mut goes = |ts: i64, (from, to): Ends| {
        w.receives(0, ts as u64, None);
        let (from, to) = bytes((from, to));
        w.looks_up((0, ts), Some(4), (Some(&from), &to));
    };
    let back = |(a, b): Ends| (b, a);
    for ts in [100, 200] {
        goes(ts, way(1));
        goes(ts + 10, back(way(1)));
    }
    for ts in [300, 400, 500] {
        goes(ts, way(1));
    }
    goes(600, way(2));
    let of = w.pairs.passing();
    let got: Vec<_> = of
        .iter()
        .map(|p| (p.from, p.sent, p.answers, p.since, p.since_ns, p.last_ns))
        .collect();
    let (a, b) = way(1);
    assert_eq!(got, [(a, 5, 2, 3, 300, 500), (b, 2, 5, 0, 210, 210)]);
    // Two packets came as a list, with one look-up, to whom the pair's first packets come from.
    let (from, to) = bytes((way(2).0, a));
    for skb in [700, 701] {
        w.lists(0, skb);
    }
    for skb in [700, 701] {
        w.receives(0, skb, None);
    }
    w.looks_up((0, 700), Some(4), (Some(&from), &to));
    w.receives(0, 800, None);
    let of = w.pairs.passing();
    assert_eq!(of.iter().find(|p| p.from == a).map(|p| (p.sent, p.since)), Some((5, 0)));
}
