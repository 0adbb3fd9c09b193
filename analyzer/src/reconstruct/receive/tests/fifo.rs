//! The FIFO alone: what a copy that names an skb says about the bytes counted before it.

use crate::confidence::Confidence;
use crate::facts::SkbId;
use crate::name::Name;
use crate::reconstruct::receive::fifo::{Fifo, Named};
use crate::reconstruct::receive::tables::RxStart;
use crate::reconstruct::receive::unit::Unit;

fn units(ready: [bool; 3]) -> Vec<Unit> {
    let one = |(i, ready): (usize, bool)| {
        let mut u = Unit::begin(SkbId(i as u32), Name::default(), 0, 0, RxStart::Receive);
        (u.bytes, u.left, u.proto) = (Some(100), 100, Some(1));
        (u.ready, u.held) = (Some(2), !ready);
        u
    };
    ready.into_iter().enumerate().map(one).collect()
}

fn full() -> Fifo {
    let mut f = Fifo::new(true);
    (0..3).for_each(|u| f.push(u));
    f
}

/// A segment that overlapped what was there counts more bytes than were queued. When a copy names a whole unit, what is
/// before it was read, and from there on the count is right again.
#[test]
fn a_named_unit_puts_the_count_right() {
    let mut units = units([true; 3]);
    let mut f = full();
    assert!(f.take(50, 10, &mut units).is_empty()); // half of unit 0 by count; in truth all of it
    assert_eq!(f.named(2, &units, true), Named::After(vec![0, 1]));
    assert_eq!(f.take(100, 11, &mut units), [2]);
    assert_eq!(units[2].confidence, Confidence::Certain);
}

/// While a unit that was held for a missing segment waits, arrival order is no stream order.
#[test]
fn a_held_unit_may_be_later_in_the_stream() {
    let mut units = units([false, true, true]);
    let mut f = full();
    assert_eq!(f.named(1, &units, true), Named::Next);
    assert_eq!(f.take(100, 10, &mut units), [1]);
    assert_eq!(units[1].confidence, Confidence::Weak);
    assert_eq!(f.take(200, 11, &mut units), [0, 2]);
    // Everything that was in doubt is gone: the next arrival is certain again.
    let mut more = units.clone();
    more.push(Unit {
        left: 100,
        bytes: Some(100),
        ready: Some(3),
        ..units[2].clone()
    });
    more[3].confidence = Confidence::Certain;
    f.push(3);
    assert_eq!(f.take(100, 12, &mut more), [3]);
    assert_eq!(more[3].confidence, Confidence::Certain);
}

#[test]
fn a_copy_of_an_unknown_skb_takes_nothing() {
    let units = units([true; 3]);
    assert_eq!(full().named(7, &units, true), Named::Strange);
}

/// A reader that no event shows lets the queue grow without end: what segments do to it must not depend on its length.
#[test]
fn a_long_queue_costs_no_more_than_a_short_one() {
    let mut f = Fifo::new(true);
    let started = std::time::Instant::now();
    for unit in 0..200_000 {
        f.push(unit);
        f.doubt();
        if unit % 2 == 1 {
            f.remove(unit);
        }
    }
    // 200,000 walks over 100,000 units would be 20,000,000,000 steps.
    assert!(started.elapsed().as_secs() < 5, "{:?}", started.elapsed());
    let left: Vec<(usize, Confidence)> = f.drain().collect();
    let expect: Vec<(usize, Confidence)> = (0..200_000).step_by(2).map(|u| (u, Confidence::Weak)).collect();
    assert!(left == expect);
}

/// Without sk_data_ready (6.1) nothing tells held units: those before a named one count as read, weakly, and their own copies
/// take nothing more. Kept waiting they would stay for 400 ms (seen on the sample of 6.1).
#[test]
fn without_announcements_what_is_passed_is_read() {
    let mut units = units([true; 3]);
    units.iter_mut().for_each(|u| u.ready = None);
    let mut f = full();
    assert_eq!(f.named(2, &units, false), Named::After(vec![0, 1]));
    units[0].passed = true;
    assert_eq!(f.named(0, &units, false), Named::Already);
}
