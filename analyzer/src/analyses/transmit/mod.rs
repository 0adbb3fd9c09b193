//! Where do sent segments spend their time? Per stage of the transmit ledger, per connection, and the round trip by host.
//!
//! Needs the view `tx`. Percentiles are of TCP segments with payload that were acknowledged; what is open (censored by the
//! end of the recording), was under way when it began or while events were lost (`excluded`), was dropped, or ends at a
//! device (UDP, control, others) is counted apart. Solid = certain or strong.
//! The round trip is the stage `network` of segments never sent again, so it leaves the host's own waits out, and keeps the
//! peer's delayed ACKs in. A segment's waits overlap those of the segments queued with it: shares are of segments' time.

use std::collections::BTreeMap;

use crate::analyses::waits::{StageTimes, Top, UNTOLD, times, top};
use crate::analyses::{Outcome, not_recorded, reasons};
use crate::facts::{Facts, Reason};
use crate::reconstruct::receive::tables::Censored;
use crate::reconstruct::tcp::tables::RetransmitClass;
use crate::reconstruct::transmit::Stage;
use crate::reconstruct::transmit::tables::{TxEnd, TxKind, TxRow};
use crate::stat::Distribution;

#[cfg(test)]
mod tests;

/// The event that tells of ACKs.
const ACKS: &str = "tcp:tcp_probe";
/// Connections kept: those with most segments.
pub const CONNECTIONS: usize = 100;
/// Waits of a sender, before the device has the segment.
const SENDER: [Stage; 9] = [
    Stage::Sndbuf,
    Stage::Send,
    Stage::Rwnd,
    Stage::Cwnd,
    Stage::Nagle,
    Stage::Pacing,
    Stage::PacingSlip,
    Stage::Tsq,
    Stage::Neighbour,
];

/// Waits that this host or the peer's window puts on a segment: all but the call's own work, the driver, and the way to the
/// peer and back.
const HELD: [Stage; 12] = [
    Stage::Sndbuf,
    Stage::Rwnd,
    Stage::Cwnd,
    Stage::Nagle,
    Stage::Pacing,
    Stage::PacingSlip,
    Stage::Tsq,
    Stage::Neighbour,
    Stage::Qdisc,
    Stage::Bql,
    Stage::Ring,
    Stage::Recovery,
];

/// A connection that sent.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Sender {
    /// As in the view `connections`.
    pub connection: u32,
    /// `saddr:sport > daddr:dport`.
    pub label: String,
    /// Segments with payload.
    pub segments: u64,
    /// Their payload, bytes.
    pub bytes: u64,
    /// Times they, or parts of them, were sent again.
    pub retransmits: u64,
    /// The wait that held most of the acknowledged segments' time.
    pub top: Option<Top>,
    /// ns that its acknowledged segments were held, waits of one another's overlapping.
    pub held_ns: i64,
    /// The wait that was most of that.
    pub held_by: Option<&'static str>,
    /// What held it back: share of all time before the device, by wait; largest first.
    pub limiters: Vec<(&'static str, f64)>,
    /// Device to ACK, of solid segments never sent again.
    pub rtt: Distribution,
}

/// The answer.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Transmit {
    /// TCP segments with payload that were acknowledged.
    pub acked: u64,
    /// Not acknowledged when the recording ended.
    pub open: u64,
    /// The longest that one of them is known to have been under way, ns.
    pub open_at_least_ns: Option<i64>,
    /// TCP segments with payload in no percentile, by why: `censored_start`, `censored_end`, `loss`; and `not_solid`, those in
    /// the percentiles of all but not in the solid ones. Causes that excluded nothing are not there.
    pub excluded: BTreeMap<&'static str, u64>,
    /// Dropped in this host and not acknowledged.
    pub dropped: u64,
    /// Other packets by kind.
    pub others: BTreeMap<&'static str, u64>,
    /// TCP segments with payload by confidence word.
    pub by_confidence: BTreeMap<&'static str, u64>,
    /// Acknowledged segments by which event their time starts at: `sendmsg`, `write_queue`, `queue`.
    pub starts: BTreeMap<&'static str, u64>,
    /// Start to ACK, acknowledged segments only.
    pub total: StageTimes,
    /// Per stage, in the order of the path.
    pub stages: Vec<StageTimes>,
    /// Time in no stage.
    pub unattributed: StageTimes,
    /// Held by this host or the peer's window: the sum of a segment's waits, 0 where there was none.
    pub held: StageTimes,
    /// Connections, most segments first.
    pub connections: Vec<Sender>,
    /// Device to ACK by remote address, of solid segments never sent again.
    pub rtt_by_host: BTreeMap<String, Distribution>,
    /// First transmission to the last one, of acknowledged segments sent again, by why the last time (class of `retransmits`).
    pub recovery: BTreeMap<&'static str, Distribution>,
    /// What the recording lacks for this ledger.
    pub lacks: Vec<Reason>,
}

