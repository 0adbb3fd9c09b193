//! What is said of requests that their client left before such are answered.

use super::requests::{MS, awaited, mostly_fast, unanswered};
use super::turns::{both, part, server, slow};
use crate::analyses::application::{Application, GivenUp, Held, Patience, Slow, Unanswered, Waited};
use crate::analyses::verdict::Tone;
use crate::analyses::verdict::application::{application, headline};
use crate::stat::Distribution;

const FRONT: &str = "10.0.0.1:80";
const BEHIND: &str = "10.0.0.2:8080";

fn rest(n: u64) -> Slow {
    let mut s = slow("server", n, 5_000 * MS);
    s.parts = vec![part("asleep_in", Some("epoll_wait"), 1, 0.98)];
    s
}

/// Slow answers that waited for those of the server behind, whose thread did this meanwhile.
fn waited(did: crate::analyses::application::Part) -> Slow {
    let mut s = rest(12);
    s.waited = Some(Waited {
        kind: "answer",
        of: BEHIND.into(),
        ns: 1,
        share: 0.99,
        there: Some(("cms/9".into(), did)),
        window: false,
        handed: false,
        next: None,
        released: None,
        silent: None,
    });
    s
}

fn asleep() -> crate::analyses::application::Part {
    part("asleep_in", Some("epoll_wait"), 1, 0.97)
}

/// 10 of 200 requests, after 2.5 s.
pub(super) fn given_up() -> GivenUp {
    GivenUp {
        task: "browser".into(),
        server: FRONT.into(),
        requests: 10,
        of: 200,
        wait: Distribution::of(vec![2_500 * MS; 10], 0),
        timeout: true,
        patience: None,
        hasty: false,
        later: 0,
        ended: None,
        hedged: 0,
        first_ns: 700 * MS,
        last_ns: 14_000 * MS,
        longer: 19,
        rsts: 0,
        opened_before: None,
        opened_meanwhile: None,
    }
}

/// 10 of 200 were closed after 2.5 s, and the server asked its own behind for each.
fn site(front: Slow, behind: Slow, patient: bool) -> Application {
    let given = GivenUp {
        patience: patient.then_some(Patience {
            answered: 20,
            p50_ns: 6_180 * MS,
            longer: 20,
            bytes: (78, 78),
        }),
        ..given_up()
    };
    let closed = |n: u32| Unanswered {
        connection: n,
        label: format!("10.0.0.1:{} > {BEHIND}", 40_000 + n),
        task: "nginx".into(),
        send_ns: 0,
        waited_ns: 2_500 * MS,
        until: "closed",
        retransmits: 0,
        others: true,
        patient,
        held: None,
        stream: false,
    };
    Application {
        given_up: vec![given],
        unanswered: (0..10).map(closed).collect(),
        duration_ns: 15_000 * MS,
        ..both(vec![
            server(FRONT, mostly_fast(), vec![front], 0),
            server(BEHIND, mostly_fast(), vec![behind], 0),
        ])
    }
}

#[test]
fn held_requests_that_were_left_are_worth_a_look_with_both_readings() {
    let a = site(waited(asleep()), rest(12), true);
    let (tone, said) = application(&a);
    assert_eq!(tone, Tone::Notice);
    let both = "browser gave up 10 of 200 requests to 10.0.0.1:80 without an answer, closing their connections after p50 2.500 s, while 20 others as long (78 B) were answered, 20 of them later than that (p50 6.180 s), and other requests were answered in time, and the server slept: requests that are held until there is news (long polls), which their clients left as when a tab is closed, a client time-out shorter than these always take, or something inside that server that no event tells (a pool, a limit; inferred)";
    assert!(headline(&a).contains(both), "{}", headline(&a));
    let closed = "10 requests of nginx had no answer, the longest (10.0.0.1:40000 > 10.0.0.2:8080) for 2.500 s until its socket was closed; closed where others as long are waited for longer, as long polls are, whose client left (inferred)";
    assert!(said.contains(closed), "{said}");
    assert!(!super::super::given_up::names_cause(&a));
    // It is a time-out where nothing tells of others.
    let a = site(waited(asleep()), rest(12), false);
    assert_eq!(application(&a).0, Tone::Bad);
    assert!(headline(&a).contains("its own time-out, inferred: all alike"));
    assert!(super::super::given_up::names_cause(&a));
}

