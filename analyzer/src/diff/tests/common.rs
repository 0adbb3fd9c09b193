//! Traffic of services that one side alone has.

use super::samples::{facts, of};
use crate::diff::{Level, Outcome};
use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::receive::tables::RxRow;

/// Every `nth` unit that was received comes once more, of a service at another port, a hundred times as late and as large.
fn with_a_backup(port: u16, nth: usize) -> Facts {
    let mut f = facts("rpc/rpc.nmb");
    let mut row = f.connections[0].clone();
    row.connection = ConnectionId(f.connections.len() as u32);
    (row.sport, row.dport, row.born, row.peer) = (50_000, port, None, None);
    f.connections.push(row.clone());
    let theirs: Vec<_> = (f.rx.iter().step_by(nth))
        .map(|r| {
            let mut r = r.clone();
            r.connection = Some(row.connection);
            r.total_ns += 50_000_000;
            r.unattributed_ns += 50_000_000;
            r.bytes = r.bytes.map(|n| n * 100);
            r
        })
        .collect();
    f.rx.extend(theirs);
    f.rx.sort_by_key(|r| r.start_ns);
    f
}

#[test]
fn a_backup_that_came_makes_the_others_no_slower() {
    let (alone, both) = (facts("rpc/rpc.nmb"), with_a_backup(873, 4));
    let units = both
        .rx
        .iter()
        .filter(|r| r.connection.is_some_and(|c| c.0 + 1 == both.connections.len() as u32));
    assert!(units.count() >= 100);
    let d = of(&alone, &both);
    let worse: Vec<&str> = (d.metrics.iter().filter(|m| m.outcome == Outcome::Worse))
        .map(|m| m.metric.as_str())
        .collect();
    assert_eq!(worse, [] as [&str; 0], "{}", d.verdict.sentence);
    let check = d.parity.iter().find(|c| c.what == "services of one side").unwrap();
    assert_eq!((check.level, check.before.as_str()), (Level::Differs, "none"));
    assert!(check.after.starts_with("port 873: "), "{}", check.after);
    // The same service on both sides is compared: the same 50 ms are found.
    let slower = |late_ns: i64| {
        let mut f = with_a_backup(873, 4);
        let theirs = ConnectionId(f.connections.len() as u32 - 1);
        for r in f.rx.iter_mut().filter(|r| r.connection == Some(theirs)) {
            r.total_ns += late_ns;
            r.unattributed_ns += late_ns;
        }
        f
    };
    let d = of(&slower(0), &slower(100_000_000));
    assert!(d.parity.iter().all(|c| c.what != "services of one side"));
    let total = d.metrics.iter().find(|m| m.metric == "rx.total").unwrap();
    assert_eq!(total.outcome, Outcome::Worse);
    // However many units a transfer has that one side alone has: they are left out, and what it sent again is told and in no rate.
    let mut most = with_a_backup(873, 1);
    let theirs = ConnectionId(most.connections.len() as u32 - 1);
    let again = facts("sawtooth/sawtooth.nmb").retransmits.remove(0);
    let from = most.capture.start_ns.unwrap();
    most.retransmits
        .extend((0..400i64).map(|n| crate::reconstruct::tcp::tables::RetransmitRow {
            connection: Some(theirs),
            time_ns: from + n * 1_000_000,
            segments: Some(1),
            ..again.clone()
        }));
    let d = of(&alone, &most);
    let said = &d.verdict.sentence;
    assert_eq!(d.verdict.outcome, Outcome::Same, "{said}");
    let told = "Not compared are transfers that there are after alone, of port 873: ";
    assert!(
        said.contains(told) && said.contains(", 400 segments sent again, 0 packets dropped here."),
        "{said}"
    );
    assert!(
        d.rates
            .iter()
            .all(|r| r.metric != "tcp.retransmits" || r.after.of == 0.0)
    );
    // Where most is of one side alone, it is compared as it is.
    let mut most = facts("rpc/rpc.nmb");
    for c in &mut most.connections {
        let end = if c.sport < c.dport { &mut c.sport } else { &mut c.dport };
        *end += 1;
    }
    let d = of(&alone, &most);
    assert!(d.parity.iter().all(|c| c.what != "services of one side"));
}

