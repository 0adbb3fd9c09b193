//! The line on requests and answers.

use crate::analyses::application::{Answered, Application, Awaited, Part, Unanswered};
use crate::analyses::verdict::Tone;
use crate::analyses::verdict::application::{application, headline};
use crate::stat::Distribution;

pub(super) const MS: i64 = 1_000_000;

pub(super) fn answered(values: Vec<i64>, state: &'static str, call: Option<&str>) -> Answered {
    Answered {
        worst: None,
        connections: 1,
        turnaround: Distribution::of(values, 0),
        solid: true,
        less_certain: 0,
        slowest: 2,
        slowest_parts: vec![Part {
            state,
            call: call.map(str::to_owned),
            woken_by: None,
            ran_meanwhile: None,
            waker_held: None,
            waker_read: None,
            waker_in_state_d: None,
            ns: 299 * MS,
            share: 0.998,
        }],
        slowest_task: ("python3/16879".into(), 1.0),
        slowest_waited: None,
        slowest_behind: (state == "run_queue").then(|| ("sh".into(), 0.9)),
    }
}

/// Of the two slowest so much on the way there, so much in the application, and 40 us back.
pub(super) fn awaited(values: Vec<i64>, there: i64, peer: i64, held: Option<(&'static str, i64)>) -> Awaited {
    let response = Distribution::of(values, 0);
    Awaited {
        worst: None,
        slowest_place: None,
        connections: 1,
        paired: response.n,
        whole: response.clone(),
        response,
        solid: true,
        less_certain: 0,
        slowest: 2,
        slowest_there_ns: there,
        slowest_peer_ns: peer,
        slowest_back_ns: 40_000,
        slowest_held: held,
        way_p50_ns: Some(there / 2),
        rtt_min_ns: Some(100_000),
    }
}

pub(super) fn mostly_fast() -> Vec<i64> {
    (0..200).map(|n| if n < 3 { 150 * MS } else { 130_000 }).collect()
}

#[test]
fn a_server_that_sleeps_is_not_the_network() {
    let a = Application {
        answered: Some(answered(mostly_fast(), "asleep_in", Some("clock_nanosleep"))),
        awaited: Some(awaited(mostly_fast(), 60_000, 300 * MS, None)),
        ..Application::default()
    };
    let (tone, s) = application(&a);
    assert_eq!(tone, Tone::Notice);
    assert_eq!(
        s,
        "Requests were answered p50 130.0 µs, p99 150.00 ms, max 150.00 ms (n 200, 1 connection); of the slowest 1 % (2) 100.0 % of the time was the server's, between request readable and its send: python3/16879 asleep in clock_nanosleep 100 % of it; the network and both stacks took 50.0 µs of each."
    );
    // The server's side alone says no less of it.
    let (tone, s) = application(&Application { awaited: None, ..a });
    assert_eq!(tone, Tone::Notice);
    assert!(
        s.contains("asleep in clock_nanosleep 100 % of it; none of that is network time."),
        "{s}"
    );
}

/// Every request waits 41 ms in the client's own stack: none stands out, the way does.
#[test]
fn a_way_of_many_round_trips_is_worth_a_look() {
    let of = |n| Application {
        answered: Some(answered(vec![100_000; n], "running", None)),
        awaited: Some(awaited(vec![41 * MS; n], 82 * MS, 200_000, Some(("nagle", 80 * MS)))),
        ..Application::default()
    };
    let (tone, s) = application(&of(69));
    assert_eq!(tone, Tone::Notice);
    assert!(
        s.ends_with("0.2 % of the time was the server's; the way there took 99.7 %, most of it held in this host before the device (nagle), the way back 0.0 %."),
        "{s}"
    );
    // What held longer than the way there took did not hold the request.
    let mut other = of(69);
    if let Some(c) = &mut other.awaited {
        (c.slowest_there_ns, c.slowest_back_ns) = (40_000, 82 * MS);
    }
    assert!(!application(&other).1.contains("held"));
    // Four requests are no pattern.
    assert_eq!(application(&of(4)).0, Tone::Ok);
}

/// An application that always takes 5 ms may be meant to; one that has no CPU for them is not.
#[test]
fn always_slow_is_not_worth_a_look_unless_it_lacks_a_cpu() {
    let of = |state| Application {
        answered: Some(answered(vec![5 * MS; 200], state, None)),
        awaited: Some(awaited(vec![5 * MS; 200], 60_000, 10 * MS, None)),
        ..Application::default()
    };
    assert_eq!(application(&of("running")).0, Tone::Ok);
    let (tone, s) = application(&of("run_queue"));
    assert_eq!(tone, Tone::Notice);
    assert!(
        s.contains("python3/16879 waiting for a CPU 100 % of it, mostly behind sh"),
        "{s}"
    );
}

/// Held, not asleep, and who made it go on; those that waited for the one that is named; a CPU that nobody had.
#[test]
fn who_held_the_slowest() {
    let said = |of: Answered| {
        let a = Application {
            answered: Some(of),
            awaited: Some(awaited(mostly_fast(), 60_000, 300 * MS, None)),
            ..Application::default()
        };
        let s = application(&a).1;
        let (_, tail) = s.split_once("its send: ").unwrap();
        tail.split_once("; the network").unwrap().0.to_owned()
    };
    let mut held = answered(mostly_fast(), "asleep_in", Some("stopped"));
    held.slowest_parts[0].woken_by = Some("make.sh/2616".into());
    assert_eq!(
        said(held),
        "python3/16879 stopped by a signal (SIGSTOP) 100 % of it, woken by make.sh/2616"
    );
    let lock = |by: &str, share| {
        let mut of = answered(mostly_fast(), "asleep_in", Some("clock_nanosleep"));
        of.slowest_parts.push(Part {
            call: Some("unrecorded".into()),
            woken_by: Some(by.into()),
            share,
            ..of.slowest_parts[0].clone()
        });
        said(of)
    };
    let first = "python3/16879 asleep in clock_nanosleep 100 % of it";
    assert_eq!(
        lock("python3/16879", 0.43),
        format!(
            "{first}; others waiting for another thread (in no recorded syscall: most likely a lock) 43 %, woken by that one"
        )
    );
    assert_eq!(lock("python3/16879", 0.09), first);
    assert_eq!(
        lock("kworker/7", 0.43),
        format!("{first}, asleep, in no recorded syscall 43 %, woken by kworker/7")
    );
    assert_eq!(lock("kworker/7", 0.09), first);
    let mut throttled = answered(mostly_fast(), "run_queue", None);
    throttled.slowest_behind = Some(("swapper".into(), 0.9));
    assert_eq!(
        said(throttled),
        "python3/16879 runnable but not run 100 % of it, mostly while its CPU was idle: its CPU quota (cgroup cpu.max), or it was frozen, or the hypervisor did not run that CPU (inferred)"
    );
}

/// The client alone: nothing is said of whose time it was.
#[test]
fn without_the_peer_the_time_is_nobodys() {
    let mut c = awaited(mostly_fast(), 0, 0, None);
    (c.paired, c.slowest, c.way_p50_ns) = (0, 0, None);
    let a = Application {
        awaited: Some(c),
        ..Application::default()
    };
    let (tone, s) = application(&a);
    assert_eq!(tone, Tone::Notice);
    assert!(
        s.contains("is not in this recording, the fastest round trip took 100.0 µs."),
        "{s}"
    );
    assert!(!s.contains("slowest"), "{s}");
}

/// A server whose peers have other addresses answered as many.
#[test]
fn behind_nat_the_servers_part_is_beside_it() {
    let said = |n: usize| {
        let mut c = awaited(mostly_fast(), 0, 0, None);
        (c.paired, c.slowest, c.way_p50_ns) = (0, 0, None);
        let a = Application {
            answered: Some(answered(mostly_fast()[..n].to_vec(), "run_queue", None)),
            awaited: Some(c),
            ..Application::default()
        };
        application(&a).1
    };
    let s = said(200);
    assert!(
        s.contains("where addresses were translated (NAT), or those behind a proxy")
            && !s.contains("not in this recording"),
        "{s}"
    );
    assert!(said(199).contains("is not in this recording"));
}

#[test]
fn streams_are_not_judged() {
    let a = Application {
        both_ways: 1,
        one_way: 2,
        ..Application::default()
    };
    let (tone, s) = application(&a);
    assert_eq!(tone, Tone::Ok);
    assert!(
        s.starts_with("No TCP connection had a request-response pattern; 1 socket sent and received at once"),
        "{s}"
    );
}

/// An answer whose second part comes 41 ms behind its first is complete then; one in one part says nothing of it.
#[test]
fn an_answer_in_parts_is_complete_with_its_last() {
    let of = |whole: Vec<i64>| {
        let mut c = awaited(vec![150_000; 40], 60_000, 80_000, None);
        c.whole = Distribution::of(whole, 0);
        application(&Application {
            awaited: Some(c),
            ..Application::default()
        })
    };
    let (tone, s) = of(vec![41_600_000; 40]);
    assert_eq!(tone, Tone::Notice);
    assert!(
        s.ends_with(
            "That is to the first byte: the last byte read before the next send was there after p50 41.60 ms, p99 41.60 ms, max 41.60 ms."
        ),
        "{s}"
    );
    let (tone, s) = of(vec![160_000; 40]);
    assert_eq!(tone, Tone::Ok);
    assert!(!s.contains("first byte"), "{s}");
}

pub(super) fn unanswered(waited_ns: i64, until: &'static str, retransmits: u64) -> Unanswered {
    Unanswered {
        connection: 1,
        label: "10.0.0.1:40000 > 10.0.0.2:80".into(),
        task: String::new(),
        send_ns: 0,
        waited_ns,
        until,
        retransmits,
        others: true,
        patient: false,
        held: None,
        stream: false,
    }
}

/// A request that nobody answered is bad, where it waited much longer than others; one that the end of the recording cut is not.
#[test]
fn a_request_without_an_answer_is_told() {
    let of = |waited_ns| {
        let a = Application {
            awaited: Some(awaited(vec![150_000; 40], 60_000, 80_000, None)),
            unanswered: vec![unanswered(waited_ns, "closed", 5)],
            ..Application::default()
        };
        (application(&a), headline(&a))
    };
    let ((tone, s), head) = of(1_502 * MS);
    let said = "1 request had no answer (10.0.0.1:40000 > 10.0.0.2:80) for 1.502 s until its socket was closed, sent again 5 times";
    assert_eq!((tone, head.as_str()), (Tone::Bad, said));
    assert!(s.ends_with(&format!("{said}.")), "{s}");
    let ((tone, s), _) = of(MS);
    assert_eq!(tone, Tone::Ok);
    assert!(!s.contains("no answer"), "{s}");
    // One soon left of a thousand that were answered.
    let one_of = |n, waited_ns, until| {
        let a = Application {
            awaited: Some(awaited(vec![150_000; n], 60_000, 80_000, None)),
            unanswered: vec![unanswered(waited_ns, until, 0)],
            ..Application::default()
        };
        application(&a).0
    };
    assert_eq!(one_of(1_000, 1_502 * MS, "closed"), Tone::Notice);
    assert_eq!(one_of(999, 1_502 * MS, "closed"), Tone::Bad);
    assert_eq!(one_of(1_000, 2_502 * MS, "closed"), Tone::Bad);
    assert_eq!(one_of(1_000, 1_502 * MS, "timed_out"), Tone::Bad);
    // Of one program, or most of one.
    let by = |tasks: &[&str]| {
        let of = |task: &&str| Unanswered {
            task: (*task).to_owned(),
            ..unanswered(1_502 * MS, "closed", 0)
        };
        headline(&Application {
            awaited: Some(awaited(vec![150_000; 40], 60_000, 80_000, None)),
            unanswered: tasks.iter().map(of).collect(),
            ..Application::default()
        })
    };
    assert!(by(&["worker"]).starts_with("1 request of worker had no answer (10"));
    assert!(by(&["worker", "worker"]).starts_with("2 requests of worker had no answer, the longest (10"));
    assert!(
        by(&["orders", "worker", "worker", ""]).starts_with("4 requests (2 of worker) had no answer, the longest (10")
    );
}

/// Under way when the recording ended: others of its server took as long.
#[test]
fn a_request_that_the_end_cut_is_told_where_it_waited_longer_than_any() {
    let of = |waited_ns, until| {
        let mut server = super::turns::server("10.0.0.2:80", vec![150_000; 39], vec![], 0);
        server.response.max_ns = Some(2_000 * MS);
        let a = Application {
            awaited: Some(awaited(vec![150_000; 40], 60_000, 80_000, None)),
            unanswered: vec![unanswered(waited_ns, until, 0)],
            servers: vec![server],
            ..Application::default()
        };
        application(&a).1.contains("had no answer")
    };
    assert!(!of(2_900 * MS, "recording") && of(3_100 * MS, "recording") && of(2_900 * MS, "closed"));
}

/// A few that wait when the recording ends, at a server that answers others, may wait for what is not due yet.
#[test]
fn a_few_that_wait_at_the_end_are_worth_a_look() {
    let of = |n: usize, answers: u64, until, retransmits| {
        let mut server = super::turns::server("10.0.0.2:80", vec![150_000; 39], vec![], 0);
        server.response.n = answers;
        let a = Application {
            awaited: Some(awaited(vec![150_000; 40], 60_000, 80_000, None)),
            unanswered: vec![unanswered(3_100 * MS, until, retransmits); n],
            servers: vec![server],
            ..Application::default()
        };
        application(&a).0
    };
    assert_eq!(of(3, 30, "recording", 0), Tone::Notice);
    assert_eq!(of(5, 50, "recording", 0), Tone::Notice);
    // Many; a large part of what it is asked; sent again; given up, or closed by the server.
    assert_eq!(of(6, 600, "recording", 0), Tone::Bad);
    assert_eq!(of(3, 29, "recording", 0), Tone::Bad);
    assert_eq!(of(3, 30, "recording", 1), Tone::Bad);
    assert_eq!(of(1, 30, "closed", 0), Tone::Bad);
    assert_eq!(of(1, 30, "peer_closed", 0), Tone::Bad);
}

/// Where the longer way was; what held the request before its device is said in its place.
#[test]
fn the_place_of_the_way_is_said() {
    use crate::analyses::application::Place;
    let of = |to: &str, filled_by: Option<(String, f64)>, held| {
        let mut awaited = awaited(mostly_fast(), 298 * MS, 40_000, held);
        awaited.slowest_place = Some(Place {
            dev: "rs".into(),
            qdisc: if to.is_empty() { "tbf".into() } else { String::new() },
            to: to.into(),
            share: 0.97,
            timer_ns: None,
            let_go: None,
            filled_by,
        });
        let (tone, said) = application(&Application {
            answered: Some(answered(mostly_fast(), "running", None)),
            awaited: Some(awaited),
            ..Application::default()
        });
        assert_eq!(tone, Tone::Notice);
        let (_, way) = said.split_once("the way there took 100.0 %").unwrap();
        way.split_once(", the way back").unwrap().0.to_owned()
    };
    assert_eq!(of("", None, None), ", 97 % of it in the queue of rs (tbf)");
    let filled = Some(("10.9.3.2:5 > 10.9.2.2:7".to_owned(), 0.95));
    assert_eq!(
        of("", filled, None),
        ", 97 % of it in the queue of rs (tbf), 95 % of whose bytes were 10.9.3.2:5 > 10.9.2.2:7"
    );
    assert_eq!(of("s0", None, None), ", 97 % of it between rs and s0");
    let held = of("s0", None, Some(("nagle", 297 * MS)));
    assert_eq!(held, ", most of it held in this host before the device (nagle)");
}
