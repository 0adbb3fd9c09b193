//! Mean time per unit by stage: the stages of a ledger sum to its total, so the growth of the mean total is the sum of what each
//! stage adds. Says where a shift of the total comes from.

use super::metrics::{Which, rx_counts, tx_counts};
use crate::diff::sides::options::Recording;
use crate::reconstruct::receive::tables::Stage as RxStage;
use crate::reconstruct::transmit::stages::Stage as TxStage;

/// One stage.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Part {
    /// Stage, or `unattributed`.
    pub stage: &'static str,
    /// Mean per unit before, ns; a unit that did not pass it has 0.
    pub before_ns: f64,
    /// After.
    pub after_ns: f64,
}

impl Part {
    /// What it adds, ns.
    pub fn added_ns(&self) -> f64 {
        self.after_ns - self.before_ns
    }
}

/// One ledger.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Breakdown {
    /// `rx`, `tx`, `tx_udp`.
    pub ledger: &'static str,
    /// Units before and after.
    pub units: (u64, u64),
    /// Mean total before, ns.
    pub before_ns: f64,
    /// Mean total after.
    pub after_ns: f64,
    /// In the order of the path, the rest last.
    pub parts: Vec<Part>,
}

/// What a metric's stage adds to the mean of its ledger, ns; `None` when it is no stage of a ledger.
pub(in crate::diff) fn contribution(of: &[Breakdown], which: &Which) -> Option<i64> {
    if !which.is_stage() {
        return None;
    }
    let ledger = of.iter().find(|b| b.ledger == which.ledger)?;
    let part = ledger.parts.iter().find(|p| p.stage == which.stage)?;
    Some(part.added_ns() as i64)
}

#[derive(Default)]
struct Sum {
    units: u64,
    total: f64,
    stages: Vec<f64>,
}

impl Sum {
    fn add(&mut self, total: i64, stages: impl Iterator<Item = Option<i64>>) {
        self.units += 1;
        self.total += total as f64;
        for (at, ns) in stages.enumerate() {
            if self.stages.len() <= at {
                self.stages.push(0.0);
            }
            if let Some(slot) = self.stages.get_mut(at) {
                *slot += ns.unwrap_or(0) as f64;
            }
        }
    }
}

/// Of every ledger that both sides have.
pub(in crate::diff) fn breakdowns(before: &[Recording<'_>], after: &[Recording<'_>]) -> Vec<Breakdown> {
    let rx = |side: &[Recording<'_>]| {
        let mut sum = Sum::default();
        for r in side {
            for row in r
                .facts
                .rx
                .iter()
                .filter(|x| rx_counts(x) && r.has(x.start_ns) && r.takes(x.dev, x.connection))
            {
                let stages = RxStage::ALL.iter().map(|s| row.stage(*s));
                sum.add(row.total_ns, stages.chain([Some(row.unattributed_ns)]));
            }
        }
        sum
    };
    let tx = |side: &[Recording<'_>], ledger: &str| {
        let mut sum = Sum::default();
        for r in side {
            let counted = |x: &&crate::reconstruct::transmit::tables::TxRow| tx_counts(x) == Some(ledger);
            for row in r
                .facts
                .tx
                .iter()
                .filter(counted)
                .filter(|x| r.has(x.start_ns) && r.takes(x.dev, x.connection))
            {
                let stages = TxStage::ALL.iter().map(|s| row.stage(*s));
                sum.add(row.total_ns, stages.chain([Some(row.unattributed_ns)]));
            }
        }
        sum
    };
    let rx_names: Vec<&'static str> = RxStage::ALL.iter().map(|s| s.name()).collect();
    let tx_names: Vec<&'static str> = TxStage::ALL.iter().map(|s| s.name()).collect();
    let all = [
        ("rx", rx(before), rx(after), &rx_names),
        ("tx", tx(before, "tx"), tx(after, "tx"), &tx_names),
        ("tx_udp", tx(before, "tx_udp"), tx(after, "tx_udp"), &tx_names),
    ];
    let both = all.into_iter().filter(|(_, b, a, _)| b.units > 0 && a.units > 0);
    both.map(|(ledger, b, a, names)| one(ledger, &b, &a, names)).collect()
}

fn one(ledger: &'static str, b: &Sum, a: &Sum, names: &[&'static str]) -> Breakdown {
    let mean = |sum: &Sum, at: usize| sum.stages.get(at).copied().unwrap_or(0.0) / sum.units as f64;
    let names = names.iter().copied().chain(["unattributed"]);
    let parts = names.enumerate().map(|(at, stage)| Part {
        stage,
        before_ns: mean(b, at),
        after_ns: mean(a, at),
    });
    Breakdown {
        ledger,
        units: (b.units, a.units),
        before_ns: b.total / b.units as f64,
        after_ns: a.total / a.units as f64,
        parts: parts.collect(),
    }
}
