//! The receive ledger: for every unit (skb after GRO) delivered to a socket, the waits that sum to its time.
//!
//! In: lives (skb), sockets (tcp), thread states, names, and the receive path's events. Out: rows of `rx`, and payload
//! that TCP dropped again, per connection. Must not decide identity: it asks for lives and sockets.
//!
//! ```text
//! irq ─> raise ─> softirq_entry ─> gro entry ─> netif_receive_skb ─> tcp_probe ─> sk_data_ready ─> copy ─> sock_recv_length ─> sys_exit
//!                  netif_rx ─────────────────^        (UDP: no probe) ─────────────^   (UDP: no copy) ─^
//! unit ── pushed at tcp_probe (bytes) or sk_data_ready (UDP) ──> FIFO of its socket ── popped by bytes copied (or per datagram)
//! ```
//! The FIFO is what ties a read to the unit whose bytes it took: `copy` names only the head after coalescing. A unit that a
//! copy names needs no order. Those coalesced into it are taken by order: where segments came out of order (no
//! `sk_data_ready` followed them) the ACKs of a recorded peer prove it, or the bytes of reads that left nothing; else they are weak,
//! unless one call read them all. When they became readable: [`readable`].
//! Receive-queue residence is divided by what the reading thread did meanwhile. Rules: RECONSTRUCTION 3a-3c.
//!
//! | reader | how the read is known |
//! |---|---|
//! | TCP receive | copies, `sock_recv_length`, the call's return; without a copy the length alone |
//! | MSG_PEEK | takes nothing |
//! | splice | `tcp_rcv_space_adjust` says when, `sys_exit_splice` how much |
//! | `tcp_read_sock` in the kernel | `tcp_rcv_space_adjust` alone: all that was readable, weakly |
//! | io_uring, kernel threads | as TCP receive, without a return |
//! | UDP | one `sock_recv_length` per datagram, in order; `skb_consume_udp` names it where its free is an event (6.12) |
//! | UDP before 6.3 | freed by a thread inside a receive call: not announced, so its wait is not divided |
//! | raw, ping | as UDP; a clone waits, so the original's free says nothing |
//!
//! Memory: units whose life goes on or whose read is not over, and the rows.

mod acks;
mod arrivals;
mod aside;
mod claims;
mod closed;
mod cpu;
mod elsewhere;
mod fifo;
mod first;
mod ledger;
mod line;
mod low_water;
mod order;
mod progress;
mod proof;
mod readable;
mod reads;
mod routes;
mod silent;
mod stages;
pub mod tables;
#[cfg(test)]
mod tests;
mod tracker;
mod unit;
mod units;
mod words;

pub use closed::closed;
pub use elsewhere::elsewhere;
pub use fifo::StreamBytes;
pub use ledger::Asks;
pub use routes::walk;
pub use tracker::{Coalesced, Queued, Read, Receive};
pub use unit::payload;
