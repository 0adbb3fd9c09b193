//! The sentence about what TCP sent again: whose, how much, and what the round trip and the speed did beside it. Where a queue on the
//! way gave place to losses, or the other way round, it says so: inferred, from what this host did not drop and how long the way took.
//!
//! In: rates, metrics, what was sent again, drops and counters of both sides. Out: sentences.

use std::collections::BTreeSet;
use std::net::IpAddr;

use super::verdict::Outcome;
use crate::analyses::verdict::{duration, rate};
use crate::counters::tables::{refused, risen};
use crate::diff::judged::{
    compare::{Metric, Shift},
    rates::Rate,
};
use crate::diff::sides::options::Recording;
use crate::diff::values::{
    again::{Again, Resent},
    rtt,
    service::{self, Service},
};

/// Part of the calls that this host's drops may be, and yet not explain them.
const FEW: f64 = 0.1;
/// Part of all that was sent again that the other ends must have had already for it not to be lost. Of more than all that came twice the network made the rest.
const NEEDLESS: std::ops::RangeInclusive<f64> = 0.9..=1.1;
/// Part of the median below which the shortest round trip of a side shows that there was a queue.
const SHORTEST: f64 = 0.7;

/// Length of a full segment with headers, least and most: of about 1448 bytes of payload.
const FULL: (u32, u32) = (1_400, 1_600);

/// What both sides say of data that was sent again.
#[derive(Debug, Default)]
pub(in crate::diff) struct Told {
    resent: Resent,
    own: BTreeSet<IpAddr>,
    /// Packets that each side's hosts dropped, or may have; `None`: not recorded.
    dropped: [Option<u64>; 2],
    /// Times that peers said that something came twice (DSACK); `None`: not known.
    twice: [Option<u64>; 2],
    /// Segments that all connections together sent again; `None`: of some it is not known how many.
    all: [Option<u64>; 2],
}

fn dropped(r: &Recording<'_>) -> Option<u64> {
    let facts = r.facts;
    facts.capture.recorded("skb:kfree_skb").then_some(())?;
    let seen = facts
        .drops
        .iter()
        .filter(|d| d.expected != Some(true) && !d.background && r.has(d.time_ns));
    // What a device or its queue counted, and no event told.
    let counted = refused(&facts.counters, |source, name| {
        matches!(source, "dev" | "nic" | "qdisc") && ["drop", "err"].iter().any(|w| name.contains(w))
    });
    Some(counted.max(seen.count() as u64))
}

/// Segments sent again; nothing of a part of a recording, of which no counter tells.
fn segments(r: &Recording<'_>) -> Option<u64> {
    let mut of = r.facts.retransmits.iter();
    of.try_fold(0u64, |sum, row| {
        let n = row.segments.filter(|_| r.has(row.time_ns))?;
        Some(sum.saturating_add(n.into()))
    })
}

fn sum(side: &[Recording<'_>], of: impl Fn(&Recording<'_>) -> Option<u64>) -> Option<u64> {
    side.iter().try_fold(0u64, |sum, r| Some(sum.saturating_add(of(r)?)))
}

impl Told {
    pub fn of(resent: Resent, before: &[Recording<'_>], after: &[Recording<'_>]) -> Told {
        let twice = |r: &Recording<'_>| risen(&r.facts.counters, "TcpExtTCPDSACKRecv");
        Told {
            resent,
            own: before.iter().chain(after).flat_map(|r| rtt::own(r.facts)).collect(),
            dropped: [sum(before, dropped), sum(after, dropped)],
            twice: [sum(before, twice), sum(after, twice)],
            all: [sum(before, segments), sum(after, segments)],
        }
    }

    /// `Sent again to 10.0.0.1:80: 43 -> 3679 segments (11 -> 1017 a second, ...)`, and the hosts whose round trip is told in it.
    pub fn said(&self, r: &Rate, rates: &[Rate], metrics: &[Metric]) -> Option<(String, Option<String>)> {
        let (whose, sides) = self.resent.whose(&r.metric)?;
        let name = whose.as_ref().map_or_else(|| "by TCP".into(), whose_words);
        let amounts = amounts(sides);
        let mut sentence = format!("Sent again {name}: {amounts}");
        let host = whose.filter(|(_, _, to)| *to).map(|(host, ..)| rtt::of(host));
        let rtt = host.and_then(|which| {
            let m = metrics.iter().find(|m| m.which == which)?;
            Some((m, m.shifts.first()?))
        });
        if let Some((m, s)) = rtt {
            sentence += &format!(", its round trip {}", way(m, s));
        }
        let speed = whose.and_then(|s| {
            rates
                .iter()
                .find(|r| r.metric == crate::diff::values::speed::metric(&s))
        });
        if let Some(r) = speed {
            let of = |v: f64| rate(v * 8.0 / 1e6);
            sentence += &format!(", at {} -> {} ({})", of(r.before.value), of(r.after.value), r.word());
        }
        let more = r.difference > 0.0;
        if let Some(needless) = self.needless(more, sides) {
            sentence += &needless;
        } else if let Some(place) = self.place(whose.as_ref(), more, sides, rtt) {
            sentence += &place;
        }
        Some((sentence, rtt.map(|(m, _)| m.metric.clone())))
    }

    /// That the other ends had nearly all of it already, by what they said.
    fn needless(&self, more: bool, sides: &[Again; 2]) -> Option<String> {
        let at = usize::from(more);
        let (twice, all, again) = ((*self.twice.get(at)?)?, (*self.all.get(at)?)?, sides.get(at)?);
        let needless = NEEDLESS.contains(&(twice as f64 / all.max(1) as f64));
        let before = if more { "" } else { " before" };
        (again.segments > 0 && needless).then(|| {
            format!(
                "; the other ends said {twice} times{before} that they had it already (DSACK, of {all} segments that all connections sent again): it was not lost, but sent too early, or its ACKs were lost"
            )
        })
    }

