//! Handshakes that a listener delayed or refused.

use super::script;
use crate::analyses::verdict::{Line, Tone};
use crate::counters::tables::CounterRow;
use crate::facts::Facts;
use crate::testing::tcp::{SOCK, Sock};
use crate::testing::{B, Ctx, N, Script};

const TASK: Ctx = Ctx::Task(42);
const MS: u64 = 1_000_000;

fn counter(name: &str, rise: u64) -> CounterRow {
    CounterRow {
        source: "netstat",
        netns: Some(1),
        of: String::new(),
        name: name.into(),
        start: Some(0),
        end: Some(rise),
    }
}
fn line(f: &Facts) -> Line {
    let answers = crate::analyses::answer(f);
    answers.verdict.into_iter().find(|l| l.subject == "opens").unwrap()
}
/// `tcp_retransmit_synack` of 10.0.0.2:443 to that address and port.
fn synack(s: &mut Script, ts: u64, last: u8, port: u64) {
    let of = [
        ("skaddr", N(9)),
        ("family", N(2)),
        ("sport", N(443)),
        ("dport", N(port)),
        ("saddr", B(vec![10, 0, 0, 2])),
        ("daddr", B(vec![10, 0, 0, last])),
    ];
    s.ev(ts, 0, TASK, "tcp:tcp_retransmit_synack", &of);
}
/// The client stands after 1 ms, the server's socket at `server` ms; the SYN-ACK is sent again a little before.
fn opened(server: u64, again: bool) -> Script {
    let mut s = script();
    s.ev(MS, 0, TASK, "syscalls:sys_enter_connect", &[("fd", N(3))]);
    let client = Sock { sport: 0, ..SOCK };
    client.state(&mut s, MS + 10, 0, TASK, 7, 2);
    SOCK.state(&mut s, 2 * MS, 0, TASK, 2, 1);
    s.ev(2 * MS + 10, 0, TASK, "syscalls:sys_exit_connect", &[("ret", N(0))]);
    if again {
        synack(&mut s, (server - 1) * MS, 1, SOCK.sport.into());
    }
    let ends = [
        ("skaddr", N(77)),
        ("family", N(2)),
        ("protocol", N(6)),
        ("sport", N(443)),
        ("dport", N(SOCK.sport.into())),
        ("saddr", B(vec![10, 0, 0, 2])),
        ("daddr", B(vec![10, 0, 0, 1])),
        ("oldstate", N(3)),
        ("newstate", N(1)),
    ];
    s.ev(server * MS, 0, TASK, "sock:inet_sock_set_state", &ends);
    s
}

#[test]
fn a_connection_that_stands_late_at_the_server() {
    let mut f = opened(1_002, true).facts();
    let of = "1 connection to 10.0.0.2:443 was open at the client for p50 1.000 s, max 1.000 s before the server's socket was (1 SYN-ACK was retransmitted): ";
    let l = line(&f);
    assert_eq!((l.tone, l.names_cause), (Tone::Notice, true));
    assert_eq!(
        l.headline,
        format!(
            "{of}the last ACK of the handshake was lost on its way or refused, which of these no counter of this recording tells"
        )
    );
    f.counters = vec![counter("TcpExtListenOverflows", 4)];
    assert_eq!(
        line(&f).headline,
        format!("{of}4 handshakes were refused for a full accept queue (ListenOverflows)")
    );
    f.counters = vec![counter("TcpExtTCPDeferAcceptDrop", 1)];
    assert_eq!(
        line(&f).headline,
        format!(
            "{of}the kernel counted TCPDeferAcceptDrop 1: TCP_DEFER_ACCEPT lets the server's socket wait for the client to speak first"
        )
    );
    // A quick one; one whose SYN-ACK was not sent again: the events say nothing of why.
    for other in [opened(100, true), opened(1_002, false)] {
        let mut f = other.facts();
        f.counters = vec![counter("TcpExtTCPDeferAcceptDrop", 1)];
        let l = line(&f);
        assert_eq!((l.tone, l.names_cause, l.headline.as_str()), (Tone::Ok, false, ""));
    }
}

#[test]
fn half_open_connections_that_fill_a_queue() {
    let flood = |n: u8| {
        let mut s = opened(3, false);
        for of in 0..n {
            synack(&mut s, 100 * MS + u64::from(of), 10 + of, 5_000);
            synack(&mut s, 200 * MS + u64::from(of), 10 + of, 5_000);
        }
        s.facts()
    };
    let mut f = flood(8);
    f.counters = vec![counter("TcpExtListenDrops", 100), counter("TcpExtListenOverflows", 1)];
    let l = line(&f);
    assert_eq!((l.tone, l.names_cause), (Tone::Bad, true));
    assert_eq!(
        l.headline,
        "99 SYNs were refused at a listening socket because the queue of half-open connections was full, not the accept queue (10.0.0.2:443): \
         16 SYN-ACKs were retransmitted, to 8 addresses that never answered (10.0.0.x)"
    );
    // Its reason stands there, and not a second time where drops are told.
    let answers = crate::analyses::answer(&f);
    let drops = answers.verdict.iter().find(|l| l.subject == "drops").unwrap();
    assert!(!drops.headline.contains("100 SYNs"), "{}", drops.headline);
    // A full accept queue is another cause; a few without an answer fill no queue; so does what the counters do not tell.
    f.counters = vec![counter("TcpExtListenDrops", 100), counter("TcpExtListenOverflows", 100)];
    assert_eq!(line(&f).tone, Tone::Ok);
    f.counters.clear();
    assert_eq!(line(&f).tone, Tone::Ok);
    let mut f = flood(7);
    f.counters = vec![counter("TcpExtListenDrops", 100)];
    assert_eq!(line(&f).tone, Tone::Ok);
}

#[test]
fn syns_that_time_wait_refused() {
    let mut s = script();
    s.ev(MS, 0, TASK, "syscalls:sys_enter_connect", &[("fd", N(3))]);
    let client = Sock { sport: 0, ..SOCK };
    client.state(&mut s, MS + 10, 0, TASK, 7, 2);
    SOCK.retransmit(&mut s, 1_001 * MS, 0, TASK, 5, &[("state", N(2))]);
    SOCK.state(&mut s, 1_002 * MS, 0, TASK, 2, 1);
    s.ev(1_002 * MS + 10, 0, TASK, "syscalls:sys_exit_connect", &[("ret", N(0))]);
    let mut f = s.facts();
    let slow = "connections took up to 1.001 s to open, all of them only when a SYN was retransmitted";
    assert_eq!((line(&f).headline.as_str(), line(&f).names_cause), (slow, false));
    f.counters = vec![counter("TcpExtPAWSTimewait", 3)];
    let l = line(&f);
    let why = ": 3 segments were refused by sockets in TIME_WAIT for older timestamps (PAWSTimewait), as come from several hosts behind one NAT address";
    assert_eq!((l.headline, l.names_cause), (format!("{slow}{why}"), true));
    // What opened at once was not refused.
    let mut f = opened(3, false).facts();
    f.counters = vec![counter("TcpExtPAWSTimewait", 3)];
    assert!(!line(&f).sentence.contains("TIME_WAIT"));
}
