use std::path::Path;

use super::tables::{ResponseRow, TurnaroundRow};
use netmortem_formats::capture::{Snapshot, SnapshotWhen};

use crate::Confidence::{Strong, Weak};
use crate::facts::Facts;
use crate::testing::tcp::SOCK;
use crate::testing::{Ctx, N, S, Script};

const T: u64 = 1_000_000_000;
const A: u64 = 0xffff_8881_0000_0000;
const SOFT: Ctx = Ctx::Soft(1);
const PID: i32 = 7;

/// A server's socket, and who uses it.
struct Server(Script);

impl Server {
    fn new() -> Server {
        let mut s = Script::new("6.18.44", &[]);
        s.like("syscalls:sys_enter_close", "sys_enter_clock_nanosleep");
        s.like("syscalls:sys_exit_read", "sys_exit_clock_nanosleep");
        s.ev(1, 0, Ctx::Task(1), "napi:napi_poll", &[]);
        // Running before anything is asked of it.
        let v = [("prev_pid", N(3)), ("prev_state", N(1)), ("next_pid", N(7))];
        s.ev(T - 1000, 1, Ctx::Task(3), "sched:sched_switch", &v);
        Server(s)
    }
    /// Bytes arrive, readable 20 ns later.
    fn arrive(&mut self, t: u64, nth: u64, bytes: u64) {
        let v = [
            ("skbaddr", N(A + nth * 256)),
            ("len", N(bytes + 52)),
            ("name", S("eth0")),
        ];
        self.0.ev(T + t, 0, SOFT, "net:netif_receive_skb", &v);
        let v = [("skbaddr", N(A + nth * 256)), ("data_len", N(bytes))];
        SOCK.probe(&mut self.0, T + t + 10, 0, SOFT, &v);
        SOCK.ready(&mut self.0, T + t + 20, 0, SOFT);
    }
    /// They are read: `sock_recv_length` 2 ns after the copy.
    fn read(&mut self, t: u64, nth: u64, bytes: u64) {
        let v = [("skbaddr", N(A + nth * 256)), ("len", N(bytes))];
        self.0.ev(T + t, 1, Ctx::Task(PID), "skb:skb_copy_datagram_iovec", &v);
        SOCK.recv_length(&mut self.0, T + t + 2, 1, PID, bytes as i64, 0);
    }
    /// A send call of 10 ns.
    fn send(&mut self, t: u64, cpu: usize, pid: i32) {
        let task = Ctx::Task(pid);
        self.0.ev(T + t, cpu, task, "syscalls:sys_enter_write", &[]);
        let v = [
            ("sk", N(SOCK.sk)),
            ("family", N(2)),
            ("protocol", N(6)),
            ("ret", N(300)),
        ];
        self.0.ev(T + t + 9, cpu, task, "sock:sock_send_length", &v);
        self.0
            .ev(T + t + 10, cpu, task, "syscalls:sys_exit_write", &[("ret", N(300))]);
    }
    fn switch(&mut self, t: u64, prev: u64, state: u64, next: u64) {
        let v = [("prev_pid", N(prev)), ("prev_state", N(state)), ("next_pid", N(next))];
        self.0.ev(T + t, 1, Ctx::Task(prev as i32), "sched:sched_switch", &v);
    }
    fn rows(&self) -> (Vec<TurnaroundRow>, Vec<ResponseRow>) {
        let f = self.0.facts();
        for r in &f.turnarounds {
            assert_eq!(r.split.sum(), r.total_ns(), "{r:?}");
        }
        (f.turnarounds, f.responses)
    }
}

fn at(ns: i64) -> i64 {
    ns - T as i64
}

/// The first piece waits 1 us for the second: that is not the application's time.
#[test]
fn a_request_counts_from_its_last_byte() {
    let mut s = Server::new();
    s.arrive(0, 0, 100);
    s.read(50, 0, 100);
    s.arrive(1000, 1, 200);
    s.read(1100, 1, 200);
    s.send(5000, 1, PID);
    let (t, r) = s.rows();
    assert_eq!((t.len(), r.len()), (1, 0));
    let t = &t[0];
    assert_eq!(t.ready_ns.map(at), Some(1020));
    assert_eq!((at(t.read_ns), at(t.send_ns), t.total_ns()), (1102, 5000, 3980));
    assert_eq!((t.reads, t.overlap, t.confidence), (2, false, Strong));
}

