//! The connections that sent, most segments first, and the round trip by remote address.

use std::collections::BTreeMap;

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::backoff::{self, Backoff};
use super::clamped::{self, Clamped};
use super::initial::{self, Births, Initial};
use super::marked::{self, Marked, Reductions};
use super::paced::{self, Paced};
use super::reader::{Reader, Readers};
use super::restarts::{self, Around, Restarts};
use super::small::{self, Small};
use super::unscaled::{self, Unscaled};
use super::worst;
use crate::analyses::tcp::all_needless;
use crate::analyses::units::Unit;
use crate::analyses::waits::{Top, top};
use crate::explain::Id;
use crate::facts::{ConnectionId, Facts, SkbId};
use crate::reconstruct::receive::tables::Censored;
use crate::reconstruct::tcp::tables::SampleRow;
use crate::reconstruct::transmit::Spent;
use crate::reconstruct::transmit::stages::{STAGES, Stage};
use crate::reconstruct::transmit::tables::{TxEnd, TxKind, TxRow};
use crate::stat::Distribution;

/// Connections kept: those with most segments.
pub const CONNECTIONS: usize = 100;

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
    /// ns in which it was held, each moment counted once.
    pub held_ns: i64,
    /// The wait that was most of that.
    pub held_by: Option<&'static str>,
    /// What held it: shares of the time in which something of it waited or was not acknowledged, each moment counted once;
    /// largest first.
    pub limiters: Vec<(&'static str, f64)>,
    /// Payload of its segments over that time, Mbit/s; `None` where it was sent again in vain: nothing is known to have arrived.
    pub mbit_per_s: Option<f64>,
    /// What was in flight, and its windows.
    pub flight: Option<Flight>,
    /// Device to ACK, of solid segments never sent again.
    pub rtt: Distribution,
    /// Its peer's window held it and could not grow: window scaling is not in use.
    pub unscaled: Option<Unscaled>,
    /// Its congestion window was made small in pauses.
    pub restarts: Option<Restarts>,
    /// Its segments are far smaller than its device would carry.
    pub small: Option<Small>,
    /// Its congestion window was reduced for ECN's marks.
    pub marked: Option<Marked>,
    /// It stalled, at last for its retransmission timer.
    pub backoff: Option<Backoff>,
    /// It is paced at one even rate.
    pub paced: Option<Paced>,
    /// The socket that reads what it sends, where that is in the recording.
    #[serde(skip)]
    pub reader: Option<Reader>,
}

/// What a socket had in flight, and the windows it had then: of the probes at which something was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Flight {
    /// Such probes.
    pub n: u64,
    /// Bytes sent and not acknowledged, median.
    pub bytes: i64,
    /// And the most.
    pub max_bytes: i64,
    /// The peer's window, bytes, median.
    pub snd_wnd: i64,
    /// And the most.
    pub max_wnd: i64,
    /// Its congestion window, packets, median.
    pub snd_cwnd: i64,
    /// And the most.
    #[serde(skip)]
    pub max_cwnd: i64,
    /// Of all probes, also those without anything in flight, such at which the window was less than half of its most.
    #[serde(skip)]
    pub shrunk: u64,
}

impl Flight {
    fn of(samples: &[&SampleRow]) -> Option<Flight> {
        let bytes = |s: &SampleRow| i64::from(s.snd_nxt.wrapping_sub(s.snd_una));
        let busy: Vec<&SampleRow> = samples.iter().copied().filter(|s| bytes(s) > 0).collect();
        let median = |of: &dyn Fn(&SampleRow) -> i64| {
            let mut v: Vec<i64> = busy.iter().map(|s| of(s)).collect();
            v.sort_unstable();
            v.get(v.len() / 2).copied()
        };
        let max_wnd = busy.iter().map(|s| i64::from(s.snd_wnd)).max()?;
        Some(Flight {
            shrunk: (samples
                .iter()
                .filter(|s| i64::from(s.snd_wnd).saturating_mul(2) < max_wnd))
            .count() as u64,
            n: busy.len() as u64,
            bytes: median(&bytes)?,
            max_bytes: busy.iter().map(|s| bytes(s)).max()?,
            snd_wnd: median(&|s| s.snd_wnd.into())?,
            max_wnd,
            snd_cwnd: median(&|s| s.snd_cwnd.into())?,
            max_cwnd: busy.iter().map(|s| i64::from(s.snd_cwnd)).max()?,
        })
    }
}

