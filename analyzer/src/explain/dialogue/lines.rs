//! The lines of one socket.

use std::collections::BTreeMap;

use super::Line;
use super::sends::{Sends, Sent};
use crate::analyses::application::{Part, Parts, task};
use crate::analyses::verdict::{counted, duration, times};
use crate::explain::{Id, Kind};
use crate::facts::Facts;
use crate::name::Name;
use crate::reconstruct::application::tables::{ResponseRow, TurnaroundRow};
use crate::reconstruct::opens::tables::{OpenEnd, Sender};
use crate::reconstruct::receive::tables::{RxEnd, RxRow};
use crate::reconstruct::tcp::role::Role;
use crate::reconstruct::tcp::tables::ConnectionRow;
use crate::reconstruct::transmit::tables::{TxEnd, TxKind, TxRow};

/// Sleeps of a reader from which on their call is told, ns.
const ASLEEP_NS: i64 = 1_000_000;
/// Parts of a turnaround that are told, and the least share of one.
const PARTS: (usize, f64) = (3, 0.05);

/// All, in no order.
pub(super) fn of(facts: &Facts, s: &ConnectionRow, sends: &Sends) -> Vec<Line> {
    let mut out = sent(facts, s, sends);
    let c = Some(s.connection);
    let side = s.role().0.word();
    let line = |does: &'static str, time_ns: i64| Line {
        time_ns,
        since_ns: 0,
        side,
        connection: s.connection.0,
        does,
        times: 1,
        bytes: None,
        task: String::new(),
        call: String::new(),
        said: vec![],
        waited_ns: None,
        ids: vec![],
        left_out: 0,
    };
    let payload = |r: &&RxRow| r.connection == c && r.end != RxEnd::Protocol && r.bytes != Some(0);
    out.extend(facts.rx.iter().filter(payload).map(|r| Line {
        bytes: r.bytes.map(u64::from),
        task: task(&r.task, r.pid),
        said: lay(r),
        waited_ns: r.rcvq_ns,
        ids: vec![Id::new(Kind::Rx, r.skb_id.0).to_string()],
        ..line("gets", r.start_ns)
    }));
    for (at, r) in facts.retransmits.iter().enumerate().filter(|(_, r)| r.connection == c) {
        let segments = |n: u32| counted(n.into(), "segment", "segments");
        out.push(Line {
            said: vec![
                r.segments.map_or_else(String::new, segments),
                r.class.word().replace('_', " "),
            ],
            ids: Id::at(Kind::Retransmit, at).iter().map(Id::to_string).collect(),
            ..line("again", r.time_ns)
        });
    }
    for (at, o) in facts.opens.iter().enumerate().filter(|(_, o)| o.connection == c) {
        let what = match o.end {
            OpenEnd::Waiting => "no answer until the recording ended",
            end => end.word(),
        };
        out.push(Line {
            task: task(&o.task, o.pid),
            said: vec![format!("{} after {}", what.replace('_', " "), duration(o.total_ns()))],
            waited_ns: Some(o.total_ns()),
            ids: Id::at(Kind::Open, at).iter().map(Id::to_string).collect(),
            ..line("connects", o.start_ns)
        });
    }
    for x in facts
        .tcp_states
        .iter()
        .filter(|x| Some(x.connection) == c && x.kind == "sock")
    {
        out.push(Line {
            task: task(&x.task, x.pid),
            said: vec![x.name.to_owned()],
            ..line("state", x.time_ns)
        });
    }
    for (at, r) in facts.resets.iter().enumerate().filter(|(_, r)| r.connection == c) {
        let from = match (r.received, r.sender) {
            (false, _) => "sent",
            (true, Sender::Between) => "came, of something between",
            (true, _) => "came",
        };
        let why = facts.names.reset_reason(&r.reason);
        out.push(Line {
            said: std::iter::once(from.to_owned())
                .chain((!why.is_empty()).then_some(why))
                .collect(),
            ids: Id::at(Kind::Reset, at).iter().map(Id::to_string).collect(),
            ..line("reset", r.time_ns)
        });
    }
    out
}

/// How long what came lay there, and what its reader did.
fn lay(r: &RxRow) -> Vec<String> {
    let read = match (r.end, r.rcvq_ns) {
        (RxEnd::Read, Some(ns)) => format!("read after {}", duration(ns)),
        (RxEnd::Read, None) => "read; how long it lay is not known".to_owned(),
        (RxEnd::Closed, _) => "never seen read: its socket was closed".to_owned(),
        _ => "not seen read".to_owned(),
    };
    let slept = (r.asleep_in_ns >= ASLEEP_NS && !r.asleep_in.is_empty()).then(|| {
        format!(
            "its reader slept {} in {}",
            duration(r.asleep_in_ns),
            r.asleep_in.text()
        )
    });
    std::iter::once(read).chain(slept).collect()
}

