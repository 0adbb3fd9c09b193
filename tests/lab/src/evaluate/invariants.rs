//! What must hold in every recording, whatever was planted.

use std::collections::HashSet;

use netmortem_analyzer::Facts;
use netmortem_analyzer::reconstruct::tcp::tables::ConnectionRow;

use super::Oracle;
use super::cases::describe;
use super::rows::{LedgerRow, number, table, text};
use crate::truth::Truth;

/// Parts sum to the total in every row; nothing is negative beyond the clocks' error bar.
pub fn of_rows(ledger: &str, rows: &[LedgerRow], error_bar_ns: i64) -> Vec<Oracle> {
    let rx = ledger == "rx";
    let mut sums = Oracle {
        name: if rx {
            "rx: parts sum to total"
        } else {
            "tx: parts sum to total"
        },
        ..Oracle::default()
    };
    let mut negative = Oracle {
        name: if rx {
            "rx: nothing negative"
        } else {
            "tx: nothing negative"
        },
        ..Oracle::default()
    };
    for r in rows {
        let parts = r.stages.iter().fold(r.unattributed_ns, |sum, (_, ns)| sum + ns);
        sums.check(parts == r.total_ns, || describe(r));
        let least = r.stages.iter().map(|s| s.1).min().unwrap_or(0).min(r.unattributed_ns);
        negative.check(least >= -error_bar_ns, || describe(r));
    }
    vec![sums, negative]
}

/// The error bar of intervals between CPUs, as the view `clock_skew` prints it, ns.
pub fn error_bar_ns(facts: &Facts) -> i64 {
    let Some(t) = table(facts, "clock_skew") else { return 0 };
    let residual = t
        .columns()
        .iter()
        .position(|c| c.name == "residual_ns")
        .unwrap_or(usize::MAX);
    (0..t.len())
        .filter_map(|r| number(t.cell(r, residual)))
        .max()
        .unwrap_or(0)
}

/// Bytes of the view `balances`: expected, and unexplained, of the rig's own connections and of what belongs to none. The
/// machine's other connections may be older than the recording. `None` when there is no such view.
pub fn balances(truth: &Truth, facts: &Facts) -> Option<Oracle> {
    let ports: HashSet<u16> = truth.cases.iter().flat_map(|c| [c.sport, c.dport]).collect();
    let ours = |c: &ConnectionRow| ports.contains(&c.sport) && ports.contains(&c.dport);
    let foreign = facts
        .connections
        .iter()
        .filter(|c| !ours(c))
        .map(|c| i64::from(c.connection.0));
    let foreign: HashSet<i64> = foreign.collect();
    let t = table(facts, "balances")?;
    let columns = t.columns();
    let at = |name: &str| columns.iter().position(|c| c.name == name).unwrap_or(usize::MAX);
    let connection = at("connection");
    let (kind, expected, unexplained, because) =
        (at("kind"), at("bytes_expected"), at("unexplained_bytes"), at("because"));
    let mut oracle = Oracle {
        name: BYTES,
        ..Oracle::default()
    };
    for row in 0..t.len() {
        if number(t.cell(row, connection)).is_some_and(|c| foreign.contains(&c)) {
            continue;
        }
        let expected = number(t.cell(row, expected)).unwrap_or(0).unsigned_abs();
        let open = number(t.cell(row, unexplained)).unwrap_or(0).unsigned_abs();
        oracle.checked += expected;
        oracle.wrong += open;
        if open > 0 && oracle.note.is_empty() {
            let (kind, why) = (text(t.cell(row, kind)), text(t.cell(row, because)));
            oracle.note = format!("{kind}: {open} of {expected} bytes unexplained ({why})");
        }
    }
    Some(oracle)
}

/// Name of the oracle that counts bytes.
pub const BYTES: &str = "bytes explained";
