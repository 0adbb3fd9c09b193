//! What held those who woke late answers.

use super::{MS, turnaround};
use crate::analyses::application::parts::{Part, Parts};
use crate::analyses::application::waker::{WakerHeld, Wakers};
use crate::facts::{ConnectionId, Facts};
use crate::name::Name;
use crate::reconstruct::application::tables::TurnaroundRow;
use crate::reconstruct::receive::tables::RxRow;
use crate::reconstruct::transmit::{Halt, Stage};

/// Three answers that stood from 4000 to 7700 ms, woken by thread 21 of process 20.
fn late() -> Vec<TurnaroundRow> {
    let row = |n: i64| {
        let ns = (3_700 - n) * MS;
        TurnaroundRow {
            ready_ns: Some((4_000 + n) * MS),
            send_ns: 7_700 * MS,
            woken_by: Name::new(b"in:imuxsock"),
            woken_by_pid: 21,
            woken_by_ns: ns - 10_000,
            ..turnaround(0, ns, "sendto")
        }
    };
    (0..3).map(row).collect()
}

/// Connection 0 of process 20, by thread 22, held from 1500 to 7690 ms; connection 1 is its other end, read by collector/30. Connection 2 is of the
/// same process, and was never held.
fn facts() -> Facts {
    let mut f = Facts::empty();
    (f.capture.start_ns, f.capture.end_ns) = (Some(0), Some(12_000 * MS));
    for n in 0..3u32 {
        let mut c = crate::testing::tcp::connection(n);
        (c.dport, c.pid) = (514 + n as u16, [22, 30, 22][n as usize]);
        f.connections.push(c);
    }
    f.connections[0].peer = Some(ConnectionId(1));
    for tid in [20, 21, 22] {
        f.processes.insert(tid, (20, Name::new(b"rsyslogd")));
    }
    held(&mut f, 0, Stage::Rwnd, (1_500, 7_690));
    f.rx.push(RxRow {
        connection: Some(ConnectionId(1)),
        task: Name::new(b"collector"),
        pid: 30,
        start_ns: 1_400 * MS,
        total_ns: 6_200 * MS,
        asleep_in: Name::new(b"clock_nanosleep"),
        asleep_in_ns: 6_100 * MS,
        ..RxRow::default()
    });
    f
}

fn held(f: &mut Facts, c: u32, by: Stage, (from, to): (i64, i64)) {
    let halt = Halt {
        by,
        from: from * MS,
        to: to * MS,
    };
    f.halts.entry(ConnectionId(c)).or_default().push(halt);
}

fn named(f: &Facts, rows: &[TurnaroundRow]) -> Option<WakerHeld> {
    let rows: Vec<&TurnaroundRow> = rows.iter().collect();
    let mut sums = Parts::default();
    rows.iter().for_each(|r| sums.add(r));
    let mut parts: Vec<Part> = sums.largest();
    Wakers::of(f).name(&mut parts, &rows);
    parts[0].waker_held.clone()
}

#[test]
fn its_process_could_not_send_meanwhile() {
    let f = facts();
    let of = named(&f, &late()).unwrap();
    assert_eq!((of.to.as_str(), of.by), ("10.0.0.2:514", "rwnd"));
    assert!((0.99..1.0).contains(&of.share), "{}", of.share);
    assert_eq!(of.reader, Some(("collector/30".into(), "clock_nanosleep".into())));
    // Who read late did not sleep in one call, or is not in the recording.
    let mut f = facts();
    f.rx[0].asleep_in_ns = 3_000 * MS;
    assert_eq!(named(&f, &late()).unwrap().reader, None);
    let mut f = facts();
    f.connections[0].peer = None;
    assert_eq!(named(&f, &late()).unwrap().reader, None);
    // By losses.
    let mut f = facts();
    f.halts.clear();
    held(&mut f, 0, Stage::Recovery, (4_500, 7_690));
    let of = named(&f, &late()).unwrap();
    assert_eq!((of.by, of.reader), ("recovery", None));
}

/// Threads of a server in a write to a full pipe: its reader wakes the first, and each the next.
#[test]
fn who_wakes_the_first_of_those_that_wake_one_another_is_asked() {
    let chain = |first: i32| {
        let mut rows = late();
        for (n, r) in (0..).zip(&mut rows) {
            (r.pid, r.asleep_in) = (101 + n, Name::new(b"write"));
            r.woken_by_pid = if n == 0 { first } else { 100 + n };
        }
        rows
    };
    let f = facts();
    assert_eq!(named(&f, &chain(21)), named(&f, &late()));
    assert!(named(&f, &late()).is_some());
    // Threads that hand a lock on are no pipe.
    let mut rows = chain(21);
    rows.iter_mut().for_each(|r| r.asleep_in = Name::new(b"futex"));
    assert_eq!(named(&f, &rows), None);
    // Nobody else, in a circle.
    assert_eq!(named(&f, &chain(103)), None);
}

