//! Requests in place of whose answer the server ended the connection.

use super::given_up::{came, state};
use super::{MS, SYN_SENT, response};
use crate::analyses::application::{TurnedAway, answer};
use crate::analyses::verdict::Tone;
use crate::facts::{ConnectionId, Facts};
use crate::name::Name;
use crate::reconstruct::application::tables::ResponseRow;
use crate::reconstruct::tcp::states::{CLOSE, CLOSE_WAIT, FIN_WAIT1};
use crate::reconstruct::tcp::tables::ConnectionRow;
use crate::reconstruct::thread::Ended;
use crate::reconstruct::transmit::tables::TxRow;

const CALLS: u32 = 30;

/// Calls, ten a second, each on a connection of its own: the first 20 are answered after 5 ms, the others' connections leave ESTABLISHED for `end` 2 ms after the request.
fn facts(end: i32) -> Facts {
    let mut f = Facts::empty();
    (f.capture.start_ns, f.capture.end_ns) = (Some(0), Some(4_000 * MS));
    f.capture.duration_ns = 4_000 * MS;
    for n in 0..CALLS {
        let mut c = crate::testing::tcp::connection(n);
        (c.sport, c.dport, c.task) = (40_000 + n as u16, 80, Name::new(b"app"));
        f.connections.push(c);
        let at = i64::from(n) * 100 * MS;
        f.tx.push(TxRow {
            connection: Some(ConnectionId(n)),
            start_ns: at + 1_000,
            ..crate::testing::sent()
        });
        f.tcp_states.extend([state(n, at, SYN_SENT), state(n, at + 500, 1)]);
        let (left, how) = match n < 20 {
            true => {
                f.rx.push(came(n, at + 5 * MS));
                f.responses.push(ResponseRow {
                    connection: ConnectionId(n),
                    send_ns: at + 1_000,
                    ready_ns: Some(at + 5 * MS),
                    read_ns: at + 5 * MS,
                    complete_ns: Some(at + 5 * MS),
                    peer: None,
                    ..response(1, 0, 5 * MS)
                });
                (at + 6 * MS, FIN_WAIT1)
            }
            false => (at + 1_000 + 2 * MS, end),
        };
        f.tcp_states
            .extend([state(n, left, how), state(n, left + 50_000, CLOSE)]);
    }
    f.tcp_states.sort_by_key(|s| s.time_ns);
    f
}

fn found(f: &Facts) -> Vec<TurnedAway> {
    answer(f).findings().unwrap().turned_away.clone()
}

#[test]
fn a_server_that_ends_connections_in_place_of_an_answer_leads() {
    let f = facts(CLOSE_WAIT);
    let expected = TurnedAway {
        task: "app".into(),
        server: "10.0.0.2:80".into(),
        requests: 10,
        before: 20,
        since: 0,
        wait_ns: 2 * MS,
        ended: None,
        first_ns: 2_000 * MS + 1_000,
        last_ns: 2_900 * MS + 1_000,
    };
    assert_eq!(found(&f), [expected]);
    let lines = crate::analyses::answer(&f).verdict;
    let line = lines.iter().find(|l| l.subject == "application").unwrap();
    assert_eq!((line.tone, line.names_cause), (Tone::Bad, true));
    let says = "10.0.0.2:80 ended 10 connections of app in place of an answer, 2.00 ms (p50) after the request, from 2.000 s on, the last at 2.900 s: a FIN, and not a byte before it, so its host and the way there work, and its program, or a proxy before it, did not answer (20 answers before, none since)";
    assert!(line.headline.starts_with(says), "{}", line.headline);
    assert!(line.sentence.starts_with(says), "{}", line.sentence);
}