impl Transmit {
    /// Why no ACK can be known: the reasons among `lacks` that name the event that tells of ACKs.
    pub fn no_acks(&self) -> Vec<&Reason> {
        self.lacks.iter().filter(|r| r.because.contains(ACKS)).collect()
    }
    /// The connection whose segments were held longest.
    pub fn most_held(&self) -> Option<&Sender> {
        let held = self.connections.iter().filter(|c| c.held_ns > 0);
        held.max_by_key(|c| (c.held_ns, std::cmp::Reverse(c.connection)))
    }
}

/// Asks.
pub fn answer(facts: &Facts) -> Outcome<Transmit> {
    if facts.tx.is_empty() {
        let none = not_recorded(facts, &["net:net_dev_queue"]);
        let none = none.unwrap_or_else(|| "no packet was sent in this recording".into());
        return Outcome::Unknown(reasons(facts, "tx", &none));
    }
    let data: Vec<&TxRow> = facts.tx.iter().filter(|r| r.kind == TxKind::Tcp).collect();
    let whole_acked = |r: &&TxRow| r.end == TxEnd::Acked && r.censored.is_none();
    let acked: Vec<&TxRow> = data.iter().copied().filter(whole_acked).collect();
    let mut excluded = BTreeMap::new();
    for r in &data {
        let why = match r.censored {
            Some(Censored::Start) => "censored_start",
            Some(Censored::Loss) => "loss",
            Some(Censored::End) => "censored_end",
            None if r.end == TxEnd::Acked && !r.confidence.is_solid() => "not_solid",
            None => continue,
        };
        *excluded.entry(why).or_insert(0) += 1;
    }
    let whole = acked.iter().fold(0i64, |sum, r| sum.saturating_add(r.total_ns));
    let count = |e: TxEnd| data.iter().filter(|r| r.end == e).count() as u64;
    let mut others = BTreeMap::new();
    for r in facts.tx.iter().filter(|r| r.kind != TxKind::Tcp) {
        *others.entry(r.kind.word()).or_insert(0) += 1;
    }
    let mut by_confidence = BTreeMap::new();
    let mut by_connection: BTreeMap<u32, Vec<&TxRow>> = BTreeMap::new();
    for r in &data {
        *by_confidence.entry(r.confidence.word()).or_insert(0) += 1;
        if let Some(c) = r.connection {
            by_connection.entry(c.0).or_default().push(r);
        }
    }
    let mut hosts: BTreeMap<String, Vec<i64>> = BTreeMap::new();
    let mut connections: Vec<Sender> = vec![];
    for (c, rows) in &by_connection {
        let row = facts.connections.get(*c as usize);
        let rtts: Vec<i64> = rows.iter().filter_map(|r| round_trip(r)).collect();
        if let Some(host) = row.and_then(|c| c.daddr) {
            hosts.entry(host.to_string()).or_default().extend(&rtts);
        }
        let of: Vec<&TxRow> = rows.iter().copied().filter(whole_acked).collect();
        let sums = HELD.map(|s| (s.name(), stage_sum(&of, s)));
        let held_ns = sums.iter().fold(0i64, |a, s| a.saturating_add(s.1));
        let most = sums.into_iter().rev().max_by_key(|s| s.1);
        connections.push(Sender {
            held_ns,
            held_by: most.filter(|s| s.1 > 0).map(|s| s.0),
            connection: *c,
            label: row.map_or_else(String::new, crate::analyses::tcp::label),
            segments: rows.len() as u64,
            bytes: rows.iter().filter_map(|r| r.bytes).map(u64::from).sum(),
            retransmits: rows.iter().map(|r| u64::from(r.retransmits)).sum(),
            top: top(of),
            limiters: limiters(rows),
            rtt: Distribution::of(rtts, 0),
        });
    }
    let mut recovery: BTreeMap<&'static str, Vec<i64>> = BTreeMap::new();
    let mut starts = BTreeMap::new();
    for r in &acked {
        *starts.entry(r.start.word()).or_insert(0) += 1;
        if let Some(ns) = r.stage(Stage::Recovery) {
            let class = r.recovery_by.unwrap_or(RetransmitClass::Unknown);
            recovery.entry(class.word()).or_default().push(ns);
        }
    }
    connections.sort_by_key(|c| (std::cmp::Reverse(c.segments), c.connection));
    connections.truncate(CONNECTIONS);
    Outcome::Findings(Transmit {
        acked: acked.len() as u64,
        open: count(TxEnd::Open),
        open_at_least_ns: data
            .iter()
            .filter(|r| r.end == TxEnd::Open)
            .filter_map(|r| r.at_least_ns)
            .max(),
        excluded,
        dropped: count(TxEnd::Dropped),
        others,
        by_confidence,
        starts,
        total: times("total", "send call, or first event, to ACK", &acked, whole, |r| {
            Some(r.total_ns)
        }),
        stages: Stage::ALL
            .iter()
            .map(|&s| times(s.name(), s.meaning(), &acked, whole, |r| r.stage(s)))
            .collect(),
        unattributed: times("unattributed", UNTOLD, &acked, whole, |r| Some(r.unattributed_ns)),
        held: times(
            "held",
            "waits of this host and for the peer's window",
            &acked,
            whole,
            |r| {
                let waits = HELD.iter().filter_map(|s| r.stage(*s));
                Some(waits.fold(0i64, i64::saturating_add))
            },
        ),
        connections,
        rtt_by_host: hosts.into_iter().map(|(h, v)| (h, Distribution::of(v, 0))).collect(),
        recovery: recovery.into_iter().map(|(c, v)| (c, Distribution::of(v, 0))).collect(),
        lacks: lacks(facts),
    })
}

