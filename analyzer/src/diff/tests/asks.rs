//! What a server's program asks another server per answer of its own: a real recording, and requests of the server's thread put into its turnarounds. And where
//! what is not judged stands.

use super::samples::{facts, of};
use crate::diff::{Asked, Asks, Diff, Outcome};
use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::application::tables::ResponseRow;

pub(super) const SERVER: &str = "10.78.1.2:7000";
pub(super) const STORE: &str = "10.78.1.9:6379";

pub(super) fn rpc() -> Facts {
    facts("rpc/rpc.nmb")
}

/// A connection of the server's host to port 6379 elsewhere.
fn store(f: &mut Facts) -> ConnectionId {
    let own = f.connections.iter().find(|c| c.sport == 7000 && c.dport > 7000);
    let mut row = own.unwrap().clone();
    (row.connection, row.born) = (ConnectionId(f.connections.len() as u32), Some(2));
    (row.sport, row.dport, row.daddr) = (40_000, 6379, Some("10.78.1.9".parse().unwrap()));
    f.connections.push(row.clone());
    row.connection
}

/// The server's thread asks so many times in its nth turnaround; each answered after so many ns.
fn asks(f: &mut Facts, times: impl Fn(usize) -> i64, ns: i64) {
    let c = store(f);
    let own: Vec<_> = f
        .turnarounds
        .iter()
        .filter(|t| f.connections[t.connection.0 as usize].sport == 7000)
        .cloned()
        .collect();
    let like = f.responses[0].clone();
    for (n, t) in own.iter().enumerate() {
        let times = times(n);
        for i in 0..times {
            let send_ns = t.read_ns + (t.send_ns - t.read_ns) * (i + 1) / (times + 1);
            f.responses.push(ResponseRow {
                connection: c,
                pid: t.pid,
                send_ns,
                ready_ns: Some(send_ns + ns),
                read_ns: send_ns + ns,
                complete_ns: Some(send_ns + ns),
                peer: None,
                overlap: false,
                ..like.clone()
            });
        }
    }
}

pub(in crate::diff) fn asking(times: impl Fn(usize) -> i64, ns: i64) -> Facts {
    let mut f = rpc();
    asks(&mut f, times, ns);
    f
}

pub(super) fn slower(f: &mut Facts, port: u16, ns: i64) {
    for r in &mut f.responses {
        if f.connections[r.connection.0 as usize].dport == port {
            r.ready_ns = r.ready_ns.map(|t| t + ns);
        }
    }
}

fn outcome(d: &Diff, metric: &str) -> Outcome {
    d.metrics.iter().find(|m| m.metric == metric).unwrap().outcome
}

fn only(d: &Diff) -> Asks {
    let [x] = &d.asks[..] else { panic!("{:?}", d.asks) };
    x.clone()
}

#[test]
fn many_requests_in_place_of_one_are_said_behind_the_answers_and_quicker_ones_are_no_improvement() {
    let (one, mut many) = (asking(|_| 1, 300_000), asking(|_| 20, 10_000));
    slower(&mut many, 7000, 5_000_000);
    let d = of(&one, &many);
    let x = only(&d);
    let side = |requests: u64, p50_ns| Asked {
        answers: 400,
        requests,
        per_answer: requests as f64 / 400.0,
        asking: Some(400),
        p50_ns: Some(p50_ns),
    };
    assert_eq!((x.server.as_str(), x.asked.as_str(), x.differs), (SERVER, STORE, true));
    assert_eq!((x.before, x.after), (side(400, 300_000), side(8000, 10_000)));
    let told = &d.verdict.sentence;
    let said = format!(
        "Per answer of {SERVER} its program asks {STORE} 1.0 -> 20 times (400 -> 8000 requests for 400 -> 400 answers); a request there takes p50 300.0 µs -> 10.0 µs."
    );
    let at = told.find(&said).unwrap_or_else(|| panic!("{told}"));
    assert!(
        told.starts_with(&format!("Answers from {SERVER} take longer: ")),
        "{told}"
    );
    assert!(
        !told[..at].trim_end_matches(' ').trim_end_matches('.').contains(". "),
        "{told}"
    );
    assert!(!told.contains(&format!("Answers from {STORE}")), "{told}");
    assert_eq!(outcome(&d, &format!("app.response[{STORE}]")), Outcome::NotComparable);
    let why = format!("but its requests are others: per answer of {SERVER} there were 1.0 -> 20 of them (400 -> 8000)");
    assert!(
        d.verdict.lines.iter().any(|l| l.1.contains(&why)),
        "{:?}",
        d.verdict.lines
    );
    // Said once.
    assert!(!d.verdict.lines.iter().any(|l| l.1.starts_with("Per answer of")));
    // The other way the fewer take longer: nobody's harm where the answers that ask for them take less, and worse where they do not.
    let back = of(&many, &one);
    assert_eq!(outcome(&back, &format!("app.response[{STORE}]")), Outcome::Changed);
    assert_eq!(back.verdict.outcome, Outcome::Better, "{}", back.verdict.sentence);
    assert!(only(&back).differs);
    let back = of(&asking(|_| 20, 10_000), &one);
    assert_eq!(outcome(&back, &format!("app.response[{STORE}]")), Outcome::Worse);
}

