//! Questions by UDP of a server's program: a real recording, with such put into its server's turnarounds.

use super::asks::{SERVER, rpc};
use super::samples::of;
use crate::Confidence;
use crate::diff::Asks;
use crate::facts::Facts;
use crate::name::Name;
use crate::reconstruct::application::tables::TurnaroundRow;
use crate::reconstruct::datagrams::sockets::SocketRow;
use crate::reconstruct::datagrams::tables::{TurnEnd, TurnRow};

/// Each turnaround with so many questions by UDP, two datagrams each, which a program of that name answers, if any does.
fn looking_up(times: usize, who: &[u8], end: TurnEnd) -> Facts {
    let mut f = rpc();
    let mut socket = SocketRow::begin(1, 0);
    (socket.task, socket.closed) = (Name::new(who), true);
    f.udp_sockets = vec![socket];
    let of_server = |t: &&TurnaroundRow| f.connections[t.connection.0 as usize].sport == 7000;
    let own: Vec<_> = f.turnarounds.iter().filter(of_server).cloned().collect();
    for t in own {
        for i in 0..times as i64 {
            let at = t.read_ns + (t.send_ns - t.read_ns) * (i + 1) / (times as i64 + 1);
            f.udp_turns.push(TurnRow {
                sends: 2,
                ready_ns: Some(at + 1_990_000),
                read_ns: Some(at + 2_000_000),
                confidence: Confidence::Strong,
                end,
                there: (!who.is_empty()).then_some(0),
                ..TurnRow::begin(0, t.pid, at)
            });
        }
    }
    f
}

/// A search list: each name is looked up five times in place of once.
#[test]
fn names_looked_up_more_often_are_told_with_who_answers() {
    let of_udp = |before: &Facts, after: &Facts| -> Vec<String> {
        let d = of(before, after);
        let all = d.asks.iter().filter(|a| a.asked.ends_with("by UDP") && a.is_said());
        all.map(Asks::sentence).collect()
    };
    let (once, often) = (
        looking_up(1, b"dnsmasq", TurnEnd::Answered),
        looking_up(5, b"dnsmasq", TurnEnd::Answered),
    );
    let n = once.udp_turns.len();
    let answers = once
        .turnarounds
        .iter()
        .filter(|t| once.connections[t.connection.0 as usize].sport == 7000);
    assert_eq!(answers.count(), n);
    let said = of_udp(&once, &often);
    let first = format!(
        "Per answer of {SERVER} its program asks dnsmasq by UDP 2.0 -> 10 times ({} -> ",
        2 * n
    );
    assert!(said.len() == 1 && said[0].starts_with(&first), "{said:?}");
    assert!(
        said[0].ends_with("; a request there takes p50 2.00 ms -> 2.00 ms"),
        "{said:?}"
    );
    assert_eq!(of_udp(&once, &once), [""; 0]);
    // Whose answers come from elsewhere; and what nobody answers, as a counter that is sent away, is no question.
    let of = |who: &[u8], end| of_udp(&looking_up(1, who, end), &looking_up(5, who, end));
    assert!(of(b"", TurnEnd::Answered)[0].contains("asks others by UDP 2.0 -> 10 times"));
    assert_eq!(of(b"statsd", TurnEnd::AskedAgain), [""; 0]);
    // Answers of a server that speaks UDP, too, are no questions.
    let serves = |times| {
        let mut f = looking_up(times, b"dnsmasq", TurnEnd::Answered);
        f.udp_sockets[0].served = true;
        f
    };
    assert_eq!(of_udp(&serves(1), &serves(5)), [""; 0]);
    // Of pseudonyms of one side neither has names.
    let mut hidden = looking_up(5, b"dnsmasq", TurnEnd::Answered);
    hidden.capture.part.redacted = true;
    let said = of_udp(&once, &hidden);
    assert!(
        said.len() == 1 && said[0].contains("asks others by UDP 2.0 -> 10 times"),
        "{said:?}"
    );
    // A and AAAA with a wait between them, answered together; a question sent again is one.
    for (reads, asks) in [(2, "2.0 -> 20"), (1, "1.0 -> 10")] {
        let of = |times| {
            let mut f = looking_up(times, b"dnsmasq", TurnEnd::Answered);
            let pairs = f.udp_turns.iter().flat_map(|t| {
                let one = |end| TurnRow {
                    sends: 1,
                    reads,
                    end,
                    ..t.clone()
                };
                [one(TurnEnd::AskedAgain), one(TurnEnd::Answered)]
            });
            f.udp_turns = pairs.collect();
            f
        };
        let said = of_udp(&of(1), &of(10));
        assert!(
            said[0].contains(&format!("asks dnsmasq by UDP {asks} times")),
            "{said:?}"
        );
    }
}

/// A pool of threads of the same process asks: it counts for the answers of that process, and not of another.
#[test]
fn names_looked_up_by_other_threads_of_the_process_count() {
    let pool = |times, process: i32| {
        let mut f = looking_up(times, b"dnsmasq", TurnEnd::Answered);
        let server: Vec<i32> = f.udp_turns.iter().map(|t| t.pid).collect();
        for t in &mut f.udp_turns {
            t.pid += 100_000;
            f.processes.insert(t.pid, (process, Name::new(b"node")));
        }
        for pid in server {
            f.processes.insert(pid, (77, Name::new(b"node")));
        }
        f
    };
    let said = |process| -> Vec<String> {
        let d = of(&pool(1, process), &pool(5, process));
        let all = d.asks.iter().filter(|a| a.asked.ends_with("by UDP") && a.is_said());
        all.map(Asks::sentence).collect()
    };
    let own = said(77);
    assert!(
        own.len() == 1 && own[0].contains("asks dnsmasq by UDP 2.0 -> 10 times"),
        "{own:?}"
    );
    assert_eq!(said(78), [""; 0]);
}