#[test]
fn what_the_client_leaves_itself_and_what_is_answered_is_none() {
    assert_eq!(found(&facts(FIN_WAIT1)), []);
    assert_eq!(found(&facts(CLOSE)), []);
    // Part of an answer came.
    let mut f = facts(CLOSE_WAIT);
    for n in 20..CALLS {
        f.rx.push(came(n, i64::from(n) * 100 * MS + MS));
    }
    assert_eq!(found(&f), []);
    // Nothing was asked.
    let mut f = facts(CLOSE_WAIT);
    f.tx.truncate(20);
    assert_eq!(found(&f), []);
    // A server that never answers is of a protocol without answers.
    let mut f = facts(CLOSE_WAIT);
    f.responses.clear();
    assert!(answer(&f).findings().is_none_or(|a| a.turned_away.is_empty()));
    // Two are chance.
    let mut f = facts(CLOSE_WAIT);
    f.tx.truncate(22);
    assert_eq!(found(&f), []);
}

/// After a while it is no idle connection whose end was under way, however many others are answered: here the workers were killed.
#[test]
fn few_that_waited_long_are_told_and_what_became_of_their_servers() {
    let mut f = facts(CLOSE_WAIT);
    let more = (0..600).map(|n| ResponseRow {
        send_ns: 2_500 * MS + n * MS,
        ..f.responses[0].clone()
    });
    let more: Vec<ResponseRow> = more.collect();
    f.responses.extend(more);
    f.responses.sort_by_key(|r| r.send_ns);
    for s in f
        .tcp_states
        .iter_mut()
        .filter(|s| s.state == CLOSE_WAIT || s.state == CLOSE)
    {
        s.time_ns += 100 * MS;
    }
    f.tcp_states.sort_by_key(|s| s.time_ns);
    f.ended = Ended::told();
    for n in 20..CALLS {
        let worker = crate::testing::tcp::connection(n + 10);
        f.connections[n as usize].peer = Some(worker.connection);
        f.connections.push(ConnectionRow {
            pid: 900 + n as i32,
            peer: Some(ConnectionId(n)),
            ..worker
        });
        // Seven are zombies soon after, one a second later; two sleep.
        let closed = i64::from(n) * 100 * MS + 102 * MS;
        let (after, prev_state) = match n {
            20..27 => (30 * MS, 32),
            27 => (1_000 * MS, 16),
            _ => (30 * MS, 1),
        };
        f.ended.leaves(closed + after, 900 + n as i32, prev_state);
    }
    assert_eq!((found(&f)[0].since, found(&f)[0].ended), (600, Some(7)));
    let lines = crate::analyses::answer(&f).verdict;
    let line = lines.iter().find(|l| l.subject == "application").unwrap();
    assert_eq!(line.tone, Tone::Notice);
    let told = "7 of the threads that served them ended right then: they were killed, crashed, or left it (inferred)";
    assert!(line.headline.contains(told), "{}", line.headline);
    f.ended = Ended::told();
    for n in 20..CALLS {
        f.ended.leaves(i64::from(n) * 100 * MS + 110 * MS, 900 + n as i32, 32);
    }
    let lines = crate::analyses::answer(&f).verdict;
    let line = lines.iter().find(|l| l.subject == "application").unwrap();
    assert!(
        line.headline
            .contains("; the threads that served them ended right then: ")
    );
    // Of a kernel that does not tell.
    f.ended = Ended::default();
    assert_eq!(found(&f)[0].ended, None);
}

/// A few beside many answers are the end of idle connections, just then.
#[test]
fn few_beside_many_answers_change_no_tone() {
    let mut f = facts(CLOSE_WAIT);
    let more: Vec<ResponseRow> = (0..300)
        .map(|n| ResponseRow {
            send_ns: 2_500 * MS + n * MS,
            ..f.responses[0].clone()
        })
        .collect();
    f.responses.extend(more);
    f.responses.sort_by_key(|r| r.send_ns);
    let line = |f: &Facts| {
        let lines = crate::analyses::answer(f).verdict;
        lines.into_iter().find(|l| l.subject == "application").unwrap()
    };
    assert_eq!(found(&f)[0].since, 300);
    assert!(!line(&f).sentence.contains("in place of an answer"));
    f.responses.truncate(120);
    let said = line(&f);
    assert!(
        said.sentence.contains("in place of an answer") && said.tone == Tone::Notice,
        "{said:?}"
    );
}
