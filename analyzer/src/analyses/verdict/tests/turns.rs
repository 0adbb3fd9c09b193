//! What is said of servers and threads one by one.

use super::requests::{MS, answered, awaited, mostly_fast};
use crate::analyses::application::{
    Application, Asker, Awaited, Part, Server, Service, Serving, Slow, SlowTurns, Waited,
};
use crate::analyses::receive::Blamed;
use crate::analyses::verdict::application::{application, headline};
use crate::analyses::verdict::{Tone, received};
use crate::stat::Distribution;

pub(super) fn part(state: &'static str, call: Option<&str>, ns: i64, share: f64) -> Part {
    Part {
        state,
        call: call.map(str::to_owned),
        woken_by: None,
        ran_meanwhile: None,
        waker_held: None,
        waker_read: None,
        waker_in_state_d: None,
        ns,
        share,
    }
}

pub(super) fn slow(at: &'static str, n: u64, ns: i64) -> Slow {
    Slow {
        at,
        n,
        p50_ns: ns,
        min_ns: ns,
        max_ns: ns,
        over_ns: n as i64 * ns,
        sum_ns: n as i64 * ns,
        share: 0.999,
        parts: vec![part("asleep_in", Some("recvfrom"), n as i64 * ns, 0.99)],
        task: ("python3/7".into(), 1.0),
        ..Slow::default()
    }
}

pub(super) fn server(name: &str, values: Vec<i64>, slow: Vec<Slow>, slowest_over_ns: i64) -> Server {
    Server {
        worst: None,
        whole: None,
        stood: vec![],
        apart: vec![],
        nature: vec![],
        server: name.into(),
        connections: 1,
        threads: 1,
        paired: values.len() as u64,
        response: Distribution::of(values, 0),
        busy: 0.5,
        over_ns: slow.iter().map(|s| s.over_ns).sum(),
        slowest_over_ns,
        slow,
    }
}

pub(super) fn both(servers: Vec<Server>) -> Application {
    Application {
        answered: Some(answered(mostly_fast(), "asleep_in", Some("clock_nanosleep"))),
        awaited: Some(awaited(mostly_fast(), 300 * MS, 60_000, None)),
        servers,
        ..Application::default()
    }
}

/// 50 answers of 90 ms are more than two of 210, which are the slowest 1 %: said first, with what their thread waited for.
#[test]
fn the_larger_part_first() {
    let of = |slowest| {
        let mut first = slow("server", 50, 90 * MS);
        first.waited = Some(Waited {
            kind: "answer",
            of: "10.9.3.2:5432".into(),
            ns: 1,
            share: 0.99,
            there: Some(("python3/9".into(), part("asleep_in", Some("clock_nanosleep"), 1, 0.98))),
            window: false,
            handed: false,
            next: None,
            released: None,
            silent: None,
        });
        let all = vec![first, slow("there", 2, 210 * MS)];
        both(vec![server("10.9.2.2:7316", mostly_fast(), all, slowest)])
    };
    let said = "50 of 200 answers from 10.9.2.2:7316 took p50 90.00 ms, 99.9 % of it in the server: python3/7 asleep in recvfrom 99 % of it, waiting for the answer from 10.9.3.2:5432 (python3/9 asleep in clock_nanosleep 98 % of that); 2 others took p50 210.00 ms, 99.9 % of it on the way there";
    assert_eq!(headline(&of(420 * MS)), said);
    let sentence = application(&of(420 * MS)).1;
    let before = sentence.split("of the slowest 1 %").next().unwrap();
    assert!(before.contains(said), "{sentence}");
    // The slowest 1 % have most of it.
    let slowest = of(2460 * MS);
    assert!(
        headline(&slowest).starts_with("answers from 10.9.2.2:7316 took p50 130"),
        "{}",
        headline(&slowest)
    );
    assert!(!application(&slowest).1.contains("of 200 answers"));
}