#[test]
fn what_does_not_stand_out_is_not_named() {
    let none = |change: &dyn Fn(&mut Facts)| {
        let mut f = facts();
        change(&mut f);
        assert_eq!(named(&f, &late()), None);
    };
    // Held half of that time; as much behind it; another one as well.
    none(&|f| {
        f.halts.clear();
        held(f, 0, Stage::Rwnd, (1_500, 6_000));
    });
    none(&|f| held(f, 0, Stage::Rwnd, (7_690, 12_000)));
    // As much before; since the recording began.
    none(&|f| held(f, 0, Stage::Rwnd, (100, 1_490)));
    none(&|f| f.capture.start_ns = Some(1_500 * MS));
    none(&|f| held(f, 2, Stage::Sndbuf, (1_500, 7_690)));
    // Of another process, or it is not known of which.
    none(&|f| f.connections[0].pid = 40);
    none(&|f| f.processes.clear());
    // The recording ends with the answers.
    none(&|f| f.capture.end_ns = Some(7_710 * MS));
    none(&|f| f.gaps.push(crate::testing::gap(5_000 * MS, 5_001 * MS)));
    // Nobody woke them, or several processes did.
    let f = facts();
    let mut rows = late();
    rows.iter_mut().for_each(|r| r.woken_by_pid = 0);
    assert_eq!(named(&f, &rows), None);
    let mut rows = late();
    (rows[0].woken_by_pid, rows[1].woken_by_pid) = (50, 51);
    assert_eq!(named(&f, &rows), None);
    // Who ran all the time did not wait.
    let mut rows = late();
    for r in &mut rows {
        (r.ran_meanwhile, r.ran_meanwhile_pid, r.ran_meanwhile_ns) = (Name::new(b"java"), 9, r.asleep_in_ns);
    }
    assert_eq!(named(&f, &rows), None);
}

#[test]
fn a_hold_that_ends_with_them_needs_no_time_behind() {
    // Nothing is known behind them; the hold is theirs, but for 5 %, and half of their time before.
    let with = |from: i64, to: i64| {
        let mut f = facts();
        f.capture.end_ns = Some(7_710 * MS);
        f.halts.clear();
        held(&mut f, 0, Stage::Rwnd, (from, to));
        named(&f, &late())
    };
    assert_eq!(with(3_900, 7_690).unwrap().to, "10.0.0.2:514");
    assert_eq!(with(2_200, 7_690).unwrap().to, "10.0.0.2:514");
    assert_eq!((with(2_100, 7_690), with(3_900, 7_500)), (None, None));
    assert_eq!((with(4_200, 7_690), with(3_900, 7_900)), (None, None));
    // It began before the recording, for all that is known.
    let mut f = facts();
    (f.capture.start_ns, f.capture.end_ns) = (Some(3_950 * MS), Some(7_710 * MS));
    f.halts.clear();
    held(&mut f, 0, Stage::Rwnd, (3_950, 7_690));
    assert_eq!(named(&f, &late()), None);
}

#[test]
fn a_reader_that_slept_in_a_send_is_followed() {
    let next = |call: &str, second: bool| {
        let mut f = facts();
        f.rx[0].asleep_in = Name::new(call.as_bytes());
        // The collector's process sends on by connection 3, to 4, which siem/50 reads.
        for n in 3..6u32 {
            let mut c = crate::testing::tcp::connection(n);
            (c.dport, c.pid) = (600 + n as u16, [30, 50, 30][n as usize - 3]);
            f.connections.push(c);
        }
        f.connections[3].peer = Some(ConnectionId(4));
        // Held all the time: it is the reader's call that tells.
        held(&mut f, 3, Stage::Rwnd, (1, 11_990));
        if second {
            held(&mut f, 5, Stage::Sndbuf, (1, 11_990));
        }
        let row = RxRow {
            connection: Some(ConnectionId(4)),
            task: Name::new(b"siem"),
            pid: 50,
            asleep_in: Name::new(b"clock_nanosleep"),
            ..f.rx[0].clone()
        };
        f.rx.push(row);
        f.processes.insert(30, (30, Name::new(b"collector")));
        let of = named(&f, &late()).unwrap();
        of.next.map(|n| (n.to, n.by, n.reader.unwrap(), n.next.is_none()))
    };
    let siem = ("siem/50".to_owned(), "clock_nanosleep".to_owned());
    assert_eq!(
        next("sendto", false),
        Some(("10.0.0.2:603".to_owned(), "rwnd", siem, true))
    );
    // It slept in no send; of two held ones nobody knows which.
    assert_eq!(next("clock_nanosleep", false), None);
    assert_eq!(next("sendto", true), None);
}
