//! How did TCP connections do? All sockets, retransmits by class, and the cwnd sawtooth of the busiest senders.
//!
//! A retransmission is one call of `tcp_retransmit_skb` (or `tcp_retransmit_synack`) and sends one segment or more: the kernel
//! counts the segments (TcpRetransSegs, `tcpi_total_retrans`), so calls and segments are two numbers here, and never one for the other.
//!
//! `tcp_probe` fires before its segment is processed, so the value of probe k held from probe k-1 on: points are moved
//! to where the value began. A line is broken where events were lost or where the socket was silent longer than
//! [`SILENCE_NS`] and [`SILENCE_SRTTS`] smoothed RTTs: nothing is drawn across what was not seen.

use std::collections::BTreeMap;
use std::net::IpAddr;

use crate::reconstruct::tcp::role::Role;
use crate::reconstruct::tcp::tables::{ConnectionRow, RetransmitClass};

use crate::analyses::verdict::counted;
use crate::analyses::{Outcome, reasons};
use crate::counters::tables::{risen, risen_at_least};
use crate::facts::Facts;

mod backlogs;
mod lossy;
mod needless;
mod sawtooth;
#[cfg(test)]
mod tests;

pub use backlogs::Backlog;
pub use lossy::{LossyHost, LossyHosts};
pub(crate) use needless::all_needless;
pub use sawtooth::{Reduction, Sawtooth, Segment};

/// Shortest silence that breaks a line, ns.
pub const SILENCE_NS: i64 = 200_000_000;
/// Shortest silence that breaks a line, in smoothed RTTs.
pub const SILENCE_SRTTS: i64 = 8;
/// Sawtooths shown at most.
pub const SAWTOOTHS: usize = 4;
/// Points of one line at most; above it, the smallest and largest value of each time bin are kept.
pub const POINTS: usize = 4000;
/// The kernel's "no threshold" (TCP_INFINITE_SSTHRESH).
pub const INFINITE_SSTHRESH: u32 = 0x7fff_ffff;

/// Counters of segments that came to the peer in another order, as its ACKs tell.
const REORDERED: [&str; 3] = ["TcpExtTCPSACKReorder", "TcpExtTCPTSReorder", "TcpExtTCPRenoReorder"];

/// A socket, for the table.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Connection {
    /// As in the view `connections`.
    pub connection: u32,
    /// `saddr:sport > daddr:dport`.
    pub label: String,
    /// Task.
    pub task: String,
    /// First to last event.
    pub duration_ns: i64,
    /// Payload received, bytes; `None` without samples.
    pub bytes_in: Option<u64>,
    /// New sequence space sent, bytes; `None` without samples.
    pub bytes_out: Option<u64>,
    /// Calls that sent segments again; `None` when nothing says that these were recorded.
    pub retransmits: Option<u64>,
    /// Segments that they sent; `None` where that of a call is not known.
    pub retransmit_segments: Option<u64>,
    /// Calls more whose packet a queue of this host refused; `None` where failures are not traced.
    pub retransmits_refused: Option<u64>,
    /// Calls by class.
    pub by_class: BTreeMap<&'static str, u64>,
    /// tcp_probe samples.
    pub samples: u64,
    /// Smallest srtt sampled, us; `None` without samples.
    pub srtt_min_us: Option<u32>,
    /// Median srtt sampled, us.
    pub srtt_p50_us: Option<u32>,
    /// Largest srtt sampled, us.
    pub srtt_max_us: Option<u32>,
    /// Smallest and largest cwnd sampled, packets.
    pub cwnd: Option<(u32, u32)>,
}

