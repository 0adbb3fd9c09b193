//! What users feel and what explains it: a real recording, and the same with slower answers, a connection for each answer, smaller
//! frames, other settings.

use super::samples::{facts, of};
use super::stopped::open;
use crate::diff::{Diff, Level, Outcome};
use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::opens::tables::{OpenEnd, OpenRow};
use crate::stat::nearest_rank;

const SERVER: &str = "10.78.1.2:7000";

fn rpc() -> Facts {
    facts("rpc/rpc.nmb")
}

fn setting(f: &mut Facts, name: &str, value: &str) {
    f.settings.0.insert(name.into(), value.into());
}

/// Answers of clients, from the rows alone.
fn response_p50(f: &Facts) -> i64 {
    let client = |c: ConnectionId| f.connections[c.0 as usize].dport == 7000;
    let rows = f.responses.iter().filter(|r| client(r.connection) && !r.overlap);
    let mut all: Vec<i64> = rows.filter_map(|r| Some(r.ready_ns? - r.send_ns)).collect();
    nearest_rank(&mut all, 50).unwrap()
}

/// Every answer of the server so much later.
fn slower(f: &mut Facts, ns: i64) {
    for r in &mut f.responses {
        if f.connections[r.connection.0 as usize].dport == 7000 {
            r.ready_ns = r.ready_ns.map(|t| t + ns);
        }
    }
}

fn check<'d>(d: &'d Diff, what: &str) -> &'d crate::diff::Check {
    d.parity.iter().find(|c| c.what == what).unwrap()
}

#[test]
fn slower_answers_lead_and_the_queue_on_their_way_is_named() {
    let (mut f, mut slow) = (rpc(), rpc());
    slower(&mut slow, 19_000_000);
    for s in [&mut f, &mut slow] {
        setting(s, "va qdisc", "htb r2q=10");
        setting(s, "elsewhere qdisc", "fq");
    }
    setting(&mut slow, "va qdisc", "tbf rate=20000000bit/s");
    setting(&mut slow, "elsewhere qdisc", "pfifo");
    let d = of(&f, &slow);
    let m = &d.metrics[0];
    assert_eq!(m.metric, format!("app.response[{SERVER}]"));
    let s = &m.shifts[0];
    assert_eq!((s.before, s.after), (response_p50(&f), response_p50(&slow)));
    assert_eq!((s.shift, s.outcome, m.before.n), (19_000_000, Outcome::Worse, 400));
    let told = &d.verdict.sentence;
    assert!(
        told.starts_with(&format!("Answers from {SERVER} take longer: p50 ")) && told.contains("n 400 -> 400"),
        "{told}"
    );
    assert!(
        told.contains(" What differs too: qdisc of va: htb r2q=10 -> tbf rate=20000000bit/s."),
        "{told}"
    );
    // The other device is on no way of theirs.
    assert!(
        !told.contains("elsewhere") && told.contains("1 more setting differs."),
        "{told}"
    );
    assert_eq!(d.settings[0].name, "va qdisc");
    assert_eq!(d.settings[0].beside, std::slice::from_ref(&m.metric));
    assert_eq!(d.settings[1].beside, [] as [String; 0]);
    assert!(
        d.verdict.lines[0].1.starts_with("app.response["),
        "{:?}",
        d.verdict.lines
    );
    // And back.
    let back = of(&slow, &f);
    assert_eq!(back.verdict.outcome, Outcome::Better);
    assert!(
        back.verdict
            .sentence
            .starts_with(&format!("Answers from {SERVER} take less long: "))
    );
}

#[test]
fn a_rule_may_name_answers() {
    let (f, mut slow) = (rpc(), rpc());
    slower(&mut slow, 1_000_000);
    let rules: crate::diff::Rules = "app.response.p50>500us".parse().unwrap();
    assert_eq!(rules.broken(&of(&f, &slow)).len(), 1);
    assert_eq!(rules.broken(&of(&f, &f)), [] as [String; 0]);
}

