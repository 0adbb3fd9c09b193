//! When what lay behind a hole became readable, as reads prove it. No peer, no sequence number: the receiver's events alone.

use super::reads::ends;
use super::*;
use crate::Confidence::{Certain, Strong, Weak};
use crate::reconstruct::receive::tables::RxEnd::{Queued, Read};

/// A segment that no announcement follows: it lies behind a hole.
fn behind(s: &mut Script, t: u64, addr: u64, payload: u64) {
    recv(s, t, addr, payload);
    probe(s, t + 10, SOFT, addr, payload);
}
fn asks(s: &mut Script, t: u64, size: u64) {
    let v = [("fd", N(4)), ("size", N(size))];
    s.ev(T + t, 1, TASK, "syscalls:sys_enter_recvfrom", &v);
}
/// One read of one copy, in a call that asked for so much.
fn asked(s: &mut Script, t: u64, size: u64, addr: u64, len: u64) {
    asks(s, t - 2, size);
    read(s, t, addr, len);
}
fn switch(s: &mut Script, t: u64, prev: u64, state: u64, next: u64) {
    let v = [("prev_pid", N(prev)), ("prev_state", N(state)), ("next_pid", N(next))];
    s.ev(T + t, 1, Ctx::Task(prev as i32), "sched:sched_switch", &v);
}
/// Out of order, and in the receive queue, ns.
fn waits(r: &RxRow) -> (Option<i64>, Option<i64>) {
    (r.stage(Stage::OutOfOrder), r.rcvq_ns)
}

/// The announcement of another unit seems to release what is held. What fills the hole comes 5 us later, and what is read
/// behind it was not readable before it, coalesced into it or not, whatever the calls asked for.
#[test]
fn what_is_read_behind_a_later_unit_lay_behind_its_hole() {
    for size in [None, Some(1_000), Some(200)] {
        for coalesced in [true, false] {
            let mut s = script();
            behind(&mut s, 50, A + 256, 300);
            arrive(&mut s, 100, A, 200);
            if let Some(size) = size {
                asks(&mut s, 148, size);
            }
            read(&mut s, 150, A, 200);
            arrive(&mut s, 5_000, A + 512, 50); // fills the hole
            if coalesced {
                read(&mut s, 5_100, A + 512, 350);
            } else {
                read(&mut s, 5_100, A + 512, 50);
                read(&mut s, 5_200, A + 256, 300);
            }
            let r = rx(&s);
            assert_eq!(r[0].bytes, Some(300));
            let read = if coalesced { 5_100 } else { 5_200 };
            // tcp_probe at 60; readable at 5020.
            assert_eq!(waits(&r[0]), (Some(4_960), Some(read - 5_020)), "{size:?} {coalesced}");
            assert_eq!((r[0].end, r[0].unattributed_ns), (Read, read - 5_020));
            assert_eq!([waits(&r[1]), waits(&r[2])], [(None, Some(30)), (None, Some(80))]);
            let sure = if coalesced { Weak } else { Certain };
            assert_eq!(r[0].confidence, sure);
        }
    }
}

/// Two units announced, one held; the read got less than it asked for, and its bytes are those of the two.
#[test]
fn a_short_read_leaves_what_was_not_readable() {
    let both = |size: u64, bytes: u64| {
        let mut s = script();
        behind(&mut s, 50, A + 256, 300);
        arrive(&mut s, 100, A, 200);
        arrive(&mut s, 150, A + 512, 450);
        asked(&mut s, 200, size, A, bytes);
        let r = rx(&s);
        (ends(&r), r.iter().map(waits).collect::<Vec<_>>())
    };
    let held = [
        (Some(300), Queued, Certain),
        (Some(200), Read, Certain),
        (Some(450), Read, Strong),
    ];
    assert_eq!(
        both(1_000, 650),
        (held.to_vec(), vec![(None, None), (None, Some(80)), (None, Some(30))])
    );
    // All of it: the first announcement after it released it, or the second did, a third of its wait later.
    let all = [
        (Some(300), Read, Weak),
        (Some(200), Read, Certain),
        (Some(450), Read, Strong),
    ];
    assert_eq!(both(1_000, 950).0, all);
    // It got what it asked for: more may have been readable, and the order of arrival is all there is.
    assert_eq!(both(650, 650).0[2], (Some(450), Queued, Weak));
}

/// Of three that seem released the read has room for one: the first that came, weakly. The others wait for the next hole's end.
#[test]
fn a_short_read_takes_as_many_as_its_bytes_leave_room_for() {
    let mut s = script();
    for k in 1..4u64 {
        behind(&mut s, k * 20, A + k * 256, 100);
    }
    arrive(&mut s, 100, A, 200);
    asked(&mut s, 200, 1_000, A, 300);
    arrive(&mut s, 1_000, A + 2_048, 70);
    asked(&mut s, 1_100, 1_000, A + 2_048, 270);
    let r = rx(&s);
    let ooo: Vec<_> = r
        .iter()
        .map(|r| (r.bytes, r.stage(Stage::OutOfOrder), r.confidence))
        .collect();
    let expect = [
        (Some(100), Some(90), Weak),
        (Some(100), Some(970), Weak),
        (Some(100), Some(950), Weak),
        (Some(200), None, Certain),
        (Some(70), None, Certain),
    ];
    assert_eq!(ooo, expect);
}

