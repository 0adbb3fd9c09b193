//! Connections with an exchange more each.

use super::samples::{facts, of};
use super::stopped::open as opened;
use crate::diff::Outcome;
use crate::diff::servers::exchanges;
use crate::diff::sides::options::Recording;
use crate::facts::Facts;
use crate::reconstruct::application::tables::ResponseRow;
use crate::reconstruct::opens::tables::{OpenEnd, OpenRow};

const MS: i64 = 1_000_000;

/// Connections to 10.0.0.9 with so many exchanges each, all opened in the recording, and ended but for the last `open` ones.
fn asked(port: u16, connections: &[usize], open: usize) -> Facts {
    let like = facts("rpc/rpc.nmb").responses.remove(0);
    let mut f = Facts::empty();
    (f.capture.start_ns, f.capture.end_ns) = (Some(0), Some(100_000 * MS));
    for (c, exchanges) in connections.iter().enumerate() {
        let mut row = crate::testing::tcp::connection(c as u32);
        (row.saddr, row.daddr) = (Some([10, 0, 0, 1].into()), Some([10, 0, 0, 9].into()));
        (row.sport, row.dport) = (40_000 + c as u16, port);
        let connection = row.connection;
        let (from, to) = (row.saddr.map(|a| (a, row.sport)), row.daddr.map(|a| (a, row.dport)));
        crate::testing::tcp::born(&mut f, row, 2);
        let at = 100 * c as i64 * MS;
        f.opens.push(OpenRow {
            from,
            to,
            ..opened(connection.0, at, OpenEnd::Established, 0)
        });
        for n in 0..*exchanges as i64 {
            f.responses.push(ResponseRow {
                connection,
                send_ns: at + (2 + 2 * n) * MS,
                ready_ns: Some(at + (3 + 2 * n) * MS),
                read_ns: at + (3 + 2 * n) * MS,
                complete_ns: Some(at + (3 + 2 * n) * MS),
                overlap: false,
                confidence: crate::Confidence::Strong,
                ..like.clone()
            });
        }
        let state = if c + open < connections.len() { 7 } else { 1 };
        f.tcp_states
            .push(crate::testing::tcp::state(c as u32, state, at + 50 * MS));
    }
    f
}

fn words(before: &Facts, after: &Facts) -> Vec<String> {
    let side = |f| Recording::all(&[f], &[], None);
    let all = exchanges::of(&side(before), &side(after), false);
    all.iter().map(exchanges::Exchanges::words).collect()
}

#[test]
fn one_more_of_each_is_a_round_trip() {
    let said = |why: &str, n: &str| {
        format!(
            "most connections that speak in turns with 10.0.0.9:443 have 3 exchanges where they had 2: a round trip more each, as where {why} (inferred) (n {n})"
        )
    };
    let tls =
        "TLS sessions are no longer resumed and each handshake is a full one (up to TLS 1.2), or each asks once more";
    assert_eq!(
        words(&asked(443, &[2; 30], 0), &asked(443, &[3; 30], 0)),
        [said(tls, "30 -> 30")]
    );
    // As much in all, on fewer connections.
    let kept = said("connections are kept for more requests", "30 -> 20");
    assert_eq!(words(&asked(443, &[2; 30], 0), &asked(443, &[3; 20], 0)), [kept]);
    // As many in a recording half as long are as often kept as before.
    let mut half = asked(443, &[3; 30], 0);
    half.capture.end_ns = Some(100_000 * MS / 2);
    assert_eq!(words(&asked(443, &[2; 60], 0), &half), [said(tls, "60 -> 30")]);
    let said = "most connections that speak in turns with 10.0.0.9:8080 have 2 exchanges where they had 4: 2 round trips less each (n 20 -> 20)";
    assert_eq!(words(&asked(8080, &[4; 20], 0), &asked(8080, &[2; 20], 0)), [said]);
    // As many; too few; kept open; a number of exchanges that differs from one to the next.
    let none = |a: &Facts| assert_eq!(words(&asked(443, &[2; 30], 0), a), [""; 0]);
    none(&asked(443, &[2; 30], 0));
    none(&asked(443, &[3; 19], 0));
    none(&asked(443, &[3; 30], 11));
    none(&asked(443, &[[2; 10], [3; 10], [4; 10]].concat(), 0));
}

/// What a round trip more takes is in no answer's time, but in that of the whole conversation.
#[test]
fn a_round_trip_more_each_is_worse_though_each_answer_is_as_quick() {
    let spread = |mut f: Facts| {
        (f.capture.total_events, f.capture.clock_is_ns, f.capture.complete) = (1_000, true, true);
        f.capture.events.insert("sock:inet_sock_set_state".into(), 1);
        for (at, r) in f.responses.iter_mut().enumerate() {
            let by = (at as i64 * 7 % 11) * MS / 100;
            r.ready_ns = r.ready_ns.map(|t| t + by);
            r.read_ns += by;
        }
        f
    };
    let (two, three) = (spread(asked(443, &[2; 60], 0)), spread(asked(443, &[3; 60], 0)));
    let conversation = |d: &crate::diff::Diff| {
        let m = d.metrics.iter().find(|m| m.metric == "app.conversation[10.0.0.9:443]");
        m.map(|m| m.outcome)
    };
    let d = of(&two, &three);
    assert_eq!(
        conversation(&d),
        Some(Outcome::Worse),
        "{:?} {:?}",
        d.verdict,
        d.withheld
    );
    assert_eq!(d.verdict.outcome, Outcome::Worse);
    let says = "Connections to 10.0.0.9:443 take longer from their opening to the last answer: p50 ";
    assert!(d.verdict.sentence.starts_with(says), "{}", d.verdict.sentence);
    let why = "have 3 exchanges where they had 2: a round trip more each, as where TLS sessions are no longer resumed";
    assert!(d.verdict.sentence.contains(why), "{}", d.verdict.sentence);
    assert_eq!(conversation(&of(&three, &two)), Some(Outcome::Better));
    // As many exchanges, or connections that are kept for more requests: their length is not compared.
    assert_eq!(conversation(&of(&two, &two)), None);
    assert_eq!(conversation(&of(&two, &spread(asked(443, &[3; 40], 0)))), None);
}