/// Number of a connection, its rows, its round trips.
type Rows<'f> = (u32, Vec<&'f TxRow>, Vec<(i64, SkbId)>);

/// What is known of those that sent.
pub(super) struct Senders {
    /// Those kept.
    pub(super) kept: Vec<Sender>,
    /// Round trips by remote address.
    pub(super) rtt_by_host: BTreeMap<String, Distribution>,
    /// The segment with the longest of each.
    pub(super) rtt_worst: BTreeMap<String, Id>,
    /// Those that began with a small window.
    pub(super) initial: Option<Initial>,
    /// Those whose window stands still.
    pub(super) clamped: Option<Clamped>,
}

/// Of all rows.
pub(super) fn senders(facts: &Facts) -> Senders {
    let mut all = by_connection(facts);
    let mut hosts: BTreeMap<String, Vec<(i64, SkbId)>> = BTreeMap::new();
    for (c, _, rtts) in &all {
        if let Some(host) = facts.connections.get(*c as usize).and_then(|c| c.daddr) {
            hosts.entry(host.to_string()).or_default().extend(rtts);
        }
    }
    all.sort_by_key(|(c, rows, _)| (std::cmp::Reverse(rows.len()), *c));
    all.truncate(CONNECTIONS);
    let mut samples: FxHashMap<u32, Vec<&SampleRow>> = all.iter().map(|of| (of.0, vec![])).collect();
    for s in &facts.tcp_samples {
        if let Some(of) = samples.get_mut(&s.connection.0) {
            of.push(s);
        }
    }
    let (around, births, reductions) = (Around::of(facts), Births::of(facts), Reductions::of(facts));
    let (readers, needless) = (Readers::of(facts), all_needless(facts));
    let kept = all.into_par_iter().map(|of| {
        let (samples, rows) = (samples.get(&of.0).map_or(&[][..], Vec::as_slice), of.1.clone());
        let mut s = Sender {
            flight: Flight::of(samples),
            ..sender(facts, of, needless)
        };
        s.unscaled = unscaled::unscaled(facts, &s, samples, &readers);
        s.restarts = restarts::restarts(facts, s.connection, (&rows, samples), &around);
        s.small = small::small(facts, &s, &rows, samples);
        s.marked = marked::marked(facts, &s, &reductions);
        s.backoff = backoff::backoff(facts, &s, samples);
        s.paced = paced::paced(facts, &s, &rows);
        s.reader = readers.reader(ConnectionId(s.connection));
        let began = initial::began(facts, &s, (&rows, samples), &births);
        let stands = clamped::stands(facts, &s, samples, &around);
        (s, began, stands)
    });
    let kept: Vec<_> = kept.collect();
    let began: Vec<_> = kept.iter().filter_map(|(s, began, _)| Some((s, (*began)?))).collect();
    let initial = initial::initial(facts, &began);
    let stands: Vec<_> = kept.iter().map(|(s, _, stands)| (s, *stands)).collect();
    let clamped = clamped::clamped(facts, &stands);
    let kept = kept.into_iter().map(|of| of.0).collect();
    let longest = |(host, of): (&String, &Vec<(i64, SkbId)>)| Some((host.clone(), worst(of.iter().copied())?));
    let rtt_worst = hosts.iter().filter_map(longest).collect();
    let of_host = |(host, of): (String, Vec<(i64, SkbId)>)| (host, times(&of));
    let hosts: Vec<(String, Vec<(i64, SkbId)>)> = hosts.into_iter().collect();
    Senders {
        kept,
        rtt_by_host: hosts.into_par_iter().map(of_host).collect(),
        rtt_worst,
        initial,
        clamped,
    }
}

fn times(of: &[(i64, SkbId)]) -> Distribution {
    Distribution::of(of.iter().map(|(ns, _)| *ns).collect(), 0)
}

