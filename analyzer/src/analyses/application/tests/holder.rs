//! Who woke late answers was itself in state D.

use super::{MS, turnaround};
use crate::analyses::application::holder::Holders;
use crate::analyses::application::parts::{Part, Parts};
use crate::facts::Facts;
use crate::name::Name;
use crate::reconstruct::application::tables::TurnaroundRow;
use crate::reconstruct::thread::{UNINTERRUPTIBLE, UNRECORDED};

/// An answer of thread `pid`, from `at` on, ms.
fn row(pid: i32, at: i64, ms: i64, call: &str, woken_by: i32) -> TurnaroundRow {
    TurnaroundRow {
        ready_ns: Some(at * MS),
        read_ns: at * MS,
        send_ns: (at + ms) * MS,
        sender_pid: pid,
        woken_by: Name::new(b"ledger"),
        woken_by_pid: woken_by,
        woken_by_ns: if woken_by == 0 { 0 } else { (ms - 1) * MS },
        ..turnaround(0, ms * MS, call)
    }
}

/// Thread 1 writes to a disk; 2 waits for it, 3 for 2: of their 136 ms those before them were at the disk for 130.
fn queue() -> Facts {
    let mut f = Facts::empty();
    f.turnarounds = vec![
        row(1, 1_000, 80, UNINTERRUPTIBLE, 0),
        row(2, 1_010, 72, UNRECORDED, 1),
        row(3, 1_020, 64, UNRECORDED, 2),
    ];
    f
}

fn told(f: &Facts) -> Option<f64> {
    let rows: Vec<&TurnaroundRow> = f.turnarounds.iter().collect();
    let mut sums = Parts::default();
    rows.iter().for_each(|r| sums.add(r));
    let mut parts: Vec<Part> = sums.largest();
    Holders::of(f).name(&mut parts, &rows);
    let lock = parts.iter().find(|p| p.lock()).unwrap();
    lock.waker_in_state_d
}

#[test]
fn each_queues_behind_the_one_before() {
    let share = told(&queue()).unwrap();
    assert!((0.95..0.97).contains(&share), "{share}");
}

/// Each waits longer for the lock than it then waits for the disk itself.
#[test]
fn four_in_line_at_a_slow_disk() {
    let mut f = Facts::empty();
    f.turnarounds = (0..8)
        .map(|n| {
            let pid = i32::try_from(n % 4).unwrap() + 1;
            let mut r = row(pid, n * 100, 400, UNRECORDED, if pid == 1 { 4 } else { pid - 1 });
            (r.asleep_in_ns, r.woken_by_ns, r.held_ns) = (300 * MS, 300 * MS, 100 * MS);
            r
        })
        .collect();
    assert!(told(&f).is_some_and(|share| share > 0.7), "{:?}", told(&f));
    // They held it for something else.
    f.turnarounds.iter_mut().for_each(|r| r.held_ns = 10 * MS);
    assert_eq!(told(&f), None);
}

#[test]
fn who_did_something_else_holds_no_lock_for_a_disk() {
    // It slept so for a part of its answer only; in a call; or had no answer under way then.
    let changes: [&dyn Fn(&mut TurnaroundRow); 3] =
        [&|r| r.held_ns = 20 * MS, &|r| r.held_ns = 0, &|r| r.sender_pid = 9];
    for change in changes {
        let mut f = queue();
        change(&mut f.turnarounds[0]);
        // Another one that nobody waited for did.
        f.turnarounds.push(row(8, 3_000, 80, UNINTERRUPTIBLE, 0));
        assert_eq!(told(&f), None);
    }
    // Two that wait for each other end somewhere.
    let mut f = queue();
    f.turnarounds[0] = row(1, 1_000, 80, UNRECORDED, 2);
    f.turnarounds.push(row(8, 3_000, 80, UNINTERRUPTIBLE, 0));
    assert_eq!(told(&f), None);
    // Most of the waiting was for others.
    let mut f = queue();
    f.turnarounds
        .extend([row(4, 2_000, 400, UNRECORDED, 5), row(5, 2_000, 400, "recvfrom", 0)]);
    assert_eq!(told(&f), None);
}
