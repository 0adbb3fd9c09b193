//! Rows of the view `polls`.

use crate::confidence::Confidence;
use crate::name::Name;
use crate::reconstruct::context::RunBy;
use crate::table::{Cell, TableDef, col};

/// One NAPI poll. `napi_poll` marks its end; its start is inferred.
#[derive(Debug, Clone, PartialEq)]
pub struct PollRow {
    /// CPU.
    pub cpu: u16,
    /// End of the previous poll of the same softirq run (with its flush), or the run's entry; `None` outside a seen NET_RX run.
    pub start_ns: Option<i64>,
    /// The `napi_poll` event.
    pub end_ns: i64,
    /// Address of the napi_struct.
    pub napi: u64,
    /// Device name; `(no_device)` for the per-CPU backlog.
    pub dev: Name,
    /// Packets received, as the driver reported.
    pub work: Option<i32>,
    /// Most it was allowed.
    pub budget: Option<i32>,
    /// Position in the softirq run, from 0; `None` outside a run.
    pub nth: Option<u32>,
    /// In which context it ran.
    pub context: PollContext,
    /// Who ran it.
    pub run_by: RunBy,
    /// Last packet that the flush behind a poll of full weight delivered: behind `end_ns`, but of this poll. `None` when
    /// there was none or it cannot be told from the next poll's packets.
    pub flush_end_ns: Option<i64>,
    /// The thread, where a NAPI thread ran it.
    pub threaded: Option<Box<Threaded>>,
    /// `start_ns` is inferred: strong at best.
    pub confidence: Confidence,
}

/// A poll of threaded NAPI. Boxed, as most recordings have none.
#[derive(Debug, Clone, PartialEq)]
pub struct Threaded {
    /// Its name, `napi/DEVICE-NUMBER`.
    pub task: Name,
    /// Its id.
    pub pid: i32,
    /// Since its poll before: woken and not running, ns, at most 0.2 ms too short; `None`: scheduling was not recorded, or the poll
    /// before was not.
    pub wait_ns: Option<i64>,
    /// What ran longest on its CPU meanwhile; `swapper`: nothing; empty: it did not wait, or that is not known.
    pub behind: Name,
}

/// Where a poll ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PollContext {
    /// NET_RX softirq.
    Softirq,
    /// A task, not in softirq: threaded NAPI or busy polling.
    Task,
    /// Not known.
    Unknown,
}

impl PollContext {
    /// The word in tables.
    pub fn word(self) -> &'static str {
        match self {
            PollContext::Softirq => "softirq",
            PollContext::Task => "task",
            PollContext::Unknown => "unknown",
        }
    }
}

/// The view `polls`.
pub static POLLS: TableDef<PollRow> = TableDef {
    name: "polls",
    meaning: "one row per NAPI poll",
    columns: &[
        col!("cpu", "id", U64, "CPU", |r, _| Cell::U64(r.cpu.into())),
        col!(
            "start_ns",
            "ns",
            I64,
            "inferred: end of the previous poll of the softirq run (with its flush), or the run's entry; empty outside a seen run",
            |r, _| r.start_ns.into()
        ),
        col!(
            "end_ns",
            "ns",
            I64,
            "the napi_poll event, which fires when the poll returns",
            |r, _| Cell::I64(r.end_ns)
        ),
        col!("napi", "", Str, "address of the napi_struct", |r, _| Cell::address(
            r.napi
        )),
        col!(
            "dev",
            "",
            Str,
            "device; (no_device) is the per-CPU backlog (loopback, veth, RPS)",
            |r, _| Cell::str(r.dev.text())
        ),
        col!(
            "work",
            "packets",
            I64,
            "packets received; a poll that only freed transmitted packets has 0",
            |r, _| r.work.map(i64::from).into()
        ),
        col!("budget", "packets", I64, "most packets allowed", |r, _| r
            .budget
            .map(i64::from)
            .into()),
        col!(
            "exhausted",
            "",
            Bool,
            "work reached budget: the NAPI was not finished",
            |r, _| r.work.zip(r.budget).map(|(w, b)| w >= b).into()
        ),
        col!("duration_ns", "ns", I64, "end_ns - start_ns", |r, _| r
            .start_ns
            .map(|s| r.end_ns - s)
            .into()),
        col!("nth", "count", U64, "position in the softirq run, from 0", |r, _| r
            .nth
            .into()),
        col!(
            "context",
            "",
            Str,
            "softirq, task (threaded NAPI or busy polling), unknown",
            |r, _| Cell::str(r.context.word())
        ),
        col!(
            "run_by",
            "",
            Str,
            "who ran it: irq_tail, bh_enable, ksoftirqd, threaded_napi, busy_poll, unknown",
            |r, _| Cell::str(r.run_by.word())
        ),
        col!(
            "flush_ns",
            "ns",
            I64,
            "last packet delivered by the flush behind a poll of full weight, minus end_ns; empty when none or not told apart",
            |r, _| r.flush_end_ns.map(|t| t - r.end_ns).into()
        ),
        col!("task", "", Str, "NAPI thread that ran it; empty in softirq", |r, _| (r
            .threaded
            .as_ref())
        .map_or(Cell::Null, |t| Cell::name(&t.task))),
        col!("pid", "id", I64, "its thread id", |r, _| (r.threaded.as_ref())
            .map_or(Cell::Null, |t| Cell::thread(t.pid))),
        col!(
            "thread_wait_ns",
            "ns",
            I64,
            "how long that thread was woken and not running since its poll before, at most 0.2 ms too short; empty when not known",
            |r, _| r.threaded.as_ref().and_then(|t| t.wait_ns).into()
        ),
        col!(
            "behind",
            "",
            Str,
            "task that ran longest on its CPU meanwhile; swapper: none",
            |r, _| (r.threaded.as_ref()).map_or(Cell::Null, |t| Cell::name(&t.behind))
        ),
        col!("confidence", "", Str, "of start_ns", |r, _| Cell::str(
            r.confidence.word()
        )),
    ],
};
