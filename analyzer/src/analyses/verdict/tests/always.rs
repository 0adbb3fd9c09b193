//! Servers all of whose answers take long, and times in which one answers nobody.

use super::requests::{MS, answered, awaited, mostly_fast};
use super::turns::{both, part, server, slow};
use crate::analyses::application::{Application, Part, Server, Slow, Stood, Waited, WakerHeld, WakerRead};
use crate::analyses::verdict::Tone;
use crate::analyses::verdict::always::all_at_once;
use crate::analyses::verdict::application::{application, headline};
use crate::analyses::verdict::waker::{names_a_hold, woken};

/// One with answers of 90 ms, spent so, beside one with answers of 0.1 ms of which a few took 2 ms.
fn two(spent: Part, waited: Option<Waited>) -> Application {
    let mut late = server("10.0.0.3:6379", vec![90 * MS; 100], vec![], 0);
    late.whole = Some(Slow {
        parts: vec![spent],
        waited,
        ..slow("server", 100, 90 * MS)
    });
    let mut fast = vec![100_000; 400];
    fast.extend([2 * MS; 11]);
    let other = Server {
        over_ns: 22 * MS,
        ..server("10.0.0.3:6380", fast, vec![slow("server", 11, 2 * MS)], 8 * MS)
    };
    Application {
        answered: Some(answered(mostly_fast(), "asleep_in", Some("unrecorded"))),
        awaited: Some(awaited(mostly_fast(), 300 * MS, 60_000, None)),
        servers: vec![late, other],
        ..Application::default()
    }
}

#[test]
fn what_holds_all_answers_stands_before_a_few_slow_ones_of_another() {
    let d = |call: &str| part("asleep_in", Some(call), 9_000 * MS, 0.98);
    let a = two(d("uninterruptible"), None);
    let says = "answers from 10.0.0.3:6379 took p50 90.00 ms, max 90.00 ms (n 100), 99.9 % of it in the server: python3/7 in uninterruptible \
                sleep (state D, in no recorded syscall: most likely a disk) 98 % of it";
    assert_eq!(headline(&a), says);
    assert_eq!(application(&a).0, Tone::Notice);
    // Sixty of them in the server, the others elsewhere.
    let mut some = two(d("uninterruptible"), None);
    if let Some(w) = &mut some.servers[0].whole {
        (w.n, w.sum_ns) = (60, 60 * 90 * MS);
    }
    assert!(headline(&some).contains("(n 100), of 60 of them 99.9 % of it in the server"));
    // By their time, not by how many they are: the five longest have most of it.
    let mut few = two(d("uninterruptible"), None);
    if let Some(w) = &mut few.servers[0].whole {
        (w.n, w.sum_ns) = (5, 8_900 * MS);
    }
    few.servers[1].over_ns = 8_000 * MS;
    assert!(
        headline(&few).starts_with("answers from 10.0.0.3:6379"),
        "{}",
        headline(&few)
    );
    // By its own wish, at work, or waiting for something that is not known: that may be meant.
    for meant in [
        d("clock_nanosleep"),
        d("epoll_wait"),
        d("unrecorded"),
        part("running", None, 9_000 * MS, 0.98),
    ] {
        let head = headline(&two(meant, None));
        assert!(
            head.starts_with("11 of 411 answers from 10.0.0.3:6380 took p50 2.00 ms"),
            "{head}"
        );
    }
    // Not where a thread of its own ran meanwhile, or it answered nobody at all.
    let mut ran = d("unrecorded");
    ran.ran_meanwhile = Some(("VM Thread/9".into(), 0.9));
    assert!(headline(&two(ran, None)).starts_with("answers from 10.0.0.3:6379"));
    let mut stood = two(d("unrecorded"), None);
    stood.servers[0].stood = vec![Stood {
        from_ns: 0,
        to_ns: 300 * MS,
        waiting: 4,
    }];
    assert!(headline(&stood).starts_with("answers from 10.0.0.3:6379"));
    // 98 % of its 9 s are less than what those of the other took longer.
    let mut other = two(d("uninterruptible"), None);
    other.servers[1].over_ns = 8_900 * MS;
    assert!(headline(&other).starts_with("11 of 411"), "{}", headline(&other));
    let waited = |kind: &'static str, there: Option<Part>| Waited {
        kind,
        of: "10.0.0.9:53".into(),
        ns: 8_900 * MS,
        share: 0.99,
        there: there.map(|p| ("db/9".to_owned(), p)),
        window: false,
        handed: false,
        next: None,
        released: None,
        silent: None,
    };
    let says = |kind, there| headline(&two(d("poll"), Some(waited(kind, there))));
    let head = says("datagrams", None);
    assert!(
        head.ends_with("asleep in poll 98 % of it, waiting for the UDP answer from 10.0.0.9:53"),
        "{head}"
    );
    assert!(says("answer", Some(d("uninterruptible"))).starts_with("answers from 10.0.0.3:6379"));
    assert!(says("answer", Some(d("unrecorded"))).starts_with("11 of 411"));
    assert!(says("answer", Some(d("clock_nanosleep"))).starts_with("11 of 411"));
    assert!(says("answer", None).starts_with("11 of 411"));
}

