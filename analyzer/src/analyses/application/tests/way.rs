//! Where requests were on their way.

use crate::analyses::application::way::{Place, filled_by, place};
use crate::facts::{ConnectionId, Facts, SkbId};
use crate::name::Name;
use crate::reconstruct::receive::tables::RxRow;
use crate::reconstruct::skb::tables::HopRow;
use crate::reconstruct::transmit::tables::TxRow;
use crate::reconstruct::xmits::Pass;

const MS: i64 = 1_000_000;
const SOCKET: ConnectionId = ConnectionId(0);

/// A request of skb 5 is sent at 0, comes by rs at 1 ms, is given to its driver at `started`, and is received on s0 at `came`.
fn recorded(started: i64, came: i64) -> Facts {
    let mut f = Facts::empty();
    let hop = |time_ns: i64, kind: &'static str, dev: &str| HopRow {
        bytes: Some(200),
        ..crate::testing::hop(5, time_ns, kind, dev)
    };
    f.hops = vec![
        hop(MS, "queue", "rs"),
        hop(started, "xmit", "rs"),
        hop(came, "rx", "s0"),
    ];
    f.xmits = vec![Pass {
        skb_id: Some(SkbId(5)),
        dev: Name::new(b"rs"),
        qdisc: Name::new(b"tbf"),
        bytes: Some(200),
        queued_ns: Some(MS),
        started_ns: Some(started),
        ..crate::testing::pass()
    }];
    let unit = |skb: u32, start_ns: i64| RxRow {
        skb_id: SkbId(skb),
        connection: Some(SOCKET),
        start_ns,
        ..RxRow::default()
    };
    // One of before, and one that came when the request was there.
    f.rx = vec![unit(4, -5), unit(5, came), unit(6, came + 20 * MS)];
    f
}

fn told(f: &Facts, to: i64) -> Option<Place> {
    place(f, &[(SOCKET, 0, to)])
}

/// 58 of 60 ms in the queue of a device, whose kind is named; nobody's packets left it meanwhile.
#[test]
fn a_request_waited_in_a_queue() {
    let place = told(&recorded(59 * MS, 59 * MS + 1000), 60 * MS).unwrap();
    assert_eq!(
        (place.dev.as_str(), place.qdisc.as_str(), place.to.as_str()),
        ("rs", "tbf", "")
    );
    assert!((place.share - 58.0 / 60.0).abs() < 1e-9, "{place:?}");
    assert_eq!(place.filled_by, None);
}

/// 57 of 60 ms between a device and the next.
#[test]
fn a_request_waited_between_two_devices() {
    let place = told(&recorded(2 * MS, 59 * MS), 60 * MS).unwrap();
    assert_eq!((place.dev.as_str(), place.to.as_str()), ("rs", "s0"));
    assert!((place.share - 57.0 / 60.0).abs() < 1e-9, "{place:?}");
}

/// The poll in which it came was begun by the device's timer.
#[test]
fn a_device_that_is_polled_by_its_timer_is_told() {
    let of = |expired: i64, cpu: u16| {
        let mut f = recorded(2 * MS, 59 * MS);
        f.polls = [39, 59]
            .map(|ms| crate::testing::poll(b"s0", Some(ms * MS - 1_000), ms * MS + 5_000))
            .to_vec();
        f.poll_timers = [39, 59].map(|ms| (cpu, ms * MS - expired)).to_vec();
        told(&f, 60 * MS).unwrap().timer_ns
    };
    assert_eq!(of(5_000, 0), Some(20 * MS));
    // Another CPU's; long before.
    assert_eq!(of(5_000, 1), None);
    assert_eq!(of(3 * MS, 0), None);
}

/// Polls of the device that follow those which the timer of another one began.
#[test]
fn a_timer_of_another_device_is_not_this_ones() {
    let of = |other: &[u8]| {
        let mut f = recorded(2 * MS, 59 * MS);
        f.poll_timers = [39, 59].map(|ms| (0, ms * MS - 5_000)).to_vec();
        for ms in [39, 59] {
            let ns = ms * MS;
            f.polls.push(crate::testing::poll(other, Some(ns - 4_000), ns - 2_000));
            f.polls.push(crate::testing::poll(b"s0", Some(ns - 2_000), ns + 5_000));
        }
        told(&f, 60 * MS).unwrap().timer_ns
    };
    assert_eq!(of(b"ens5"), None);
}

/// Of a queue's bytes; not of what went by a device of that name without a queue, nor where two devices of the name have one.
#[test]
fn only_what_the_queue_held_filled_it() {
    let sent = |n: u32, bypass: Option<bool>, ifindex: i32| {
        let row = TxRow {
            skb_id: SkbId(n),
            connection: Some(ConnectionId(n)),
            ..crate::testing::sent()
        };
        let pass = Pass {
            skb_id: Some(SkbId(n)),
            dev: Name::new(b"rs"),
            qdisc: Name::new(b"tbf"),
            bytes: Some(1_000),
            started_ns: Some(10 * MS),
            ifindex: Some(ifindex),
            bypass,
            ..crate::testing::pass()
        };
        (row, pass)
    };
    let of = |all: &[(TxRow, Pass)]| {
        let mut f = Facts::empty();
        f.connections = (0..3).map(crate::testing::tcp::connection).collect();
        f.skbs = (0..3).map(crate::testing::life).collect();
        f.tx = all.iter().map(|a| a.0.clone()).collect();
        f.xmits = all.iter().map(|a| a.1.clone()).collect();
        filled_by(&f, (Name::new(b"rs"), Name::new(b"tbf")), &[(0, 60 * MS)]).map(|(_, share)| share)
    };
    let (own, bypass, other) = (sent(0, Some(false), 3), sent(1, Some(true), 3), sent(2, Some(false), 4));
    assert_eq!(of(&[own.clone(), bypass]), Some(1.0));
    assert_eq!(of(&[own, other]), None);
}

/// Most of the time before anything was seen of it, or a unit that began before the request was sent: no place.
#[test]
fn what_is_not_followed_has_no_place() {
    assert_eq!(told(&recorded(2 * MS, 3 * MS), 60 * MS), None);
    assert_eq!(place(&recorded(2 * MS, 59 * MS), &[(SOCKET, 70 * MS, 75 * MS)]), None);
    assert_eq!(
        place(&recorded(2 * MS, 59 * MS), &[(ConnectionId(9), 0, 60 * MS)]),
        None
    );
}
