//! Rows with a lower bound only: scripts that plant it, and real recordings cut where the whole tells the truth.

use rustc_hash::FxHashMap;

use super::{BASE, MSS, SOFT, Sender, TASK, requests, segments};
use crate::confidence::Confidence;
use crate::facts::Facts;
use crate::reconstruct::receive::tables::Censored;
use crate::reconstruct::transmit::tables::{TxEnd, TxKind, TxRow, TxStart};
use crate::testing::rewrite::{Fate, rewritten, thinned};
use crate::testing::tcp::SOCK;
use crate::testing::{N, Script};

/// Two segments, the first at the time that is returned, that nothing has acknowledged yet.
fn two_unanswered() -> (Sender, u64) {
    let mut s = Sender::new(&[]);
    requests(&mut s, 100_000, 3);
    let t = BASE + 1_000_000;
    for i in 0..2 {
        s.enter(t + i * 10_000);
        s.round(t + i * 10_000 + 100, 200);
        s.segment(t + i * 10_000 + 1000, TASK, 200);
        s.leave(t + i * 10_000 + 2000, 200);
    }
    (s, t)
}

#[test]
fn what_no_ack_ended_lasted_until_the_recording_ended() {
    let (mut s, t) = two_unanswered();
    // The last event of the recording is of nobody here.
    s.s.ev(t + 900_000, 1, SOFT, "irq:softirq_entry", &[("vec", N(1))]);
    let f = s.facts();
    let rows = segments(&f);
    let of = |n: usize| (rows[n].end, rows[n].censored, rows[n].at_least_ns);
    assert_eq!(of(3), (TxEnd::Open, Some(Censored::End), Some(900_000)));
    assert_eq!(of(4), (TxEnd::Open, Some(Censored::End), Some(890_000)));
    assert_eq!((rows[1].censored, rows[1].at_least_ns), (None, None));
}

/// A probe shows the socket before its own segment: that may have been the ACK, and no later probe says so.
#[test]
fn the_last_probe_ends_what_is_known() {
    let (mut s, t) = two_unanswered();
    s.probe(t + 300_000, 400, &[]);
    s.s.ev(t + 900_000, 1, SOFT, "irq:softirq_entry", &[("vec", N(1))]);
    let f = s.facts();
    let rows = segments(&f);
    assert_eq!((rows[3].end, rows[3].at_least_ns), (TxEnd::Open, Some(300_000)));
}

/// No probe tells of ACKs outside ESTABLISHED.
#[test]
fn a_closing_socket_is_known_until_it_closes() {
    let (mut s, t) = two_unanswered();
    SOCK.state(&mut s.s, t + 50_000, 0, TASK, 1, 4);
    s.s.ev(t + 900_000, 1, SOFT, "irq:softirq_entry", &[("vec", N(1))]);
    let f = s.facts();
    assert_eq!(segments(&f)[3].at_least_ns, Some(50_000));
}

#[test]
fn a_call_under_way_when_recording_began_bounds_its_segments() {
    let mut s = Sender::new(&[]);
    let t = BASE + 50_000;
    s.round(t + 100, 200);
    s.segment(t + 1000, TASK, 200);
    s.leave(t + 2000, 200);
    s.probe(t + 40_000, 200, &[]);
    s.softirq_exit(t + 41_000);
    requests(&mut s, 100_000, 3);
    let f = s.facts();
    let rows = segments(&f);
    let first = rows[0];
    assert_eq!(
        (first.start, first.censored),
        (TxStart::WriteQueue, Some(Censored::Start))
    );
    assert_eq!(first.at_least_ns, Some(first.total_ns));
    assert!(rows[1..3].iter().all(|r| r.censored.is_none()));
    // A sender without system calls (the kernel's own) began nothing before.
    let mut s = Sender::new(&["syscalls:sys_exit_write", "syscalls:sys_enter_write"]);
    requests(&mut s, 100_000, 3);
    let f = s.facts();
    assert!(segments(&f).iter().take(2).all(|r| r.censored.is_none()));
}