#[test]
fn a_full_window_of_another_connection_blocks_a_server() {
    let of = |kind, window| {
        let mut a = both(vec![]);
        if let (Some(s), Some(c)) = (&mut a.answered, &mut a.awaited) {
            (c.slowest_there_ns, c.slowest_peer_ns) = (60_000, 300 * MS);
            s.slowest_parts = vec![part("asleep_in", Some("sendto"), 1, 1.0)];
            s.slowest_waited = Some(Waited {
                kind,
                of: "10.9.2.2:7302 > 10.9.3.2:58378".into(),
                ns: 1,
                share: 1.0,
                there: None,
                window,
                handed: false,
                next: None,
                released: None,
                silent: None,
            });
        }
        headline(&a)
    };
    let asleep = "python3/16879 asleep in sendto 100 % of it, on 10.9.2.2:7302 > 10.9.3.2:58378, whose";
    assert!(of("room", true).ends_with(&format!("{asleep} peer's receive window was full")));
    assert!(of("room", false).ends_with(&format!("{asleep} send buffer was full")));
}

/// Two servers of which one always takes longer: one median says nothing of either.
#[test]
fn servers_that_differ_are_said_one_by_one() {
    let of = |other: i64| {
        let slow = server("10.9.1.1:7313", vec![40 * MS; 200], vec![], 0);
        application(&both(vec![slow, server("10.9.2.2:7363", vec![other; 200], vec![], 0)])).1
    };
    let each = "; 10.9.1.1:7313 p50 40.00 ms (n 200), 10.9.2.2:7363 p50 8.00 ms (n 200);";
    assert!(of(8 * MS).contains(each), "{}", of(8 * MS));
    assert!(!of(30 * MS).contains("10.9.1.1:7313"), "{}", of(30 * MS));
}

/// Steady answers of 20 ms, of which a request lies 17 in the queue of the one thread: worth a look though nothing stands out.
#[test]
fn requests_that_wait_for_others_are_worth_a_look() {
    let of = |behind: i64, of| Application {
        answered: Some(answered(vec![20 * MS; 100], "asleep_in", Some("clock_nanosleep"))),
        serving: vec![Serving {
            worst: None,
            task: "python3/29312".into(),
            server: "10.9.2.2:7301".into(),
            connections: 10,
            of,
            listeners: Some(1),
            requests: 100,
            turnaround_ns: 2000 * MS,
            behind_ns: 100 * behind,
            mostly: None,
        }],
        ..Application::default()
    };
    let said = "requests to 10.9.2.2:7301 waited 17.00 ms of 20.00 ms (means of 100) for python3/29312 to finish others: one thread serves all 10 connections";
    assert_eq!(headline(&of(17 * MS, 10)), said);
    assert_eq!(application(&of(17 * MS, 10)).0, Tone::Notice);
    let mut shared = of(17 * MS, 10);
    shared.serving[0].listeners = Some(4);
    assert_eq!(
        headline(&shared),
        format!("{said}, though 4 sockets listen at that port (SO_REUSEPORT)")
    );
    assert!(headline(&of(17 * MS, 30)).ends_with("it serves 10 of 30 connections"));
    let (tone, s) = application(&of(9 * MS, 10));
    assert_eq!(tone, Tone::Ok);
    assert!(!s.contains("finish others"), "{s}");
}

/// Threads wait for one another while one connection is in use all the time; without either nothing is said of it.
#[test]
fn a_pool_of_one_connection() {
    let of = |threads, woken_by: &str| {
        let mut one = server("10.9.2.2:7363", vec![8 * MS; 100], vec![], 0);
        (one.threads, one.busy) = (threads, 0.99);
        let mut a = both(vec![one]);
        if let Some(s) = &mut a.answered {
            s.slowest_parts = vec![Part {
                woken_by: Some(woken_by.into()),
                ..part("asleep_in", Some("unrecorded"), 1, 0.8)
            }];
        }
        application(&a).1
    };
    let said = "All 100 requests to 10.9.2.2:7363 went one after the other over one connection of 6 threads, busy 99 % of the time, while the slowest turnarounds' threads were waiting for another thread (in no recorded syscall: most likely a lock) 80 % of their time.";
    assert!(
        of(6, "threads named python3").contains(said),
        "{}",
        of(6, "threads named python3")
    );
    assert!(!of(1, "threads named python3").contains("over one connection"));
    assert!(!of(6, "kworker/1:1/33").contains("over one connection"));
}

