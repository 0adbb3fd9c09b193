//! Softirq runs per CPU, the raise each answers and who ran it.
//!
//! In: irq_handler_*, softirq_*. Out: rows of `softirqs`. Must not know packets.
//!
//! ```text
//! raise(vec) [first since the previous run began] ... entry(vec) -> exit(vec)
//! runner: ksoftirqd when its thread runs; irq_tail when the raise came in a hard interrupt; task_bh otherwise
//! ```
//! An entry whose exit is missing (gap, end of the recording) has no end; an exit without entry gives no row.

pub mod tables;
#[cfg(test)]
mod tests;
mod tracker;

pub use tracker::run;
