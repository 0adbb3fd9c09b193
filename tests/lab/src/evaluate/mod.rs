//! What the ledger says of a rig, compared with the truth.
//!
//! In: a rig's folder. Out: a [`Report`] of its cases and its oracles. Must not know more of the analyzer than its tables'
//! column names and the function that names the top wait: the same evaluation serves whatever stages come.
//!
//! ```text
//! bundle.nmb -> analyze -> rows (by column name) ─┬─ cases: top wait of the rows in the window, its size
//! truth.json ─────────────────────────────────────┼─ sums: stages + unattributed = total, nothing negative
//! kmem.txt, pcap.csv, reads, counters ────────────┴─ links: what the ledger joined and the truth did not
//! ```

mod allocator;
#[cfg(test)]
mod allocator_tests;
mod cases;
mod counters;
mod invariants;
mod links;
mod rows;
mod table;
#[cfg(test)]
mod tests;
mod ways;

use std::path::Path;

use anyhow::{Context, anyhow};
use netmortem_analyzer::{Facts, analyze, ingest};

pub use allocator::{NAMES as BY_ALLOCATOR, SEEN};
pub use cases::CaseResult;
pub use rows::{LedgerRow, ledger};
pub use table::{Figures, Verdict, print};
pub use ways::WAYS;

use crate::truth::Truth;

/// One kind of check and how often it failed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Oracle {
    /// What is compared with what.
    pub name: &'static str,
    /// Comparisons.
    pub checked: u64,
    /// Those that failed.
    pub wrong: u64,
    /// Wrong links whose label told the doubt: not counted as wrong.
    pub doubtful: u64,
    /// An example of a failure, or what is missing.
    pub note: String,
}

impl Oracle {
    /// One comparison; the first failure is kept as the example.
    pub fn check(&mut self, right: bool, note: impl FnOnce() -> String) {
        self.checked += 1;
        if !right {
            self.wrong += 1;
            if self.note.is_empty() {
                self.note = note();
            }
        }
    }
}

/// What one rig showed.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Report {
    /// Its name.
    pub rig: String,
    /// Kernel it ran on.
    pub kernel: String,
    /// Its cases.
    pub cases: Vec<CaseResult>,
    /// Its oracles.
    pub oracles: Vec<Oracle>,
}

/// Analyzes the bundle of a rig's folder and compares.
pub fn evaluate(dir: &Path) -> anyhow::Result<Report> {
    let mut truth = Truth::load(&dir.join("truth.json"))?;
    let facts = facts(&dir.join("bundle.nmb"))?;
    let lost = facts.capture.lost_events;
    if lost > 0 {
        // A rig judges the reconstruction, not the ring buffer of a machine too busy to empty it.
        for c in &mut truth.cases {
            c.void = format!("{lost} events were lost");
        }
        return Ok(Report {
            cases: cases::compare(&truth, &facts),
            rig: truth.rig,
            kernel: truth.kernel,
            oracles: vec![],
        });
    }
    let cases = cases::compare(&truth, &facts);
    let mut oracles = cases::columns(&cases);
    let error_bar = invariants::error_bar_ns(&facts);
    for table in ["rx", "tx"] {
        if let Some(rows) = ledger(&facts, table) {
            oracles.extend(invariants::of_rows(table, &rows, error_bar));
            if table == "rx" {
                oracles.extend(links::by_readers(dir, &truth, &rows));
                oracles.extend(ways::whole(&truth, &rows, &facts));
            }
        }
    }
    oracles.extend(allocator::by_allocator(dir, &truth, &facts));
    oracles.extend(counters::of_the_kernel(&truth, &facts));
    oracles.extend(counters::of_sockets(&truth, &facts));
    oracles.extend(counters::of_retransmits(&truth, &facts));
    oracles.extend(counters::of_senders(&truth, &facts));
    oracles.extend(invariants::balances(&truth, &facts));
    Ok(Report {
        rig: truth.rig,
        kernel: truth.kernel,
        cases,
        oracles,
    })
}

fn facts(bundle: &Path) -> anyhow::Result<Facts> {
    let capture = netmortem_formats::open_path(bundle).with_context(|| bundle.display().to_string())?;
    let capture = capture.map_err(|e| anyhow!("{}: {e}", bundle.display()))?;
    Ok(analyze(&capture, &ingest::Options::default()))
}
