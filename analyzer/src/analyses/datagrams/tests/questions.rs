//! Answers that came late: a real recording against the stopwatches of its programs (sample-data/lookups).

use std::path::PathBuf;

use crate::analyses::datagrams::Datagrams;
use crate::analyses::verdict::{Line, Tone};
use crate::analyses::{Answers, answer};
use crate::facts::Facts;
use crate::ingest::Options;
use crate::stat::nearest_rank;

fn beside(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../sample-data/lookups")
        .join(name)
}

fn facts() -> Facts {
    let bytes = zstd::decode_all(std::fs::File::open(beside("lookups.nmb.zst")).unwrap()).unwrap();
    let capture = netmortem_formats::open_bytes("lookups", netmortem_formats::Bytes::Owned(bytes)).unwrap();
    crate::analyze(&capture, &Options::default())
}

/// (before, after) of all of one kind, by call.
fn truth(what: &str) -> Vec<(u64, i64, i64)> {
    let text = std::fs::read_to_string(beside("truth.csv")).unwrap();
    let of = |l: &str| {
        let f: Vec<&str> = l.split(',').collect();
        (f[0] == what).then(|| (f[1].parse().unwrap(), f[2].parse().unwrap(), f[3].parse().unwrap()))
    };
    text.lines().skip(1).filter_map(of).collect()
}

fn of(a: &Answers) -> &Datagrams {
    a.datagrams.findings().unwrap()
}

fn line(a: &Answers, subject: &str) -> Line {
    a.verdict.iter().find(|l| l.subject == subject).unwrap().clone()
}

#[test]
fn lookups_one_after_the_other_are_those_of_the_program() {
    let f = facts();
    let answers = answer(&f);
    let asked = truth("lookup");
    let all = &of(&answers).answered;
    // Those of the client and of the front server: programs of one name, one place.
    assert_eq!(all.len(), 1, "{all:#?}");
    let q = &all[0];
    assert_eq!(
        (q.task.as_str(), q.to.as_str(), q.response.n as usize, q.slow),
        ("python3", "10.84.1.2:53", asked.len() + truth("front").len(), 0)
    );
    let c = q.chains.as_ref().unwrap();
    assert_eq!(
        (c.then.as_str(), c.calls, c.questions, c.most_questions),
        ("connection to 10.84.1.2:8080", 8, 5, 5)
    );
    // A chain of the program from before its first socket to after its last close.
    let mut took: Vec<i64> = (0..8)
        .map(|call| {
            let of = || asked.iter().filter(|a| a.0 == call);
            of().map(|a| a.2).max().unwrap() - of().map(|a| a.1).min().unwrap()
        })
        .collect();
    let p50 = nearest_rank(&mut took, 50).unwrap();
    let found = c.took.p50_ns.unwrap();
    assert!((p50 - 1_000_000..=p50).contains(&found), "{found} of {p50}");
    let mut each: Vec<i64> = asked.iter().map(|a| a.2 - a.1).collect();
    let p50 = nearest_rank(&mut each, 50).unwrap();
    let response = q.response.p50_ns.unwrap();
    assert!((p50 - 300_000..=p50).contains(&response), "{response} of {p50}");
    // The server sleeps 12 ms between its read and its answer.
    let s = q.server.as_ref().unwrap();
    let work = s.work.p50_ns.unwrap();
    assert!((12_000_000..12_500_000).contains(&work) && work < response, "{work}");
    assert!(s.unread.p50_ns.unwrap() < 200_000 && q.waited_for.is_empty());
    let l = line(&answers, "datagrams");
    assert_eq!(l.tone, Tone::Notice);
    let says = "before 8 connections to 10.84.1.2:8080, python3 asked 10.84.1.2:53 by UDP (DNS) 5 times, one after the other: that took p50 ";
    assert!(l.headline.starts_with(says) && l.names_cause, "{}", l.headline);
    assert!(l.headline.contains("between the read and the answer of python3/"));
}

