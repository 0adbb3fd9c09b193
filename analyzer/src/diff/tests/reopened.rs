//! A server whose program keeps its connection to another one, and one that opens one each time, with a handshake on it: a real recording, with such requests put in.

use super::asks::{SERVER, STORE, asking, slower};
use super::samples::of;
use super::stopped::open;
use crate::diff::Outcome;
use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::opens::tables::{OpenEnd, OpenRow};

/// Every `turns` of what was sent to the store are on a connection of their own.
fn reopened(f: &mut Facts, turns: usize) {
    let old = f.connections.last().unwrap().clone();
    let mine = f.responses.iter_mut().filter(|r| r.connection == old.connection);
    let mut states = vec![];
    for (n, r) in mine.enumerate() {
        let new = old.connection.0 + 1 + (n / turns) as u32;
        r.connection = ConnectionId(new);
        if n % turns > 0 {
            continue;
        }
        let (from, to) = (r.send_ns - 40_000, r.send_ns - 1_000);
        let mut row = old.clone();
        (row.connection, row.sport) = (ConnectionId(new), 40_000 + (new % 20_000) as u16);
        f.connections.push(row);
        for (time_ns, state) in [(from, 2), (to, 1)] {
            states.push(crate::testing::tcp::state(new, state, time_ns));
        }
        f.opens.push(OpenRow {
            to: None,
            pid: r.pid,
            task: r.task,
            end_ns: to,
            confidence: r.confidence,
            ..open(new, from, OpenEnd::Established, 0)
        });
    }
    f.tcp_states.extend(states);
    f.responses.sort_by_key(|r| (r.connection, r.send_ns));
}

/// Both take longer than in the recording.
fn lost(times: i64, turns: usize) -> Facts {
    let mut f = asking(|_| times, 10_000);
    slower(&mut f, 6379, 900_000);
    slower(&mut f, 7000, 5_000_000);
    reopened(&mut f, turns);
    f
}

/// With the store at a port where TLS is spoken.
fn tls(mut f: Facts) -> Facts {
    for c in &mut f.connections {
        for port in [&mut c.sport, &mut c.dport] {
            *port = if *port == 6379 { 8443 } else { *port };
        }
    }
    f
}

#[test]
fn who_is_asked_first_leads_and_that_its_program_keeps_no_connection_is_said_behind_it() {
    let kept = tls(asking(|_| 1, 10_000));
    let d = of(&kept, &tls(lost(3, 3)));
    let store = STORE.replace(":6379", ":8443");
    let told = &d.verdict.sentence;
    assert!(
        told.starts_with(&format!("Answers from {SERVER} take longer: ")),
        "{told}"
    );
    let said = format!(
        "Connections opened by the program of {SERVER} to {store}: 0 for 400 answers -> 400 for 1200: they are no longer kept (keep-alive lost, inferred); opening one took p50 39.0 µs after (n 400); the turns of a handshake (TLS, a login) count among these answers, so that it may ask no more than before"
    );
    let at = told.find(&said).unwrap_or_else(|| panic!("{told}"));
    let inner = told.find(&format!("Answers from {store}"));
    assert!(inner.is_some_and(|i| i > at), "{told}");
    assert!(
        told.contains("n 400 -> 1200, turns of handshakes (TLS, logins) among them on one side (inferred)"),
        "{told}"
    );
    // Said once, and no more requests.
    assert!(
        !told.contains("opened by clients") && !told.contains("Per answer of"),
        "{told}"
    );
    assert!(!d.verdict.lines.iter().any(|l| l.1.starts_with("Per answer of")));
    // The other way.
    let back = of(&tls(lost(3, 3)), &kept).verdict;
    assert_eq!(back.outcome, Outcome::Better, "{}", back.sentence);
    assert!(
        back.sentence.contains("they are kept now (keep-alive, inferred)"),
        "{}",
        back.sentence
    );
}

#[test]
fn more_than_handshakes_is_more_that_is_asked() {
    let kept = asking(|_| 1, 10_000);
    let told = of(&kept, &lost(9, 3)).verdict.sentence;
    assert!(told.contains("they are no longer kept"), "{told}");
    assert!(told.contains("times (400 -> 3600 requests"), "{told}");
    // Where no TLS is spoken two more of each are said, too.
    let told = of(&kept, &lost(3, 3)).verdict.sentence;
    assert!(
        told.contains("may ask no more") && told.contains("times (400 -> 1200 requests"),
        "{told}"
    );
    // Without a handshake there is none to be counted.
    let told = of(&kept, &lost(1, 1)).verdict.sentence;
    assert!(
        told.contains("0 for 400 answers -> 400 for 400: they are no longer kept"),
        "{told}"
    );
    assert!(!told.contains("TLS"), "{told}");
    // One for each five.
    let told = of(&kept, &lost(5, 5)).verdict.sentence;
    assert!(!told.contains("no longer kept"), "{told}");
}
