//! Data that TCP sent again: how often, and whose. By service: the end with the lower port, and whether it sends or is sent to.
//!
//! A segment counts where it is known what became of it: at its ACK, or at the call that sent it again. At the send call it would
//! count before it left: a send buffer fills in a moment and empties over seconds, and blocks of time would differ by that alone.
//!
//! In: `tx` rows, `retransmits`. Out: the rates `tcp.retransmits`, `tcp.rto` and, where more than one service has data,
//! `tcp.retransmits[to 10.0.0.1:443]`; what the sentence about them needs (`resent`).

use std::collections::{BTreeMap, BTreeSet};

use super::counted::{Counted, Exposure, Key, Kind};
use super::service::{self, Service};
use crate::diff::sides::options::Recording;
use crate::facts::ConnectionId;
use crate::reconstruct::tcp::tables::{RetransmitClass, RetransmitRow};
use crate::reconstruct::transmit::tables::{TxKind, TxRow};

/// The rate of calls that sent segments again.
pub(in crate::diff) const RETRANSMITS: &str = "tcp.retransmits";
/// The rate of those by a retransmission timer.
pub(in crate::diff) const RTO: &str = "tcp.rto";
/// Payload of a full segment on Ethernet with timestamps. Which size a connection's segments have no table tells.
const SEGMENT: u32 = 1_448;
/// Segments that a service must have on each side to be compared by itself.
const LEAST: f64 = 300.0;
/// Part of all data and calls from which a service is not told beside all.
const NEARLY_ALL: f64 = 0.9;
/// Services compared by themselves at most: those with most data.
const SERVICES: usize = 4;

/// What one recording sent again, of one service or of all.
#[derive(Debug, Clone, Default)]
pub(in crate::diff) struct Again {
    /// Calls that sent again.
    pub calls: u64,
    /// Segments that they sent; counted as one where that is not known.
    pub segments: u64,
    /// Calls of which it is not known how many they sent.
    pub not_known: u64,
    /// Segments sent, for the first time and again.
    pub sent: f64,
    /// Time in which some were sent and not acknowledged, ns.
    pub busy_ns: i64,
    /// Longest segment sent again, with headers, bytes; 0: not known.
    pub largest: u32,
}

impl Again {
    pub(in crate::diff) fn add(&mut self, o: &Again) {
        self.calls = self.calls.saturating_add(o.calls);
        self.segments = self.segments.saturating_add(o.segments);
        self.not_known = self.not_known.saturating_add(o.not_known);
        self.sent += o.sent;
        self.busy_ns = self.busy_ns.saturating_add(o.busy_ns);
        self.largest = self.largest.max(o.largest);
    }
}

/// The rate of a service.
fn metric(of: &Service) -> String {
    format!("{RETRANSMITS}[{}]", service::name(of))
}

/// Full segments that a row's payload is.
pub(in crate::diff) fn segments(row: &TxRow) -> u32 {
    row.bytes.map_or(1, |n| n.div_ceil(SEGMENT).max(1))
}

/// How long any of these spans lasts.
pub(in crate::diff) fn length(mut spans: Vec<(i64, i64)>) -> i64 {
    spans.sort_unstable();
    let (mut until, mut sum) = (i64::MIN, 0i64);
    for (from, to) in spans {
        sum = sum.saturating_add(to.saturating_sub(from.max(until)).max(0));
        until = until.max(to);
    }
    sum
}

