//! ACKs that waited in a queue of this host behind other packets, so that the connection whose data they acknowledge was slow, though
//! its own data waited nowhere here.
//!
//! Needs `tx` (segments without payload, whose socket is known), `xmits`, `connections`. Of joined namespaces a router's queue counts,
//! too, where the packet that passes it is the same skb.

use rustc_hash::FxHashMap;

use crate::analyses::application::filled_by;
use crate::analyses::tcp::label;
use crate::facts::{ConnectionId, Facts, SkbId};
use crate::name::Name;
use crate::reconstruct::tcp::tables::ConnectionRow;
use crate::reconstruct::transmit::tables::{TxKind, TxRow};
use crate::reconstruct::xmits::tables::Pass;
use crate::stat::Distribution;

/// A wait of an ACK from which it is late, ns.
const LATE_NS: i64 = 20_000_000;
/// Fewest late ACKs.
const LEAST: usize = 20;
/// Payload that the ACKs' socket must have got, many times what it sent.
const TIMES: u64 = 10;
/// The data waited less than this part of what its ACKs waited.
const PART: i64 = 10;
/// Shortest time of which a rate is told, ns.
const RATE_NS: i64 = 200_000_000;

/// ACKs of one connection in one queue.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct LateAcks {
    /// The connection whose data they acknowledge, as its sender has it.
    pub data: String,
    /// The device in whose queue they waited.
    pub dev: String,
    /// Kind of its root qdisc; empty when the recording does not tell.
    pub qdisc: String,
    /// Waits of the late ones.
    pub wait: Distribution,
    /// Since the start of the recording: from the first of them in the queue to the last out of it, ns.
    pub within_ns: (i64, i64),
    /// Connection with most of what left the queue meanwhile, and its share of these bytes.
    pub filled_by: Option<(String, f64)>,
    /// Median wait of the data's packets in queues of this host meanwhile, ns; `None`: its sender is not in the recording.
    pub data_wait_ns: Option<i64>,
    /// Payload of the data's sender before, and meanwhile, Mbit/s.
    pub mbit_per_s: Option<(f64, f64)>,
}

type Ack<'f> = (i64, i64, &'f Pass);

fn queued(p: &Pass) -> Option<(i64, i64)> {
    let held = p.bypass != Some(true);
    p.queued_ns.zip(p.started_ns).filter(|_| held)
}

/// The other end's socket, where one is in the recording.
fn peer<'f>(facts: &'f Facts, c: &ConnectionRow) -> Option<&'f ConnectionRow> {
    let ends = (c.daddr, c.dport, c.saddr, c.sport);
    let mut of = facts
        .connections
        .iter()
        .filter(|p| (p.saddr, p.sport, p.daddr, p.dport) == ends);
    of.next().filter(|_| c.saddr.is_some() && of.next().is_none())
}