/// Answers of a second that wait for a timer, beside quick ones: a long poll. One that waits for anything else is none.
#[test]
fn a_server_that_lets_its_clients_wait_is_no_news() {
    let tone = |spent: Part, quick: Vec<i64>, others: Option<Server>| {
        let mut polls = server("10.0.0.9:8081", vec![1_100 * MS; 8], vec![], 0);
        polls.whole = Some(Slow {
            parts: vec![spent],
            ..slow("server", 8, 1_100 * MS)
        });
        let all: Vec<i64> = quick.iter().copied().chain([1_100 * MS; 8]).collect();
        let mut servers = vec![polls, server("10.0.0.8:8080", quick, vec![], 0)];
        let mut values = all;
        if let Some(o) = others {
            values.extend([o.response.p50_ns.unwrap(); 200]);
            servers.push(o);
        }
        application(&Application {
            answered: Some(answered(values.clone(), "asleep_in", Some("clock_nanosleep"))),
            awaited: Some(awaited(values, 60_000, 1_100 * MS, None)),
            servers,
            ..Application::default()
        })
        .0
    };
    let quick = || vec![130_000; 400];
    let asleep = |call| part("asleep_in", Some(call), 8 * 1_100 * MS, 0.99);
    for call in ["clock_nanosleep", "nanosleep"] {
        assert_eq!(tone(asleep(call), quick(), None), Tone::Ok, "{call}");
    }
    for call in ["recvfrom", "epoll_wait", "unrecorded", "uninterruptible", "fsync"] {
        assert_eq!(tone(asleep(call), quick(), None), Tone::Notice, "{call}");
    }
    assert_eq!(
        tone(part("running", None, 8 * 1_100 * MS, 0.99), quick(), None),
        Tone::Notice
    );
    // A slow one among the quick ones, and another server that is slower than those.
    let mut out = quick();
    out.extend([30 * MS; 8]);
    assert_eq!(tone(asleep("clock_nanosleep"), out, None), Tone::Notice);
    let third = |ns| Some(server("10.0.0.7:8082", vec![ns; 200], vec![], 0));
    assert_eq!(tone(asleep("clock_nanosleep"), quick(), third(2 * MS)), Tone::Notice);
    assert_eq!(tone(asleep("clock_nanosleep"), quick(), third(200_000)), Tone::Ok);
    // Of a third one a few answers only: not what they are by themselves, but their part of all, and what took very long.
    let few = |n: usize, ns: i64| {
        let mut s = server("10.0.0.7:8082", vec![ns; n], vec![], 0);
        s.response.n = n as u64;
        s
    };
    let beside = |n: usize, ns: i64| {
        let mut values = quick();
        values.extend([1_100 * MS; 8]);
        values.extend(vec![ns; n]);
        let mut polls = server("10.0.0.9:8081", vec![1_100 * MS; 8], vec![], 0);
        polls.whole = Some(Slow {
            parts: vec![asleep("clock_nanosleep")],
            ..slow("server", 8, 1_100 * MS)
        });
        application(&Application {
            answered: Some(answered(values.clone(), "asleep_in", Some("clock_nanosleep"))),
            awaited: Some(awaited(values, 60_000, 1_100 * MS, None)),
            servers: vec![polls, server("10.0.0.8:8080", quick(), vec![], 0), few(n, ns)],
            ..Application::default()
        })
        .0
    };
    assert_eq!(beside(2, 30 * MS), Tone::Ok);
    assert_eq!(beside(19, 30 * MS), Tone::Notice);
    assert_eq!(beside(19, 400_000), Tone::Ok);
    assert_eq!(beside(1, 150 * MS), Tone::Notice);
}