/// What the recording lacks for this ledger: events without a format, and the event of ACKs where nobody enabled it.
fn lacks(facts: &Facts) -> Vec<Reason> {
    let mut of: Vec<Reason> = facts.unknown.iter().filter(|r| r.subject == "tx").cloned().collect();
    let told = of.iter().any(|r| r.because.contains(ACKS));
    of.extend(
        not_recorded(facts, &[ACKS])
            .filter(|_| !told)
            .map(|because| Reason { subject: "tx", because }),
    );
    of
}

fn stage_sum(rows: &[&TxRow], s: Stage) -> i64 {
    rows.iter().filter_map(|r| r.stage(s)).fold(0i64, i64::saturating_add)
}

/// Device to ACK, where it is one transmission's.
fn round_trip(r: &TxRow) -> Option<i64> {
    let whole = r.end == TxEnd::Acked && r.censored != Some(Censored::Loss);
    let solid = whole && r.retransmits == 0 && r.confidence.is_solid();
    r.stage(Stage::Network)
        .filter(|_| solid)
        .map(|ns| ns.saturating_add(r.stage(Stage::Completion).unwrap_or(0)))
}

/// Shares of the time before the device.
fn limiters(rows: &[&TxRow]) -> Vec<(&'static str, f64)> {
    let sums: Vec<(&'static str, i64)> = SENDER.iter().map(|s| (s.name(), stage_sum(rows, *s))).collect();
    let whole = sums.iter().fold(0i64, |a, s| a.saturating_add(s.1));
    let mut shares: Vec<(&'static str, f64)> = sums
        .into_iter()
        .filter(|s| s.1 > 0 && whole > 0)
        .map(|(n, ns)| (n, ns as f64 / whole as f64))
        .collect();
    shares.sort_by(|a, b| b.1.total_cmp(&a.1));
    shares
}
