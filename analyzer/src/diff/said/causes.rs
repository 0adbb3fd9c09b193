//! Causes with a name that one side has and the other has not: another congestion control, slow start after idle, window scaling, the size of segments, requests one at
//! a time, requests given up. By service: the end with the lower port, and whether it sends or is sent to.
//!
//! In: the senders of `analyses::transmit`. Out: a sentence each. Of parts of recordings nothing is said: a pause may lie across.

use std::collections::BTreeMap;

use crate::analyses::opens::herd::{Herd, herd};
use crate::analyses::transmit::{Restarts, Sender, senders_of};
use crate::analyses::verdict::{duration, herd as words_of_herd};
use crate::diff::servers::{Servers, pools};
use crate::diff::sides::{options::Recording, recorded};
use crate::diff::values::service::{Service, service, whose};
use crate::facts::{ConnectionId, Facts};
use crate::name::Name;

/// Segments so many times as large are others.
const TIMES: u32 = 2;
/// Fewest full frames that tell their size.
const FRAMES: u64 = 10;
/// All but one in so many have it.
const NEARLY: u64 = 10;

/// What the senders of one service do, on one side.
#[derive(Debug, Default)]
struct Side {
    pauses: u64,
    restarts: u64,
    /// Of the connection that waited most.
    worst: Option<Restarts>,
    /// Full segments, bytes; smallest and largest of the connections'.
    mss: Option<(u32, u32)>,
    /// Headers of a segment, bytes.
    headers: u32,
    /// Connections held for want of window scaling, and those known to have it.
    unscaled: u64,
    scaled: u64,
    /// Connections by their congestion control.
    congestion: BTreeMap<Name, u64>,
}

impl Side {
    fn add(&mut self, facts: &Facts, s: &Sender) {
        if let Some(r) = s.restarts {
            self.pauses += r.pauses;
            self.restarts += r.restarts;
            let more = self.worst.is_none_or(|w| w.wait_ns < r.wait_ns);
            if r.matter() && more {
                self.worst = Some(r);
            }
        }
        let c = ConnectionId(s.connection);
        if let Some(full) = facts.full_segments.get(&c).filter(|f| f.frames >= FRAMES) {
            let (least, most) = self.mss.unwrap_or((full.mss, full.mss));
            self.mss = Some((least.min(full.mss), most.max(full.mss)));
            self.headers = full.headers;
        }
        self.unscaled += u64::from(s.unscaled.is_some());
        if let Some(name) = facts.negotiated.get(&c).and_then(|n| n.congestion) {
            *self.congestion.entry(name).or_default() += 1;
        }
        let scaled = facts.negotiated.get(&c).is_some_and(|n| n.window_scaling);
        self.scaled += u64::from(scaled);
    }
    fn headers_of(&self, payload: u32) -> f64 {
        100.0 * f64::from(self.headers) / f64::from(self.headers.saturating_add(payload).max(1))
    }
}

