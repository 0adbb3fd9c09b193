//! What the host's CPUs did with their time. In: `Answers::cpus`.

use netmortem_analyzer::analyses::cpus::{Cpu, Cpus, Shares};

use super::ROWS;
use crate::document::{Block, Cell, Column, Table};
use crate::sections::shared::truncation;

/// The table; CPUs of which most was stolen first, then the busiest.
pub(super) fn table(cpus: &Cpus) -> Block {
    let mut all: Vec<&Cpu> = cpus.cpus.iter().collect();
    let key = |c: &Cpu| (c.shares.steal, c.shares.busy());
    all.sort_by(|a, b| {
        let (a, b) = (key(a), key(b));
        b.0.total_cmp(&a.0).then(b.1.total_cmp(&a.1))
    });
    let cells = |name: String, s: &Shares| {
        let shares = [s.busy(), s.user, s.system, s.softirq, s.irq, s.iowait, s.idle, s.steal];
        let mut row = vec![Cell::Text(name.into())];
        row.extend(shares.map(Cell::Fraction));
        row
    };
    let mut rows = vec![cells("all".into(), &cpus.all)];
    rows.extend(
        all.iter()
            .take(ROWS)
            .map(|c| cells(format!("CPU {}", c.cpu), &c.shares)),
    );
    let columns = [
        "busy",
        "programs",
        "kernel",
        "softirqs",
        "interrupts",
        "waiting for a disk",
        "idle",
        "stolen",
    ];
    let mut heads = vec![Column::text("")];
    heads.extend(columns.map(Column::number));
    Block::Table(Table {
        caption: "CPU time of the host".into(),
        columns: heads,
        rows,
        note: truncation(all.len().min(ROWS), all.len(), "most stolen first, then the busiest", "show counters INPUT").or_else(|| {
            Some("/proc/stat before and after the recording. Stolen: not run by the hypervisor though it had work, for other guests or a limit of this one; no event tells of it.".into())
        }),
    })
}