/// A segment of the request came before what it follows: the request is readable when that came, not when an announcement
/// in between seemed to release it.
#[test]
fn a_request_with_a_hole_counts_from_what_filled_it() {
    let mut s = Server::new();
    let v = [("skbaddr", N(A + 256)), ("len", N(352)), ("name", S("eth0"))];
    s.0.ev(T, 0, SOFT, "net:netif_receive_skb", &v); // behind a hole: not announced
    let v = [("skbaddr", N(A + 256)), ("data_len", N(300))];
    SOCK.probe(&mut s.0, T + 10, 0, SOFT, &v);
    s.arrive(100, 0, 100);
    s.read(150, 0, 100);
    s.arrive(3000, 2, 200);
    s.read(3100, 2, 200);
    s.read(3150, 1, 300);
    s.send(5000, 1, PID);
    let t = &s.rows().0[0];
    assert_eq!((t.ready_ns.map(at), t.total_ns(), t.reads), (Some(3020), 1980, 3));
}

/// 3 us asleep in clock_nanosleep, 0.1 us in the run queue, the rest running.
#[test]
fn what_the_thread_did_is_divided_and_the_call_named() {
    let mut s = Server::new();
    s.arrive(0, 0, 100);
    s.read(100, 0, 100);
    s.0.ev(T + 900, 1, Ctx::Task(PID), "syscalls:sys_enter_clock_nanosleep", &[]);
    s.switch(1000, 7, 1, 9);
    s.0.ev(T + 4000, 1, Ctx::Hard(9), "sched:sched_waking", &[("pid", N(7))]);
    let v = [("pid", N(7)), ("target_cpu", N(1))];
    s.0.ev(T + 4000, 1, Ctx::Hard(9), "sched:sched_wakeup", &v);
    s.switch(4100, 9, 0, 7);
    s.0.ev(T + 4200, 1, Ctx::Task(PID), "syscalls:sys_exit_clock_nanosleep", &[]);
    s.send(5020, 1, PID);
    let t = &s.rows().0[0];
    let of = &t.split;
    assert_eq!(
        (t.total_ns(), of.asleep_ns, of.run_queue_ns, of.running_ns),
        (5000, 3000, 100, 1900)
    );
    assert_eq!((&*t.asleep_in.text(), t.asleep_in_ns), ("clock_nanosleep", 3000));
}

/// 60 ms asleep in no recorded call, while a thread of the same process, and for longer one of another, ran on the other CPU.
#[test]
fn who_ran_of_the_same_process_is_named() {
    const LONG: u64 = 60_000_000;
    // But for the 1980 ns that the one that should answer was awake.
    const RAN: i64 = 45_000_000 - 1980;
    let told = |tasks: &str, sockets: &str| {
        let mut s = Server::new();
        s.arrive(0, 0, 100);
        s.read(100, 0, 100);
        s.0.ev(T + 800, 1, Ctx::Task(PID), "syscalls:sys_enter_clock_nanosleep", &[]);
        s.0.ev(T + 900, 1, Ctx::Task(PID), "syscalls:sys_exit_clock_nanosleep", &[]);
        s.switch(1000, 7, 1, 9);
        // The other CPU: the process' other thread for 45 ms, somebody else before it.
        let run = |s: &mut Server, t: u64, prev: u64, next: u64| {
            let v = [("prev_pid", N(prev)), ("prev_state", N(0)), ("next_pid", N(next))];
            s.0.ev(T + t, 0, Ctx::Task(prev as i32), "sched:sched_switch", &v);
        };
        run(&mut s, 2000, 3, 8);
        run(&mut s, 45_002_000, 8, 10);
        s.0.ev(T + LONG, 1, Ctx::Task(9), "sched:sched_waking", &[("pid", N(7))]);
        let v = [("pid", N(7)), ("target_cpu", N(1))];
        s.0.ev(T + LONG, 1, Ctx::Task(9), "sched:sched_wakeup", &v);
        s.switch(LONG + 100, 9, 0, 7);
        s.send(LONG + 1000, 1, PID);
        let mut capture = s.0.capture();
        for (what, text) in [("tasks", tasks), ("sockets", sockets)] {
            capture.snapshots.push(Snapshot {
                what: what.into(),
                when: SnapshotWhen::End,
                text: text.as_bytes().to_vec(),
            });
        }
        let f = crate::analyze(&capture, &Default::default());
        let t = &f.turnarounds[0];
        assert_eq!(&*t.asleep_in.text(), "unrecorded");
        (t.ran_meanwhile_pid, t.ran_meanwhile_ns)
    };
    // Thread 9 runs on the sleeper's CPU all the time, and is of another process.
    assert_eq!(told("7 5 server\n8 5 collector\n9 6 cc1\n10 6 cc1\n", ""), (8, RAN));
    assert_eq!(told("7 5 server\n8 6 cc1\n", ""), (0, 0));
    // A thread that no snapshot saw is of the process that listens at its port, if that is one.
    let listens = |pids: &str| format!("proto=tcp state=listen src=0.0.0.0:{} pids={pids}\n", SOCK.sport);
    let others = "8 5 collector\n9 6 cc1\n";
    assert_eq!(told(others, &listens("5")), (8, RAN));
    assert_eq!(told(others, &listens("5,6")), (0, 0));
    assert_eq!(told(others, &(listens("5") + &listens("6"))), (0, 0));
    // Nor where it is not known who holds one of its sockets.
    let nobody = listens("5").replace(" pids=5", "");
    assert_eq!(told(others, &(listens("5") + &nobody)), (0, 0));
    assert_eq!(told(others, &(nobody + &listens("5"))), (0, 0));
    assert_eq!(told(others, ""), (0, 0));
}