#[test]
fn requests_that_one_side_has_only_and_answers_that_ask_not() {
    let (none, mut some) = (rpc(), asking(|n| if n % 4 == 0 { 3 } else { 0 }, 10_000));
    slower(&mut some, 7000, 5_000_000);
    let d = of(&none, &some);
    assert!(
        d.verdict.sentence.contains(&format!(
            "asks {STORE} 0 -> 0.8 times (0 -> 300 requests for 400 -> 400 answers); a request there takes p50 - -> 10.0 µs."
        )),
        "{}",
        d.verdict.sentence
    );
    let half = asking(|n| i64::from(n % 4 == 0), 10_000);
    let d = of(&half, &some);
    assert!(
        d.verdict
            .sentence
            .contains(", 1.0 -> 3.0 for each for which it asks at all)"),
        "{}",
        d.verdict.sentence
    );
}

#[test]
fn what_is_not_twice_as_often_or_too_few_or_of_no_server_is_not_said() {
    let said = |b: &Facts, a: &Facts| of(b, a).asks.iter().filter(|x| x.differs).count();
    let one = asking(|_| 1, 10_000);
    assert_eq!(said(&one, &asking(|n| 1 + i64::from(n % 10 > 0), 10_000)), 0);
    assert_eq!(said(&one, &asking(|_| 2, 10_000)), 1);
    assert_eq!(
        said(
            &asking(|n| i64::from(n < 4), 10_000),
            &asking(|n| i64::from(n < 19), 10_000)
        ),
        0
    );
    assert_eq!(
        said(
            &asking(|n| i64::from(n < 4), 10_000),
            &asking(|n| i64::from(n < 20), 10_000)
        ),
        1
    );
    // Another thread; between an answer and the next request.
    for change in [
        |r: &mut ResponseRow| r.pid += 1000,
        |r: &mut ResponseRow| r.send_ns += 3_600_000_000_000,
    ] {
        let mut other = asking(|_| 20, 10_000);
        let ports: Vec<u16> = other.connections.iter().map(|c| c.dport).collect();
        let store = other
            .responses
            .iter_mut()
            .filter(|r| ports[r.connection.0 as usize] == 6379);
        store.for_each(change);
        assert_eq!(of(&other, &other).asks, vec![]);
    }
    // Pseudonyms: by port.
    let (mut hidden, mut many) = (asking(|_| 1, 10_000), asking(|_| 20, 10_000));
    (hidden.capture.part.redacted, many.capture.part.redacted) = (true, true);
    let told: Vec<(String, String)> = (of(&hidden, &many).asks.into_iter())
        .map(|x| (x.server, x.asked))
        .collect();
    assert!(
        !told.is_empty() && told.iter().all(|(s, a)| s.starts_with("*:") && a == "*:6379"),
        "{told:?}"
    );
}

#[test]
fn where_no_answers_changed_it_is_a_line() {
    let d = of(&asking(|_| 1, 10_000), &asking(|_| 3, 10_000));
    assert_eq!(d.verdict.outcome, Outcome::Same, "{:?}", d.verdict);
    let line = d
        .verdict
        .lines
        .iter()
        .find(|l| l.1.starts_with(&format!("Per answer of {SERVER} ")));
    assert_eq!(line.unwrap().0, Outcome::Changed);
}

#[test]
fn slowest_answers_that_are_not_judged_stand_behind_what_is_worse() {
    let tail = |store_ns: i64| {
        let mut f = asking(|_| 1, store_ns);
        let ports: Vec<u16> = f.connections.iter().map(|c| c.dport).collect();
        let own = f
            .responses
            .iter_mut()
            .filter(|r| ports[r.connection.0 as usize] == 7000);
        for r in own.skip(100).take(8) {
            r.ready_ns = r.ready_ns.map(|t| t + 500_000_000);
        }
        f
    };
    let before = asking(|_| 1, 300_000);
    let slowest = format!("The slowest answers from {SERVER} take far longer: ");
    let told = of(&before, &tail(3_000_000)).verdict.sentence;
    assert!(
        told.starts_with(&format!("Answers from {STORE} take longer: ")),
        "{told}"
    );
    let (at, first) = (told.find(&slowest).unwrap(), told.find("Worse in ").unwrap());
    assert!(at < first, "{told}");
    // Nothing is worse, or all is alike: they lead.
    for other in [30_000, 300_000] {
        let told = of(&before, &tail(other)).verdict.sentence;
        assert!(told.starts_with(&slowest), "{told}");
    }
}