/// The client itself is kept off its CPU between answers and requests for 2.3 of 4 s; less than a fifth is not worth a word.
#[test]
fn an_asker_without_its_cpu() {
    let of = |held_off_ns| Application {
        answered: Some(answered(vec![60_000; 300], "running", None)),
        awaited: Some(awaited(vec![60_000; 300], 30_000, 30_000, None)),
        askers: vec![Asker {
            worst: None,
            task: "python3/9560".into(),
            turns: 300,
            between_ns: 3900 * MS,
            awaiting_ns: 100 * MS,
            held_off_ns,
            parts: vec![part("run_queue", None, 2300 * MS, 0.6)],
        }],
        ..Application::default()
    };
    let said = "between answers and its next requests python3/9560 was runnable but not run for 2.300 s of 3.900 s, while its CPU was idle: its CPU quota (cgroup cpu.max), or it was frozen, or the hypervisor did not run that CPU (inferred)";
    let (tone, s) = application(&of(2300 * MS));
    assert_eq!((tone, headline(&of(2300 * MS)).as_str()), (Tone::Notice, said));
    assert!(s.contains("Between answers and its next requests python3/9560"), "{s}");
    let (tone, s) = application(&of(790 * MS));
    assert_eq!(tone, Tone::Ok);
    assert!(s.contains("waited for a CPU for 2.300 s of the 4.000 s"), "{s}");
    let mut own = of(0);
    own.askers[0].parts = vec![part("asleep_in", Some("clock_nanosleep"), 3000 * MS, 0.8)];
    assert!(!application(&own).1.contains("python3/9560"));
}

/// Outside the recording: the slow requests were acknowledged at once.
#[test]
fn what_is_known_of_a_peer_outside() {
    let of = |acked, within| {
        let mut slow = slow("unknown", 15, 250 * MS);
        (slow.acked, slow.acked_max_ns) = (acked, within);
        let mut s = server("198.51.100.7:7315", mostly_fast(), vec![slow], 0);
        s.paired = 0;
        Application {
            awaited: Some(Awaited {
                paired: 0,
                slowest: 0,
                ..awaited(mostly_fast(), 0, 0, None)
            }),
            servers: vec![s],
            ..Application::default()
        }
    };
    let a = of(15, Some(11 * MS));
    let said = "15 of 200 answers from 198.51.100.7:7315 took p50 250.00 ms, and each of these requests was acknowledged within 11.00 ms: the peer's host, or what ends TCP before it, had it then";
    assert!(application(&a).1.contains(said), "{}", application(&a).1);
    assert!(headline(&a).starts_with(said), "{}", headline(&a));
    assert!(
        application(&of(14, Some(11 * MS)))
            .1
            .contains("and 14 of these requests were acknowledged")
    );
    assert!(!application(&of(3, Some(11 * MS))).1.contains("acknowledged"));
}

/// A reader that is runnable for 50 ms while its CPU idles is held off it; for 50 us it is on its way, and behind a task it waits.
#[test]
fn a_reader_held_off_an_idle_cpu() {
    let of = |part, who: &str, ns| {
        let mut r = super::receive(0);
        r.stages = vec![super::stage("run_queue", &[21_000], 0.7)];
        r.blamed = vec![Blamed {
            worst: None,
            stage: "run_queue",
            part,
            who: who.into(),
            reader: "client/7".into(),
            units: 2,
            ns,
        }];
        received::receive(&r).1
    };
    let said = "reader runnable but not run, in 100 % of it while its CPU was idle: its CPU quota (cgroup cpu.max), or it was frozen, or the hypervisor did not run that CPU (inferred).";
    assert!(
        of("idle", "swapper", 100 * MS).ends_with(said),
        "{}",
        of("idle", "swapper", 100 * MS)
    );
    let short = of("idle", "swapper", 100_000);
    assert!(
        short.ends_with("what passes in it (mostly nobody, as it idled, in 100 % of it)."),
        "{short}"
    );
    let behind = of("task", "stress", 100 * MS);
    assert!(
        behind.ends_with("what passes in it (stress in 100 % of it)."),
        "{behind}"
    );
}

