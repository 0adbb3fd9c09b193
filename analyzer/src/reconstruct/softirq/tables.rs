//! Rows of the view `softirqs`.

use crate::confidence::Confidence;
use crate::name::Name;
use crate::table::{Cell, TableDef, col};

/// Softirq vector names in kernel order; a recording's own table, when it has one, is preferred for display.
pub const VECTORS: [&str; 10] = [
    "HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU",
];

/// Number of the NET_RX vector (include/linux/interrupt.h, unchanged since 2.6).
pub const NET_RX: u32 = 3;

/// One softirq run: from `softirq_entry` to `softirq_exit` of one vector.
#[derive(Debug, Clone, PartialEq)]
pub struct SoftirqRow {
    /// CPU.
    pub cpu: u16,
    /// `softirq_entry`.
    pub start_ns: i64,
    /// `softirq_exit`; `None` when not seen.
    pub end_ns: Option<i64>,
    /// Vector number.
    pub vec: u32,
    /// First `softirq_raise` of the vector since its previous run ended.
    pub raise_ns: Option<i64>,
    /// Who ran it.
    pub runner: Runner,
    /// Interrupted or running task.
    pub pid: i32,
    /// Its name.
    pub comm: Name,
    /// Hard interrupts handled inside the run, ns; `None` when nothing says that these were recorded.
    pub irq_ns: Option<i64>,
    /// Confidence of the pairing.
    pub confidence: Confidence,
}

/// Who ran a softirq.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Runner {
    /// The tail of a hard interrupt.
    IrqTail,
    /// ksoftirqd/N.
    Ksoftirqd,
    /// A task that enabled bottom halves.
    TaskBh,
    /// Not known.
    Unknown,
}

impl Runner {
    /// The word in tables.
    pub fn word(self) -> &'static str {
        match self {
            Runner::IrqTail => "irq_tail",
            Runner::Ksoftirqd => "ksoftirqd",
            Runner::TaskBh => "task_bh",
            Runner::Unknown => "unknown",
        }
    }
}

/// The view `softirqs`.
pub static SOFTIRQS: TableDef<SoftirqRow> = TableDef {
    name: "softirqs",
    meaning: "one row per run of a softirq vector on a CPU",
    columns: &[
        col!("cpu", "id", U64, "CPU", |r, _| Cell::U64(r.cpu.into())),
        col!("start_ns", "ns", I64, "softirq_entry", |r, _| Cell::I64(r.start_ns)),
        col!("end_ns", "ns", I64, "softirq_exit; empty when not seen", |r, _| r
            .end_ns
            .into()),
        col!("vec", "id", U64, "vector number", |r, _| Cell::U64(r.vec.into())),
        col!("vector", "", Str, "vector name", |r, _| VECTORS
            .get(r.vec as usize)
            .map_or(Cell::Null, |v| Cell::str(*v))),
        col!(
            "raise_ns",
            "ns",
            I64,
            "first softirq_raise since the previous run of the vector ended; empty when none was seen",
            |r, _| r.raise_ns.into()
        ),
        col!("wait_ns", "ns", I64, "start_ns - raise_ns", |r, _| r
            .raise_ns
            .map(|t| r.start_ns - t)
            .into()),
        col!("run_ns", "ns", I64, "end_ns - start_ns", |r, _| r
            .end_ns
            .map(|t| t - r.start_ns)
            .into()),
        col!(
            "irq_ns",
            "ns",
            I64,
            "hard interrupts handled inside the run; empty when irq_handler_entry was not recorded",
            |r, _| { r.irq_ns.into() }
        ),
        col!(
            "runner",
            "",
            Str,
            "irq_tail, ksoftirqd, task_bh (a task enabling bottom halves), unknown",
            |r, _| Cell::str(r.runner.word())
        ),
        col!(
            "pid",
            "id",
            I64,
            "task that ran or was interrupted: it pays, it need not be the cause",
            |r, _| Cell::I64(r.pid.into())
        ),
        col!(
            "comm",
            "",
            Str,
            "its name; empty when not known",
            |r, _| if r.comm.is_empty() {
                Cell::Null
            } else {
                Cell::str(r.comm.text())
            }
        ),
        col!("confidence", "", Str, "of entry and exit belonging together", |r, _| {
            Cell::str(r.confidence.word())
        }),
    ],
};
