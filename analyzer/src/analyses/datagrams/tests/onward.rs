//! Questions of which some kinds get no answer, and whom those ask who are asked.

use super::line;
use crate::analyses::datagrams::{Beside, InVain, Onward};
use crate::analyses::verdict::{Line, Tone};
use crate::analyses::{Answers, answer};
use crate::facts::{Facts, SkbId};
use crate::name::Name;
use crate::reconstruct::datagrams::sockets::SocketRow;
use crate::reconstruct::datagrams::tables::{Awaited, TurnEnd, TurnRow};
use crate::reconstruct::receive::tables::{RxEnd, RxRow};

pub(super) const MS: i64 = 1_000_000;
pub(super) const US: i64 = 1_000;
/// The sockets of dnsmasq for askers, for its own questions, and of named.
const ASKED: u32 = 0;
const OWN: u32 = 1;
const NAMED: u32 = 2;

pub(super) fn socket(f: &mut Facts, pid: i32, task: &'static [u8], local: &str, served: bool) -> u32 {
    let n = f.udp_sockets.len() as u32;
    let mut s = SocketRow::begin(0xff00 + u64::from(n), 0);
    (s.pid, s.task, s.served, s.connected) = (pid, Name::new(task), served, !served);
    s.local = local.into();
    f.udp_sockets.push(s);
    n
}

/// Sent from a socket to another one, where its thread reads it 10 us later.
pub(super) fn turn(f: &mut Facts, from: u32, pid: i32, to: u32, at: i64) -> &mut TurnRow {
    let skb = SkbId(f.rx.len() as u32);
    f.rx.push(RxRow {
        skb_id: skb,
        pid: f.udp_sockets[to as usize].pid,
        start_ns: at,
        total_ns: 10 * US,
        end: RxEnd::Read,
        ..RxRow::default()
    });
    let mut t = TurnRow::begin(from, pid, at);
    t.task = f.udp_sockets[from as usize].task;
    (t.sends, t.landed, t.there, t.skb_id) = (1, 1, Some(to), Some(skb));
    f.udp_turns.push(t);
    f.udp_turns.last_mut().unwrap()
}

pub(super) fn answered(t: &mut TurnRow, after: i64) {
    (t.ready_ns, t.read_ns) = (Some(t.start_ns + after), Some(t.start_ns + after));
    (t.end, t.end_ns) = (TurnEnd::Answered, t.start_ns + after);
}

pub(super) fn in_vain(t: &mut TurnRow, ns: i64) {
    (t.awaited, t.gave_up, t.waited_ns) = (Awaited::Poll, true, ns);
    (t.end, t.end_ns, t.waited_in) = (TurnEnd::Closed, t.start_ns + ns, Name::new(b"poll"));
}

/// Two threads of a process ask `names` times each: A is answered within 80 us, and AAAA, which dnsmasq asks named for, is not for 2 s. Twenty other questions are answered.
fn facts(names: i64) -> Facts {
    let mut f = Facts::empty();
    (f.capture.start_ns, f.capture.end_ns) = (Some(0), Some(40_000 * MS));
    for key in ["sock:sock_send_length", "sock:sock_recv_length", "sock:sk_data_ready"] {
        f.capture.events.insert(key.into(), 1);
    }
    for (pid, name) in [(20, b"orders" as &[u8]), (21, b"worker"), (22, b"worker")] {
        f.processes.insert(pid, (20, Name::new(name)));
    }
    socket(&mut f, 7, b"dnsmasq", "", true);
    socket(&mut f, 7, b"dnsmasq", "", false);
    socket(&mut f, 9, b"named", "10.53.0.3:53", true);
    for n in 0..20 {
        let s = socket(&mut f, 20, b"orders", "", false);
        answered(turn(&mut f, s, 20, ASKED, n * 100 * MS), 80 * US);
    }
    for n in 0..names {
        for pid in [21, 22] {
            let (s, at) = (
                socket(&mut f, pid, b"worker", "", false),
                n * 2_001 * MS + i64::from(pid) * MS,
            );
            answered(turn(&mut f, s, pid, ASKED, at), 80 * US);
            let s = socket(&mut f, pid, b"worker", "", false);
            in_vain(turn(&mut f, s, pid, ASKED, at + 100 * US), 2_000 * MS);
            turn(&mut f, OWN, 7, NAMED, at + 130 * US).end = TurnEnd::AskedAgain;
        }
    }
    f.udp_turns.sort_by_key(|t| t.start_ns);
    f
}

fn told(f: &Facts) -> (Answers, InVain, Line) {
    let a = answer(f);
    let found = &a.datagrams.findings().unwrap().in_vain;
    assert_eq!(found.len(), 1, "{found:#?}");
    let (v, l) = (found[0].clone(), line(&a).clone());
    (a, v, l)
}