/// Counts in one recording.
pub(in crate::diff) fn again(r: &Recording<'_>, out: &mut Counted, block: impl Fn(i64) -> Option<usize>) {
    let mut named: BTreeMap<ConnectionId, Option<Service>> = BTreeMap::new();
    let mut of = |c: Option<ConnectionId>| *named.entry(c?).or_insert_with_key(|c| service::service(r.facts, *c));
    let mut spans: BTreeMap<Option<Service>, Vec<(i64, i64)>> = BTreeMap::new();
    let mut all: BTreeMap<Option<Service>, Again> = BTreeMap::new();
    let rows = (r.facts.tx.iter()).filter(|x| x.kind == TxKind::Tcp && r.on(x.dev) && !r.is_alone(x.connection));
    for row in rows.clone() {
        let Some(b) = block(row.t_ack_ns.unwrap_or(row.t_sched_ns)) else {
            continue;
        };
        let segments = f64::from(segments(row));
        let service = of(row.connection);
        for whose in [None, service].into_iter().take(1 + usize::from(service.is_some())) {
            out.expose(Exposure::Data(whose.as_ref().map(service::name)), b, segments);
            all.entry(whose).or_default().sent += segments;
            if let Some(to) = row.t_ack_ns {
                let from = row.t_sched_ns.max(r.from_ns);
                spans.entry(whose).or_default().push((from, to.min(r.to_ns)));
            }
        }
    }
    let key =
        |metric: String, meaning| Key::new(metric, meaning, Kind::Events, true).needs(&["tcp:tcp_retransmit_skb"]);
    // Of a connection of these devices, or of none known.
    let here: BTreeSet<_> = rows.filter_map(|x| x.connection).collect();
    let counts = |t: &RetransmitRow| r.devices.is_empty() || t.connection.is_none_or(|c| here.contains(&c));
    for t in r
        .facts
        .retransmits
        .iter()
        .filter(|t| counts(t) && !r.is_alone(t.connection))
    {
        let Some(b) = block(t.time_ns) else { continue };
        let segments = t.segments.unwrap_or(1).max(1);
        let service = of(t.connection);
        for whose in [None, service].into_iter().take(1 + usize::from(service.is_some())) {
            let data = Exposure::Data(whose.as_ref().map(service::name));
            out.expose(data.clone(), b, f64::from(segments));
            let meaning = "calls that sent TCP segments again, per data segment acknowledged or sent again (of at most 1448 bytes)";
            let name = whose.as_ref().map_or_else(|| RETRANSMITS.to_owned(), metric);
            out.count(key(name, meaning), data, b, 1.0);
            let of = all.entry(whose).or_default();
            of.calls += 1;
            of.segments = of.segments.saturating_add(segments.into());
            of.not_known += u64::from(t.segments.is_none());
            of.sent += f64::from(segments);
            let one = t.bytes.zip(t.segments).map_or(0, |(bytes, n)| bytes.div_ceil(n.max(1)));
            of.largest = of.largest.max(one);
        }
        if t.class == RetransmitClass::Rto {
            let meaning =
                "retransmission timeouts, per data segment acknowledged or sent again (of at most 1448 bytes)";
            out.count(key(RTO.into(), meaning), Exposure::Data(None), b, 1.0);
        }
    }
    for (whose, spans) in spans {
        all.entry(whose).or_default().busy_ns = length(spans);
    }
    out.again = all;
}

/// What was sent again on both sides, by service; `None`: of all.
#[derive(Debug, Default)]
pub(in crate::diff) struct Resent {
    of: BTreeMap<Option<Service>, [Again; 2]>,
    /// Services compared by themselves.
    own: BTreeSet<Service>,
    /// The one that has nearly all.
    pub nearly_all: Option<Service>,
}

impl Resent {
    pub(in crate::diff) fn of(before: &[Counted], after: &[Counted], hidden: bool) -> Resent {
        let mut out = Resent::default();
        for (at, side) in [before, after].into_iter().enumerate() {
            for (whose, again) in side.iter().flat_map(|c| &c.again) {
                let sides = out.of.entry(*whose).or_default();
                if let Some(sum) = sides.get_mut(at) {
                    sum.add(again);
                }
            }
        }
        let whole = out.of.get(&None).cloned().unwrap_or_default();
        let part = |of: &[Again; 2], f: fn(&Again) -> f64| {
            let parts = of.iter().zip(&whole).filter(|(_, all)| f(all) > 0.0);
            parts.map(|(of, all)| f(of) / f(all)).fold(1.0, f64::min)
        };
        let mut services: Vec<(Service, f64)> = vec![];
        for (service, sides) in out.of.iter().filter_map(|(s, sides)| Some(((*s)?, sides))) {
            if part(sides, |a| a.sent).min(part(sides, |a| a.calls as f64)) >= NEARLY_ALL {
                out.nearly_all = Some(service);
            } else if sides.iter().all(|a| a.sent >= LEAST) {
                services.push((service, sides.iter().map(|a| a.sent).sum()));
            }
        }
        services.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        services.truncate(SERVICES);
        if !hidden {
            out.own = services.into_iter().map(|(s, _)| s).collect();
        }
        out
    }
    /// Whether this is compared by itself.
    pub fn compares(&self, name: &str) -> bool {
        self.own.iter().any(|s| service::name(s) == name)
    }
    /// Whose a rate is, and what was sent again; `None`: it is no rate of calls that sent again.
    pub fn whose(&self, metric_of: &str) -> Option<(Option<Service>, &[Again; 2])> {
        let whose = match metric_of == RETRANSMITS {
            true => self.nearly_all,
            false => Some(*self.own.iter().find(|s| metric(s) == metric_of)?),
        };
        Some((whose, self.of.get(&whose)?))
    }
    /// Segments sent again, for the meaning of a rate.
    pub fn segments(&self, metric_of: &str) -> Option<String> {
        let (_, sides) = self.whose(metric_of)?;
        let text = |a: &Again| match a.not_known {
            0 => a.segments.to_string(),
            _ => "not known".into(),
        };
        let [before, after] = sides.each_ref().map(text);
        Some(format!("segments: {before} before, {after} after"))
    }
}
