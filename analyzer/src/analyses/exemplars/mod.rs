//! Which units show a stage best? Of every stage of the receive and the transmit ledger: the worst, the 99th percentile and
//! the median unit, as ids to look at with `netmortem explain`.
//!
//! Needs the views `rx` and `tx`. Only units that the headline percentiles are of: read (rx) or acknowledged TCP segments
//! with payload (tx), not censored, certain or strong. So an exemplar's time is exactly the percentile that the answers
//! `receive` and `transmit` print (nearest rank). Of units with that time it is the one with the smallest skb id: same
//! recording, same exemplars. `total` and `unattributed` are stages here. Must not see events.
//!
//! ```text
//! units (solid, whole) -> per stage: its distribution's max, p99, p50 -> smallest id with that time -> Exemplar
//! ```

use rayon::prelude::*;

use crate::analyses::units::{Column, Ledgers, Place, Unit, Units};
use crate::facts::Facts;

#[cfg(test)]
mod tests;

pub use crate::analyses::units::TOTAL;

/// Exemplars of both ledgers.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct Exemplars {
    /// Of received units: `total`, the stages in the order of the path, `unattributed`; those that no unit has are not there.
    pub receive: Vec<StageExemplars>,
    /// The same of sent segments.
    pub transmit: Vec<StageExemplars>,
}

/// The exemplars of one stage.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct StageExemplars {
    /// Stage name, `total` or `unattributed`.
    pub stage: &'static str,
    /// Solid units whose time in it is known: what worst, p99 and median are of.
    pub n: u64,
    /// The longest.
    pub worst: Exemplar,
    /// The 99th percentile.
    pub p99: Exemplar,
    /// The median.
    pub median: Exemplar,
}

/// A unit to look at.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Exemplar {
    /// What `netmortem explain` takes: `rx:45`, `tx:45`.
    pub id: String,
    /// Its skb, as `skb:45`.
    pub skb: String,
    /// Its time in the stage, ns.
    pub ns: i64,
    /// Start to end, ns.
    pub total_ns: i64,
    /// Its known stages in the order of the path, ns; they and `unattributed_ns` sum to `total_ns`.
    pub stages: Vec<StageNs>,
    /// ns in no stage.
    pub unattributed_ns: i64,
    /// Start, on the trace clock.
    pub start_ns: i64,
    /// Start in CLOCK_REALTIME, when clock pairs were recorded.
    pub start_realtime_ns: Option<i64>,
    /// Device; empty when not known.
    pub dev: String,
    /// Reading or sending task; empty when not known.
    pub task: String,
    /// TCP socket as `conn:3`, when known.
    pub connection: Option<String>,
    /// Payload, bytes, when known.
    pub bytes: Option<u32>,
    /// CPU of `netif_receive_skb`, or of the first `net_dev_queue`.
    pub cpu: u16,
    /// Confidence word.
    pub confidence: &'static str,
}

/// A stage's time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct StageNs {
    /// Name.
    pub stage: &'static str,
    /// ns.
    pub ns: i64,
}

/// Asks.
pub fn answer(facts: &Facts, ledgers: &Ledgers<'_>) -> Exemplars {
    let realtime = facts.capture.realtime_offset_ns;
    Exemplars {
        receive: of_ledger(&ledgers.rx, realtime),
        transmit: of_ledger(&ledgers.tx, realtime),
    }
}

fn of_ledger<R: Unit>(units: &Units<'_, R>, realtime: Option<i64>) -> Vec<StageExemplars> {
    let columns: Vec<_> = units.columns().collect();
    let each = columns.into_par_iter().map(|(times, column)| {
        let of = &times.solid;
        let [worst, p99, median] = found(units, column, [of.max_ns?, of.p99_ns?, of.p50_ns?])
            .map(|row| row.map(|(row, ns)| exemplar(row, ns, realtime)));
        Some(StageExemplars {
            stage: times.stage,
            n: of.n,
            worst: worst?,
            p99: p99?,
            median: median?,
        })
    });
    each.flatten_iter().collect()
}

/// For each time the unit that has it and the smallest id.
fn found<'f, R: Unit>(units: &Units<'f, R>, column: Column<'_>, ns: [i64; 3]) -> [Option<(&'f R, i64)>; 3] {
    let rows = units.solid();
    let mut best = [None; 3];
    for (nth, is) in column.known() {
        for (wanted, best) in ns.iter().zip(&mut best) {
            if is == *wanted {
                let skb = rows.get(nth).map(|r| r.skb());
                if best.is_none_or(|of| (skb, nth) < of) {
                    *best = Some((skb, nth));
                }
            }
        }
    }
    let mut wanted = ns.into_iter();
    best.map(|of| Some((*rows.get(of?.1)?, wanted.next()?)))
}

fn exemplar<R: Unit>(r: &R, ns: i64, realtime: Option<i64>) -> Exemplar {
    let Place {
        dev,
        cpu,
        task,
        connection,
    } = r.place();
    Exemplar {
        id: r.id().to_string(),
        skb: format!("skb:{}", r.skb().0),
        ns,
        total_ns: r.total_ns(),
        stages: r.stages().map(|(stage, ns)| StageNs { stage, ns }).collect(),
        unattributed_ns: r.unattributed_ns(),
        start_ns: r.start_ns(),
        start_realtime_ns: realtime.map(|o| r.start_ns().saturating_add(o)),
        dev: dev.text().into_owned(),
        task: task.text().into_owned(),
        connection: connection.map(|c| format!("conn:{}", c.0)),
        bytes: r.bytes(),
        cpu,
        confidence: r.confidence().word(),
    }
}
