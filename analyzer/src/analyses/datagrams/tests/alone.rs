//! Who is never answered where others are, and questions whose address is translated on the way.

use std::net::SocketAddr;

use super::line;
use crate::analyses::datagrams::alone::translated;
use crate::analyses::verdict::Tone;
use crate::analyses::{Answers, answer};
use crate::facts::Facts;
use crate::name::Name;
use crate::reconstruct::datagrams::sockets::SocketRow;
use crate::reconstruct::datagrams::tables::{TurnEnd, TurnRow};

const MS: i64 = 1_000_000;
const VIP: &str = "10.96.5.25:1812";

fn turn<'f>(f: &'f mut Facts, (socket, pid): (u32, i32), to: &str, at: i64, answered: bool) -> &'f mut TurnRow {
    let mut t = TurnRow::begin(socket, pid, at);
    (t.sends, t.task, t.to) = (1, Name::new(b"portal"), to.parse::<SocketAddr>().ok());
    (t.end, t.end_ns) = (TurnEnd::AskedAgain, at + 800 * MS);
    if answered {
        (t.end, t.ready_ns, t.read_ns) = (TurnEnd::Answered, Some(at + 2 * MS), Some(at + 2 * MS));
    }
    f.udp_turns.push(t);
    f.udp_turns.last_mut().unwrap()
}

/// One socket of portal/11 is never answered, `answered` of ten questions of portal/12 are.
fn facts(answered: i64, to: &str) -> Facts {
    let mut f = Facts::empty();
    (f.capture.start_ns, f.capture.end_ns) = (Some(0), Some(40_000 * MS));
    for key in ["sock:sock_send_length", "sock:sock_recv_length", "sock:sk_data_ready"] {
        f.capture.events.insert(key.into(), 1);
    }
    for (pid, local) in [(11, ""), (12, ""), (30, "10.244.3.27:1812")] {
        let mut s = SocketRow::begin(0xff00 + pid as u64, 0);
        (s.pid, s.task, s.local, s.served) = (pid, Name::new(b"portal"), local.into(), pid == 30);
        f.udp_sockets.push(s);
    }
    for n in 0..10 {
        turn(&mut f, (0, 11), to, n * 1000 * MS, false);
        turn(&mut f, (1, 12), to, n * 1000 * MS + MS, n < answered).there = Some(2);
    }
    f
}

fn told(f: &Facts) -> (Tone, String) {
    let answers: Answers = answer(f);
    let l = line(&answers);
    (l.tone, l.sentence.clone())
}

#[test]
fn one_that_is_never_answered_is_told_beside_those_that_are() {
    let (tone, text) = told(&facts(10, VIP));
    let says = "None of 10 datagrams that portal/11 sent to 10.96.5.25:1812 was answered, while 10 of 10 others to there were, as those of portal/12 (p50 2.00 ms)";
    assert!(text.starts_with(says), "{text}");
    let why = "those that are answered came to 10.244.3.27:1812, translated on the way (NAT), and these did not";
    assert!(text.contains(why), "{text}");
    assert_eq!(tone, Tone::Notice);
}

/// Connected before the recording: by a snapshot.
#[test]
fn the_peer_of_its_socket_tells_as_well() {
    let mut f = facts(10, VIP);
    f.udp_turns.iter_mut().filter(|t| t.pid == 11).for_each(|t| t.to = None);
    assert!(!told(&f).1.contains("None of"));
    f.udp_sockets[0].remote = VIP.into();
    assert!(
        told(&f)
            .1
            .starts_with("None of 10 datagrams that portal/11 sent to 10.96.5.25:1812 was answered")
    );
}