/// As if the client had opened a connection for each of its answers, in `open_ns` each; the one that it had stays.
fn reconnected(f: &mut Facts, open_ns: i64) {
    let mut states = vec![];
    for r in &mut f.responses {
        let (old, new) = (r.connection.0 as usize, f.connections.len() as u32);
        if f.connections[old].dport != 7000 {
            continue;
        }
        let mut row = f.connections[old].clone();
        row.connection = ConnectionId(new);
        f.connections.push(row);
        r.connection = ConnectionId(new);
        for (time_ns, state) in [(r.send_ns, 2), (r.send_ns + open_ns, 1)] {
            states.push(crate::testing::tcp::state(new, state, time_ns));
        }
        f.opens.push(OpenRow {
            to: None,
            pid: r.pid,
            task: r.task,
            end_ns: r.send_ns + open_ns,
            confidence: r.confidence,
            ..open(new, r.send_ns, OpenEnd::Established, 0)
        });
        // Sent on that connection.
        for t in f.tx.iter_mut().filter(|t| t.start_ns == r.send_ns) {
            t.connection = Some(ConnectionId(new));
        }
    }
    f.tcp_states.extend(states);
}

#[test]
fn a_connection_for_each_answer_is_said_and_no_improvement() {
    use crate::reconstruct::transmit::stages::Stage;
    let (mut f, mut new) = (rpc(), rpc());
    // Before, segments wait for an ACK that comes late.
    for t in &mut f.tx {
        if let Some(ns) = t.stage(Stage::Network) {
            t.stages.set(Stage::Network, Some(ns + 10_000_000));
            t.total_ns += 10_000_000;
        }
    }
    reconnected(&mut new, 8_000_000);
    let d = of(&f, &new);
    let told = &d.verdict.sentence;
    let call = d.metrics.iter().find(|m| m.which.stage == "call").unwrap();
    assert_eq!(
        (call.metric.as_str(), call.outcome),
        (&*format!("app.call[{SERVER}]"), Outcome::Worse)
    );
    assert_eq!(call.shifts[0].after, response_p50(&f) + 8_000_000);
    assert!(
        told.starts_with(&format!(
            "Answers from {SERVER}, with the opening of their connection, take longer: p50"
        )),
        "{told}"
    );
    let opened = format!(
        "Connections opened by clients of {SERVER}: 1 for 400 answers -> 401 for 400: they are no longer kept (keep-alive lost, inferred); opening one took p50 8.00 ms after (n 401)."
    );
    assert!(told.contains(&opened), "{told}");
    let rate = d.rates.iter().find(|r| r.metric.starts_with("app.")).unwrap();
    assert_eq!(
        (rate.before.value, rate.after.value, rate.outcome),
        (1.0 / 400.0, 401.0 / 400.0, Outcome::Changed)
    );
    // Ten ms less in the network, of segments that are spread over 200 times the sockets.
    let network = d.metrics.iter().find(|m| m.metric == "tx.network").unwrap();
    assert!(network.shifts[0].shift <= -9_000_000);
    assert_eq!(
        (network.outcome, network.word()),
        (Outcome::NotComparable, "not comparable")
    );
    assert!(
        told.contains("Shorter but not comparable, as their units are others: "),
        "{told}"
    );
    let line = d.verdict.lines.iter().find(|l| l.1.contains("tx.network p")).unwrap();
    let sockets = line.1.strip_suffix(" after").unwrap().rsplit(' ').next();
    assert!(
        line.0 == Outcome::NotComparable
            && line.1.starts_with("not comparable: ")
            && line.1.contains(" units were of 2 sockets before, ")
            && sockets
                .and_then(|n| n.parse().ok())
                .is_some_and(|n: u32| (400..=403).contains(&n)),
        "{line:?}"
    );
    assert!(
        told.contains("Worse in 1 of what was measured, better in none."),
        "{told}"
    );
    let load = check(&d, "load");
    assert!(
        load.level == Level::Differs && load.sentence.contains("sockets differ"),
        "{load:?}"
    );
}

