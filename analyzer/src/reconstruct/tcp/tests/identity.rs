use super::T;
use crate::Confidence;
use crate::facts::Facts;
use crate::testing::tcp::{SOCK, Sock};
use crate::testing::{Ctx, N, Script};

const TASK: Ctx = Ctx::Task(7);
const SOFT: Ctx = Ctx::Soft(7);

fn script() -> Script {
    Script::new("6.18.44", &[])
}
/// (local port, samples, cookie) of every socket.
fn sockets(f: &Facts) -> Vec<(u16, u64, Option<u64>)> {
    f.connections.iter().map(|c| (c.sport, c.samples, c.cookie)).collect()
}

/// 3b, pitfall 12: one slab address serves many connections; the cookie tells them apart even when no close was seen.
#[test]
fn one_address_with_two_cookies_is_two_sockets() {
    let mut s = script();
    let later = Sock { cookie: 78, ..SOCK };
    SOCK.probe(&mut s, T, 0, SOFT, &[]);
    SOCK.probe(&mut s, T + 10, 0, SOFT, &[]);
    later.probe(&mut s, T + 20, 0, SOFT, &[]);
    SOCK.probe(&mut s, T + 30, 0, SOFT, &[]); // the cookie decides, whatever came between
    let f = s.facts();
    assert_eq!(sockets(&f), [(40_000, 3, Some(77)), (40_000, 1, Some(78))]);
    assert!(f.connections.iter().all(|c| c.confidence == Confidence::Certain));
}

/// After CLOSE the address and even the 4-tuple are free for another socket.
#[test]
fn a_closed_sockets_address_and_tuple_are_another_socket() {
    for by in ["state", "destroy"] {
        let mut s = script();
        s.drop_field("tcp:tcp_probe", "sock_cookie");
        SOCK.probe(&mut s, T, 0, SOFT, &[]);
        match by {
            "state" => SOCK.state(&mut s, T + 10, 0, SOFT, 5, 7),
            _ => SOCK.ev(&mut s, T + 10, 0, TASK, "tcp:tcp_destroy_sock", &[]),
        }
        SOCK.probe(&mut s, T + 20, 0, SOFT, &[]);
        let f = s.facts();
        assert_eq!(sockets(&f), [(40_000, 1, None), (40_000, 1, None)], "{by}");
        assert_eq!(f.connections[0].last_ns, (T + 10) as i64);
    }
}

/// The same address with another 4-tuple is another socket, close or no close.
#[test]
fn another_tuple_at_the_address_is_another_socket() {
    let mut s = script();
    s.drop_field("tcp:tcp_probe", "sock_cookie");
    SOCK.probe(&mut s, T, 0, SOFT, &[]);
    Sock { sport: 50_000, ..SOCK }.probe(&mut s, T + 10, 0, SOFT, &[]);
    assert_eq!(sockets(&s.facts()), [(40_000, 1, None), (50_000, 1, None)]);
}

/// Pitfall 24: two namespaces may have the same 4-tuple at the same time.
#[test]
fn the_same_tuple_in_two_namespaces_is_two_sockets() {
    let other = Sock {
        sk: SOCK.sk + 4096,
        cookie: 99,
        ..SOCK
    };
    for without in [&[][..], &["sock_cookie"], &["skaddr", "skbaddr"]] {
        let mut s = script();
        for f in without {
            s.drop_field("tcp:tcp_probe", f);
        }
        for k in 0..3 {
            SOCK.probe(&mut s, T + k * 100, 0, SOFT, &[]);
            other.probe(&mut s, T + k * 100 + 50, 1, SOFT, &[]);
        }
        let f = s.facts();
        let n: Vec<u64> = f.connections.iter().map(|c| c.samples).collect();
        assert_eq!(n, [3, 3], "without {without:?}");
    }
}

/// With neither address nor cookie (before 4.18) one tuple is one socket at best strong, never certain.
#[test]
fn without_address_and_cookie_the_tuple_is_all_there_is() {
    let mut s = script();
    for f in ["sock_cookie", "skaddr", "skbaddr"] {
        s.drop_field("tcp:tcp_probe", f);
    }
    SOCK.probe(&mut s, T, 0, SOFT, &[]);
    SOCK.probe(&mut s, T + 10, 0, SOFT, &[]);
    let f = s.facts();
    assert_eq!(sockets(&f), [(40_000, 2, None)]);
    assert_eq!(f.connections[0].confidence, Confidence::Strong);
    assert_eq!(f.connections[0].skaddr, 0);
}

/// SYN_SENT is set before the local port is chosen (`tcp_v4_connect`).
#[test]
fn syn_sent_without_a_port_is_the_same_socket() {
    let mut s = script();
    Sock { sport: 0, ..SOCK }.state(&mut s, T, 0, TASK, 7, 2);
    SOCK.state(&mut s, T + 10, 0, SOFT, 2, 1);
    SOCK.probe(&mut s, T + 20, 0, SOFT, &[]);
    let f = s.facts();
    assert_eq!(sockets(&f), [(40_000, 1, Some(77))]);
    assert_eq!(f.connections[0].first_ns, T as i64);
    let names: Vec<&str> = f.tcp_states.iter().map(|x| x.name).collect();
    assert_eq!(names, ["SYN_SENT", "ESTABLISHED"]);
}