#[test]
fn where_no_other_is_answered_either_nothing_is_said() {
    // A log that answers nobody; one that answers some of its questions; several addresses; a group.
    for (answered, to) in [(0, VIP), (8, VIP), (10, "239.1.2.3:5000"), (10, "10.9.1.255:137")] {
        let text = told(&facts(answered, to)).1;
        assert!(!text.contains("None of"), "{answered} {to}: {text}");
    }
    // Of four questions nothing is said.
    let mut f = facts(10, VIP);
    let mut n = 0;
    f.udp_turns.retain(|t| {
        n += usize::from(t.pid == 11);
        t.pid == 12 || n <= 4
    });
    assert!(!told(&f).1.contains("None of"));
    // One answer is one.
    let mut f = facts(10, VIP);
    f.udp_turns[0].ready_ns = Some(5 * MS);
    assert!(!told(&f).1.contains("None of"));
}

/// Wrong where the questions themselves were dropped by this host.
#[test]
fn questions_that_were_dropped_are_wrong() {
    use crate::facts::SkbId;
    let of = |dropped: u32| {
        let mut f = facts(10, VIP);
        for (n, t) in (0..).zip(f.udp_turns.iter_mut().filter(|t| t.pid == 11)) {
            t.skb_id = Some(SkbId(n));
        }
        for n in 0..dropped {
            f.drops.push(crate::reconstruct::drops::tables::DropRow {
                skb_id: Some(SkbId(n)),
                expected: Some(false),
                ..crate::testing::drop_at(MS)
            });
        }
        let (tone, text) = told(&f);
        (
            tone,
            text.contains(&format!("{dropped} of its 10 questions were dropped by this host")),
        )
    };
    assert_eq!([of(9), of(8)], [(Tone::Bad, true), (Tone::Notice, true)]);
    // Not each arrival is told.
    let mut f = facts(10, VIP);
    f.capture.kernel_release = "6.12.1".into();
    assert!(!told(&f).1.contains("None of"));
}

#[test]
fn only_what_goes_to_one_host_is_translated() {
    assert!(translated("10.96.0.10:53", "10.244.1.5:53"));
    assert!(translated("10.96.0.10:53", "10.96.0.10:5353"));
    assert!(!translated("10.96.0.10:53", "[::ffff:10.96.0.10]:53"));
    for (asked, came) in [
        ("10.96.0.10:53", "10.96.0.10:53"),
        ("10.96.0.10:53", "0.0.0.0:53"),
        ("10.96.0.10:53", ""),
        ("239.1.2.3:53", "10.244.1.5:53"),
        ("255.255.255.255:67", "10.244.1.5:67"),
        ("127.0.0.1:53", "10.244.1.5:53"),
    ] {
        assert!(!translated(asked, came), "{asked} {came}");
    }
}

/// A program that waits for many sockets at once asks the same twice on one, at an address that answers most.
#[test]
fn what_is_asked_again_had_no_answer() {
    use crate::reconstruct::datagrams::tables::Awaited;
    let of = |change: &dyn Fn(&mut TurnRow)| {
        let mut f = facts(10, VIP);
        f.udp_turns.retain(|t| t.pid == 12);
        for n in 0..2 {
            let t = turn(&mut f, (0, 11), VIP, (20 + 5 * n) * 1000 * MS, false);
            (t.awaited, t.waited_ns, t.bytes) = (Awaited::Perhaps, 4_900 * MS, 48);
            if n == 1 {
                t.end = TurnEnd::Closed;
                change(t);
            }
        }
        told(&f).1.contains(
            "All 2 datagrams that portal/11 sent to 10.96.5.25:1812 had no answer while it waited 4.900 s each time",
        )
    };
    assert!(of(&|_| ()));
    // Something else; by another thread; it came; elsewhere.
    assert!(!of(&|t| t.bytes = 47));
    // Later than anybody waits: a sign of life.
    assert!(!of(&|t| t.start_ns += 30_000 * MS));
    assert!(!of(&|t| t.pid = 13));
    assert!(!of(&|t| t.ready_ns = Some(26_000 * MS)));
    assert!(!of(&|t| t.to = "10.0.0.1:53".parse().ok()));
}