/// The answer.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Tcp {
    /// Whether a `tcp_retransmit_skb` that happened would be in the recording; else none seen is no news.
    pub retransmits_recorded: bool,
    /// All sockets, most bytes first.
    pub connections: Vec<Connection>,
    /// Calls that sent segments again, by class, over all sockets.
    pub retransmits: BTreeMap<&'static str, u64>,
    /// Segments that they sent; of `retransmits_unsized` calls it is not known how many.
    pub retransmit_segments: u64,
    /// Calls of which it is not known how many segments they sent.
    pub retransmits_unsized: u64,
    /// Calls more whose packet a queue of this host refused: nothing was sent, and no network lost it. `None` where failures
    /// are not traced.
    pub retransmits_refused: Option<u64>,
    /// Of the calls: those of sockets that nobody has, as a network namespace that was removed leaves them behind; inferred.
    pub retransmits_left_behind: u64,
    /// Sockets that made them.
    pub left_behind: u64,
    /// Remote hosts to which nearly all of the calls were, where hardly any were to others.
    pub lossy_hosts: Option<LossyHosts>,
    /// Of the calls: SYN-ACKs, which listening sockets send; none of `connections` did.
    pub synacks: u64,
    /// Calls whose class is certain or strong.
    pub retransmits_solid: u64,
    /// Rise of `TcpExtTCPTimeouts` over all namespaces; `None` where the snapshots do not tell.
    pub timeouts_counted: Option<u64>,
    /// Rise of `TcpExtTCPDSACKRecv` less `TcpExtTCPDSACKIgnoredDubious` over all namespaces that were read before and after: so many segments at
    /// least of which the peer said that it had them twice, and that TCP takes to be its own repetitions; `None` where no snapshot tells.
    pub needless: Option<u64>,
    /// Rise of `TcpExtTCPSACKReorder`, `TcpExtTCPTSReorder` and `TcpExtTCPRenoReorder` likewise: ACKs that told the sender that its segments had
    /// come in another order.
    pub reordered: u64,
    /// The busiest senders.
    pub sawtooths: Vec<Sawtooth>,
    /// Sockets for which segments came while they were in use, most memory first; empty: none, or not recorded (`--extra kprobes`).
    pub backlogs: Vec<Backlog>,
}

impl Tcp {
    /// Calls that sent segments again.
    pub fn calls(&self) -> u64 {
        self.retransmits.values().fold(0, |sum, n| sum.saturating_add(*n))
    }
    /// The same by class, without those of listening sockets.
    pub fn by_sockets(&self) -> Vec<(&'static str, u64)> {
        let own = self.retransmits.iter().map(|(class, n)| match *class {
            class if class == RetransmitClass::Syn.word() => (class, n.saturating_sub(self.synacks)),
            class => (class, *n),
        });
        own.filter(|(_, n)| *n > 0).collect()
    }
    /// Calls of class rto, and what the kernel counted, where these are more: each that sent is counted
    /// (`tcp_retransmit_timer`), and the readings enclose the recording.
    pub fn refuted(&self) -> Option<(u64, u64)> {
        let classed = self.retransmits.get(RetransmitClass::Rto.word()).copied()?;
        self.timeouts_counted.filter(|n| *n < classed).map(|n| (classed, n))
    }
    /// How many of the segments sent again the peers had already, as the kernel counted, where that is most of them.
    pub fn mostly_needless(&self) -> Option<u64> {
        // Of calls of unknown size it is not known how many that should be.
        let needless = self
            .needless
            .filter(|_| self.retransmits_unsized == 0)?
            .min(self.retransmit_segments);
        (needless > 0 && needless.saturating_mul(2) > self.retransmit_segments).then_some(needless)
    }
    /// `7 segments were retransmitted by 3 calls`, as far as is known; by sockets, not by listening ones.
    pub fn sent_again(&self) -> String {
        let segments = self.retransmit_segments.saturating_sub(self.synacks);
        sent_again(
            segments,
            self.calls().saturating_sub(self.synacks),
            self.retransmits_unsized,
        )
    }
}

/// How many segments so many calls sent, some of them of unknown size.
pub fn sent_again(segments: u64, calls: u64, not_known: u64) -> String {
    let by = counted(calls, "call", "calls");
    match not_known {
        0 => format!(
            "{} retransmitted by {by}",
            counted(segments, "TCP segment was", "TCP segments were")
        ),
        n if n == calls => format!("TCP segments were retransmitted by {by}, how many segments is not known"),
        n => format!(
            "{} retransmitted by {}, and by {n} more an unknown number",
            counted(segments, "TCP segment was", "TCP segments were"),
            counted(calls.saturating_sub(n), "call", "calls")
        ),
    }
}

