//! Byte conservation, computed: what the kernel's own lengths and sequence numbers say against what the reconstruction
//! found, for every kind of link that moves bytes.
//!
//! In: heads and packets cut (lineage), sockets (tcp), the receive ledger, frames sent (transmit). Out: rows of `balances`.
//! Must not repair anything: a difference is stated, and the edges behind it are weak already.
//!
//! ```text
//! gro_head       growth of the head at netif_receive_skb     = payloads of the packets merged into it
//! gso_children   payload of the packet cut                   = payloads of its segments
//! coalesce_fifo  payload that tcp_probe showed to arrive     = bytes read + payload still waiting
//! tx_payload     advance of snd_nxt between probes           = payloads of the frames sent first meanwhile
//! ```
//! Differences never cancel: `unexplained_bytes` sums them by unit (head, packet, interval of snd_nxt) without sign.
//! Rules: RECONSTRUCTION 0 (9), 3a, 3d.

mod compute;
pub mod sent;
pub mod tables;
#[cfg(test)]
mod tests;

pub use compute::{Inputs, compute, unexplained};