/// A segment that overlaps what came before: a short read took what was new of it, and it waits no more.
#[test]
fn an_overlapping_segment_is_read_with_what_is_new_of_it() {
    let mut s = script();
    behind(&mut s, 50, A + 256, 300);
    arrive(&mut s, 100, A, 200); // and the first 100 bytes of the other
    asks(&mut s, 198, 1_000);
    copy(&mut s, 200, A, 200);
    copy(&mut s, 202, A + 256, 200);
    length(&mut s, 205, 400, 0);
    exit(&mut s, 208, "recvfrom", 400);
    arrive(&mut s, 1_000, A + 512, 150);
    asked(&mut s, 1_100, 1_000, A + 512, 150);
    let r = rx(&s);
    let expect = [
        (Some(300), Read, Strong),
        (Some(200), Read, Certain),
        (Some(150), Read, Certain),
    ];
    assert_eq!(ends(&r), expect);
    assert_eq!(
        (waits(&r[0]), r[0].start_ns + r[0].total_ns),
        ((Some(60), Some(82)), (T + 208) as i64)
    );
}

/// -EAGAIN: nothing was readable.
#[test]
fn an_empty_socket_has_released_nothing() {
    let mut s = script();
    behind(&mut s, 50, A + 256, 300);
    arrive(&mut s, 100, A, 200);
    asked(&mut s, 200, 200, A, 200);
    length(&mut s, 300, -11, 0);
    let r = rx(&s);
    assert_eq!(ends(&r), [(Some(300), Queued, Certain), (Some(200), Read, Certain)]);
    assert_eq!(waits(&r[0]), (None, None));
}

/// Without memory TCP announces what it has and drops the segment: it filled no hole (net/ipv4/tcp_input.c `tcp_data_queue`).
#[test]
fn a_segment_dropped_after_its_announcement_releases_nothing() {
    let mut s = script();
    behind(&mut s, 50, A + 256, 300);
    arrive(&mut s, 100, A, 200);
    let v = [("skbaddr", N(A)), ("protocol", N(0x0800)), ("reason", N(20))];
    s.ev(T + 121, 0, SOFT, "skb:kfree_skb", &v);
    arrive(&mut s, 5_000, A + 512, 200); // sent again
    asked(&mut s, 5_100, 1_000, A + 512, 500);
    let r = rx(&s);
    assert_eq!(ends(&r), [(Some(300), Read, Strong), (Some(200), Read, Certain)]);
    assert_eq!(waits(&r[0]), (Some(4_960), Some(80)));
}

/// Two announcements, either of which may have filled the hole: the wait between them is nobody's for sure.
#[test]
fn what_nothing_proves_is_weak_where_much_is_at_stake() {
    for (second, expect) in [(5_000, Weak), (110, Strong)] {
        let mut s = script();
        switch(&mut s, 0, PID as u64, 1, 0);
        behind(&mut s, 50, A + 256, 300);
        arrive(&mut s, 80, A, 200);
        arrive(&mut s, second, A + 512, 100);
        switch(&mut s, second + 60, 0, 0, PID as u64);
        asked(&mut s, second + 100, 1_000, A, 600);
        let r = rx(&s);
        assert_eq!((r[0].bytes, r[0].confidence), (Some(300), expect));
    }
}

/// Before 6.3 nothing is announced. What was read behind a segment that came later, by the same CPU, lay behind its hole.
#[test]
fn without_announcements_the_order_read_tells() {
    let mut s = Script::new("6.1.192", &[]);
    s.ev(1, 0, Ctx::Task(1), "napi:napi_poll", &[]);
    for (t, addr, bytes) in [(0, A, 300), (5_000, A + 256, 100)] {
        soft(&mut s, t, 0, "entry");
        behind(&mut s, t + 10, addr, bytes);
        soft(&mut s, t + 30, 0, "exit");
    }
    for (t, addr, bytes) in [(5_100, A + 256, 100), (5_200, A, 300)] {
        copy(&mut s, t, addr, bytes);
        exit(&mut s, t + 8, "recvfrom", bytes as i64);
    }
    let r = rx(&s);
    assert_eq!(
        [waits(&r[0]), waits(&r[1])],
        [(Some(5_000), Some(180)), (None, Some(80))]
    );
}