/// A response runs from the last send to the first byte readable, not to its read.
#[test]
fn a_response_ends_where_it_is_readable() {
    let mut s = Server::new();
    s.arrive(0, 0, 100);
    s.read(100, 0, 100);
    s.send(1000, 1, PID);
    s.send(2000, 1, PID);
    s.arrive(7000, 1, 100);
    s.arrive(8000, 2, 100);
    s.read(9000, 1, 100);
    let (t, r) = s.rows();
    assert_eq!((t.len(), r.len()), (1, 1));
    assert_eq!(
        (r[0].response_ns(), at(r[0].read_ns), r[0].sends),
        (Some(5020), 9002, 2)
    );
    assert!(!r[0].overlap && r[0].peer.is_none());
}

/// The second request was there before the first was answered.
#[test]
fn what_was_readable_before_the_send_is_no_answer_to_it() {
    let mut s = Server::new();
    s.arrive(0, 0, 100);
    s.read(100, 0, 100);
    s.arrive(500, 1, 100);
    s.send(1000, 1, PID);
    s.read(1500, 1, 100);
    s.send(2000, 1, PID);
    let (t, r) = s.rows();
    assert_eq!(t.iter().map(|t| t.overlap).collect::<Vec<_>>(), [true, false]);
    assert_eq!((r.len(), r[0].overlap, r[0].response_ns()), (1, true, Some(-480)));
}

/// A pool's worker answers: both threads are named, the link is order alone.
#[test]
fn another_threads_send_is_weak() {
    let mut s = Server::new();
    s.arrive(0, 0, 100);
    s.read(100, 0, 100);
    s.send(1000, 0, 8);
    let t = &s.rows().0[0];
    assert_eq!((t.pid, t.sender_pid, t.confidence), (PID, 8, Weak));
    // Nothing is known of the worker.
    assert_eq!(t.split.unknown_ns, 1000 - 102);
}

/// A socket that only reads takes no turns.
#[test]
fn one_way_has_no_rows() {
    let mut s = Server::new();
    for k in 0..4 {
        s.arrive(k * 100, k, 100);
        s.read(k * 100 + 50, k, 100);
    }
    let (t, r) = s.rows();
    assert!(t.is_empty() && r.is_empty());
}

fn rpc() -> (Facts, Vec<[i64; 3]>) {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sample-data/rpc");
    let capture = netmortem_formats::open_path(&dir.join("rpc.nmb")).unwrap().unwrap();
    let truth = std::fs::read_to_string(dir.join("truth.csv")).unwrap();
    let row = |line: &str| {
        let n: Vec<i64> = line.split(',').filter_map(|x| x.parse().ok()).collect();
        [n[2], n[3], n[4]]
    };
    let truth = truth.lines().skip(1).map(row).collect();
    (crate::analyze(&capture, &Default::default()), truth)
}