#[test]
fn standstills_are_told_with_their_times() {
    let stood = |at: i64, ns: i64| Stood {
        from_ns: at * MS,
        to_ns: (at + ns) * MS,
        waiting: 8,
    };
    let of = |times: &[(i64, i64)], share: f64| {
        let mut stalled = slow("server", 24, 1_400 * MS);
        stalled.parts = vec![part("asleep_in", Some("unrecorded"), 24 * 1_400 * MS, 0.99)];
        stalled.task.1 = share;
        let mut values = vec![MS; 400];
        values.extend([1_400 * MS; 24]);
        let mut s = server("10.0.0.7:8080", values, vec![stalled], 0);
        s.stood = times.iter().map(|(at, ns)| stood(*at, *ns)).collect();
        headline(&Application {
            answered: Some(answered(mostly_fast(), "asleep_in", Some("unrecorded"))),
            awaited: Some(awaited(mostly_fast(), 300 * MS, 60_000, None)),
            servers: vec![s],
            ..Application::default()
        })
    };
    let two = [(1_231, 1_119), (3_834, 1_505)];
    let head = of(&two, 0.2);
    let says = "; it answered nobody 2 times, for 1.119 s to 1.505 s (at 1.231 s, 3.834 s), while up to 8 requests waited: all threads \
                that answer stalled together, as in a garbage collection or behind one lock (inferred)";
    assert!(head.ends_with(says), "{head}");
    // What the last of them waited for is known.
    let mut stalled = slow("server", 24, 1_400 * MS);
    let held = WakerHeld {
        to: "10.0.0.9:514".into(),
        by: "rwnd",
        share: 1.0,
        reader: Some(("relay/7".into(), "sendto".into())),
        next: Some(Box::new(WakerHeld {
            to: "10.0.0.8:601".into(),
            by: "rwnd",
            share: 0.9,
            reader: Some(("siem/8".into(), "clock_nanosleep".into())),
            next: None,
        })),
    };
    stalled.parts = vec![
        part("asleep_in", Some("unrecorded"), 24 * 1_400 * MS, 0.9),
        Part {
            waker_held: Some(held),
            ..part("asleep_in", Some("sendto"), 24 * 140 * MS, 0.1)
        },
    ];
    assert_eq!(
        woken(&stalled.parts[1]),
        ", whose process itself could not send to 10.0.0.9:514 meanwhile (the peer's receive window, 100 % of that time; that it waited \
         for this is inferred), whose reader relay/7 slept in sendto, as its process could not send to 10.0.0.8:601 (the peer's receive window, \
         90 % of that time; inferred), whose reader siem/8 slept in clock_nanosleep"
    );
    let handed = Part {
        woken_by: Some("walsender/9".into()),
        waker_read: Some(WakerRead {
            from: "10.0.0.3:40000".into(),
            by: "walreceiver/31".into(),
            n: 5,
            of: 6,
        }),
        ..part("asleep_in", Some("epoll_wait"), 24 * 140 * MS, 0.1)
    };
    assert_eq!(
        woken(&handed),
        ", woken by walsender/9, which had read what came from 10.0.0.3:40000 of walreceiver/31 right before, before 5 of the 6 that it woke: they waited until that came, most likely (inferred)"
    );
    // That is what these waited for where it is most of their time.
    assert!(!names_a_hold(&stalled));
    stalled.parts.swap(0, 1);
    assert!(names_a_hold(&stalled));
    stalled.parts.swap(0, 1);
    stalled.task.1 = 0.2;
    let mut s = server("10.0.0.7:8080", mostly_fast(), vec![], 0);
    s.stood = vec![stood(1_231, 1_119)];
    assert_eq!(all_at_once(&s, &stalled), ": all threads that answer stalled together");
    // The one server that there is, and a thread of its own that ran meanwhile.
    let ran = |who: Option<(String, f64)>| {
        let mut stalled = slow("server", 24, 1_400 * MS);
        stalled.parts = vec![Part {
            ran_meanwhile: who,
            ..part("asleep_in", Some("unrecorded"), 24 * 1_400 * MS, 0.99)
        }];
        stalled.task.1 = 0.2;
        // The slowest 1 % have all of it.
        let over = stalled.over_ns;
        let mut s = server("10.0.0.7:8080", mostly_fast(), vec![stalled], over);
        s.stood = vec![stood(1_231, 1_119)];
        headline(&Application {
            answered: Some(answered(mostly_fast(), "asleep_in", Some("unrecorded"))),
            awaited: Some(awaited(mostly_fast(), 300 * MS, 60_000, None)),
            servers: vec![s],
            ..Application::default()
        })
    };
    let head = ran(Some(("VM Thread/9".into(), 0.98)));
    assert!(head.starts_with("answers from 10.0.0.7:8080 took p50 "), "{head}");
    let says = "while up to 8 requests waited: all threads that answer stalled together, as in a garbage collection or behind \
                one lock (inferred)";
    assert!(head.ends_with(says), "{head}");
    assert!(ran(None).contains(": all threads that answer stalled together, as in"));
    // One thread serves all: nothing stands still together.
    assert!(of(&two, 0.9).ends_with("8 requests waited"));
    assert!(of(&two[..1], 0.9).ends_with("; it answered nobody for 1.119 s at 1.231 s, while up to 8 requests waited"));
    assert!(!of(&[], 0.2).contains("nobody"));
}

#[test]
fn the_one_client_of_slow_answers_is_named() {
    let of = |client: Option<&str>| {
        let stalled = Slow {
            client: client.map(str::to_owned),
            ..slow("server", 3, 300 * MS)
        };
        let quick = server("10.0.0.8:8080", mostly_fast(), vec![], 0);
        headline(&both(vec![
            server("10.9.2.2:6379", mostly_fast(), vec![stalled], 3 * 300 * MS),
            quick,
        ]))
    };
    let says = "3 of 200 answers from 10.9.2.2:6379 took p50 300.00 ms (overall p50 130.0 µs)";
    assert!(of(None).starts_with(&format!("{says}, ")), "{}", of(None));
    let told = of(Some("10.9.1.9"));
    assert!(
        told.starts_with(&format!("{says}, all to 10.9.1.9, which had no others from there, ")),
        "{told}"
    );
}
