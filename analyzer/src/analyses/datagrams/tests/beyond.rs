//! Whom those asked in vain who were asked, where they join equal questions.

use super::onward::{MS, US, answered, in_vain, socket, turn};
use crate::analyses::answer;
use crate::analyses::datagrams::Beyond;
use crate::facts::Facts;
use crate::name::Name;
use crate::reconstruct::datagrams::tables::TurnEnd;

const ASKED: u32 = 0;
const OWN: u32 = 1;
const OLD: u32 = 2;
const NEW: u32 = 3;

/// dnsmasq asks its upstream each 100 ms; from 5 s on another process has that place, and answers none. Three threads wait for dnsmasq from 7 s on.
fn facts() -> Facts {
    let mut f = Facts::empty();
    (f.capture.start_ns, f.capture.end_ns) = (Some(0), Some(40_000 * MS));
    for key in ["sock:sock_send_length", "sock:sock_recv_length", "sock:sk_data_ready"] {
        f.capture.events.insert(key.into(), 1);
    }
    for (pid, name) in [(7, b"dnsmasq" as &[u8]), (21, b"till"), (22, b"till"), (23, b"till")] {
        f.processes
            .insert(pid, (if pid == 7 { 7 } else { 20 }, Name::new(name)));
    }
    socket(&mut f, 7, b"dnsmasq", "10.0.0.3:53", true);
    socket(&mut f, 7, b"dnsmasq", "", false);
    socket(&mut f, 9, b"named", "10.0.0.9:53", true);
    socket(&mut f, 10, b"named", "10.0.0.9:53", true);
    f.udp_sockets[NEW as usize].first_ns = 4_900 * MS;
    for n in 0..100 {
        let (at, old) = (n * 100 * MS, n < 50);
        let t = turn(&mut f, OWN, 7, if old { OLD } else { NEW }, at);
        t.to = Some("10.0.0.9:53".parse().unwrap());
        match old {
            true => answered(t, 80 * US),
            false => (t.end, t.end_ns) = (TurnEnd::AskedAgain, at + 100 * MS),
        }
    }
    for pid in [21, 22, 23] {
        let s = socket(&mut f, pid, b"till", "", false);
        in_vain(turn(&mut f, s, pid, ASKED, (6_980 + i64::from(pid)) * MS), 2_000 * MS);
    }
    f.udp_turns.sort_by_key(|t| t.start_ns);
    f
}

fn told(f: &Facts) -> (Option<Beyond>, String) {
    let a = answer(f);
    let of = a.datagrams.findings().unwrap().in_vain.first().cloned().unwrap();
    (of.beyond, super::line(&a).headline.clone())
}

#[test]
fn whom_the_asked_one_asks_in_vain_is_named() {
    let (b, says) = told(&facts());
    let expect = Beyond {
        task: "dnsmasq/7".into(),
        to: "10.0.0.9:53".into(),
        of: 50,
        unanswered: 50,
        since_ns: 5_000 * MS,
        before: 50,
        replaced: Some(("named/9".into(), "named/10".into(), 4_900 * MS)),
    };
    assert_eq!(b, Some(expect));
    let words = "dnsmasq/7 itself asked 10.0.0.9:53 meanwhile, and 50 of its 50 questions there had no answer from 5.000 s on, while all 50 before had one: that is what they wait for, most likely (inferred); since 4.900 s named/10 has the socket there, named/9 answered before";
    assert!(says.contains(words), "{says}");
}

#[test]
fn what_was_so_before_or_is_waited_for_before_says_nothing() {
    let without = |change: &dyn Fn(&mut Facts)| {
        let mut f = facts();
        change(&mut f);
        f.udp_turns.sort_by_key(|t| t.start_ns);
        assert_eq!(told(&f).0, None);
    };
    // It asked there in vain from the begin on.
    without(&|f| {
        let first = f.udp_turns.iter_mut().find(|t| t.pid == 7).unwrap();
        (first.end, first.ready_ns) = (TurnEnd::AskedAgain, None);
    });
    // They waited in vain before it did.
    without(&|f| {
        f.udp_turns
            .iter_mut()
            .filter(|t| t.pid > 20)
            .for_each(|t| t.start_ns -= 4_000 * MS)
    });
    // Few of its questions.
    without(&|f| {
        let mut n = 0;
        f.udp_turns.retain(|t| {
            let none = t.pid == 7 && t.ready_ns.is_none();
            n += u32::from(none);
            !none || n < 10
        });
    });
}