/// A lock, a CPU, a quota, another thread, an upstream that nobody saw, or one that waits for such itself.
#[test]
fn a_server_that_something_holds_up_stays_loud() {
    let loud = |front: Slow, behind: Slow| {
        let a = site(front, behind, true);
        assert_eq!(application(&a).0, Tone::Bad);
        assert!(!application(&a).1.contains("whose client left"));
        a
    };
    for held in [
        part("asleep_in", Some("futex"), 1, 0.97),
        part("asleep_in", Some("uninterruptible"), 1, 0.97),
        part("run_queue", None, 1, 0.97),
        part("running", None, 1, 0.97),
        part("asleep_in", Some("epoll_wait"), 1, 0.6),
    ] {
        let mut own = rest(12);
        own.parts = vec![held.clone()];
        let a = loud(waited(held), own);
        assert!(headline(&a).contains("its own time-out"));
    }
    let mut by_thread = asleep();
    by_thread.woken_by = Some("cms/10".into());
    let mut own = rest(12);
    own.parts = vec![by_thread.clone()];
    loud(waited(by_thread), own);
    // An upstream of which only the asking end is known, or a queue of requests.
    let mut unknown = waited(asleep());
    unknown.waited.as_mut().unwrap().there = None;
    loud(unknown.clone(), unknown.clone());
    let mut others = waited(asleep());
    others.waited.as_mut().unwrap().kind = "others";
    loud(others.clone(), others);
    let mut on = waited(asleep());
    on.waited.as_mut().unwrap().next = unknown.waited.clone().map(Box::new);
    loud(on, unknown);
    // On its way, and not at the server.
    loud(slow("there", 12, 5_000 * MS), slow("back", 12, 5_000 * MS));
}

/// One that was left does not hide others that had no answer.
#[test]
fn others_without_an_answer_stay_loud() {
    let mut a = site(waited(asleep()), rest(12), true);
    a.unanswered[3].patient = false;
    let (tone, said) = application(&a);
    assert_eq!(tone, Tone::Bad);
    assert!(said.contains("9 of them closed where others as long"), "{said}");
}

/// Those that wait at the end, where their kind is held and the server sleeps; one more of them is not known to be.
#[test]
fn held_requests_that_are_open_at_the_end_are_worth_a_look() {
    let open = |front: Slow, behind: Slow| {
        let mut a = site(front, behind, false);
        a.given_up.clear();
        for u in &mut a.unanswered {
            (u.until, u.waited_ns) = ("recording", 17_000 * MS);
            u.held = Some(Held {
                answered: 3,
                p50_ns: 8_100 * MS,
                bytes: 59,
            });
        }
        a
    };
    let a = open(waited(asleep()), rest(12));
    let (tone, said) = application(&a);
    let both = "; asked where 3 others as long (59 B) came late, too (p50 8.100 s), of those that were asked later as well, until the end, while other requests were answered in time, and the server slept: requests that are held until there is news (long polls), or something that only these wait for and no event tells (inferred)";
    assert!(said.contains(both), "{said}");
    assert_eq!(tone, Tone::Notice);
    // Their server waits for a lock meanwhile.
    let mut lock = rest(12);
    lock.parts = vec![part("asleep_in", Some("futex"), 1, 0.97)];
    let (tone, said) = application(&open(waited(asleep()), lock));
    assert_eq!((tone, said.contains("long polls")), (Tone::Bad, false));
    // More than a few that are not known to be held.
    let mut a = open(waited(asleep()), rest(12));
    a.unanswered.iter_mut().take(6).for_each(|u| u.held = None);
    let (tone, said) = application(&a);
    assert_eq!(tone, Tone::Bad);
    assert!(said.contains("; 4 of them asked where 3 others"), "{said}");
}

/// Who may only say that it has a stream waits for nothing that is late.
#[test]
fn a_stream_that_is_silent_at_the_end_is_worth_a_look() {
    let of = |stream| {
        let a = Application {
            awaited: Some(awaited(vec![150_000; 40], 60_000, 80_000, None)),
            unanswered: vec![Unanswered {
                stream,
                ..unanswered(3_100 * MS, "recording", 0)
            }],
            ..Application::default()
        };
        application(&a)
    };
    let (tone, said) = of(true);
    assert_eq!(tone, Tone::Notice);
    assert!(
        said.contains("until the recording ended; of a client that speaks only when spoken to"),
        "{said}"
    );
    let (tone, said) = of(false);
    assert!(tone == Tone::Bad && !said.contains("spoken"), "{said}");
}