fn by_connection(facts: &Facts) -> Vec<Rows<'_>> {
    let mut nth: FxHashMap<u32, usize> = FxHashMap::default();
    let mut all: Vec<Rows<'_>> = vec![];
    for r in facts.tx.iter().filter(|r| r.kind == TxKind::Tcp) {
        let Some(c) = r.connection else { continue };
        let nth = *nth.entry(c.0).or_insert_with(|| {
            all.push((c.0, vec![], vec![]));
            all.len() - 1
        });
        if let Some((_, rows, rtts)) = all.get_mut(nth) {
            rows.push(r);
            rtts.extend(round_trip(r).map(|ns| (ns, r.skb_id)));
        }
    }
    all
}

/// `needless`: what was sent again had arrived, and no wait until then held anything.
fn sender(facts: &Facts, (connection, rows, rtts): Rows<'_>, needless: bool) -> Sender {
    let row = facts.connections.get(connection as usize);
    // By stage: of all segments, and of the acknowledged ones.
    let (mut every, mut acked) = ([0i64; STAGES], [0i64; STAGES]);
    let (mut bytes, mut retransmits) = (0, 0);
    let mut whole = vec![];
    for r in &rows {
        bytes += r.bytes.map_or(0, u64::from);
        retransmits += u64::from(r.retransmits);
        add(&mut every, r);
        if r.is_whole() {
            add(&mut acked, r);
            whole.push(*r);
        }
    }
    // Rows alone (of no reconstruction) say less: waits of segments, which overlap.
    let spent = facts.spent.get(&ConnectionId(connection));
    let counts = |s: &Stage| s.holds() && !(needless && *s == Stage::Recovery);
    let held = || Stage::ALL.into_iter().zip(acked).filter(|s| counts(&s.0));
    let most = held().rev().max_by_key(|s| s.1);
    let mut limiters = spent.map_or_else(|| limiters(every), Spent::shares);
    limiters.retain(|(by, _)| !(needless && *by == Stage::Recovery.name()));
    let held_by = match spent {
        Some(_) => limiters.first().map(|s| s.0),
        None => most.filter(|s| s.1 > 0).map(|s| s.0.name()),
    };
    let busy = spent.map(|s| s.busy_ns).filter(|ns| *ns > 0);
    let in_vain = |s: &Spent| if needless { s.of(Stage::Recovery) } else { 0 };
    Sender {
        held_ns: spent.map_or_else(
            || held().fold(0i64, |sum, s| sum.saturating_add(s.1)),
            |s| s.held_ns().saturating_sub(in_vain(s)),
        ),
        held_by,
        mbit_per_s: busy.map(|ns| bytes as f64 * 8e3 / ns as f64),
        flight: None,
        connection,
        label: row.map_or_else(String::new, crate::analyses::tcp::label),
        segments: rows.len() as u64,
        bytes,
        retransmits,
        top: top(whole),
        limiters,
        rtt: times(&rtts),
        unscaled: None,
        restarts: None,
        small: None,
        marked: None,
        backoff: None,
        paced: None,
        reader: None,
    }
}

/// Adds a row's waits to their sums.
fn add(sums: &mut [i64; STAGES], r: &TxRow) {
    for (sum, stage) in sums.iter_mut().zip(Stage::ALL) {
        *sum = sum.saturating_add(r.stage(stage).unwrap_or(0));
    }
}

/// Device to ACK, where it is one transmission's.
fn round_trip(r: &TxRow) -> Option<i64> {
    let whole = r.end == TxEnd::Acked && r.censored != Some(Censored::Loss);
    let solid = whole && r.retransmits == 0 && r.confidence.is_solid();
    r.stage(Stage::Network)
        .filter(|_| solid)
        .map(|ns| ns.saturating_add(r.stage(Stage::Completion).unwrap_or(0)))
}

/// Shares of the time before the device, by the sums of its waits.
fn limiters(sums: [i64; STAGES]) -> Vec<(&'static str, f64)> {
    let before = || Stage::ALL.into_iter().zip(sums).filter(|s| s.0.before_device());
    let whole = before().fold(0i64, |a, s| a.saturating_add(s.1));
    let of = before().filter(|s| s.1 > 0 && whole > 0);
    let mut shares: Vec<(&'static str, f64)> = of.map(|(s, ns)| (s.name(), ns as f64 / whole as f64)).collect();
    shares.sort_by(|a, b| b.1.total_cmp(&a.1));
    shares
}