/// The server's own stamps of its 40 sleeps, before it read the request: each is in one turnaround of its own and in the
/// client's response, asleep in clock_nanosleep, to 0.1 ms; the read's own stamp to 50 us.
#[test]
fn planted_sleeps_are_the_applications() {
    let (f, truth) = rpc();
    let server = f.connections.iter().find(|c| c.sport == 7000).unwrap().connection;
    let of = || f.turnarounds.iter().filter(|t| t.connection == server);
    let mut planted = vec![];
    for [from, to, read] in &truth {
        let inside: Vec<&TurnaroundRow> = of().filter(|t| t.start_ns() <= *from && t.send_ns >= *read).collect();
        let [t] = inside.as_slice() else { panic!("{inside:?}") };
        let slept = to - from;
        assert!((slept..slept + 150_000).contains(&t.total_ns()), "{slept} {t:?}");
        assert!((0..50_000).contains(&(read - t.read_ns)), "{read} {t:?}");
        assert_eq!(&*t.asleep_in.text(), "clock_nanosleep");
        assert!((slept - 100_000..=slept).contains(&t.asleep_in_ns), "{slept} {t:?}");
        let response = f
            .responses
            .iter()
            .find(|r| r.connection != server && r.send_ns <= *from && r.read_ns >= *read);
        let (response, peer) = response.map(|r| (r, r.peer.unwrap())).unwrap();
        assert_eq!((peer.connection, peer.turnaround_ns), (server, t.total_ns()));
        let sum = peer.there_ns + peer.turnaround_ns + peer.back_ns;
        assert_eq!(response.response_ns(), Some(sum));
        planted.push(t.send_ns);
    }
    assert_eq!(planted.len(), 40);
    let others = of().filter(|t| !planted.contains(&t.send_ns) && t.total_ns() >= 5_000_000);
    assert_eq!(others.count(), 0);
    // 400 requests, each answered once, all one by one.
    assert_eq!(
        (
            of().count(),
            f.responses.iter().filter(|r| r.connection != server).count()
        ),
        (400, 400)
    );
    assert!(!f.turnarounds.iter().any(|t| t.overlap) && !f.responses.iter().any(|r| r.overlap));
}

/// The same sleeps as the receive ledger sees them: 40 requests lay readable while their reader slept in clock_nanosleep.
#[test]
fn the_receive_ledger_names_the_call_too() {
    let (f, truth) = rpc();
    let slept = |r: &&crate::reconstruct::receive::tables::RxRow| &*r.asleep_in.text() == "clock_nanosleep";
    let rows: Vec<_> = f.rx.iter().filter(slept).collect();
    assert_eq!(rows.len(), truth.len());
    for (r, [from, to, _]) in rows.iter().zip(&truth) {
        assert!((to - from - 100_000..=to - from).contains(&r.asleep_in_ns), "{r:?}");
    }
}

/// A request lies unread while its thread is in a read of another socket, on which nothing comes for 3 ms.
#[test]
fn the_other_socket_that_the_thread_read_is_told() {
    let mut s = Server::new();
    let other = crate::testing::tcp::Sock {
        sk: SOCK.sk + 4096,
        cookie: 78,
        sport: 40_001,
        ..SOCK
    };
    other.state(&mut s.0, T, 0, SOFT, 3, 1);
    s.0.ev(T + 10, 1, Ctx::Task(PID), "syscalls:sys_enter_read", &[]);
    s.switch(20, 7, 1, 3);
    s.arrive(1000, 0, 100);
    s.switch(3_000_000, 3, 0, 7);
    other.recv_length(&mut s.0, T + 3_000_010, 1, PID, 0, 0);
    s.0.ev(T + 3_000_020, 1, Ctx::Task(PID), "syscalls:sys_exit_read", &[]);
    s.read(3_000_100, 0, 100);
    s.send(3_000_500, 1, PID);
    let f = s.0.facts();
    let on = f.turnarounds[0].asleep_on.unwrap();
    let row = &f.connections[on.connection.0 as usize];
    assert_eq!((row.sport, row.skaddr), (40_001, other.sk));
    assert_eq!((at(on.from_ns), at(on.to_ns), on.ns), (20, 3_000_000, 3_000_000 - 1020));
    let unit = f.rx.iter().find(|r| r.bytes == Some(100)).unwrap();
    assert_eq!((unit.asleep_on, unit.asleep_on_ns), (Some(on.connection), on.ns));
    assert_ne!(unit.connection, unit.asleep_on);
}
