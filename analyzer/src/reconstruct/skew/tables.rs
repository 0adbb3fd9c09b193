//! Rows of the view `clock_skew`, and what they come to.

use crate::analyses::verdict::duration;
use crate::table::{Cell, TableDef, col};

/// Two CPUs between which causes and effects were seen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SkewRow {
    /// Smaller CPU number.
    pub cpu_a: u16,
    /// The other.
    pub cpu_b: u16,
    /// Causes on a with an effect on b.
    pub pairs_ab: u64,
    /// Causes on b with an effect on a.
    pub pairs_ba: u64,
    /// Smallest latency a to b.
    pub min_ab_ns: Option<i64>,
    /// Smallest latency b to a.
    pub min_ba_ns: Option<i64>,
    /// Which kind of pair that was: `wake`, `queue`, `transmit`.
    pub kind_ab: &'static str,
    /// The same for b to a.
    pub kind_ba: &'static str,
    /// Least that clock b can be ahead of clock a.
    pub ahead_least_ns: Option<i64>,
    /// Most that clock b can be ahead of clock a.
    pub ahead_most_ns: Option<i64>,
    /// The smallest offset of b that leaves no effect before its cause: 0 when none was seen so.
    pub offset_ns: i64,
    /// How far before its cause an effect was seen, at most; 0: never.
    pub residual_ns: i64,
    /// Effects seen before their cause.
    pub negative: u64,
    /// False when no constant offset explains all pairs: a clock wanders.
    pub consistent: bool,
}

impl SkewRow {
    /// The clocks cannot be further apart than this; `None` when causes were seen in one direction only.
    pub fn bound_ns(&self) -> Option<i64> {
        let (lo, hi) = (self.ahead_least_ns?, self.ahead_most_ns?);
        Some(lo.saturating_abs().max(hi.saturating_abs()))
    }
}

/// The error bar of intervals between CPUs, of a whole recording.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct ClockError {
    /// Pairs of events that were compared.
    pub pairs: u64,
    /// Pairs of CPUs.
    pub cpu_pairs: u64,
    /// Effects seen before their cause.
    pub negative: u64,
    /// The largest of these, ns: the error bar; 0 when there was none (then only [`ClockError::bound_ns`] says how far an interval
    /// may be wrong), `None` when nothing was compared.
    pub error_ns: Option<i64>,
    /// The clocks of any two compared CPUs are not further apart than this, ns; `None` when some pair is bounded on one side only.
    pub bound_ns: Option<i64>,
    /// False when no constant offsets explain all pairs.
    pub consistent: bool,
}

impl ClockError {
    /// Of all rows.
    pub fn of(rows: &[SkewRow]) -> ClockError {
        let bounds: Option<Vec<i64>> = rows.iter().map(SkewRow::bound_ns).collect();
        ClockError {
            pairs: rows.iter().map(|r| r.pairs_ab + r.pairs_ba).sum(),
            cpu_pairs: rows.len() as u64,
            negative: rows.iter().map(|r| r.negative).sum(),
            error_ns: rows.iter().map(|r| r.residual_ns).max(),
            bound_ns: bounds.and_then(|b| b.into_iter().max()),
            consistent: rows.iter().all(|r| r.consistent),
        }
    }
    /// The same for a verdict.
    pub fn short(&self) -> String {
        let Some(error) = self.error_ns else {
            return "How far the CPUs' clocks are apart is not known: intervals between CPUs have no error bar.".into();
        };
        let apart = match self.bound_ns {
            _ if !self.consistent => "no constant offsets explain them".into(),
            Some(ns) => format!("at most {} apart", duration(ns)),
            None => "how far apart is bounded on one side only".into(),
        };
        match error {
            0 => format!(
                "Clocks of the CPUs: {apart}; no effect came before its cause in {} pairs.",
                self.pairs
            ),
            _ => format!("Clocks of the CPUs: error bar {error} ns, {apart}."),
        }
    }
    /// One sentence without its period.
    pub fn sentence(&self) -> String {
        let Some(error) = self.error_ns else {
            return "no event on one CPU could be tied to its cause on another: how far the CPUs' clocks are apart is \
                    not known, and intervals between CPUs have no error bar; no interval is clamped to zero"
                .into();
        };
        let apart = match self.bound_ns {
            _ if !self.consistent => "no constant offsets between the CPUs' clocks explain them all".into(),
            Some(ns) => format!("the CPUs' clocks are at most {ns} ns apart"),
            None => "how far the CPUs' clocks are apart is bounded on one side only".into(),
        };
        let seen = match self.negative {
            0 => "no effect was recorded before its cause".to_string(),
            n => format!("{n} effects were recorded before their cause"),
        };
        // Order kept is no proof of clocks that agree: what is known is the bound.
        let bar = match (error, self.bound_ns) {
            (0, Some(ns)) => format!("an interval between two CPUs may be wrong by that, {ns} ns at most"),
            (0, None) => "by how much an interval between two CPUs may be wrong is not known".into(),
            _ => format!("error bar {error} ns"),
        };
        format!(
            "in {} pairs of cause and effect on two CPUs {seen}; {apart}; no interval is clamped to zero; {bar}",
            self.pairs
        )
    }
}