#[test]
fn more_frames_for_the_same_bytes_are_said_with_the_offload_that_differs() {
    let (mut f, mut cut) = (rpc(), rpc());
    for s in [&mut f, &mut cut] {
        for name in ["tx-tcp-segmentation", "tx-tcp6-segmentation", "tx-generic-segmentation"] {
            setting(s, &format!("vb features {name}"), "on");
        }
        setting(s, "va features rx-gro-hw", "on");
    }
    for name in ["tx-tcp-segmentation", "tx-tcp6-segmentation", "tx-generic-segmentation"] {
        setting(&mut cut, &format!("vb features {name}"), "off");
    }
    setting(&mut cut, "va features rx-gro-hw", "off");
    let whole = std::mem::take(&mut cut.xmits);
    for p in whole {
        let parts = if p.dev.bytes() == b"vb" { 20 } else { 1 };
        for _ in 0..parts {
            let mut part = p.clone();
            part.bytes = p.bytes.map(|b| b / parts);
            cut.xmits.push(part);
        }
    }
    let d = of(&f, &cut);
    let told = &d.verdict.sentence;
    assert!(
        told.contains(" Answers: no difference found (10.78.1.2:7000 p50 "),
        "{told}"
    );
    assert!(
        told.starts_with("Frames of vb: 407 of 2242 bytes -> 8140 of 1"),
        "{told}"
    );
    assert!(told.contains(" bytes, in all 0.91 MB -> 0.9"), "{told}");
    assert!(
        told.contains("What differs too: tx-tcp-segmentation, tx-tcp6-segmentation and 1 more of vb: on -> off."),
        "{told}"
    );
    assert!(told.contains("1 more setting differs."), "{told}");
    let frames = check(&d, "frames by device");
    assert!(
        frames.level == Level::Differs
            && frames.sentence.contains("vb 20.000 times")
            && !frames.sentence.contains("va "),
        "{frames:?}"
    );
    assert_eq!(d.verdict.outcome, Outcome::Changed);
}

#[test]
fn answers_are_compared_of_a_recording_with_itself_and_by_all_servers_where_names_are_pseudonyms() {
    let f = rpc();
    let d = of(&f, &f);
    let names = |d: &Diff| -> Vec<String> {
        let of = d.metrics.iter().filter(|m| m.which.ledger == "app");
        of.map(|m| m.metric.clone()).collect()
    };
    assert_eq!(
        names(&d),
        ["response", "turnaround", "unread"].map(|stage| format!("app.{stage}[{SERVER}]"))
    );
    assert!(
        d.verdict
            .sentence
            .contains(&format!("from: app.response[{SERVER}] p50 by ")),
        "{:?}",
        d.verdict
    );
    let mut hidden = rpc();
    hidden.capture.part.redacted = true;
    assert_eq!(
        names(&of(&f, &hidden)),
        ["response", "turnaround", "unread"].map(|stage| format!("app.{stage}[*:7000]"))
    );
    // A server that only one side has is compared with no other.
    let mut moved = rpc();
    for c in &mut moved.connections {
        for port in [&mut c.sport, &mut c.dport] {
            *port = if *port == 7000 { 7001 } else { *port };
        }
    }
    let d = of(&f, &moved);
    assert_eq!(names(&d), [""; 0]);
    let told =
        "After, 10.78.1.2:7000 answered nothing: 400 answers before, 0 after; no request to it was recorded there. ";
    assert!(
        d.verdict.reserved && d.verdict.sentence.contains(told),
        "{:?}",
        d.verdict
    );
    let why: Vec<&str> = d
        .withheld
        .iter()
        .filter(|w| w.metric.starts_with("app["))
        .map(|w| w.because.as_str())
        .collect();
    assert_eq!(why, ["30 answers or more only before", "30 answers or more only after"]);
}

#[test]
fn many_settings_are_told_in_number() {
    use crate::diff::SettingChange;
    use crate::diff::judged::beside::words;
    let change = |name: String, before: &str| SettingChange {
        name,
        before: before.into(),
        after: "2".into(),
        beside: vec![],
    };
    let mut all: Vec<SettingChange> = (0..10).map(|n| change(format!("net.ipv4.tcp_{n}"), "1")).collect();
    all.push(change("va qdisc".into(), "fq | fq limit=1p"));
    let told = words(&all, &(0..all.len()).collect::<Vec<_>>());
    assert_eq!((told.len(), told[0].as_str()), (5, "qdisc of va: fq limit=1p -> 2"));
    assert_eq!(
        (told[1].as_str(), told[4].as_str()),
        ("net.ipv4.tcp_0: 1 -> 2", "7 more")
    );
}
