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
//! The FIFO is what ties a read to the unit whose bytes it took: `copy` names only the head after coalescing. While a
//! segment may be out of order (no `sk_data_ready` followed it) the FIFO's order is a guess, and its units are weak.
//! Receive-queue residence is divided by what the reading thread did meanwhile. Rules: RECONSTRUCTION 3a-3c.

mod cpu;
mod fifo;
mod ledger;
mod reads;
mod routes;
mod stages;
pub mod tables;
#[cfg(test)]
mod tests;
mod tracker;
mod unit;

pub use ledger::Asks;
pub use routes::run;
pub use tracker::Receive;
pub use unit::payload;
