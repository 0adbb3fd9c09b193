//! Passes over devices: what happens to a packet between `__dev_queue_xmit` and the driver's completion.
//!
//! In: lives (skb), the events of the device layer, qdiscs, softirqs and interrupts, and the bundle's texts of qdiscs. Out: rows of `xmits` (one per
//! pass) and `txq_stops`. Must not know sockets; it decides no identity, it asks for lives.
//!
//! ```text
//! net_dev_queue ─┬─ bypass, noqueue ───────────────────────┬─> net_dev_start_xmit ─> net_dev_xmit ─> consume_skb
//!                └─ qdisc_enqueue ─ [queue stopped] ─ dequeue ┘        │  driver (less what nests)     completion
//!                   │ kfree_skb: dropped          rc 0x10: requeued <──┘
//!                   └ consume_skb: segmented; its segments start later and have waited since the parent was queued
//! ```
//! A stop of the queue is taken out of the time in the qdisc: by byte queue limits (BQL) or by the driver (ring full).
//! Devices that hand the skb on (loopback, veth) complete nothing: the pass ends at `net_dev_xmit`.
//! Rules: RECONSTRUCTION 3a (TX side), 3d; net/core/dev.c `__dev_xmit_skb`, `xmit_one`; net/sched/sch_generic.c
//! `dequeue_skb`, `sch_direct_xmit`.

mod ends;
mod frames;
mod known;
mod passes;
mod qdisc;
mod queues;
mod routes;
mod segments;
mod stops;
pub mod tables;
#[cfg(test)]
mod tests;
mod tracker;
mod work;

pub use known::NOQUEUE;
pub use passes::Passes;
pub use routes::walk;
pub use tables::{Pass, PassEnd, StopCause, TxqStop};