#[test]
fn who_does_not_answer_some_questions_is_named() {
    let (_, v, l) = told(&facts(4));
    assert_eq!((v.task.as_str(), v.threads), ("orders/20", 2));
    assert_eq!((v.sends, v.of, v.turns), (8, 16, 8));
    let beside = Beside {
        turns: 8,
        longest_ns: 80 * US,
        read: true,
    };
    assert_eq!(v.beside, Some(beside));
    let onward = Onward {
        task: "dnsmasq/7".into(),
        to: "10.53.0.3:53".into(),
        holder: "named/9".into(),
        turns: 8,
        sends: 8,
        landed: 8,
        unread: 0,
        only_these: true,
    };
    assert_eq!(v.onward, [onward]);
    assert_eq!(l.tone, Tone::Bad);
    let says = "8 of 16 datagrams that 2 threads of orders/20 sent to a socket of dnsmasq/7, whose address is not recorded, had no answer while they waited 2.000 s each time (in poll); each was asked right behind another question of the same thread that was answered within 80.0 µs: they were not lost, but are of a kind that gets no answer there, as the AAAA of a name whose A is answered (inferred); dnsmasq/7 read them and at once asked named/9 at 10.53.0.3:53, which read them and answered none: named/9 is who does not answer, unless that is a log of what fails (inferred)";
    assert_eq!(l.headline, says);
}

#[test]
fn pairs_that_are_few_or_may_be_lost_say_nothing() {
    assert_eq!(told(&facts(1)).1.beside, None);
    // The first answered too late for that wait, or long before the second; asked elsewhere.
    for change in [
        (|t: &mut TurnRow| t.ready_ns = t.ready_ns.map(|at| at + 300 * MS)) as fn(&mut TurnRow),
        |t| (t.start_ns, t.ready_ns) = (t.start_ns - 30 * MS, t.ready_ns.map(|at| at - 30 * MS)),
        |t| t.there = Some(NAMED),
    ] {
        let mut f = facts(4);
        let first = |t: &&mut TurnRow| t.pid > 20 && t.ready_ns.is_some();
        f.udp_turns.iter_mut().filter(first).for_each(change);
        f.udp_turns.sort_by_key(|t| t.start_ns);
        assert_eq!(told(&f).1.beside, None);
    }
    // Not read there: four pairs are too few to tell it from loss.
    let mut f = facts(2);
    assert!(told(&f).1.beside.is_some());
    f.udp_turns.iter_mut().filter(|t| t.gave_up).for_each(|t| t.landed = 0);
    assert_eq!(told(&f).1.beside, None);
}

#[test]
fn what_is_sent_behind_answered_questions_too_or_is_answered_is_no_step() {
    // A log of all questions.
    let mut f = facts(4);
    let all: Vec<(i64, i32)> = f.udp_turns.iter().map(|t| (t.start_ns, t.pid)).collect();
    for (at, _) in all.iter().filter(|t| t.1 == 20) {
        turn(&mut f, OWN, 7, NAMED, at + 30 * US).end = TurnEnd::AskedAgain;
    }
    f.udp_turns.sort_by_key(|t| t.start_ns);
    assert_eq!(told(&f).1.onward, []);
    // Answered; late; where events were lost.
    for change in [
        (|t: &mut TurnRow| answered(t, MS)) as fn(&mut TurnRow),
        |t| (t.start_ns, t.sent_ns) = (t.start_ns + 30 * MS, t.sent_ns + 30 * MS),
        |t| t.confidence = crate::Confidence::Weak,
    ] {
        let mut f = facts(4);
        f.udp_turns.iter_mut().filter(|t| t.socket == OWN).for_each(change);
        f.udp_turns.sort_by_key(|t| t.start_ns);
        let (_, v, l) = told(&f);
        assert_eq!(v.onward, [], "{}", l.sentence);
        assert!(
            l.sentence
                .contains("; they came to a socket of dnsmasq/7 on this host and were read")
        );
    }
}

/// An answer that came nowhere: dropped, or of another host's question.
#[test]
fn who_sent_what_may_be_an_answer_did_not_answer_none() {
    let spoke = |from: u32, pid: i32, to: u32| {
        let mut f = facts(4);
        let of = f
            .udp_turns
            .iter()
            .filter(|t| t.there == Some(to) && (t.gave_up || to == NAMED));
        let of: Vec<i64> = of.map(|t| t.start_ns).collect();
        for at in of {
            let t = turn(&mut f, from, pid, OWN, at + 20 * US);
            (t.there, t.landed) = (None, 0);
        }
        f.udp_turns.sort_by_key(|t| t.start_ns);
        let v = told(&f).1;
        (v.beside.is_some(), v.onward.len())
    };
    assert_eq!(spoke(NAMED, 9, NAMED), (true, 0));
    assert_eq!(spoke(ASKED, 7, ASKED), (false, 0));
}

/// The next is no host of the recording: its address is what is known.
#[test]
fn who_is_asked_elsewhere_is_named_by_its_address() {
    let mut f = facts(4);
    f.udp_sockets[OWN as usize].remote = "192.0.2.53:53".into();
    for t in f.udp_turns.iter_mut().filter(|t| t.socket == OWN) {
        (t.there, t.landed) = (None, 0);
    }
    let (_, _, l) = told(&f);
    let says = "dnsmasq/7 read them and at once asked 192.0.2.53:53, from where no answer came (inferred)";
    assert!(l.headline.ends_with(says), "{}", l.headline);
}
