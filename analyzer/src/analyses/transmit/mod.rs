//! Where do sent segments spend their time? Per stage of the transmit ledger, per connection, and the round trip by host.
//!
//! Needs the view `tx`. Percentiles are of TCP segments with payload that were acknowledged; what is open (censored by the
//! end of the recording), was under way when it began or while events were lost (`excluded`), was dropped, or ends at a
//! device (UDP, control, others) is counted apart. Solid = certain or strong.
//! The round trip is the stage `network` of segments never sent again, so it leaves the host's own waits out, and keeps the
//! peer's delayed ACKs in. A segment's waits overlap those of the segments queued with it: shares are of segments' time; what
//! held a connection (`limiters`) is of its time, each moment counted once.

use std::collections::BTreeMap;

use rustc_hash::FxHashSet;

use crate::Confidence;
use crate::analyses::tcp::all_needless;
use crate::analyses::units::Units;
use crate::analyses::waits::StageTimes;
use crate::analyses::{Outcome, not_recorded, reasons};
use crate::explain::{Id, Kind};
use crate::facts::{ConnectionId, Facts, Reason, SkbId};
use crate::reconstruct::limiters::tables::LimiterRow;
use crate::reconstruct::receive::tables::Censored;
use crate::reconstruct::tcp::tables::RetransmitClass;
use crate::reconstruct::transmit::Stage;
use crate::reconstruct::transmit::tables::{TxEnd, TxKind, TxRow, TxStart};
use crate::stat::Distribution;

mod acks;
mod backoff;
mod black_hole;
mod blocked;
mod clamped;
mod classes;
mod corked;
mod initial;
mod inside_tcp;
mod marked;
mod naps;
mod own_line;
mod paced;
mod passed_on;
mod peer;
mod queues;
mod reader;
mod rescaled;
mod restarts;
mod senders;
mod slowest;
mod small;
#[cfg(test)]
mod tests;
mod tiny;
mod unacked;
mod unscaled;
mod vanished;
mod went_silent;

pub use acks::LateAcks;
pub use backoff::Backoff;
pub use black_hole::BlackHole;
pub use blocked::Blocked;
pub use clamped::Clamped;
pub use classes::{Class, Starved};
pub use corked::Corked;
pub use own_line::OwnLine;
pub use vanished::Vanished;
pub use went_silent::WentSilent;

pub use initial::{Initial, Rounds};
pub use inside_tcp::{Inside, InsideTcp};
pub use marked::Marked;
pub use naps::Naps;
pub use paced::Paced;
pub use peer::PeerPart;
pub(crate) use peer::Peers;
pub use queues::DeviceQueue;
pub use reader::Reader;
pub use rescaled::{Disagreed, Held, OneSided, Rescaled};
pub use restarts::Restarts;
pub use senders::{CONNECTIONS, Flight, Sender};
pub use slowest::Slowest;
pub use small::Small;
pub use tiny::Tiny;
pub use unacked::Unacked;
pub use unscaled::Unscaled;

/// The event that tells of ACKs, and the one of the states of their sockets.
const ACKS: &str = "tcp:tcp_probe";
const STATES: &str = "sock:inet_sock_set_state";