/// Requests one behind the other before, in a loop now: how many there were before is not known.
#[test]
fn a_pipeline_is_no_count() {
    let mut one = asking(|_| 2, 300_000);
    for r in &mut one.responses {
        if one.connections[r.connection.0 as usize].dport == 6379 {
            r.overlap = true;
        }
    }
    let d = of(&one, &asking(|_| 20, 10_000));
    assert_eq!(d.asks, [], "{}", d.verdict.sentence);
}

/// A program that sends its requests in parts, a second apart, on one side alone: no answer's time has that.
#[test]
fn a_client_that_pauses_within_its_requests_is_worse() {
    let paused = |part: usize| {
        let mut f = rpc();
        for (n, r) in f.responses.iter_mut().enumerate() {
            if n % part == 0 {
                (r.sends, r.sending_ns, r.pause_ns) = (2, 1_001_000_000, 1_001_000_000);
            }
        }
        f
    };
    let none = rpc();
    let d = of(&none, &paused(1));
    assert_eq!(d.verdict.outcome, Outcome::Worse, "{}", d.verdict.sentence);
    // 400 calls of the client.
    let all = 400;
    let said = format!(
        "python3 sends its requests to {SERVER} in parts with a pause between them, p50 1.001 s after: 0 of {all} -> {all} of {all}; that is in no answer's time."
    );
    assert!(d.verdict.sentence.starts_with(&said), "{said} {}", d.verdict.sentence);
    let back = of(&paused(1), &none);
    assert_eq!(back.verdict.outcome, Outcome::Better, "{}", back.verdict.sentence);
    // One in five: a program may.
    assert!(!of(&none, &paused(5)).verdict.sentence.contains("in parts"));
    assert!(!of(&paused(1), &paused(1)).verdict.sentence.contains("in parts"));
}

/// A balancer that sent half of its requests to each of two servers sends all to one.
#[test]
fn requests_that_all_go_to_one_of_several_servers_are_said_as_shares() {
    let both = |second: bool| {
        let mut f = asking(|_| 1, 300_000);
        let first = f.connections.last().unwrap().clone();
        let mut other = first.clone();
        other.connection = ConnectionId(first.connection.0 + 1);
        (other.sport, other.daddr) = (40_001, Some("10.78.1.10".parse().unwrap()));
        f.connections.push(other.clone());
        let mine = f.responses.iter_mut().filter(|r| r.connection == first.connection);
        for r in mine.skip(1).step_by(2).filter(|_| second) {
            r.connection = other.connection;
        }
        f.responses.sort_by_key(|r| (r.connection, r.send_ns));
        f
    };
    let d = of(&both(true), &both(false));
    let said = format!(
        "The program of {SERVER} divides its requests otherwise: {STORE} 50 -> 100 %, 10.78.1.10:6379 50 -> 0 % (of 400 -> 400; inferred: servers of one port)"
    );
    let lead = &d.verdict;
    assert!(!lead.sentence.contains("Per answer of"), "{}", lead.sentence);
    let told = lead.sentence.contains(&said) || lead.lines.iter().any(|l| l.1.contains(&said));
    assert!(told, "{}", lead.sentence);
    // The one is asked as often as before, the other six times as often: no balancer.
    let also = |times: i64| {
        let mut f = asking(|_| 6, 300_000);
        let first = f.connections.last().unwrap().clone();
        let mut other = first.clone();
        other.connection = ConnectionId(first.connection.0 + 1);
        (other.sport, other.daddr) = (40_001, Some("10.78.1.10".parse().unwrap()));
        f.connections.push(other.clone());
        let like: Vec<_> = f
            .responses
            .iter()
            .filter(|r| r.connection == first.connection)
            .cloned()
            .collect();
        for r in like.iter().step_by(6) {
            f.responses.extend((0..times).map(|n| ResponseRow {
                connection: other.connection,
                send_ns: r.send_ns + n,
                ..r.clone()
            }));
        }
        f.responses.sort_by_key(|r| (r.connection, r.send_ns));
        f
    };
    let d = of(&also(1), &also(6));
    let lines: Vec<&String> = d.verdict.lines.iter().map(|l| &l.1).collect();
    let says = |what: &str| d.verdict.sentence.contains(what) || lines.iter().any(|l| l.contains(what));
    assert!(!says("divides"), "{} {lines:?}", d.verdict.sentence);
    assert!(
        says("its program asks 10.78.1.10:6379 1.0 -> 6.0 times"),
        "{} {lines:?}",
        d.verdict.sentence
    );
    let same = of(&both(true), &both(true));
    assert!(!same.verdict.sentence.contains("divides"), "{}", same.verdict.sentence);
}
