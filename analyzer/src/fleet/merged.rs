//! Many summaries: ranked, and their distributions added up.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde::Serialize;

use super::summary::{Bins, Stage, Summary};
use crate::analyses::verdict::Tone;

/// Many recordings together.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Fleet {
    /// Worst first: most lines `bad`, then most `notice`, then most packets lost, then most calls that sent segments again, then by name.
    pub ranked: Vec<Summary>,
    /// Stages of the receive path over all recordings, `total` first, then by time, most first.
    pub rx: Vec<FleetStage>,
    /// Of the transmit path.
    pub tx: Vec<FleetStage>,
    /// Drops over all recordings, those of lost packets first, then most first.
    pub drops: Vec<FleetDrop>,
    /// Recordings in which drops were not recorded.
    pub without_drops: usize,
    /// Recordings by subject of the verdict and tone.
    pub tones: BTreeMap<String, BTreeMap<&'static str, usize>>,
}

/// A stage over all recordings.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FleetStage {
    /// `total` or the stage.
    pub name: String,
    /// Recordings that have it.
    pub recordings: usize,
    /// Units.
    pub n: u64,
    /// Sum, ns.
    pub sum_ns: i64,
    /// Upper edge of the bin of the median, ns.
    pub p50_ns: i64,
    /// Of the 90th percentile.
    pub p90_ns: i64,
    /// Of the 99th percentile.
    pub p99_ns: i64,
    /// Largest, exact.
    pub max_ns: i64,
    /// The recording with the largest 99th percentile, and that percentile (exact).
    pub worst: Option<(String, i64)>,
    /// Histogram.
    pub bins: Bins,
}

/// A kind of drop over all recordings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FleetDrop {
    /// Reason by name.
    pub reason: String,
    /// Function.
    pub location: String,
    /// Whether it is ordinary; `None`: not clear.
    pub expected: Option<bool>,
    /// How many.
    pub count: u64,
    /// Recordings that have it.
    pub recordings: usize,
}

/// Puts summaries together; their order does not matter.
pub fn of(mut summaries: Vec<Summary>) -> Fleet {
    summaries.sort_by_cached_key(|s| {
        let rank = (
            s.count(Tone::Bad),
            s.count(Tone::Notice),
            s.lost_packets(),
            s.retransmits,
        );
        (Reverse(rank), s.name.clone())
    });
    Fleet {
        rx: stages(&summaries, |s| &s.rx),
        tx: stages(&summaries, |s| &s.tx),
        drops: drops(&summaries),
        without_drops: summaries.iter().filter(|s| s.drops.is_none()).count(),
        tones: tones(&summaries),
        ranked: summaries,
    }
}

fn stages(summaries: &[Summary], of: fn(&Summary) -> &[Stage]) -> Vec<FleetStage> {
    let mut by_name: BTreeMap<&str, Vec<(&Summary, &Stage)>> = BTreeMap::new();
    for s in summaries {
        for stage in of(s) {
            by_name.entry(&stage.name).or_default().push((s, stage));
        }
    }
    let mut out: Vec<FleetStage> = by_name.into_iter().map(|(name, of)| stage(name, &of)).collect();
    out.sort_by_cached_key(|s| (s.name != "total", Reverse(s.sum_ns), s.name.clone()));
    out
}

fn stage(name: &str, of: &[(&Summary, &Stage)]) -> FleetStage {
    let mut sum: BTreeMap<(i64, i64), u64> = BTreeMap::new();
    for (lo, hi, count) in of.iter().flat_map(|(_, s)| &s.bins) {
        let bin = sum.entry((*lo, *hi)).or_default();
        *bin = bin.saturating_add(*count);
    }
    let bins: Bins = sum.into_iter().map(|((lo, hi), n)| (lo, hi, n)).collect();
    let max_ns = of.iter().filter_map(|(_, s)| s.max_ns).max().unwrap_or(0);
    let largest = of.iter().filter_map(|(s, stage)| Some((stage.p99_ns?, &s.name)));
    FleetStage {
        name: name.to_owned(),
        recordings: of.len(),
        n: of.iter().fold(0, |n, (_, s)| n.saturating_add(s.n)),
        sum_ns: of.iter().fold(0, |n, (_, s)| n.saturating_add(s.sum_ns)),
        p50_ns: quantile(&bins, 50).min(max_ns),
        p90_ns: quantile(&bins, 90).min(max_ns),
        p99_ns: quantile(&bins, 99).min(max_ns),
        max_ns,
        worst: largest.max().map(|(ns, name)| (name.clone(), ns)),
        bins,
    }
}

/// Upper edge of the bin that the nearest-rank percentile lies in; 0 of nothing.
fn quantile(bins: &Bins, percent: u64) -> i64 {
    let n = bins.iter().fold(0u64, |n, b| n.saturating_add(b.2));
    let rank = u128::from(n).saturating_mul(u128::from(percent)).div_ceil(100);
    let mut seen = 0u128;
    for (lo, hi, count) in bins {
        seen += u128::from(*count);
        if seen >= rank.max(1) {
            // The first bin has what took no time, and what the clocks' error made less.
            return if *lo < 0 { 0 } else { *hi };
        }
    }
    0
}

fn drops(summaries: &[Summary]) -> Vec<FleetDrop> {
    type Kind<'s> = (&'s str, &'s str, Option<bool>);
    let mut by_kind: BTreeMap<Kind<'_>, (u64, Vec<&str>)> = BTreeMap::new();
    for s in summaries {
        for g in s.drops.iter().flatten() {
            let of = by_kind.entry((&g.reason, &g.location, g.expected)).or_default();
            of.0 = of.0.saturating_add(g.count);
            if of.1.last() != Some(&s.name.as_str()) {
                of.1.push(&s.name);
            }
        }
    }
    let mut out: Vec<FleetDrop> = by_kind
        .into_iter()
        .map(|((reason, location, expected), (count, recordings))| FleetDrop {
            reason: reason.to_owned(),
            location: location.to_owned(),
            expected,
            count,
            recordings: recordings.len(),
        })
        .collect();
    // The sort is stable, and by kind before.
    out.sort_by_key(|d| (d.expected != Some(false), Reverse(d.count)));
    out
}

fn tones(summaries: &[Summary]) -> BTreeMap<String, BTreeMap<&'static str, usize>> {
    let mut out: BTreeMap<String, BTreeMap<&'static str, usize>> = BTreeMap::new();
    for l in summaries.iter().flat_map(|s| &s.verdict) {
        *out.entry(l.subject.clone())
            .or_default()
            .entry(word(l.tone))
            .or_default() += 1;
    }
    out
}

fn word(tone: Tone) -> &'static str {
    match tone {
        Tone::Ok => "ok",
        Tone::Notice => "notice",
        Tone::Bad => "bad",
        Tone::Unknown => "unknown",
    }
}