/// The answer.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Transmit {
    /// TCP segments with payload that were acknowledged.
    pub acked: u64,
    /// Not acknowledged when the recording ended.
    pub open: u64,
    /// The longest that one of them is known to have been under way since it was first queued on its device, ns. What it waited for before
    /// that, in the write queue, is no ACK.
    pub open_at_least_ns: Option<i64>,
    /// TCP segments with payload in no percentile, by why: `censored_start`, `censored_end`, `loss`, `ack_not_told` (no ACK was seen, and none would have been: the
    /// states of sockets are not recorded, or a slice has not those of other flows); and `not_solid`, those in the percentiles of all but not in the solid ones. Causes that excluded nothing are not there.
    pub excluded: BTreeMap<&'static str, u64>,
    /// Dropped in this host and not acknowledged.
    pub dropped: u64,
    /// Other packets by kind.
    pub others: BTreeMap<&'static str, u64>,
    /// Packets that were only passed on for others.
    #[serde(skip)]
    pub passed_on: u64,
    /// Of those who speak through this host: pairs of addresses of which one sends on, and nothing comes back any more.
    pub went_silent: Option<WentSilent>,
    /// TCP segments with payload by confidence word.
    pub by_confidence: BTreeMap<&'static str, u64>,
    /// Acknowledged segments by which event their time starts at: `sendmsg`, `write_queue`, `queue`.
    pub starts: BTreeMap<&'static str, u64>,
    /// Start to ACK, acknowledged segments only.
    pub total: StageTimes,
    /// Whose the longest of these are, and the one that is open longest.
    #[serde(skip)]
    pub slowest: Slowest,
    /// See there.
    #[serde(skip)]
    pub open_of: Option<String>,
    /// Per stage, in the order of the path.
    pub stages: Vec<StageTimes>,
    /// Time in no stage.
    pub unattributed: StageTimes,
    /// Held by this host or the peer's window: the sum of a segment's waits, 0 where there was none.
    pub held: StageTimes,
    /// The same with the time until something was sent again without need.
    #[serde(skip)]
    pub held_or_again: StageTimes,
    /// How much of the time from the device to the ACK was the peer's application's, of segments whose peer is in the recording too.
    pub peer: Option<PeerPart>,
    /// Connections, most segments first.
    pub connections: Vec<Sender>,
    /// The end most of whose connections began with a congestion window smaller than Linux's, which held them.
    pub initial: Option<Initial>,
    /// The end and host most of whose connections have a congestion window that stands still, though it is full and nothing is lost.
    pub clamped: Option<Clamped>,
    /// Queues of devices, the longest wait first.
    pub queues: Vec<DeviceQueue>,
    /// The connection whose ACKs waited longest behind other packets in a queue of this host, while its data did not.
    pub late_acks: Option<LateAcks>,
    /// The service, or connection, most of whose segments lay in their own socket with nothing in flight until a timer sent them; inferred.
    pub corked: Option<Corked>,
    /// The connection most of whose small messages lay long behind a large one that had been written before.
    pub own_line: Option<OwnLine>,
    /// The tunnel of a program that goes through one TCP connection, of which segments were sent again.
    pub inside_tcp: Option<InsideTcp>,
    /// The device behind which most of what was sent again was not seen again.
    pub vanished: Option<Vanished>,
    /// The peer of whom no large segment was acknowledged, while small ones were; inferred.
    pub black_hole: Option<BlackHole>,
    /// All that was sent again was sent without need: the time until then was no wait for a loss to be repaired.
    #[serde(skip)]
    pub needless: bool,
    /// The connection of whose data nothing was acknowledged, though it was retransmitted.
    #[serde(skip)]
    pub unacked: Option<Unacked>,
    /// The thread that slept longest in sends to one peer, while it sent nothing to others that it serves.
    pub blocked: Option<Blocked>,
    /// The program that slept longest for a time of its own when its socket took no more.
    pub naps: Option<Naps>,
    /// The connection with most segments that carry next to nothing, one way.
    pub tiny: Option<Tiny>,
    /// Device to ACK by remote address, of solid segments never sent again.
    pub rtt_by_host: BTreeMap<String, Distribution>,
    /// First transmission to the last one, of acknowledged segments sent again, by why the last time (class of `retransmits`).
    pub recovery: BTreeMap<&'static str, Distribution>,
    /// The segment with the largest of each `rtt_by_host`, of equals the one with the smallest id.
    pub rtt_worst: BTreeMap<String, Id>,
    /// The same of `recovery`.
    pub recovery_worst: BTreeMap<&'static str, Id>,
    /// What the two ends of connections do not believe alike of what they agreed on.
    #[serde(skip)]
    pub disagreed: Disagreed,
    /// What the recording lacks for this ledger.
    pub lacks: Vec<Reason>,
}

impl Transmit {
    /// Why no ACK can be known: the reasons among `lacks` that name the event that tells of ACKs.
    pub fn no_acks(&self) -> Vec<&Reason> {
        self.lacks.iter().filter(|r| r.because.contains(ACKS)).collect()
    }
    /// The connection that was held longest, but for those whose data was sent again in vain: what had no ACK at all was not held until one came.
    pub fn most_held(&self) -> Option<&Sender> {
        let vain = |c: &&Sender| self.unacked.as_ref().is_some_and(|u| u.has(c.connection));
        let held = self.connections.iter().filter(|c| c.held_ns > 0 && !vain(c));
        held.max_by_key(|c| (c.held_ns, std::cmp::Reverse(c.connection)))
    }
}

