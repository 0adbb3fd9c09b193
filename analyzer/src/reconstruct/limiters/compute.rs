//! The comparison.

use netmortem_formats::Capture;
use netmortem_formats::capture::SnapshotWhen;
use rustc_hash::{FxHashMap, FxHashSet};

use super::snapshot::{Clocks, clocks};
use super::tables::{LimiterRow, Times};
use crate::facts::ConnectionId;
use crate::reconstruct::tcp::states::ESTABLISHED;
use crate::reconstruct::tcp::tables::{ConnectionRow, StateRow};
use crate::reconstruct::transmit::tables::{TxEnd, TxKind, TxRow};
use crate::reconstruct::transmit::{Once, Stage};

/// Waits of a write queue.
const QUEUE: [Stage; 7] = [
    Stage::Rwnd,
    Stage::Cwnd,
    Stage::Nagle,
    Stage::Pacing,
    Stage::PacingSlip,
    Stage::Tsq,
    Stage::Refused,
];

/// What is compared.
pub struct Inputs<'f> {
    /// The recording, for its snapshots.
    pub capture: &'f Capture,
    /// Sockets.
    pub connections: &'f [ConnectionRow],
    /// Their changes of state.
    pub states: &'f [StateRow],
    /// What was sent.
    pub tx: &'f [TxRow],
    /// What held each write queue, counted once.
    pub once: &'f FxHashMap<ConnectionId, Once>,
    /// Events were lost.
    pub lost: bool,
}

/// The kernel's times of a socket in the recording, or why they are not told.
fn kernel(
    c: &ConnectionRow,
    born: bool,
    start: Option<&FxHashMap<u64, Clocks>>,
    end: Option<&FxHashMap<u64, Clocks>>,
    flight: bool,
) -> Result<Times, &'static str> {
    let cookie = c.cookie.ok_or("no event names the socket's cookie")?;
    let find = |of: &FxHashMap<u64, Clocks>| of.get(&cookie).copied().filter(|x| x.ports == (c.sport, c.dport));
    let last = end.ok_or("the recording has no list of sockets at its end")?;
    let last = find(last).ok_or("the socket was closed before the list of sockets at the end was made")?;
    let first = match (start.and_then(find), born) {
        (Some(first), _) => first,
        // Its clocks began in the recording.
        (None, true) => Clocks {
            busy_ns: 0,
            rwnd_ns: 0,
            sndbuf_ns: 0,
            ..last
        },
        (None, false) if flight => {
            return Err("a flight lists the sockets only after its trigger, and the socket is older");
        }
        (None, false) => {
            return Err("the socket is older than the recording and not in the list of sockets at its start");
        }
    };
    let since = |last: i64, first: i64| {
        let ns = last.checked_sub(first).filter(|ns| *ns >= 0);
        ns.ok_or("the socket's clocks went back: it was disconnected meanwhile")
    };
    Ok(Times {
        busy_ns: since(last.busy_ns, first.busy_ns)?,
        rwnd_ns: since(last.rwnd_ns, first.rwnd_ns)?,
        sndbuf_ns: since(last.sndbuf_ns, first.sndbuf_ns)?,
    })
}

/// Time in which something was outstanding: the union of its segments' times from the write queue to the ACK.
fn busy(rows: &[&TxRow]) -> i64 {
    let from = |r: &TxRow| {
        let held = QUEUE.iter().filter_map(|s| r.stage(*s));
        r.t_sched_ns.wrapping_sub(held.fold(0i64, i64::wrapping_add))
    };
    let mut spans: Vec<(i64, i64)> = rows.iter().filter_map(|r| Some((from(r), r.t_ack_ns?))).collect();
    spans.sort_unstable();
    let (mut sum, mut until) = (0i64, i64::MIN);
    for (from, to) in spans {
        sum = sum.saturating_add(to.saturating_sub(from.max(until)).max(0));
        until = until.max(to);
    }
    sum
}

/// Time in which writers slept for room, each call's once.
fn sndbuf(rows: &[&TxRow]) -> i64 {
    let mut calls: FxHashMap<(i32, i64), i64> = FxHashMap::default();
    for r in rows {
        if let Some(ns) = r.stage(Stage::Sndbuf) {
            let of = calls.entry((r.pid, r.start_ns)).or_insert(0);
            *of = ns.max(*of);
        }
    }
    calls.values().fold(0i64, |a, b| a.saturating_add(*b))
}

/// A row per socket that sent payload.
pub fn compute(i: &Inputs<'_>) -> Vec<LimiterRow> {
    let [start, end] = [SnapshotWhen::Start, SnapshotWhen::End].map(|when| clocks(i.capture, when));
    let flight = i.capture.manifest.as_ref().is_some_and(crate::counters::is_flight);
    let start = start.filter(|_| !flight);
    let mut sent: FxHashMap<ConnectionId, Vec<&TxRow>> = FxHashMap::default();
    for r in i.tx.iter().filter(|r| r.kind == TxKind::Tcp) {
        if let Some(c) = r.connection {
            sent.entry(c).or_default().push(r);
        }
    }
    let established = i.states.iter().filter(|s| s.kind == "sock" && s.state == ESTABLISHED);
    let born: FxHashSet<ConnectionId> = established.map(|s| s.connection).collect();
    let row = |c: &ConnectionRow| {
        let rows = sent.get(&c.connection)?;
        let once = i.once.get(&c.connection).copied().unwrap_or_default();
        let known = kernel(c, born.contains(&c.connection), start.as_ref(), end.as_ref(), flight);
        let open = rows.iter().any(|r| r.end == TxEnd::Open && r.t_ack_ns.is_none());
        let (kernel, because) = match known {
            Ok(times) => (Some(times), ""),
            Err(because) => (None, because),
        };
        Some(LimiterRow {
            connection: c.connection,
            kernel,
            busy_ns: busy(rows),
            rwnd_ns: once.of(Stage::Rwnd),
            rwnd_paced_ns: once.rwnd_paced_ns,
            cwnd_ns: once.of(Stage::Cwnd),
            sndbuf_ns: sndbuf(rows).saturating_add(once.room_ns),
            because: match (because, i.lost) {
                ("", true) => "events were lost: the ledger's times are the least there was",
                ("", false) if open => {
                    "not all was acknowledged when the recording ended: the ledger's times are the least there was"
                }
                ("", false) if !born.contains(&c.connection) => {
                    "the socket is older than the recording: what held it before its first event is not in the ledger"
                }
                (because, _) => because,
            },
        })
    };
    i.connections.iter().filter_map(row).collect()
}
