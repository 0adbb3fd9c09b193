//! Edges between lives of skbs: what became part of what, what was cut from what, what was copied from what.
//!
//! In: lives (skb), sockets (tcp), coalesced units (receive), and the events that tell merging and cutting. Out: rows of
//! `lineage`, and per unit how many bytes the edges should and do account for ([`Unit`]), which `balances` sums. Must not
//! decide identity, nor end lives: it asks for them.
//!
//! ```text
//! GRO      entry(X) .. exit 0|1           X -> the held head H of its NAPI and hash;   netif_receive_skb(H).len must have grown by it
//!          nested: the batch is delivered inside the last entry, so the open entry counts for a head that lacks its bytes
//! GSO      net_dev_queue(P) -> consume(P, validate_xmit_skb) -> start_xmit(children on that CPU and device)
//! qdisc    net_dev_queue(P) -> consume(P, tbf_..)  [kfree of segments that did not fit]  -> start_xmit(children out of that queue)
//! fclone   net_dev_queue(clone): original at clone - sizeof(struct sk_buff)            (told by skb)
//! copy     net_dev_queue(X) -> tcp_retransmit_skb(original), X not its companion       pskb_copy
//! coalesce copy(H) of more bytes than H had: the next units of the socket's FIFO       (told by receive)
//! tap      consume(T, tpacket_rcv) -> start_xmit(X): T is a clone of X                 (told by skb)
//! ```
//! The parent of a merge is what survives, the parent of a cut or a copy is what it came from. An edge is as sure as its
//! rule, and byte conservation is the arbiter: where lengths are known and do not add up, the edge says so and is weak.
//! Of what TCP sent no event has the original's length: `snd_nxt` and the first sending tell it (`sent.rs`).
//! A forward (bridge, router, veth) keeps the life, so it is a hop and no edge. Rules: RECONSTRUCTION 3a.

mod cut;
mod gro;
mod queueing;
mod queues;
mod sent;
mod split;
pub mod tables;
#[cfg(test)]
mod tests;
mod tracker;
mod unit;
mod why;

pub use sent::Sent;
pub use tracker::{Lineage, walk};
pub use unit::{Unit, UnitKind};
pub use why::Why;