/// The connections that sent, most segments first.
pub fn senders_of(facts: &Facts) -> Vec<Sender> {
    senders::senders(facts).kept
}

/// The segment with the longest time, of equals the one with the smallest id.
fn worst(of: impl Iterator<Item = (i64, SkbId)>) -> Option<Id> {
    let (_, skb) = of.min_by_key(|(ns, skb)| (std::cmp::Reverse(*ns), *skb))?;
    Some(Id::new(Kind::Tx, skb.0))
}

/// Asks.
pub fn answer(facts: &Facts, units: &Units<'_, TxRow>) -> Outcome<Transmit> {
    if facts.tx.is_empty() {
        let none = not_recorded(facts, &["net:net_dev_queue"]);
        let none = none.unwrap_or_else(|| "no packet was sent in this recording".into());
        return Outcome::Unknown(reasons(facts, "tx", &none));
    }
    let counts = Counts::of(facts);
    let senders::Senders {
        kept: mut connections,
        rtt_by_host,
        rtt_worst,
        initial,
        clamped,
    } = senders::senders(facts);
    let needless = all_needless(facts);
    let unacked = unacked::unacked(facts);
    let vain = |c: &&mut Sender| unacked.as_ref().is_some_and(|u| u.has(c.connection));
    connections.iter_mut().filter(vain).for_each(|c| c.mbit_per_s = None);
    let mut recovery: BTreeMap<RetransmitClass, Vec<(i64, SkbId)>> = BTreeMap::new();
    let mut starts: BTreeMap<TxStart, u64> = BTreeMap::new();
    for r in units.rows() {
        *starts.entry(r.start).or_insert(0) += 1;
        if let Some(ns) = r.stage(Stage::Recovery) {
            let class = r.recovery_by.unwrap_or(RetransmitClass::Unknown);
            recovery.entry(class).or_default().push((ns, r.skb_id));
        }
    }
    let waits = "waits of this host and for the peer's window";
    Outcome::Findings(Transmit {
        acked: units.rows().len() as u64,
        open: counts.open,
        open_at_least_ns: counts.open_at_least_ns,
        open_of: slowest::named(facts, counts.open_of),
        slowest: slowest::slowest(facts, units.rows()),
        excluded: counts.excluded,
        dropped: counts.dropped,
        passed_on: passed_on::passed_on(facts),
        went_silent: went_silent::went_silent(facts),
        others: counts.others.into_iter().map(|(k, n)| (k.word(), n)).collect(),
        by_confidence: counts.by_confidence.into_iter().map(|(c, n)| (c.word(), n)).collect(),
        blocked: blocked::blocked(facts),
        naps: naps::naps(facts),
        tiny: tiny::tiny(facts),
        late_acks: acks::late(facts),
        corked: corked::corked(facts),
        own_line: own_line::own_line(facts),
        inside_tcp: inside_tcp::inside_tcp(facts),
        vanished: vanished::vanished(facts),
        black_hole: black_hole::black_hole(facts),
        unacked,
        needless,
        starts: starts.into_iter().map(|(s, n)| (s.word(), n)).collect(),
        total: units.total(),
        stages: units.stages(),
        unattributed: units.unattributed(),
        held: units.times("held", waits, |r| {
            Some(held(r, |s| s.holds() && !(needless && s == Stage::Recovery)))
        }),
        held_or_again: units.times("held", waits, |r| Some(held(r, Stage::holds))),
        peer: peer::peer_part(facts, units.rows()),
        disagreed: rescaled::disagreed(facts, &connections),
        connections,
        initial,
        clamped,
        queues: queues::queues(facts),
        rtt_by_host,
        rtt_worst,
        recovery_worst: recovery
            .iter()
            .filter_map(|(c, of)| Some((c.word(), worst(of.iter().copied())?)))
            .collect(),
        recovery: recovery
            .into_iter()
            .map(|(c, of)| {
                (
                    c.word(),
                    Distribution::of(of.into_iter().map(|(ns, _)| ns).collect(), 0),
                )
            })
            .collect(),
        lacks: lacks(facts),
    })
}