/// A service whose port is known on one side, by its handshake, and not on the other, is on both.
#[test]
fn a_service_that_one_side_alone_knows_is_compared() {
    let known = |born: Option<i32>| {
        let mut f = with_a_backup(50_051, 4);
        f.connections.last_mut().unwrap().born = born;
        f
    };
    let d = of(&known(Some(2)), &known(None));
    assert!(d.parity.iter().all(|c| c.what != "services of one side"));
}

/// Puts so many units of a connection in, spread over the recording, each so long.
fn put_units(f: &mut Facts, connection: ConnectionId, n: i64, ns: i64) {
    let counts = |r: &&RxRow| crate::diff::values::metrics::rx_counts(r);
    let like = f.rx.iter().find(counts).unwrap().clone();
    let (from, to) = (f.capture.start_ns.unwrap(), f.capture.end_ns.unwrap());
    for at in 0..n {
        let mut r = like.clone();
        (r.connection, r.start_ns) = (Some(connection), from + (to - from) / n * at);
        (r.total_ns, r.unattributed_ns) = (ns + at % 7, ns + at % 7);
        f.rx.push(r);
    }
    f.rx.sort_by_key(|r| r.start_ns);
}

/// Beside the real units so many of two services, each unit so long.
fn of_two((fast, slow): (usize, usize), fast_ns: i64, slow_ns: i64) -> Facts {
    let mut f = facts("rpc/rpc.nmb");
    for (port, n, ns) in [(81, fast, fast_ns), (82, slow, slow_ns)] {
        let mut row = f.connections[0].clone();
        row.connection = ConnectionId(f.connections.len() as u32);
        (row.sport, row.dport, row.born, row.peer) = (50_000, port, Some(2), None);
        f.connections.push(row.clone());
        put_units(&mut f, row.connection, n as i64, ns);
    }
    f
}

#[test]
fn more_units_of_a_slow_service_are_no_slower_units() {
    let (few, many) = (
        of_two((8_000, 2_000), 20_000, 9_000_000),
        of_two((2_000, 8_000), 20_000, 9_000_000),
    );
    let total = |d: &crate::diff::Diff| d.metrics.iter().find(|m| m.metric == "rx.total").unwrap().clone();
    let d = of(&few, &many);
    let m = total(&d);
    let why = "its units are of other services (port 81 ";
    assert_eq!(m.outcome, Outcome::Changed, "{m:?}");
    assert!(m.mix.as_deref().is_some_and(|w| w.starts_with(why)), "{:?}", m.mix);
    // Where a service's own are longer, too, it is worse; and where the shares are the same.
    let slower = of_two((2_000, 8_000), 20_000, 18_000_000);
    assert_eq!(total(&of(&few, &slower)).outcome, Outcome::Worse);
    assert_eq!(total(&of(&many, &slower)).outcome, Outcome::Worse);
    // And the other way round: fewer of the slow one's are no quicker units, unless they are.
    let back = total(&of(&many, &few));
    assert_eq!(back.outcome, Outcome::Changed, "{back:?}");
    assert!(
        back.mix
            .as_deref()
            .is_some_and(|w| w.ends_with("and of none they are shorter")),
        "{:?}",
        back.mix
    );
    assert_eq!(total(&of(&slower, &few)).outcome, Outcome::Better);
    // A stage is looked at by itself.
    let queued = |(fast, slow)| {
        let mut f = of_two((fast, slow), 20_000, 9_000_000);
        let slow: Vec<bool> = f.rx.iter().map(|r| r.total_ns > 8_000_000).collect();
        for (r, slow) in f.rx.iter_mut().zip(slow) {
            r.rcvq_ns = Some(if slow { 8_000_000 } else { 10_000 });
        }
        f
    };
    let (few, mut longer) = (queued((8_000, 2_000)), queued((2_000, 8_000)));
    longer
        .rx
        .iter_mut()
        .for_each(|r| r.rcvq_ns = r.rcvq_ns.map(|ns| 4 * ns));
    let d = of(&few, &longer);
    let queue = d.metrics.iter().find(|m| m.metric == "rx.rcvq").unwrap();
    assert_eq!((total(&d).outcome, queue.outcome), (Outcome::Changed, Outcome::Worse));
}

