//! A queue beyond this host that it fills itself: planted, who filled it when and who waited.

use super::*;
use crate::analyses::paths::{Direction, Filled};
use crate::reconstruct::receive::tables::RxRow;

/// The queue is filled.
const FULL: std::ops::Range<i64> = 2 * S..4 * S;

fn way(at: i64) -> i64 {
    if FULL.contains(&at) { 61 * MS } else { MS }
}

/// Two hosts with calls through the queue; one on another way.
fn beside(way: fn(i64) -> i64) -> Facts {
    let mut f = Facts::empty();
    (f.capture.start_ns, f.capture.end_ns) = (Some(0), Some(5 * S));
    calls(&mut f, 2, way, NONE);
    calls(&mut f, 3, way, NONE);
    f
}

/// A segment to 10.0.0.9 every 2 ms.
fn stream(f: &mut Facts, times: std::ops::Range<i64>, ns: impl Fn(i64) -> i64) {
    let c = socket(f, 9);
    f.connections[c as usize].task = Name::new(b"redis-server");
    for nth in 0..(times.end - times.start) / (2 * MS) {
        let at = times.start + nth * 2 * MS;
        acked(f, c, at, ns(at), 1448);
    }
}

fn filled(f: &Facts) -> Option<Filled> {
    answer(f).filled
}

#[test]
fn what_one_connection_fills_others_wait_in() {
    let mut f = beside(way);
    stream(&mut f, FULL, |_| 60 * MS);
    calls(&mut f, 4, |_| 4 * MS, NONE);
    let of = filled(&f).unwrap();
    assert_eq!(
        (of.direction, of.host.as_str(), of.at.as_str()),
        (Direction::Sent, "10.0.0.9", "10.0.0.1:40000")
    );
    assert_eq!((of.task.as_str(), of.connections), ("redis-server", 1));
    assert_eq!(
        (of.also.clone(), of.not.clone()),
        (
            vec!["10.0.0.2".to_owned(), "10.0.0.3".into()],
            vec!["10.0.0.4".to_owned()]
        )
    );
    // 30 segments are under way from 58 ms on.
    assert_eq!(of.spells.len(), 1);
    let (from, to) = of.spells[0];
    assert!(
        (2_020 * MS..2_060 * MS).contains(&from) && (4_000 * MS..4_060 * MS).contains(&to),
        "{from} {to}"
    );
    assert!(
        (MS..2 * MS).contains(&of.low_ns) && (61 * MS..62 * MS).contains(&of.high_ns),
        "{of:?}"
    );
    // 1448 bytes each 2 ms.
    assert!((650_000..750_000).contains(&of.rate_per_s), "{}", of.rate_per_s);
    assert!((1_300_000..1_448_000).contains(&of.bytes), "{}", of.bytes);
}

/// A stream as ever has more under way when the way gets longer: it is no cause of that.
#[test]
fn a_steady_stream_fills_nothing() {
    let mut f = beside(way);
    stream(&mut f, 0..5 * S, way);
    assert_eq!(filled(&f), None);
}

#[test]
fn nobody_waits_beside_it() {
    let mut f = beside(|_| MS);
    stream(&mut f, FULL, |_| 60 * MS);
    assert_eq!(filled(&f), None);
    // Or as many do not.
    let mut f = beside(way);
    calls(&mut f, 4, |_| 4 * MS, NONE);
    calls(&mut f, 5, |_| 4 * MS, NONE);
    stream(&mut f, FULL, |_| 60 * MS);
    assert_eq!(filled(&f), None);
}

/// What waits in a queue of this host is told by that.
#[test]
fn a_queue_of_this_host_is_not_beyond_it() {
    let mut f = beside(way);
    for r in &mut f.tx {
        let at = r.t_snd_ns.unwrap();
        r.t_sched_ns = if FULL.contains(&at) { at - 20 * MS } else { at };
    }
    stream(&mut f, FULL, |_| 60 * MS);
    assert_eq!(filled(&f), None);
}

/// A download: its bytes come, and the ACKs of what is sent to others come behind them.
#[test]
fn a_download_fills_the_way_here() {
    let mut f = beside(way);
    let c = socket(&mut f, 9);
    for nth in 0..1_000 {
        f.rx.push(RxRow {
            connection: Some(ConnectionId(c)),
            bytes: Some(1448),
            start_ns: 2 * S + nth * 2 * MS,
            ..RxRow::default()
        });
    }
    let of = filled(&f).unwrap();
    assert_eq!((of.direction, of.host.as_str()), (Direction::Received, "10.0.0.9"));
    assert_eq!((of.spells.as_slice(), of.bytes), (&[(2 * S, 4 * S)][..], 1_448_000));
    assert_eq!(of.also, ["10.0.0.2", "10.0.0.3"]);
}