/// The view `clock_skew`.
pub static CLOCK_SKEW: TableDef<SkewRow> = TableDef {
    name: "clock_skew",
    meaning: "one row per two CPUs between which causes and effects were recorded: how far their clocks can be apart; nothing \
              is corrected",
    columns: &[
        col!("cpu_a", "id", U64, "CPU", |r, _| Cell::U64(r.cpu_a.into())),
        col!("cpu_b", "id", U64, "another CPU", |r, _| Cell::U64(r.cpu_b.into())),
        col!("pairs_ab", "count", U64, "causes on a with an effect on b", |r, _| {
            Cell::U64(r.pairs_ab)
        }),
        col!("pairs_ba", "count", U64, "causes on b with an effect on a", |r, _| {
            Cell::U64(r.pairs_ba)
        }),
        col!(
            "min_ab_ns",
            "ns",
            I64,
            "smallest latency from a to b; empty without pairs",
            |r, _| r.min_ab_ns.into()
        ),
        col!(
            "min_ba_ns",
            "ns",
            I64,
            "smallest latency from b to a; empty without pairs",
            |r, _| r.min_ba_ns.into()
        ),
        col!(
            "kind_ab",
            "",
            Str,
            "which pair that was: wake (sched_waking, switch-in), queue (netif_rx, netif_receive_skb), transmit \
             (net_dev_start_xmit, free)",
            |r, _| Cell::str(r.kind_ab)
        ),
        col!("kind_ba", "", Str, "the same from b to a", |r, _| Cell::str(r.kind_ba)),
        col!(
            "ahead_least_ns",
            "ns",
            I64,
            "least that clock b can be ahead of clock a, over third CPUs too; empty when nothing bounds it",
            |r, _| r.ahead_least_ns.into()
        ),
        col!(
            "ahead_most_ns",
            "ns",
            I64,
            "most that clock b can be ahead of clock a; empty when nothing bounds it",
            |r, _| r.ahead_most_ns.into()
        ),
        col!(
            "bound_ns",
            "ns",
            I64,
            "the larger of both without sign: the clocks are not further apart",
            |r, _| r.bound_ns().into()
        ),
        col!(
            "offset_ns",
            "ns",
            I64,
            "smallest offset of b that leaves no effect before its cause; 0 when none was; never applied",
            |r, _| Cell::I64(r.offset_ns)
        ),
        col!(
            "residual_ns",
            "ns",
            I64,
            "how far before its cause an effect was recorded, at most: the error bar of intervals between the two",
            |r, _| Cell::I64(r.residual_ns)
        ),
        col!(
            "negative",
            "count",
            U64,
            "effects recorded before their cause",
            |r, _| { Cell::U64(r.negative) }
        ),
        col!(
            "consistent",
            "",
            Bool,
            "false: no constant offset explains all pairs, a clock wanders",
            |r, _| Cell::Bool(r.consistent)
        ),
    ],
};
