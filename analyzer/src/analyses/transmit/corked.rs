//! Segments that lay in their own socket with nothing in flight until the kernel's timer sent them: TCP_CORK, or MSG_MORE, that nobody took off.
//!
//! Needs `tx` with its waits in the write queue, `connections`. Nagle and a deferral wait for an ACK; where all was acknowledged, and no window was full, only a cork
//! holds, and the timer that looks for zero windows ends it after TCP_RTO_MIN (net/ipv4/tcp_output.c `tcp_check_probe_timer`, `tcp_send_probe0`).
//! Inferred, since no event tells the option.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use rustc_hash::FxHashMap;

use crate::analyses::tcp::label;
use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::tcp::role::Role;
use crate::reconstruct::tcp::tables::ConnectionRow;
use crate::reconstruct::transmit::stages::Stage;
use crate::reconstruct::transmit::tables::{TxKind, TxRow};
use crate::stat::Distribution;

/// Shortest and longest such wait, ns: the timer runs 200 ms, in jiffies, from the last run of the queue; it is late by a busy CPU.
const TIMER_NS: std::ops::Range<i64> = 185_000_000..320_000_000;
/// Fewest segments of which it is certain enough whose bytes they are.
const FEWEST: u64 = 3;

/// Of one service, or one connection.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Corked {
    /// `address:port` of the server that sent them, or the connection of a client that did.
    pub by: String,
    /// Task of the first.
    pub task: String,
    /// How long they lay.
    pub wait: Distribution,
    /// Connections.
    pub connections: u64,
    /// Of the waits, those whose bytes are less certain to be of their call.
    pub unsure: u64,
    /// Its segments with payload in all.
    pub of: u64,
}

fn sender(row: &ConnectionRow) -> String {
    match (row.role().0, row.saddr) {
        (Role::Server, Some(a)) => SocketAddr::new(a.to_canonical(), row.sport).to_string(),
        _ => label(row),
    }
}

/// Of a sender.
struct Sum<'a> {
    waits: Vec<i64>,
    unsure: u64,
    connections: u64,
    of: u64,
    first: &'a TxRow,
}

/// The one with most of them.
pub(super) fn corked(facts: &Facts) -> Option<Corked> {
    // A send that was lost is in no row, and what was in flight then is not known.
    if !facts.gaps.is_empty() {
        return None;
    }
    let lay = |t: &TxRow| t.stage(Stage::Nagle).filter(|ns| TIMER_NS.contains(ns));
    let data = |t: &&TxRow| t.kind == TxKind::Tcp && t.bytes.is_some_and(|n| n > 0);
    let of_data = || facts.tx.iter().filter(data);
    let mut held: FxHashMap<ConnectionId, Vec<&TxRow>> = FxHashMap::default();
    for t in of_data().filter(|t| lay(t).is_some()) {
        if let Some(c) = t.connection {
            held.entry(c).or_default();
        }
    }
    if held.is_empty() {
        return None;
    }
    for t in of_data() {
        if let Some(of) = t.connection.and_then(|c| held.get_mut(&c)) {
            of.push(t);
        }
    }
    let mut by: BTreeMap<String, Sum<'_>> = BTreeMap::new();
    for (c, mut of) in held {
        of.sort_by_key(|t| t.t_sched_ns);
        let (mut waits, mut unsure, mut acked) = (vec![], 0, Some(i64::MIN));
        let mut first = None;
        for t in &of {
            // All that was sent before had been acknowledged when it was to lie for most of that time yet.
            let idle = |ns: i64| acked.is_some_and(|at| at < t.t_sched_ns.saturating_sub(ns / 2));
            if let Some(ns) = lay(t).filter(|ns| idle(*ns)) {
                waits.push(ns);
                unsure += u64::from(!t.confidence.is_solid());
                first = first.or(Some(*t));
            }
            acked = acked.zip(t.t_ack_ns).map(|(a, b)| a.max(b));
        }
        let row = facts.connections.get(c.0 as usize);
        if let (Some(first), Some(row)) = (first, row) {
            let sum = by.entry(sender(row)).or_insert_with(|| Sum {
                waits: vec![],
                unsure: 0,
                connections: 0,
                of: 0,
                first,
            });
            sum.waits.append(&mut waits);
            sum.unsure += unsure;
            sum.connections += 1;
            sum.of += of.len() as u64;
        }
    }
    let (by, sum) = by
        .into_iter()
        .max_by_key(|(_, of)| (of.waits.len() as u64).saturating_sub(of.unsure))?;
    let n = sum.waits.len() as u64;
    // Where it is not known of them whose bytes they are, nothing tells that they lay there.
    (n.saturating_sub(sum.unsure) >= FEWEST).then(|| Corked {
        by,
        task: sum.first.task.text().into_owned(),
        wait: Distribution::of(sum.waits, 0),
        unsure: sum.unsure,
        connections: sum.connections,
        of: sum.of,
    })
}
