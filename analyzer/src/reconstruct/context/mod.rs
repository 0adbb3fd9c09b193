//! What a CPU is doing: hard interrupts, softirq runs, the raise that led to a run, NAPI polls inside it. A small
//! machine that several trackers feed and ask.
//!
//! In: irq and softirq events and `napi_poll` of one CPU in order. Out: the current run and its origin. Does not
//! write rows.
//!
//! ```text
//! irq_handler_entry -> softirq_raise (hardirq flag) -> irq_handler_exit -> softirq_entry -> [napi_poll ...] -> softirq_exit
//! ```
//! Source: kernel/softirq.c `handle_softirqs`, `raise_softirq_irqoff`; RECONSTRUCTION part 3c.

mod blame;
mod cpu;
mod doing;
mod run_by;
#[cfg(test)]
mod tests;

pub use blame::{Ksoftirqd, PARTS, Part, Wait, Who};
pub use cpu::{Cpu, Cpus, IrqOrigin, Raise, Run};
pub use doing::{BH_OFF, Doing, Edge, Point, SOFTIRQ, between};
pub use run_by::RunBy;