/// The reader works off its backlog before its read is over: what was announced then may have released what the read left.
#[test]
fn what_was_announced_after_the_copy_releases_what_the_read_left() {
    let mut s = script();
    behind(&mut s, 50, A + 256, 300);
    arrive(&mut s, 100, A, 200);
    asks(&mut s, 148, 1_000);
    copy(&mut s, 150, A, 200);
    arrive(&mut s, 160, A + 512, 100);
    length(&mut s, 190, 200, 0);
    exit(&mut s, 195, "recvfrom", 200);
    asked(&mut s, 300, 1_000, A + 512, 400);
    let r = rx(&s);
    let expect = [
        (Some(300), Read, Weak),
        (Some(200), Read, Certain),
        (Some(100), Read, Certain),
    ];
    assert_eq!(ends(&r), expect);
    assert_eq!(waits(&r[0]), (Some(120), Some(120)));
}

/// An order that was a guess took a unit whole; a copy names it later. What a read's bytes leave room for is counted without it.
#[test]
fn a_unit_taken_by_order_is_counted_once() {
    let mut s = script();
    for (t, addr) in [(20, A + 256), (40, A + 512)] {
        behind(&mut s, t, addr, 100);
    }
    arrive(&mut s, 100, A, 100);
    arrive(&mut s, 150, A + 768, 100);
    asked(&mut s, 200, 200, A, 200); // and A + 768; by order, A + 256
    asks(&mut s, 298, 1_000);
    copy(&mut s, 300, A + 256, 200);
    length(&mut s, 305, 200, 0);
    exit(&mut s, 308, "recvfrom", 200);
    let r = rx(&s);
    assert!(r.iter().all(|r| r.end == Read), "{r:?}");
}

/// Behind a named unit another came that was in order: so the unit was readable before that one, and nothing else released it.
#[test]
fn what_comes_in_order_behind_it_bounds_when_it_was_readable() {
    // Read behind it: 80 released it. Read before it: 5000 did.
    for (behind_it, wait) in [(true, 40), (false, 4_960)] {
        let mut s = script();
        switch(&mut s, 0, PID as u64, 1, 0);
        behind(&mut s, 50, A + 256, 300);
        arrive(&mut s, 80, A, 200);
        arrive(&mut s, 5_000, A + 512, 100);
        switch(&mut s, 5_060, 0, 0, PID as u64);
        asks(&mut s, 5_098, 1_000);
        copy(&mut s, 5_100, A, 200);
        let then = [(A + 256, 300), (A + 512, 100)];
        for k in [usize::from(!behind_it), usize::from(behind_it)] {
            let (addr, bytes) = then[k];
            copy(&mut s, 5_102, addr, bytes);
        }
        length(&mut s, 5_105, 600, 0);
        exit(&mut s, 5_108, "recvfrom", 600);
        let r = rx(&s);
        let got = (r[0].bytes, r[0].stage(Stage::OutOfOrder), r[0].confidence);
        assert_eq!(got, (Some(300), Some(wait), Certain));
    }
}

/// Nothing was missing: three units that are read before the one that announced them, as SO_RCVLOWAT wants so many bytes. They waited to be
/// readable, in order, and were not out of order; one copy or one each.
#[test]
fn what_is_read_before_the_unit_that_announced_it_was_kept_back() {
    for coalesced in [true, false] {
        let mut s = script();
        for k in 0..3 {
            behind(&mut s, 50 + k * 100, A + k * 256, 100);
        }
        arrive(&mut s, 1_000, A + 768, 100);
        match coalesced {
            true => read(&mut s, 1_500, A, 400),
            false => (0..4).for_each(|k| read(&mut s, 1_500 + k * 20, A + k * 256, 100)),
        }
        // The next are out of order: read behind what came later.
        behind(&mut s, 2_050, A + 1_024, 300);
        arrive(&mut s, 2_100, A + 1_280, 200);
        read(&mut s, 2_200, A + 1_280, 200);
        read(&mut s, 2_300, A + 1_024, 300);
        let r = rx(&s);
        // tcp_probe at 10 behind each arrival; readable at 1020.
        let of: Vec<_> = r
            .iter()
            .map(|r| (r.stage(Stage::OutOfOrder), r.stage(Stage::Ready)))
            .collect();
        let kept = |ns| (None, Some(ns));
        assert_eq!(of[..4], [kept(960), kept(860), kept(760), kept(10)], "{coalesced}");
        assert_eq!(of[4], (Some(60), None));
        assert!(r[..3].iter().all(|r| r.confidence == Strong), "{coalesced}: {r:?}");
        assert_eq!((r[3].end, r[4].confidence), (Read, Certain));
    }
}

/// What nothing tells is told as what most wait for, and not as certain.
#[test]
fn a_hole_of_which_nothing_tells_is_not_certain() {
    let mut s = script();
    behind(&mut s, 50, A + 256, 300);
    arrive(&mut s, 100, A, 200);
    read(&mut s, 200, A, 500);
    let r = rx(&s);
    assert_eq!(r[0].stage(Stage::OutOfOrder), Some(60));
    assert!(r[0].confidence <= Strong, "{r:?}");
}
