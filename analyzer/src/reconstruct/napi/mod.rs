//! NAPI polls.
//!
//! In: softirq events, `napi_poll`, and where packets begin (`netif_receive_skb`, GRO entries). Out: rows of `polls`, and
//! [`Ran`]: who ran what a unit of the receive path met. Must not follow packets.
//!
//! ```text
//! softirq_entry(NET_RX) ──poll 0──> napi_poll ──poll 1──> napi_poll ─(flush of poll 1)─ ... softirq_exit
//!                                    work < budget          work = budget: netif_receive_skb ... until the next GRO entry
//! ```
//! `napi_poll` fires when `->poll()` has returned (`__napi_poll`, net/core/dev.c); the start is inferred as the end of the
//! previous poll of the run, or the run's entry, so it contains the loop's own work between two polls. A poll that used its
//! full weight has not flushed GRO yet: what its flush delivers comes behind its end marker. Where the next poll has
//! packets but no GRO entry (the backlog), those cannot be told from the flush's.
//! Outside softirq: the thread's name and the budget tell threaded NAPI from busy polling.

mod lookup;
pub mod tables;
#[cfg(test)]
mod tests;
mod tracker;

pub use lookup::Ran;
pub use tracker::Polls;