/// The connection whose late ACKs waited longest in all.
pub(super) fn late(facts: &Facts) -> Option<LateAcks> {
    let acks = facts
        .tx
        .iter()
        .filter(|r| r.kind == TxKind::TcpControl && r.bytes == Some(0));
    let of: FxHashMap<SkbId, ConnectionId> = acks.filter_map(|r| Some((r.skb_id, r.connection?))).collect();
    let mut all: FxHashMap<(ConnectionId, Name), Vec<Ack<'_>>> = FxHashMap::default();
    for p in &facts.xmits {
        let waited = queued(p).filter(|(from, to)| to.saturating_sub(*from) >= LATE_NS);
        if let (Some((from, to)), Some(c)) = (waited, p.skb_id.and_then(|s| of.get(&s))) {
            all.entry((*c, p.dev)).or_default().push((from, to, p));
        }
    }
    let mut many: Vec<(i64, ConnectionId, Name, Vec<Ack<'_>>)> = all
        .into_iter()
        .filter(|(_, of)| of.len() >= LEAST)
        .map(|((c, dev), of)| {
            (
                of.iter().map(|a| a.1.saturating_sub(a.0)).fold(0, i64::saturating_add),
                c,
                dev,
                of,
            )
        })
        .collect();
    many.sort_by_key(|(ns, c, dev, _)| (std::cmp::Reverse(*ns), *c, *dev));
    many.into_iter().find_map(|(_, c, _, of)| of_connection(facts, c, &of))
}

fn of_connection(facts: &Facts, c: ConnectionId, acks: &[Ack<'_>]) -> Option<LateAcks> {
    let row = facts.connections.get(c.0 as usize)?;
    // It reads: what it sends itself is nothing beside.
    if row.bytes_in < row.bytes_out.saturating_mul(TIMES).max(1) {
        return None;
    }
    let wait = Distribution::of(acks.iter().map(|a| a.1.saturating_sub(a.0)).collect(), 0);
    let from = acks.iter().map(|a| a.0).min()?;
    let to = acks.iter().map(|a| a.1).max()?;
    let sender = peer(facts, row);
    let rows: Vec<&TxRow> = facts
        .tx
        .iter()
        .filter(|r| r.kind == TxKind::Tcp && sender.is_some_and(|s| r.connection == Some(s.connection)))
        .collect();
    let data_wait_ns = sender.and_then(|_| data_wait(facts, &rows, (from, to)));
    if data_wait_ns.is_some_and(|ns| ns.saturating_mul(PART) > wait.p50_ns.unwrap_or(0)) {
        return None;
    }
    let (dev, qdisc) = acks.first().map(|a| (a.2.dev, a.2.qdisc))?;
    let spans: Vec<(i64, i64)> = acks.iter().map(|a| (a.0, a.1)).collect();
    let reversed = format!(
        "{} > {}",
        std::net::SocketAddr::new(row.daddr?, row.dport),
        std::net::SocketAddr::new(row.saddr?, row.sport)
    );
    let start = facts.capture.start_ns.unwrap_or(0);
    Some(LateAcks {
        data: sender.map_or(reversed, label),
        dev: dev.text().into_owned(),
        qdisc: qdisc.text().into_owned(),
        wait,
        within_ns: (from.saturating_sub(start), to.saturating_sub(start)),
        filled_by: filled_by(facts, (dev, qdisc), &spans),
        data_wait_ns,
        mbit_per_s: rates(&rows, (from, to)),
    })
}

/// How long the data's packets lay in queues of this host, median of each packet's longest.
fn data_wait(facts: &Facts, rows: &[&TxRow], within: (i64, i64)) -> Option<i64> {
    let inside = rows.iter().filter(|r| (within.0..=within.1).contains(&r.t_sched_ns));
    let mut longest: FxHashMap<SkbId, i64> = inside.map(|r| (r.skb_id, 0)).collect();
    for p in &facts.xmits {
        let of = p.parent.or(p.skb_id).and_then(|s| longest.get_mut(&s));
        if let (Some(longest), Some((from, to))) = (of, queued(p)) {
            *longest = to.saturating_sub(from).max(*longest);
        }
    }
    let mut all: Vec<i64> = longest.into_values().collect();
    all.sort_unstable();
    all.get(all.len() / 2).copied()
}

/// Payload handed to devices before and in a time.
fn rates(rows: &[&TxRow], (from, to): (i64, i64)) -> Option<(f64, f64)> {
    let first = rows.iter().map(|r| r.t_sched_ns).min()?;
    let rate = |from: i64, to: i64| {
        let ns = to.saturating_sub(from);
        let of = rows.iter().filter(|r| r.t_sched_ns >= from && r.t_sched_ns < to);
        let bytes: u64 = of.filter_map(|r| r.bytes).map(u64::from).sum();
        (ns >= RATE_NS).then(|| bytes as f64 * 8e3 / ns as f64)
    };
    rate(first, from).zip(rate(from, to))
}
