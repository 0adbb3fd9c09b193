//! Softirq runs per CPU: the raise each answers, what kept the CPU in between, and who ran it.
//!
//! In: irq_handler_*, softirq_*, napi_poll, sched_switch and wake-ups of ksoftirqd; while a vector is pending, the context
//! flags of every event of the CPU. Out: rows of `softirqs`. Must not know packets.
//!
//! ```text
//! raise(vec) [first since the run before began] ── wait, divided by what the CPU did ──> entry(vec) ─> exit(vec)
//!              event ──> event: hard interrupt | other vector | bottom halves off | ksoftirqd's run queue | task | idle
//!
//! run_by   ksoftirqd        its thread runs
//!          irq_tail         the event before the entry is in a hard interrupt that interrupted no softirq and no BH-off section
//!          bh_enable        it is in the same task
//!          as the run before   the entry follows an exit at once (handle_softirqs loops): one episode
//! ```
//! PREEMPT_RT: a run is preempted, or waits for a lock: `away` keeps when, and who ran instead.
//!
//! CPUs are walked in parallel, each alone. An entry whose exit is missing (gap, end of the recording) has no end; an exit
//! without entry gives no row; a raise behind a gap need not be the first, so it is none.

mod away;
mod run;
mod squeeze;
pub mod tables;
#[cfg(test)]
mod tests;
mod tracker;

pub use away::Aways;
pub use run::Softirqs;
pub use squeeze::{Counted, Limits};