/// Likewise of one service's clients: from far away everything takes longer.
#[test]
fn more_units_of_clients_far_away_are_no_slower_units() {
    let of_both = |(near, far): (usize, usize), near_ns: i64| {
        let mut f = facts("rpc/rpc.nmb");
        for (host, n, ns) in [([10, 7, 1, 9], near, near_ns), ([10, 8, 1, 9], far, 40_000_000)] {
            let mut row = f.connections[0].clone();
            row.connection = ConnectionId(f.connections.len() as u32);
            (row.sport, row.dport, row.born, row.peer) = (50_000, 81, Some(2), None);
            row.saddr = Some(host.into());
            f.connections.push(row.clone());
            put_units(&mut f, row.connection, n as i64, ns);
        }
        f
    };
    let total = |before: &Facts, after: &Facts| {
        let d = of(before, after);
        let m = d.metrics.iter().find(|m| m.metric == "rx.total").unwrap();
        (m.outcome, m.mix.clone().unwrap_or_default())
    };
    let few = of_both((8_000, 2_000), 4_000_000);
    let (outcome, why) = total(&few, &of_both((2_000, 8_000), 4_000_000));
    assert_eq!(outcome, Outcome::Changed, "{why}");
    assert!(
        why.contains("its units are of other clients (port 81 of 10.7.1.0/24 "),
        "{why}"
    );
    assert!(why.ends_with("and of none they are longer"), "{why}");
    // Those near by take longer, too.
    assert_eq!(total(&few, &of_both((2_000, 8_000), 20_000_000)).0, Outcome::Worse);
}

/// Units of a service that is asked 60 times per answer where it was once: other requests, whose times are no improvement. Where it is asked as before they are.
#[test]
fn units_of_other_requests_are_no_quicker_units() {
    use super::asks::asking;
    let with = |times: i64, n: i64, ns: i64| {
        let mut f = asking(|_| times, 20_000);
        let store = f.connections.last().unwrap().connection;
        put_units(&mut f, store, n, ns);
        f.rx.iter_mut().for_each(|r| r.bytes = Some(500));
        f
    };
    let total = |after: &Facts| {
        let d = of(&with(1, 1_000, 900_000), after);
        let m = d.metrics.iter().find(|m| m.metric == "rx.total").unwrap();
        (m.outcome, m.mix.clone().unwrap_or_default())
    };
    let (outcome, why) = total(&with(60, 30_000, 10_000));
    assert_eq!(outcome, Outcome::Changed, "{why}");
    assert!(
        why.ends_with("and of none they are shorter but of port 6379, which is asked otherwise"),
        "{why}"
    );
    assert_eq!(total(&with(1, 30_000, 10_000)).0, Outcome::Better);
}

/// As where a service moved to another port: nothing tells whether its units are longer.
#[test]
fn units_of_services_of_one_side_alone_may_be_longer() {
    let (before, after) = (
        of_two((8_000, 0), 20_000, 9_000_000),
        of_two((0, 8_000), 20_000, 9_000_000),
    );
    let d = of(&before, &after);
    let m = d.metrics.iter().find(|m| m.metric == "rx.total").unwrap();
    assert_eq!((m.outcome, d.verdict.outcome), (Outcome::Worse, Outcome::Worse));
    let why = m.mix.as_deref().unwrap_or_default();
    assert!(why.starts_with("its units are of other services (port 81 "), "{why}");
    assert!(why.ends_with(", and whether these are longer is not known"), "{why}");
}

/// Requests on one network against a bulk transfer on another: whatever differs, neither is worse.
#[test]
fn recordings_of_different_work_are_not_comparable() {
    let (requests, bulk) = (facts("rpc/rpc.nmb"), facts("sawtooth/sawtooth.nmb"));
    let d = of(&requests, &bulk);
    assert_eq!(d.verdict.outcome, Outcome::NotComparable);
    let check = d.parity.iter().find(|c| c.what == "services").unwrap();
    assert_eq!(check.level, Level::Prevents);
    assert!(
        check.before.starts_with("port 7000: ") && check.after.starts_with("port 5201: "),
        "{check:?}"
    );
    // The same servers at other ports are the same work.
    let mut moved = facts("rpc/rpc.nmb");
    for c in &mut moved.connections {
        for port in [&mut c.sport, &mut c.dport] {
            *port = if *port == 7000 { 7001 } else { *port };
        }
    }
    assert!(of(&requests, &moved).parity.iter().all(|c| c.what != "services"));
}