/// A socket in SYN_SENT to another peer does not become this one.
#[test]
fn syn_sent_to_another_peer_is_another_socket() {
    let mut s = script();
    let other = Sock {
        sport: 0,
        dport: 80,
        ..SOCK
    };
    other.state(&mut s, T, 0, TASK, 7, 2);
    SOCK.state(&mut s, T + 10, 0, SOFT, 2, 1);
    assert_eq!(s.facts().connections.len(), 2);
}

/// Listeners are no connections; the last word on an unknown socket does not introduce it; UDP is not TCP.
#[test]
fn what_is_no_connection() {
    let mut s = script();
    let listener = Sock { dport: 0, ..SOCK };
    listener.state(&mut s, T, 0, TASK, 7, 10);
    listener.state(&mut s, T + 5, 0, TASK, 10, 7);
    SOCK.state(&mut s, T + 10, 0, TASK, 5, 7);
    SOCK.ev(
        &mut s,
        T + 20,
        0,
        TASK,
        "sock:inet_sock_set_state",
        &[("protocol", N(132)), ("newstate", N(1))],
    );
    assert!(s.facts().connections.is_empty());
}

/// 6.1 and 6.12 stable: the cookie alone ties samples; state events of the address join by the tuple (strong).
#[test]
fn stable_kernels_texts() {
    for release in ["6.1.192", "6.12.117"] {
        let mut s = Script::new(release, &[]);
        SOCK.state(&mut s, T, 0, SOFT, 3, 1);
        SOCK.probe(&mut s, T + 10, 0, SOFT, &[]);
        SOCK.cong(&mut s, T + 20, 0, SOFT, 3);
        SOCK.probe(&mut s, T + 30, 0, SOFT, &[]);
        let f = s.facts();
        assert_eq!(sockets(&f), [(40_000, 2, Some(77))], "{release}");
        let c = &f.connections[0];
        assert_eq!(c.skaddr, SOCK.sk);
        let expect = if release == "6.1.192" {
            Confidence::Strong
        } else {
            Confidence::Certain
        };
        assert_eq!(c.confidence, expect, "{release}");
        assert!(f.tcp_states.iter().all(|s| s.connection == c.connection));
    }
}

/// 4.15: no tcp_probe at all; sockets come from their states, samples are none.
#[test]
fn without_tcp_probe_there_are_sockets_but_no_samples() {
    let mut s = Script::new("6.18.44", &["tcp:tcp_probe"]);
    s.drop_field("sock:inet_sock_set_state", "family");
    SOCK.state(&mut s, T, 0, SOFT, 3, 1);
    SOCK.retransmit(&mut s, T + 10, 0, SOFT, 1, &[]);
    let f = s.facts();
    assert_eq!((f.tcp_samples.len(), f.retransmits.len()), (0, 1));
    assert!(
        f.unknown
            .iter()
            .any(|r| r.subject == "tcp" && r.because.contains("tcp_probe"))
    );
}

/// Who reads or writes it is its task; a softirq that runs on whoever was interrupted is not (pitfall 13).
#[test]
fn the_task_is_who_reads_not_who_was_interrupted() {
    let mut s = script();
    SOCK.probe(&mut s, T, 0, Ctx::Soft(99), &[]);
    SOCK.recv_length(&mut s, T + 10, 0, 7, 500, 0);
    SOCK.recv_length(&mut s, T + 11, 0, 7, 100, 2); // MSG_PEEK
    SOCK.recv_length(&mut s, T + 12, 0, 7, -11, 0); // EAGAIN
    SOCK.probe(&mut s, T + 20, 0, Ctx::Soft(99), &[]);
    let f = s.facts();
    assert_eq!((f.connections[0].pid, f.connections[0].bytes_read), (7, Some(500)));
    assert_eq!(f.connections[0].bytes_written, None);
}

/// Open and silent when the recording began: what used its address before the first event that names it is its own. Not what was before another
/// socket's end there.
#[test]
fn a_socket_has_its_address_before_it_is_named() {
    let read = |closed: bool| {
        let mut s = script();
        let other = Sock {
            sk: SOCK.sk + 0x1000,
            sport: 50_000,
            ..SOCK
        };
        other.state(&mut s, T - 10, 0, SOFT, 1, 8);
        SOCK.recv_length(&mut s, T, 0, 7, 500, 0);
        if closed {
            SOCK.state(&mut s, T + 5, 0, SOFT, 4, 7);
        }
        SOCK.recv_length(&mut s, T + 8, 0, 9, 20, 0);
        SOCK.probe(&mut s, T + 10, 0, SOFT, &[]);
        let f = s.facts();
        let c = f.connections.iter().find(|c| c.sport == 40_000).unwrap().clone();
        (c.bytes_read, c.pid, c.first_ns)
    };
    assert_eq!(read(false), (Some(520), 9, T as i64));
    assert_eq!(read(true), (Some(20), 9, (T + 8) as i64));
}