/// Asks.
pub fn answer(facts: &Facts) -> Outcome<Tcp> {
    if facts.connections.is_empty() && facts.retransmits.is_empty() {
        return Outcome::Unknown(reasons(facts, "tcp", "no TCP event was recorded"));
    }
    let mut samples: BTreeMap<u32, Vec<&crate::reconstruct::tcp::tables::SampleRow>> = BTreeMap::new();
    for s in &facts.tcp_samples {
        samples.entry(s.connection.0).or_default().push(s);
    }
    let mut classes: BTreeMap<u32, BTreeMap<&'static str, u64>> = BTreeMap::new();
    let mut retransmits = BTreeMap::new();
    for r in &facts.retransmits {
        *retransmits.entry(r.class.word()).or_insert(0) += 1;
        if let Some(c) = r.connection {
            *classes.entry(c.0).or_default().entry(r.class.word()).or_insert(0) += 1;
        }
    }
    let mut connections: Vec<Connection> = facts
        .connections
        .iter()
        .map(|c| {
            let of = samples.get(&c.connection.0).map_or(&[][..], |v| v);
            // srtt 0 means not measured yet
            let mut srtt: Vec<u32> = of.iter().map(|s| s.srtt_us).filter(|v| *v > 0).collect();
            srtt.sort_unstable();
            let cwnd = of.iter().map(|s| s.snd_cwnd);
            Connection {
                connection: c.connection.0,
                label: label(c),
                task: c.task.text().into_owned(),
                duration_ns: c.last_ns - c.first_ns,
                bytes_in: (c.samples > 0).then_some(c.bytes_in),
                bytes_out: (c.samples > 0).then_some(c.bytes_out),
                retransmits: c.retransmits,
                retransmit_segments: c.retransmit_segments,
                retransmits_refused: c.retransmits_refused,
                by_class: classes.get(&c.connection.0).cloned().unwrap_or_default(),
                samples: c.samples,
                srtt_min_us: srtt.first().copied(),
                srtt_p50_us: srtt.get(srtt.len().saturating_sub(1) / 2).copied(),
                srtt_max_us: srtt.last().copied(),
                cwnd: cwnd.clone().min().zip(cwnd.max()),
            }
        })
        .collect();
    connections.sort_by_key(|c| {
        let bytes = c.bytes_in.unwrap_or(0) + c.bytes_out.unwrap_or(0);
        (std::cmp::Reverse(bytes), c.connection)
    });
    let mut senders: Vec<&crate::reconstruct::tcp::tables::ConnectionRow> = facts
        .connections
        .iter()
        .filter(|c| c.bytes_out > 0 && c.samples > 1)
        .collect();
    senders.sort_by_key(|c| (std::cmp::Reverse(c.bytes_out), c.connection));
    // A sender far below the busiest has no sawtooth worth a page.
    let floor = senders.first().map_or(0, |c| c.bytes_out / 20);
    let sawtooths = senders
        .iter()
        .filter(|c| c.bytes_out >= floor)
        .take(SAWTOOTHS)
        .map(|c| sawtooth::draw(facts, c, samples.get(&c.connection.0).map_or(&[][..], |v| v)))
        .collect();
    let left = crate::analyses::left_behind::sockets(facts);
    let theirs = facts.retransmits.iter().filter(|r| r.err.is_none_or(|e| e == 0));
    let left_calls = theirs
        .filter(|r| r.connection.is_some_and(|c| left.contains(&c)))
        .count() as u64;
    let retransmits_solid = facts.retransmits.iter().filter(|r| r.confidence.is_solid()).count() as u64;
    let segments = facts.retransmits.iter().filter_map(|r| r.segments);
    let refused = facts.connections.iter().filter_map(|c| c.retransmits_refused);
    Outcome::Findings(Tcp {
        retransmit_segments: segments.fold(0, |sum, n| sum.saturating_add(n.into())),
        retransmits_unsized: facts.retransmits.iter().filter(|r| r.segments.is_none()).count() as u64,
        retransmits_refused: refused.reduce(u64::saturating_add),
        retransmits_recorded: facts.capture.recorded("tcp:tcp_retransmit_skb"),
        connections,
        retransmits,
        synacks: facts.retransmits.iter().filter(|r| r.synack.is_some()).count() as u64,
        retransmits_solid,
        retransmits_left_behind: left_calls,
        left_behind: left.len() as u64,
        lossy_hosts: lossy::lossy(facts, &left),
        timeouts_counted: risen(&facts.counters, "TcpExtTCPTimeouts"),
        needless: needless::needless(facts),
        reordered: risen_at_least(&facts.counters, &REORDERED).unwrap_or(0),
        sawtooths,
        backlogs: backlogs::backlogs(facts),
    })
}

/// `saddr:sport > daddr:dport`; an unknown address is `?`.
pub(crate) fn label(c: &ConnectionRow) -> String {
    format!("{} > {}", end(c.saddr, c.sport), end(c.daddr, c.dport))
}

/// The same of what the peer sends: `daddr:dport > saddr:sport`.
pub(crate) fn label_from_peer(c: &ConnectionRow) -> String {
    format!("{} > {}", end(c.daddr, c.dport), end(c.saddr, c.sport))
}

/// `10.0.0.3:40000 > 10.0.0.1:443`, client first, whichever end it is.
pub(crate) fn as_opened(c: &ConnectionRow) -> String {
    match c.role().0 {
        Role::Server => label_from_peer(c),
        Role::Client => label(c),
    }
}

fn end(a: Option<IpAddr>, p: u16) -> String {
    match a {
        Some(IpAddr::V6(a)) => format!("[{a}]:{p}"),
        Some(a) => format!("{a}:{p}"),
        None => format!("?:{p}"),
    }
}