/// The sum of a segment's waits of some kinds, ns.
fn held(r: &TxRow, holds: impl Fn(Stage) -> bool) -> i64 {
    let waits = Stage::ALL.into_iter().filter(|s| holds(*s)).filter_map(|s| r.stage(s));
    waits.fold(0i64, i64::saturating_add)
}

/// The smallest lower bound that is told.
const LEAST_BOUND_NS: i64 = 10;

/// What is counted of all rows.
#[derive(Default)]
struct Counts {
    open: u64,
    open_at_least_ns: Option<i64>,
    /// Whose that is.
    open_of: Option<ConnectionId>,
    dropped: u64,
    excluded: BTreeMap<&'static str, u64>,
    others: BTreeMap<TxKind, u64>,
    by_confidence: BTreeMap<Confidence, u64>,
}

impl Counts {
    fn of(facts: &Facts) -> Counts {
        let mut counts = Counts::default();
        // A cut by flow or device keeps segments of others, and not their ACKs.
        let cut = facts.capture.part.slice.as_ref().is_some_and(|s| !s.subject.is_empty());
        let acked = facts.tx.iter().filter(|r| r.end == TxEnd::Acked).map(|r| r.connection);
        // What was sent again is of the cut's own flow, and had no ACK.
        let again: FxHashSet<_> = facts.retransmits.iter().map(|r| r.connection).collect();
        let acked: Option<FxHashSet<_>> = cut.then(|| acked.collect());
        // No ACK for a socket that is closing is told; without its states nobody knows which these are.
        let blind = facts.capture.recorded(ACKS) && !facts.capture.recorded(STATES);
        for r in &facts.tx {
            if r.kind != TxKind::Tcp {
                *counts.others.entry(r.kind).or_insert(0) += 1;
                continue;
            }
            *counts.by_confidence.entry(r.confidence).or_insert(0) += 1;
            counts.dropped += u64::from(r.end == TxEnd::Dropped);
            let told = !blind && acked.as_ref().is_none_or(|of| of.contains(&r.connection));
            let told = told || again.contains(&r.connection);
            if r.end == TxEnd::Open && !told && r.censored != Some(Censored::Loss) {
                *counts.excluded.entry("ack_not_told").or_insert(0) += 1;
                continue;
            }
            if r.end == TxEnd::Open {
                counts.open += 1;
                // Less is written as 0: that it was open for at least no time says nothing.
                let before = r.t_sched_ns.saturating_sub(r.start_ns).max(0);
                let bound = r.at_least_ns.map(|ns| ns.saturating_sub(before));
                let bound = bound.filter(|ns| *ns >= LEAST_BOUND_NS);
                if bound > counts.open_at_least_ns {
                    (counts.open_at_least_ns, counts.open_of) = (bound, r.connection);
                }
            }
            let why = match r.censored {
                Some(Censored::Start) => "censored_start",
                Some(Censored::Loss) => "loss",
                Some(Censored::End) => "censored_end",
                None if r.end == TxEnd::Acked && !r.confidence.is_solid() => "not_solid",
                None => continue,
            };
            *counts.excluded.entry(why).or_insert(0) += 1;
        }
        counts
    }
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
    of.extend(facts.limiters.iter().filter_map(|r| against_kernel(facts, r)));
    of
}

/// Where the kernel's own clock says otherwise of how long the peer's window held a sender.
fn against_kernel(facts: &Facts, r: &LimiterRow) -> Option<Reason> {
    let (kernel, ours) = r.apart()?;
    let row = facts.connections.get(r.connection.0 as usize);
    let label = row.map_or_else(String::new, crate::analyses::tcp::label);
    let because = format!(
        "TCP_INFO counted {:.3} s of rwnd for connection {} ({label}), this ledger {:.3} s (view limiters)",
        kernel as f64 / 1e9,
        r.connection.0,
        ours as f64 / 1e9
    );
    Some(Reason { subject: "tx", because })
}