/// Questions on both sides of a call are no chain; and what a client sends on its own connection is no answer.
#[test]
fn a_call_ends_a_chain() {
    let of = |f: &Facts| {
        let found = of(&answer(f)).answered[0].chains.clone().unwrap();
        (found.then.clone(), found.calls, found.questions, found.most_questions)
    };
    let mut f = facts();
    // The client connects after the second of each five, too.
    let asks: Vec<(i32, i64)> = f
        .udp_turns
        .iter()
        .filter(|t| t.bytes == 68)
        .map(|t| (t.pid, t.end_ns))
        .collect();
    let client = f.opens[0].pid;
    let seconds: Vec<i64> = asks
        .iter()
        .filter(|a| a.0 == client)
        .skip(1)
        .step_by(5)
        .map(|a| a.1)
        .collect();
    assert_eq!(seconds.len(), 8);
    for at in seconds {
        let mut row = f.opens[0].clone();
        (row.start_ns, row.end_ns) = (at + 70_000, at + 71_000);
        f.opens.push(row);
    }
    assert_eq!(of(&f), ("connection to 10.84.1.2:8080".into(), 16, 2, 3));
    f.opens.clear();
    assert_eq!(of(&f), ("request to 10.84.1.2:8080".into(), 8, 5, 5));
    // Without these the front server's answers, one question each.
    f.responses.clear();
    assert_eq!(of(&f), ("answer of 10.84.1.2:8081".into(), 20, 1, 1));
}

#[test]
fn a_server_that_looks_up_a_name_waits_for_that() {
    let f = facts();
    let said = line(&answer(&f), "application").sentence;
    assert!(said.contains("waiting for the UDP answer from 10.84.1.2:53"), "{said}");
}

#[test]
fn late_answers_are_told_with_where_they_were_late() {
    let late = |change: fn(&mut Facts)| {
        let mut f = facts();
        // No call that they came before.
        f.opens.clear();
        f.responses.clear();
        f.turnarounds.clear();
        change(&mut f);
        line(&answer(&f), "datagrams")
    };
    // Twelve milliseconds are not worth a line of their own.
    assert_eq!(late(|_| ()).tone, Tone::Ok);
    // A tenth of a second on its way to the server, or back.
    let far = |f: &mut Facts| {
        for t in f
            .udp_turns
            .iter_mut()
            .filter(|t| t.task.text() == "python3" && t.bytes == 68)
        {
            t.start_ns -= 100_000_000;
        }
    };
    let l = late(far);
    assert_eq!(l.tone, Tone::Notice);
    let says = "UDP answers from 10.84.1.2:53 to python3 came p50 112.";
    assert!(l.headline.starts_with(says), "{}", l.headline);
    assert!(!l.headline.contains("of that"), "{}", l.headline);
    // A few only.
    let few = |f: &mut Facts| {
        for t in f.udp_turns.iter_mut().filter(|t| t.bytes == 68).take(4) {
            t.start_ns -= 2_000_000_000;
        }
    };
    let l = late(few);
    let says = "4 of 60 UDP answers from 10.84.1.2:53 to python3 came 100.00 ms or longer after the question (p50 12.";
    assert!(l.headline.starts_with(says), "{}", l.headline);
}

/// Of one that closes its socket behind the answer, which was there before it looked.
#[test]
fn a_quick_answer_is_one_too() {
    let mut f = facts();
    for t in f.udp_turns.iter_mut().filter(|t| t.bytes == 68).step_by(2) {
        t.waited_in = crate::name::Name::default();
        t.waited_ns = 0;
    }
    let answers = answer(&f);
    let q = &of(&answers).answered[0];
    let c = q.chains.as_ref().unwrap();
    assert_eq!((q.response.n, c.calls, c.questions, c.most_questions), (60, 8, 5, 5));
}

/// Who sends and reads when it wants asks nobody: a socket that stays open, a thread that waits for many.
#[test]
fn what_is_no_question_is_not_judged() {
    let mut f = facts();
    for s in &mut f.udp_sockets {
        s.closed = false;
    }
    assert!(of(&answer(&f)).answered.is_empty());
    // In a receive call on the socket it waited for that.
    for t in &mut f.udp_turns {
        t.waited_in = crate::name::Name::new(b"recvfrom");
    }
    assert_eq!(of(&answer(&f)).answered[0].response.n, 60);
    // More comes on it than it asks for.
    for s in &mut f.udp_sockets {
        s.arrived = 3;
    }
    assert!(of(&answer(&f)).answered.is_empty());
}

/// A socket that is closed long after the answer was read, behind the call that needed it.
#[test]
fn a_late_close_is_no_looking_up() {
    let of = |f: &Facts| of(&answer(f)).answered[0].chains.clone().unwrap();
    let mut f = facts();
    let before = of(&f);
    for s in &mut f.udp_sockets {
        s.last_ns += 300_000_000;
    }
    assert_eq!(of(&f), before);
}