fn sides(of: &[Recording<'_>]) -> BTreeMap<Service, Side> {
    let mut out: BTreeMap<Service, Side> = BTreeMap::new();
    for r in of {
        for s in senders_of(r.facts) {
            let Some(service) = service(r.facts, ConnectionId(s.connection)) else {
                continue;
            };
            out.entry(service).or_default().add(r.facts, &s);
        }
    }
    out
}

fn restarts(service: &Service, b: &Side, a: &Side) -> Option<String> {
    let only = |with: &Side, without: &Side| with.worst.filter(|_| without.pauses > 0 && without.restarts == 0);
    let (r, when, (with, without)) = match (only(a, b), only(b, a)) {
        (Some(r), _) => (r, "after", (a, b)),
        (_, Some(r)) => (r, "before", (b, a)),
        _ => return None,
    };
    Some(format!(
        "The congestion window for {} falls in pauses only {when}: in {} of {}, without loss, from {} to {} segments, and what was sent then waited {} for it to grow again; on the other side in none of {}. That is slow start after idle (net.ipv4.tcp_slow_start_after_idle).",
        whose(service),
        with.restarts,
        with.pauses,
        r.before,
        r.after,
        duration(r.wait_ns),
        without.pauses,
    ))
}

/// The congestion control of nearly all, where it is another one.
fn congestion(service: &Service, b: &Side, a: &Side) -> Option<String> {
    let nearly = |of: &Side| {
        let all: u64 = of.congestion.values().sum();
        let (name, n) = of.congestion.iter().max_by_key(|(_, n)| **n)?;
        (n.saturating_mul(NEARLY) >= all.saturating_mul(NEARLY - 1)).then_some((*name, *n))
    };
    let ((before, b), (after, a)) = nearly(b).zip(nearly(a))?;
    (before != after).then(|| {
        format!(
            "The congestion control for {} is {} in place of {} (of {a} and {b} connections whose sockets are listed): how far they slow down for a loss, and how soon they are fast again, differs.",
            whose(service),
            after.text(),
            before.text()
        )
    })
}

fn sizes(service: &Service, b: &Side, a: &Side) -> Option<String> {
    let ((b_least, b_most), (a_least, a_most)) = b.mss.zip(a.mss)?;
    let apart = a_most.saturating_mul(TIMES) <= b_least || b_most.saturating_mul(TIMES) <= a_least;
    apart.then(|| {
        format!(
            "Full segments (MSS) of {} have {b_most} bytes before and {a_most} after, {:.1} % and {:.1} % of each frame headers.",
            whose(service),
            b.headers_of(b_most),
            a.headers_of(a_most)
        )
    })
}

fn scaling(service: &Service, b: &Side, a: &Side) -> Option<String> {
    let only = |with: &Side, without: &Side| {
        with.unscaled > 0 && with.scaled == 0 && without.unscaled == 0 && without.scaled > 0
    };
    let when = match (only(a, b), only(b, a)) {
        (true, _) => "after",
        (_, true) => "before",
        _ => return None,
    };
    Some(format!(
        "For {} there is no window scaling {when}: at most 65,535 bytes in flight; on the other side there is.",
        whose(service)
    ))
}

/// A sentence for each that differs.
pub(in crate::diff) fn said(before: &[Recording<'_>], after: &[Recording<'_>], servers: &Servers) -> Vec<String> {
    let (b, a) = (sides(before), sides(after));
    let both = b.iter().filter_map(|(s, b)| Some((s, b, a.get(s)?)));
    let of = |(s, b, a): (&Service, &Side, &Side)| {
        [congestion(s, b, a), restarts(s, b, a), sizes(s, b, a), scaling(s, b, a)]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
    };
    let pools = pools::said(before, after).into_iter();
    let herds = herds(before, after).into_iter();
    let gave_up = servers.gave_up.iter().map(|t| t.sentence.clone());
    let detours = servers.detours.iter().map(|d| d.sentence.clone());
    gave_up
        .chain(detours)
        .chain(both.flat_map(of))
        .chain(herds)
        .chain(pools)
        .take(MOST)
        .collect()
}

/// A socket that wakes many threads at once on one side alone.
fn herds(before: &[Recording<'_>], after: &[Recording<'_>]) -> Option<String> {
    // Where it was not recorded, nobody knows.
    if recorded::not_recorded(before, after, &HERD_NEEDS).is_some() {
        return None;
    }
    let most = |side: &[Recording<'_>]| {
        let all = side.iter().filter_map(|r| Some((herd(r.facts)?, r.duration_ns())));
        all.max_by_key(|(h, _)| h.woken)
    };
    // As often on the other side it would have been seen there; it is none there with fewer times, and yet one.
    let alone = |(h, ns): &(Herd, i64), other: &[Recording<'_>]| {
        let time: i64 = other.iter().map(Recording::duration_ns).sum();
        let expected = h.times as f64 * time as f64 / (*ns).max(1) as f64;
        let rows = other.iter().flat_map(|r| &r.facts.herds);
        let had = rows.map(|r| r.times).max().unwrap_or(0) as f64;
        expected >= HERD_EXPECTED && had * HERD_TIMES <= expected
    };
    let (h, when) = match (most(before), most(after)) {
        (None, Some(h)) if alone(&h, before) => (h.0, "after"),
        (Some(h), None) if alone(&h, after) => (h.0, "before"),
        _ => return None,
    };
    Some(format!("Only {when}: {}.", words_of_herd(&h)))
}

/// Sentences at most.
const MOST: usize = 3;
/// Events that tell of herds.
const HERD_NEEDS: [&str; 2] = ["sock:sk_data_ready", "sched:sched_waking"];
/// Times that the side without a herd would have had it, were it as often there.
const HERD_EXPECTED: f64 = 10.0;
/// It has so many times fewer.
const HERD_TIMES: f64 = 4.0;