/// The socket is older than the recording, and what it sends first was written before.
#[test]
fn bytes_written_before_the_recording_bound_their_segments() {
    let mut s = Sender {
        s: Script::new("6.18.44", &[]),
        originals: 0,
        nxt: 1000,
        una: 1000,
    };
    for i in 0..40 {
        s.frame(BASE + 1000 + i * 10, SOFT, 0xffff_8881_3000_0000 + i * 512, 42);
    }
    s.probe(BASE + 50_000, 0, &[]);
    s.segment(BASE + 50_100, SOFT, MSS);
    s.softirq_exit(BASE + 51_000);
    s.probe(BASE + 60_000, MSS, &[]);
    s.softirq_exit(BASE + 61_000);
    requests(&mut s, 100_000, 4);
    let f = s.facts();
    let rows = segments(&f);
    assert_eq!(
        (rows[0].start, rows[0].censored),
        (TxStart::Queue, Some(Censored::Start))
    );
    assert!(rows[1..4].iter().all(|r| r.censored.is_none()), "{:?}", rows[1]);
}

#[test]
fn a_loss_bounds_what_it_shadows() {
    let mut s = Sender::new(&[]);
    requests(&mut s, 100_000, 2);
    let t = BASE + 1_000_000;
    s.enter(t);
    s.round(t + 100, 200);
    s.segment(t + 1000, TASK, 200);
    s.leave(t + 2000, 200);
    s.s.ev(t + 100_000, 0, SOFT, "irq:softirq_entry", &[("vec", N(1))]);
    s.s.lost(0, Some(9));
    s.probe(t + 400_000, 200, &[]);
    s.softirq_exit(t + 400_100);
    requests(&mut s, 1_500_000, 3);
    let f = s.facts();
    let rows = segments(&f);
    let row = rows.iter().find(|r| r.start_ns == t as i64).unwrap();
    assert_eq!((row.censored, row.at_least_ns), (Some(Censored::Loss), Some(100_000)));
    assert!(rows[0].censored.is_none() && rows[4].censored.is_none());
}

fn by_packet(f: &Facts) -> FxHashMap<i64, &TxRow> {
    let tcp = f.tx.iter().filter(|r| r.kind == TxKind::Tcp);
    tcp.map(|r| (r.t_sched_ns, r)).collect()
}

/// A recording that begins later, ends sooner, or lost events in between: a total it calls whole is that of the whole
/// recording, and every bound is below it.
#[test]
fn bounds_hold_in_cut_recordings() {
    let c = crate::tests::sample("sawtooth/sawtooth.nmb");
    let whole = crate::analyze(&c, &Default::default());
    let truth = by_packet(&whole);
    let cut = |from: u64, to: u64| {
        rewritten(&c, c.event_formats.clone(), |i, _, _, _| {
            match (from..to).contains(&i) {
                true => Fate::Keep,
                false => Fate::Absent,
            }
        })
    };
    for (what, less, least_same) in [
        // How many bytes waited when it began is not known, so later segments are weak.
        ("begins later", cut(140_000, u64::MAX), 5),
        ("ends sooner", cut(0, 200_000), 500),
        ("loses events", thinned(&c, |i| !(150_000..152_000).contains(&i)), 500),
    ] {
        let less = crate::analyze(&less, &Default::default());
        let (mut same, mut bounded) = (0, FxHashMap::<Censored, usize>::default());
        for (at, row) in by_packet(&less) {
            let Some(was) = truth.get(&at).filter(|w| w.end == TxEnd::Acked) else {
                continue;
            };
            match row.censored {
                Some(why) => {
                    let least = row.at_least_ns.unwrap();
                    assert!(least <= was.total_ns, "{what}: {row:?} was {was:?}");
                    *bounded.entry(why).or_default() += 1;
                }
                None if row.confidence >= Confidence::Strong => {
                    assert_eq!(row.total_ns, was.total_ns, "{what}: {row:?} was {was:?}");
                    same += 1;
                }
                None => {}
            }
        }
        assert!(
            same > least_same && bounded.values().sum::<usize>() > 10,
            "{what}: {same} {bounded:?}"
        );
        let because = match what {
            "begins later" => Censored::Start,
            "ends sooner" => Censored::End,
            _ => Censored::Loss,
        };
        assert!(bounded.contains_key(&because), "{what}: {bounded:?}");
    }
}
