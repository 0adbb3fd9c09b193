//! NAPI polls.
//!
//! In: softirq events and `napi_poll`. Out: rows of `polls`. Must not know packets.
//!
//! ```text
//! softirq_entry(NET_RX) ──poll 0──> napi_poll ──poll 1──> napi_poll ... softirq_exit
//! ```
//! `napi_poll` fires when `->poll()` has returned (`__napi_poll`, net/core/dev.c); the start is inferred as the end of the
//! previous poll of the run, or the run's entry, so it contains the loop's own work between two polls.

pub mod tables;
#[cfg(test)]
mod tests;
mod tracker;

pub use tracker::run;
