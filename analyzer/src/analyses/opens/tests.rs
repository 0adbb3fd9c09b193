mod accepts;
mod aside;
mod checks;
mod closes;
mod complete;
mod cut_off;
mod doors;
mod family;
mod gone;
mod handshakes;
mod instead;
mod left_full;
mod limited;
mod listens;
mod local;
mod on_the_way_back;
mod piled;
mod pooled;
mod probed;
mod probers;
mod raced;
mod refuses;
mod restarted;
mod scans;
mod source;
mod translated;
mod twice;
mod untranslated;

use crate::analyses::verdict::Tone;
use crate::testing::tcp::{SOCK, Sock};
use crate::testing::{Ctx, N, Script};

const TASK: Ctx = Ctx::Task(42);

fn script() -> Script {
    let mut s = Script::new("6.18.44", &[]);
    s.like("syscalls:sys_exit_recvfrom", "sys_exit_connect");
    s
}
fn line(s: &Script) -> (Tone, String, String) {
    let answers = crate::analyses::answer(&s.facts());
    let line = answers.verdict.iter().find(|l| l.subject == "opens").unwrap().clone();
    (line.tone, line.sentence, line.headline)
}

fn attempts(s: &mut Script, n: u64, ret: i64) {
    for i in 0..n {
        let at = 100_000 * (i + 1);
        s.ev(at, 0, TASK, "syscalls:sys_enter_connect", &[("fd", N(3))]);
        let sport = if ret == 0 { SOCK.sport } else { 0 };
        let sock = Sock { sport, ..SOCK };
        sock.state(s, at + 2_000, 0, TASK, 7, 2);
        sock.state(s, at + 4_000, 0, TASK, 2, if ret == 0 { 1 } else { 7 });
        s.ev(
            at + 5_000,
            0,
            TASK,
            "syscalls:sys_exit_connect",
            &[("ret", N(ret as u64))],
        );
        SOCK.state(s, at + 6_000, 0, TASK, 1, 7);
    }
}

#[test]
fn what_did_not_come_to_be_is_counted_and_named() {
    let mut s = script();
    attempts(&mut s, 3, -99);
    let (tone, sentence, headline) = line(&s);
    let said = "3 attempts to connect to 10.0.0.2:443 by /42 found no free local port (EADDRNOTAVAIL)";
    assert_eq!((tone, headline.as_str()), (Tone::Bad, said));
    assert_eq!(sentence, format!("{said} (from open:0)."));
    let answers = crate::analyses::answer(&s.facts());
    let found = answers.opens.findings().unwrap();
    assert_eq!((found.attempts, found.setup.n, found.failed[0].attempts), (3, 0, 3));
}

/// Who closed an attempt at once is not said to have had no answer; who got an ICMP message was refused by it.
#[test]
fn who_gave_up_at_once_is_told_from_who_had_no_answer() {
    let said = |closed: u64, message: bool| {
        let mut s = script();
        s.ev(100_000, 0, TASK, "syscalls:sys_enter_connect", &[("fd", N(3))]);
        SOCK.state(&mut s, 102_000, 0, TASK, 7, 2);
        let ip = |last: u8| crate::testing::B(vec![10, 0, 0, last]);
        let says = [("saddr", ip(1)), ("daddr", ip(2)), ("type", N(11)), ("code", N(0))];
        if message {
            s.ev(103_000, 0, Ctx::Soft(42), "icmp:icmp_send", &says);
            SOCK.ev(
                &mut s,
                104_000,
                0,
                Ctx::Soft(42),
                "sock:inet_sk_error_report",
                &[("error", N(0))],
            );
        }
        SOCK.state(&mut s, 100_000 + closed, 0, TASK, 2, 7);
        line(&s).1
    };
    let of = "1 attempt to connect to 10.0.0.2:443 by /42 was";
    assert_eq!(
        said(300_000, false),
        format!("{of} given up by the program after 300.0 µs (from open:0).")
    );
    assert_eq!(
        said(300_000, true),
        format!(
            "{of} refused by an ICMP message (EHOSTUNREACH), and no answer is known to have waited for it (from open:0)."
        )
    );
    assert!(said(1_500_000_000, false).contains(" had no answer and was given up after 1.500 s"));
}

#[test]
fn what_stood_at_once_is_good() {
    let mut s = script();
    attempts(&mut s, 2, 0);
    let (tone, sentence, headline) = line(&s);
    assert_eq!((tone, headline.as_str()), (Tone::Ok, ""));
    assert!(
        sentence.starts_with("2 connections were opened in p50 4.00 µs, p99 4.00 µs, max 4.00 µs."),
        "{sentence}"
    );
}

#[test]
fn without_its_events_there_is_no_answer() {
    let s = Script::new(
        "6.18.44",
        &[
            "sock:inet_sock_set_state",
            "tcp:tcp_receive_reset",
            "tcp:tcp_send_reset",
        ],
    );
    assert_eq!(line(&s).0, Tone::Unknown);
}

/// A call of connect without a socket may be a look-up of addresses: it is told, and nothing is wrong.
#[test]
fn a_call_without_a_socket_is_no_attempt() {
    let mut s = script();
    attempts(&mut s, 1, 0);
    s.ev(900_000, 0, TASK, "syscalls:sys_enter_connect", &[("fd", N(3))]);
    s.ev(
        901_000,
        0,
        TASK,
        "syscalls:sys_exit_connect",
        &[("ret", N(-101i64 as u64))],
    );
    let (tone, sentence, headline) = line(&s);
    assert_eq!((tone, headline.as_str()), (Tone::Ok, ""));
    assert_eq!(
        sentence,
        "1 connection was opened in 4.00 µs; 1 call of connect by /42, of a protocol that no event tells, failed at once (ENETUNREACH) (from open:1)."
    );
}

/// What came to a connection that this host had closed is told, as its sender notices; a RST for another reason is not.
#[test]
fn a_segment_for_a_closed_connection_is_told() {
    let ends = |port: u16| Some(("10.0.0.2".parse().unwrap(), port));
    let sent = |n: u16, reason: &str| crate::reconstruct::opens::tables::ResetRow {
        time_ns: i64::from(n),
        received: false,
        connection: None,
        from: ends(80),
        to: ends(40_000 + n),
        reason: reason.into(),
        sender: crate::reconstruct::opens::tables::Sender::Here,
        confidence: crate::Confidence::Certain,
    };
    let said = |reason: &str| {
        let mut f = crate::facts::Facts::empty();
        f.resets = (0..3).map(|n| sent(n, reason)).collect();
        if reason != "NO_SOCKET" {
            f.resets.push(sent(9, "TCP_ABORT_ON_DATA"));
        }
        f.opens = vec![];
        f.capture.events.insert("sock:inet_sock_set_state".into(), 1);
        let answers = crate::analyses::answer(&f);
        let line = answers.verdict.iter().find(|l| l.subject == "opens").unwrap().clone();
        (line.tone, line.sentence)
    };
    let (tone, s) = said("TCP_TIMEWAIT_SOCKET");
    assert_eq!(tone, crate::analyses::verdict::Tone::Notice, "{s}");
    assert!(
        s.starts_with(
            "4 RSTs were sent by this host for as many segments of connections that it had already closed itself"
        ),
        "{s}"
    );
    assert_eq!(said("NO_SOCKET").0, crate::analyses::verdict::Tone::Ok);
}