/// Its sends, with what was sent of them, which request they answer, and how long their answer took.
fn sent(facts: &Facts, s: &ConnectionRow, sends: &Sends) -> Vec<Line> {
    let c = s.connection;
    let mut segments: BTreeMap<i64, Vec<&TxRow>> = BTreeMap::new();
    for t in facts
        .tx
        .iter()
        .filter(|t| t.connection == Some(c) && t.kind == TxKind::Tcp)
    {
        segments.entry(t.start_ns).or_default().push(t);
    }
    let answers = facts.responses.iter().enumerate().filter(|(_, r)| r.connection == c);
    let answers: BTreeMap<i64, (usize, &ResponseRow)> = answers.map(|(at, r)| (r.send_ns, (at, r))).collect();
    let turns = facts.turnarounds.iter().enumerate().filter(|(_, t)| t.connection == c);
    let turns: BTreeMap<i64, (usize, &TurnaroundRow)> = turns.map(|(at, t)| (t.send_ns, (at, t))).collect();
    let name = |pid: i32, of: &[&TxRow]| {
        let by_row = of.iter().find(|t| t.pid == pid).map(|t| t.task);
        let known = by_row.or_else(|| facts.processes.get(&pid).map(|p| p.1));
        known.or((s.pid == pid).then_some(s.task)).unwrap_or(Name::EMPTY)
    };
    let role = s.role().0;
    let line = |x: &Sent| {
        let of = segments.get(&x.at_ns).map_or(&[][..], Vec::as_slice);
        let (mut said, mut ids, mut waited) = (way(of), vec![], None);
        if let Some((at, t)) = turns.get(&x.at_ns).filter(|(_, t)| !t.overlap) {
            // What a client does before it asks again is nobody's wait.
            said.push(match (role, t.ready_ns) {
                (Role::Client, _) => format!("{} after what it had read", duration(t.total_ns())),
                (Role::Server, Some(_)) => format!(
                    "{} after what it had read was readable{}",
                    duration(t.total_ns()),
                    doing(t)
                ),
                (Role::Server, None) => format!("{} after it had read{}", duration(t.total_ns()), doing(t)),
            });
            ids.extend(Id::at(Kind::Turnaround, *at));
            waited = (role == Role::Server).then(|| t.total_ns());
        }
        if let Some((at, r)) = answers
            .get(&x.at_ns)
            .filter(|(_, r)| role == Role::Client && !r.overlap)
        {
            let took = r.response_ns();
            said.extend(took.map(|ns| format!("answered after {}", duration(ns))));
            ids.extend(Id::at(Kind::Response, *at));
            waited = took;
        }
        let first = of.iter().filter(|t| t.retransmits > 0 || t.end != TxEnd::Acked);
        ids.extend(first.take(1).map(|t| Id::new(Kind::Tx, t.skb_id.0)));
        Line {
            time_ns: x.at_ns,
            since_ns: 0,
            side: role.word(),
            connection: c.0,
            does: "sends",
            times: 1,
            bytes: x.bytes,
            task: task(&name(x.pid, of), x.pid),
            call: x.call.clone(),
            said,
            waited_ns: waited,
            ids: ids.iter().map(Id::to_string).collect(),
            left_out: 0,
        }
    };
    sends.all.iter().filter(|x| x.connection == c).map(line).collect()
}

/// What became of the segments of a send, where that is not that they were acknowledged.
fn way(of: &[&TxRow]) -> Vec<String> {
    let again: u64 = of.iter().map(|t| u64::from(t.retransmits)).sum();
    let acked = of.iter().all(|t| t.end == TxEnd::Acked);
    let dropped = of.iter().any(|t| t.end == TxEnd::Dropped);
    let mut said = vec![];
    if again > 0 {
        said.push(format!("sent again {}", times(again)));
    }
    if dropped {
        said.push("dropped by this host".to_owned());
    } else if !acked {
        said.push("no acknowledgement seen".to_owned());
    }
    said
}

/// `: 2.999 s asleep in futex, 1 ms running`
fn doing(t: &TurnaroundRow) -> String {
    let mut parts = Parts::default();
    parts.add(t);
    let told = |p: &Part| {
        let state = match (p.state, p.call.as_deref()) {
            ("asleep_in", Some(call)) => format!("asleep in {call}"),
            (state, _) => state.replace('_', " "),
        };
        let woken = p
            .woken_by
            .as_ref()
            .map_or_else(String::new, |by| format!(" (woken by {by})"));
        format!("{} {state}{woken}", duration(p.ns))
    };
    let of: Vec<String> = (parts.largest().iter())
        .filter(|p| p.share >= PARTS.1)
        .take(PARTS.0)
        .map(told)
        .collect();
    match of.is_empty() {
        true => String::new(),
        false => format!(": {}", of.join(", ")),
    }
}
