//! Was the planted wait named, and is its size right?

use netmortem_analyzer::analyses::waits::{Top, UNATTRIBUTED, top};
use netmortem_analyzer::{Confidence, Facts};

use super::Oracle;
use super::rows::{self, LedgerRow};
use crate::truth::{Case, Truth};

/// A size may differ by this share, or by [`TOLERANCE_NS`].
pub const TOLERANCE: f64 = 0.05;
/// See [`TOLERANCE`].
pub const TOLERANCE_NS: i64 = 50_000;

/// What the ledger says of a case.
#[derive(Debug, Clone, PartialEq)]
pub struct CaseResult {
    /// The case.
    pub case: Case,
    /// Whether the ledger has such a stage at all; without it the case counts as not yet answerable.
    pub answerable: bool,
    /// Rows in its window.
    pub rows: usize,
    /// Their top wait.
    pub top: Option<Top>,
    /// The planted stage of the unit that has most of it.
    pub ns: Option<i64>,
    /// Who ran what received that unit.
    pub run_by: String,
    /// Its `t_sched_ns`, `t_snd_ns`, `t_ack_ns`.
    pub stamps: [Option<i64>; 3],
    /// That unit, for a person.
    pub worst: String,
}

impl CaseResult {
    /// Whether the top wait has the planted name.
    pub fn named(&self) -> bool {
        self.top.is_some_and(|t| t.stage == self.case.stage)
    }
    /// Whether another wait is claimed, with a label that asks to be believed.
    pub fn misled(&self) -> bool {
        let other = self
            .top
            .filter(|t| t.stage != self.case.stage && t.stage != UNATTRIBUTED);
        other.is_some_and(|t| t.confidence >= Confidence::Strong)
    }
    /// Whether it need not be named: the kernel cannot tell, and nothing else is claimed.
    pub fn excused(&self) -> bool {
        !self.case.weaker.is_empty() && !self.named() && !self.misled()
    }
    /// Found minus planted, ns.
    pub fn deviation_ns(&self) -> Option<i64> {
        Some(self.ns? - self.case.ns)
    }
    /// Whether the size is within the tolerance.
    pub fn sized(&self) -> bool {
        self.deviation_ns()
            .is_some_and(|d| d.abs() <= TOLERANCE_NS.max((self.case.ns as f64 * TOLERANCE) as i64))
    }
}

/// Whether a row is one of those a case means.
pub fn meant(case: &Case, row: &LedgerRow) -> bool {
    let window = (case.from_ns..=case.to_ns).contains(&row.start_ns);
    let packet = match (row.ports, case.table.as_str()) {
        // The socket's own port is the packet's destination where it is received, its source where it is sent.
        (Some((local, remote)), "rx") => (remote, local) == (case.sport, case.dport),
        (Some(ports), _) => ports == (case.sport, case.dport),
        (None, _) => case.dev.is_some(),
    };
    let dev = case.dev.as_ref().is_none_or(|d| *d == row.dev);
    let pid = case.pid.is_none_or(|p| row.pid.is_none_or(|r| r == i64::from(p)));
    window && packet && dev && pid
}

/// All cases of a rig.
pub fn compare(truth: &Truth, facts: &Facts) -> Vec<CaseResult> {
    let ledgers: Vec<(&str, Vec<LedgerRow>)> = ["rx", "tx"]
        .into_iter()
        .map(|t| (t, rows::ledger(facts, t).unwrap_or_default()))
        .collect();
    let of = |case: &Case| {
        let rows = ledgers
            .iter()
            .find(|(t, _)| *t == case.table)
            .map(|(_, r)| r.as_slice());
        let rows: Vec<&LedgerRow> = rows.unwrap_or(&[]).iter().filter(|r| meant(case, r)).collect();
        let planted = |r: &LedgerRow| r.stages.iter().find(|(s, _)| *s == case.stage).map(|(_, ns)| *ns);
        let worst = rows.iter().max_by_key(|r| (planted(r), r.total_ns));
        CaseResult {
            answerable: rows::has_stage(facts, &case.table, &case.stage),
            rows: rows.len(),
            top: top(rows.iter().copied()),
            ns: worst.and_then(|r| planted(r)),
            run_by: worst.map(|r| r.run_by.clone()).unwrap_or_default(),
            stamps: worst.map(|r| r.stamps).unwrap_or_default(),
            worst: worst.map(|r| describe(r)).unwrap_or_default(),
            case: case.clone(),
        }
    };
    truth.cases.iter().map(of).collect()
}

/// What else is known of the units meant: who received them, and the kernel's own stamps, which may differ by the tolerance of
/// a size.
pub fn columns(results: &[CaseResult]) -> Vec<Oracle> {
    let [mut by, mut stamps] = ["run_by as planted", "tx times = SO_TIMESTAMPING"].map(|name| Oracle {
        name,
        ..Oracle::default()
    });
    for r in results.iter().filter(|r| r.case.void.is_empty()) {
        if !r.case.run_by.is_empty() {
            by.check(r.run_by == r.case.run_by, || {
                format!("{:?}, not {:?}", r.run_by, r.case.run_by)
            });
        }
        if let Some(s) = r.case.stamped {
            let told = [Some(s.sched_ns), Some(s.snd_ns), s.ack_ns];
            let limit = TOLERANCE_NS.max((r.case.ns as f64 * TOLERANCE) as i64);
            for (told, found) in told.into_iter().zip(r.stamps).filter(|(told, _)| told.is_some()) {
                let near = told.zip(found).is_some_and(|(t, f)| (t - f).abs() <= limit);
                stamps.check(near, || format!("{:?}, not {s:?}", r.stamps));
            }
        }
    }
    [by, stamps].into_iter().filter(|o| o.checked > 0).collect()
}

/// A row in one line.
pub fn describe(r: &LedgerRow) -> String {
    let mut out = format!(
        "skb {} {} {} total {}",
        r.skb_id.unwrap_or(-1),
        r.dev,
        r.end,
        us(r.total_ns)
    );
    for (stage, ns) in r.stages.iter().filter(|(_, ns)| *ns != 0) {
        out += &format!(" {stage} {}", us(*ns));
    }
    out + &format!(" unattributed {} {}", us(r.unattributed_ns), r.confidence.word())
}

/// ns as µs.
pub fn us(ns: i64) -> String {
    format!("{:.1}us", ns as f64 / 1e3)
}