/// Beside a busy server without a fault one of which a twentieth is slow: the sentence is of that one, whatever the slowest of all are.
#[test]
fn of_several_servers_the_one_worth_a_look() {
    let steady = server("10.9.2.2:80", vec![2 * MS; 5000], vec![], 0);
    let stalls = server(
        "10.9.2.2:6379",
        mostly_fast(),
        vec![slow("server", 10, 300 * MS)],
        2900 * MS,
    );
    let mut a = both(vec![steady, stalls]);
    if let Some(c) = &mut a.awaited {
        (c.slowest_there_ns, c.slowest_peer_ns) = (300 * MS, 60_000);
    }
    let said = "10 of 200 answers from 10.9.2.2:6379 took p50 300.00 ms (overall p50 130.0 µs), 99.9 % of it in the server: python3/7 asleep in recvfrom 99 % of it";
    assert_eq!(headline(&a), said);
    // Where its slow ones are, is not known: nothing of the others is said of it.
    a.servers[1].slow.clear();
    assert_eq!(
        headline(&a),
        "answers from 10.9.2.2:6379 took p50 130.0 µs, max 150.00 ms"
    );
}

/// Slow answers that lie in a small part of the recording say when.
#[test]
fn when_the_slow_ones_were_sent() {
    let of = |times: Vec<i64>, n| {
        let stalled = Slow {
            times,
            ..slow("server", n, 300 * MS)
        };
        let mut a = both(vec![server(
            "10.9.2.2:6379",
            mostly_fast(),
            vec![stalled],
            n as i64 * 300 * MS,
        )]);
        a.duration_ns = 5_000 * MS;
        headline(&a)
    };
    let said = of(vec![1_900 * MS, 1_950 * MS, 2_100 * MS], 3);
    assert!(
        said.starts_with(
            "answers from 10.9.2.2:6379 took p50 130.0 µs, max 150.00 ms (3 slow ones, all from 1.900 s to 2.100 s), "
        ),
        "{said}"
    );
    let said = of((0..20).map(|n| n * 250 * MS).collect(), 20);
    assert!(
        said.starts_with("answers from 10.9.2.2:6379 took p50 130.0 µs, max 150.00 ms, "),
        "{said}"
    );
}

/// The clients are not in the recording: the service with slow ones is named, with when and what its thread did; a quick one beside it is not.
#[test]
fn a_service_that_slept_is_named_by_its_own_sockets() {
    let slow = SlowTurns {
        n: 8,
        p50_ns: 1_280 * MS,
        min_ns: 1_150 * MS,
        max_ns: 1_329 * MS,
        parts: vec![part("asleep_in", Some("clock_nanosleep"), 1, 0.99)],
        task: ("python3/191".into(), 1.0),
        behind: None,
        waited: None,
        times: (0..8).map(|n| (1_677 + n * 20) * MS).collect(),
    };
    let service = |server: &str, values: Vec<i64>, over_ns, slow| Service {
        worst: None,
        server: server.into(),
        connections: 1,
        turnaround: Distribution::of(values, 0),
        over_ns,
        slow,
    };
    let a = Application {
        answered: Some(answered(mostly_fast(), "asleep_in", Some("clock_nanosleep"))),
        services: vec![
            service("10.20.1.1:7600", vec![20 * MS; 400], 0, None),
            service("10.20.1.1:7613", mostly_fast(), 10_000 * MS, Some(slow)),
        ],
        duration_ns: 5_000 * MS,
        ..Application::default()
    };
    let said = "8 of 200 requests to 10.20.1.1:7613 were answered p50 1.280 s after they were readable (overall p50 130.0 µs), all from 1.677 s to 1.817 s: python3/191 asleep in clock_nanosleep 99 % of it; none of that is network time";
    assert_eq!(headline(&a), said);
    let (tone, sentence) = application(&a);
    assert!(tone == Tone::Notice && sentence.contains(said), "{sentence}");
}