/// Lost events may be another socket's end.
#[test]
fn an_address_reaches_back_to_the_last_loss() {
    use crate::reconstruct::tcp::sockets::{Sockets, Tuple};
    let tuple = Tuple {
        saddr: "10.0.0.1".parse().unwrap(),
        sport: 1,
        daddr: "10.0.0.2".parse().unwrap(),
        dport: 2,
    };
    let at = |gaps: &[(i64, i64)], ts: i64| {
        let mut s = Sockets::default();
        s.resolve(1000, Some(7), None, tuple);
        let gaps: Vec<_> = gaps.iter().map(|(a, b)| crate::testing::gap(*a, *b)).collect();
        s.reach_back(&gaps);
        s.at(7, ts).is_some()
    };
    assert!(at(&[], 0) && at(&[], 999) && at(&[], 1000));
    assert!(!at(&[(100, 200)], 150) && !at(&[(100, 200)], 199) && at(&[(100, 200)], 200));
    // One that lasts over its first event leaves nothing; one behind it takes nothing.
    assert!(!at(&[(100, 1200), (300, 400)], 999) && at(&[(100, 1200)], 1000));
    assert!(at(&[(1100, 1200)], 0));
    // And what used it before: bytes and thread.
    let used = |gaps: &[(i64, i64)]| {
        let mut s = Sockets::default();
        s.used_early((7, 0), 500, 42, (30, 4));
        let i = s.resolve(1000, Some(7), None, tuple);
        let gaps: Vec<_> = gaps.iter().map(|(a, b)| crate::testing::gap(*a, *b)).collect();
        s.reach_back(&gaps);
        let row = &s.all[i].row;
        (row.bytes_written, row.bytes_read, row.pid, row.first_ns)
    };
    assert_eq!(used(&[]), (Some(30), Some(4), 42, 500));
    assert_eq!(used(&[(100, 200)]), (Some(30), Some(4), 42, 500));
    assert_eq!(used(&[(600, 700)]), (None, None, 0, 1000));
    // Used on both sides of a loss: what was used behind it is its own.
    let mut s = Sockets::default();
    s.used_early((7, 0), 500, 42, (30, 4));
    s.used_early((7, 1), 800, 43, (20, 0));
    let i = s.resolve(1000, Some(7), None, tuple);
    s.reach_back(&[crate::testing::gap(600, 700)]);
    let row = &s.all[i].row;
    assert_eq!(
        (row.bytes_written, row.bytes_read, row.pid, row.first_ns),
        (Some(20), None, 43, 800)
    );
}

/// Which end a socket is: by its first state; by its ports where it is older than the recording.
#[test]
fn the_end_that_a_socket_is_has_its_columns() {
    let of = |first: Option<(u64, u64)>| {
        let mut s = script();
        if let Some((old, new)) = first {
            SOCK.state(&mut s, T, 0, SOFT, old, new);
        }
        SOCK.state(&mut s, T + 10, 0, SOFT, 1, 8);
        let f = s.facts();
        let c = f.connections.iter().find(|c| c.sport == 40_000).unwrap();
        let table = &crate::reconstruct::tcp::tables::CONNECTIONS;
        let cell = |name: &str| {
            let col = table.columns.iter().find(|c| c.info.name == name).unwrap();
            format!("{:?}", (col.get)(c, &f.names))
        };
        [cell("role"), cell("role_by")]
    };
    let says = |role: &'static str, by: &'static str| [role, by].map(|w| format!("{:?}", crate::table::Cell::str(w)));
    assert_eq!(of(Some((7, 2))), says("client", "handshake"));
    assert_eq!(of(Some((12, 3))), says("server", "handshake"));
    // Port 40000 to a lower one.
    assert_eq!(of(None), says("client", "ports"));
}

/// A RST closes a socket (`tcp_reset`), and its program reads what it had received before; what its address is used for when it was freed is another's.
#[test]
fn what_a_reset_socket_had_is_read_and_counted() {
    let mut s = script();
    let read = |s: &mut Script, at: u64, n: u64| {
        let of = [("sk", N(SOCK.sk)), ("protocol", N(6)), ("family", N(2)), ("ret", N(n))];
        s.ev(T + at, 0, TASK, "sock:sock_recv_length", &of);
    };
    SOCK.probe(&mut s, T, 0, SOFT, &[]);
    read(&mut s, 5, 100);
    SOCK.state(&mut s, T + 10, 0, SOFT, 1, 7);
    read(&mut s, 20, 30);
    SOCK.ev(&mut s, T + 30, 0, TASK, "tcp:tcp_destroy_sock", &[]);
    read(&mut s, 40, 7);
    assert_eq!(s.facts().connections[0].bytes_read, Some(130));
}