    /// Where it was lost, as far as this host and the round trip tell.
    fn place(
        &self,
        whose: Option<&Service>,
        more: bool,
        sides: &[Again; 2],
        rtt: Option<(&Metric, &Shift)>,
    ) -> Option<String> {
        let (host, _, to) = whose?;
        if !to || self.own.contains(&host.to_canonical()) {
            return None;
        }
        let at = usize::from(more);
        let again = sides.get(at)?;
        let (dropped, few) = ((*self.dropped.get(at)?)?, FEW * again.calls as f64);
        if dropped as f64 > few {
            return None;
        }
        if let Some(n) = self.twice.get(at)?.filter(|n| *n as f64 > few) {
            return Some(format!(
                "; peers said {n} times that something came twice (DSACK, of all connections together): not all of it may have been lost"
            ));
        }
        let dropped = match dropped {
            0 => "nothing was dropped by this host".to_owned(),
            1 => "1 packet was dropped by this host".to_owned(),
            n => format!("{n} packets were dropped by this host"),
        };
        // A queue is what made the way longer than the same side's shortest.
        let queued = |d: &crate::stat::Distribution| {
            let (least, half) = (d.min_ns.unwrap_or(0) as f64, d.p50_ns.unwrap_or(0) as f64);
            least <= SHORTEST * half
        };
        let moved = rtt.filter(|(m, _)| matches!(m.outcome, Outcome::Worse | Outcome::Better));
        let longer = moved.map(|(m, s)| match s.shift > 0 {
            true => (true, queued(&m.after)),
            false => (false, queued(&m.before)),
        });
        let words = match (more, longer) {
            (true, Some((false, true))) => {
                "before it waited in a queue on the way, after it waits less and is lost on the way"
            }
            (true, Some((true, true))) => "it waits longer in a queue on the way, and is lost on the way",
            (true, _) => "it is lost on the way",
            (false, Some((true, true))) => "before it was lost on the way, after it waits in a queue there",
            (false, Some((false, true))) => "before it waited longer in a queue on the way, and was lost on the way",
            (false, _) => "before it was lost on the way",
        };
        let when = if more { "" } else { " before" };
        Some(format!(": {words} (inferred: {dropped}{when})"))
    }
}

fn whose_words(of: &Service) -> String {
    match of.2 {
        true => service::name(of),
        false => format!("by {}", service::name(of).trim_start_matches("from ")),
    }
}

/// `p50 58.15 ms -> 20.99 ms (no difference found)`.
fn way(m: &Metric, s: &Shift) -> String {
    let told = match m.outcome {
        Outcome::Worse | Outcome::Better => String::new(),
        _ => format!(" ({})", m.word()),
    };
    format!("p{} {} -> {}{told}", s.percent, duration(s.before), duration(s.after))
}

/// Whether the largest segment that was sent again has the size that segments are counted by.
fn full(largest: u32) -> bool {
    (FULL.0..=FULL.1).contains(&largest)
}

/// `43 -> 3679 segments (11 -> 1017 a second while some was under way, 1.4 % -> 48 % of its segments)`.
fn amounts([before, after]: &[Again; 2]) -> String {
    let (what, b, a) = match before.not_known + after.not_known {
        0 => ("segments", before.segments, after.segments),
        _ => ("calls", before.calls, after.calls),
    };
    let number = |v: f64| if v < 9.95 { format!("{v:.1}") } else { format!("{v:.0}") };
    let second = |n: u64, of: &Again| number(n as f64 * 1e9 / of.busy_ns.max(1) as f64);
    let part = |n: u64, of: &Again| number(100.0 * n as f64 / of.sent.max(1.0));
    let (sb, sa) = (second(b, before), second(a, after));
    let parts = match what {
        "segments" if full(before.largest.max(after.largest)) => {
            format!(", {} % -> {} % of all that it sent", part(b, before), part(a, after))
        }
        _ => String::new(),
    };
    match before.busy_ns.min(after.busy_ns) {
        ..=0 => format!("{b} -> {a} {what}"),
        _ => format!("{b} -> {a} {what} ({sb} -> {sa} a second while some was under way{parts})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(twice: Option<u64>, all: Option<u64>, more: bool) -> Option<String> {
        let again = |segments| Again {
            segments,
            ..Again::default()
        };
        let sides = if more {
            [again(0), again(78)]
        } else {
            [again(78), again(0)]
        };
        let of = |n: Option<u64>| if more { [Some(0), n] } else { [n, Some(0)] };
        let told = Told {
            twice: of(twice),
            all: of(all),
            ..Told::default()
        };
        told.needless(more, &sides)
    }

    #[test]
    fn what_the_other_ends_had_already_was_not_lost() {
        for (more, before) in [(true, ""), (false, " before")] {
            let said = format!(
                "; the other ends said 78 times{before} that they had it already (DSACK, of 80 segments that all connections sent again): it was not \
                 lost, but sent too early, or its ACKs were lost"
            );
            assert_eq!(told(Some(78), Some(80), more), Some(said));
            // A part of it, or the network doubles packets, or nothing tells.
            for (twice, all) in [
                (Some(70), Some(80)),
                (Some(1_000), Some(80)),
                (None, Some(80)),
                (Some(78), None),
            ] {
                assert_eq!(told(twice, all, more), None);
            }
        }
    }
}
