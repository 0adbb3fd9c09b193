//! What is said of a server outside of the recording beside others.

use super::requests::{MS, mostly_fast};
use super::turns::{both, server, slow};
use crate::analyses::application::{Application, GivenUp, GoneIdle, Stood, Unanswered};
use crate::analyses::drops::Forgotten;
use crate::analyses::verdict::application::{application, headline};

/// One whose program stands still for 0.25 s now and then, beside a fast one in the recording.
#[test]
fn slow_answers_of_an_unseen_server_among_others() {
    let mut late = slow("unknown", 72, 264 * MS);
    (late.acked, late.acked_max_ns) = (72, Some(95 * MS));
    let values = (0..1000).map(|n| if n < 72 { 264 * MS } else { 9 * MS }).collect();
    let mut unseen = server("10.77.0.20:6379", values, vec![late], 10 * MS);
    unseen.paired = 0;
    unseen.stood = vec![
        Stood {
            from_ns: 700 * MS,
            to_ns: 940 * MS,
            waiting: 8,
        };
        2
    ];
    let a = both(vec![unseen, server("10.78.0.5:80", mostly_fast(), vec![], 0)]);
    let says = "72 of 1000 answers from 10.77.0.20:6379 took p50 264.00 ms, and each of these requests was acknowledged within 95.00 ms";
    assert!(headline(&a).contains(says), "{}", headline(&a));
    let stood = "no answer came from it 2 times, for 240.00 ms to 240.00 ms (at 0.700 s, 0.700 s), while up to 8 requests waited";
    assert!(application(&a).1.contains(stood), "{}", application(&a).1);
    // Behind requests to it that were given up, and not behind another's.
    for (of, told) in [("10.77.0.20:6379", true), ("10.78.0.5:80", false)] {
        let mut a = a.clone();
        a.given_up = vec![GivenUp {
            server: of.into(),
            ..super::left_early::given_up()
        }];
        a.unanswered = vec![vain(1, of)];
        let said = headline(&a);
        let vain = said.find("gave up").unwrap();
        assert_eq!(said.find(says).is_some_and(|at| at > vain), told, "{said}");
    }
}

/// Runnable for 50 ms each, while the CPU idled in 44 % of that: a quota, though others ran in the rest.
#[test]
fn a_wait_for_an_idle_cpu_in_part() {
    let of = |share, ns: i64| {
        let mut s = slow("server", 100, ns);
        s.parts = vec![super::turns::part("run_queue", None, 100 * ns, 0.94)];
        s.behind = Some(("swapper".into(), share));
        let values = (0..400).map(|n| if n < 100 { ns } else { MS }).collect();
        headline(&both(vec![
            server("198.51.100.2:8080", values, vec![s], MS),
            server("10.0.0.2:6379", mostly_fast(), vec![], 0),
        ]))
    };
    let said = of(0.44, 50 * MS);
    let says = "runnable but not run 94 % of it, 44 % of that while its CPU was idle: its CPU quota (cgroup cpu.max)";
    assert!(said.contains(says), "{said}");
    assert!(!of(0.2, 50 * MS).contains("quota"));
    assert!(of(0.6, 50 * MS).contains("mostly while its CPU was idle"));
}

/// One that its program closed after 2.5 s.
fn vain(n: u32, to: &str) -> Unanswered {
    Unanswered {
        connection: n,
        label: format!("10.0.0.1:{} > {to}", 40_000 + n),
        task: "pool".into(),
        send_ns: 5600 * MS,
        waited_ns: 2500 * MS,
        until: "closed",
        retransmits: 5,
        others: true,
        patient: false,
        held: None,
        stream: false,
    }
}

#[test]
fn idle_connections_that_something_forgot() {
    let a = Application {
        unanswered: (0..4).map(|n| vain(n, "10.0.0.2:6379")).collect(),
        gone_idle: Some(GoneIdle {
            to: "10.0.0.2:6379".into(),
            silence: Forgotten {
                connections: 4,
                silent_least_ns: 5500 * MS,
                passed_most_ns: 300 * MS,
            },
        }),
        ..both(vec![server("10.0.0.2:6379", mostly_fast(), vec![], MS)])
    };
    let says = "4 requests of pool had no answer, the longest (10.0.0.1:40000 > 10.0.0.2:6379) for 2.500 s until its socket was closed, sent again 5 times; 4 connections to 10.0.0.2:6379 had been silent for 5.500 s or longer, and nothing sent on them then was acknowledged, while after 300.00 ms at most it passed, and others there are answered meanwhile: something on the way";
    assert!(headline(&a).starts_with(says), "{}", headline(&a));
}

#[test]
fn who_holds_a_lock_for_a_disk() {
    let mut late = slow("server", 67, 69 * MS);
    let mut waits = super::turns::part("asleep_in", Some("unrecorded"), 40 * 69 * MS, 0.53);
    waits.woken_by = Some("threads named ledger".into());
    waits.waker_in_state_d = Some(0.93);
    late.parts = vec![
        waits,
        super::turns::part("asleep_in", Some("uninterruptible"), 20 * 69 * MS, 0.24),
    ];
    let values = (0..1000).map(|n| if n < 67 { 69 * MS } else { MS }).collect();
    let a = both(vec![
        server("10.82.0.1:7000", values, vec![late], 10 * MS),
        server("10.78.0.5:80", mostly_fast(), vec![], 0),
    ]);
    let says = "most likely a lock) 53 % of it, woken by threads named ledger, who themselves slept in state D (a disk, most likely), one behind the other, in 93 % of that time";
    assert!(headline(&a).contains(says), "{}", headline(&a));
}
