//! Rows of the view `softirqs`.

use crate::confidence::Confidence;
use crate::name::Name;
use crate::reconstruct::context::{PARTS, Part, RunBy};
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
    pub run_by: RunBy,
    /// What its CPU did between raise and entry; `None` without a raise. The parts sum to the wait.
    pub wait: Option<[i64; PARTS]>,
    /// The largest of these.
    pub blame: Option<Blame>,
    /// Start of the first of the runs of which this is one, back to back (`handle_softirqs` loops): an episode.
    pub episode_ns: i64,
    /// NET_RX only: stopped by netdev_budget or netdev_budget_usecs with the rest left for another run; `None`: not known.
    pub squeezed: Option<bool>,
    /// Interrupted or running task.
    pub pid: i32,
    /// Its name.
    pub comm: Name,
    /// Hard interrupts handled inside the run, ns; `None` when nothing says that these were recorded.
    pub irq_ns: Option<i64>,
    /// Its thread was switched out inside the run (PREEMPT_RT); boxed, as most recordings have none.
    pub preempted: Option<Box<Preempted>>,
    /// Confidence of the pairing.
    pub confidence: Confidence,
}

impl SoftirqRow {
    /// Time in it that its thread had the CPU, ns; `None`: its end was not seen.
    pub fn ran_ns(&self) -> Option<i64> {
        let away = self.preempted.as_ref().map_or(0, |p| p.ns);
        Some(self.end_ns?.wrapping_sub(self.start_ns).wrapping_sub(away))
    }
}

/// A softirq run whose thread did not have its CPU all the time.
#[derive(Debug, Clone, PartialEq)]
pub struct Preempted {
    /// How long it had not, ns.
    pub ns: i64,
    /// Of that, while it waited for a lock, ns.
    pub lock_ns: i64,
    /// Who had it longest meanwhile: its thread id.
    pub pid: i32,
    /// And its name; `swapper`: nobody, the thread waited for a lock.
    pub by: Name,
}

/// What kept a softirq waiting longest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Blame {
    /// The largest part of the wait.
    pub part: Part,
    /// Who had most of that part: interrupt, vector or task; empty when it has no name.
    pub who: Name,
    /// The part, ns.
    pub ns: i64,
}

impl Blame {
    /// `part: who`, as one text.
    pub fn text(&self) -> String {
        match self.who.is_empty() {
            true => self.part.word().to_string(),
            false => format!("{}: {}", self.part.word(), self.who.text()),
        }
    }
}

macro_rules! wait_col {
    ($name:literal, $part:ident, $meaning:literal) => {
        col!($name, "ns", I64, $meaning, |r: &SoftirqRow, _| r
            .wait
            .and_then(|w| w.get(Part::$part as usize).copied())
            .into())
    };
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
            "preempted_ns",
            "ns",
            I64,
            "part of run_ns in which its thread was not on the CPU: preempted, or waiting for a lock (PREEMPT_RT); empty: it was, or switches were not recorded",
            |r, _| r.preempted.as_ref().map(|p| p.ns).into()
        ),
        col!(
            "preempted_lock_ns",
            "ns",
            I64,
            "part of preempted_ns in which it waited for a lock: it was not runnable when it was switched out",
            |r, _| r.preempted.as_ref().map(|p| p.lock_ns).into()
        ),
        col!(
            "preempted_by",
            "",
            Str,
            "task that ran longest meanwhile; swapper: none",
            |r, _| r.preempted.as_ref().map_or(Cell::Null, |p| Cell::name(&p.by))
        ),
        col!(
            "run_by",
            "",
            Str,
            "who ran it: irq_tail, bh_enable (a task enabling bottom halves; an interrupt's thread on PREEMPT_RT), ksoftirqd (or ktimers, of PREEMPT_RT), unknown",
            |r, _| Cell::str(r.run_by.word())
        ),
        col!(
            "blame",
            "",
            Str,
            "largest part of wait_ns, and who had most of it; empty without a raise",
            |r, _| r.blame.map_or(Cell::Null, |b| Cell::str(b.text()))
        ),
        col!("blame_ns", "ns", I64, "that part of wait_ns", |r, _| r
            .blame
            .map(|b| b.ns)
            .into()),
        wait_col!("wait_irq_ns", Irq, "part of wait_ns: hard interrupts"),
        wait_col!(
            "wait_softirq_ns",
            Softirq,
            "part of wait_ns: other vectors, or the vector's run before"
        ),
        wait_col!(
            "wait_bh_off_ns",
            BhOff,
            "part of wait_ns: a task with bottom halves off"
        ),
        wait_col!(
            "wait_ksoftirqd_ns",
            Ksoftirqd,
            "part of wait_ns: ksoftirqd runnable while something else ran, or starting"
        ),
        wait_col!(
            "wait_task_ns",
            Task,
            "part of wait_ns: a task of which no event shows that bottom halves were off"
        ),
        wait_col!("wait_idle_ns", Idle, "part of wait_ns: idle, or leaving idle"),
        wait_col!("wait_unknown_ns", Unknown, "part of wait_ns: not told by the recording"),
        col!(
            "episode_ns",
            "ns",
            I64,
            "start of the first of the runs back to back with this one (one loop of handle_softirqs)",
            |r, _| Cell::I64(r.episode_ns)
        ),
        col!(
            "squeezed",
            "",
            Bool,
            "NET_RX: stopped by netdev_budget or netdev_budget_usecs; empty when not known",
            |r, _| r.squeezed.into()
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
