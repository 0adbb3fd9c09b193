//! TCP sockets: who they are, their samples and states, their retransmits and why.
//!
//! In: tcp_* and sock_* events, softirq context. Out: rows of `connections`, `tcp_samples`, `tcp_states`, `retransmits`,
//! and [`Sockets`], which says whose an address of a `struct sock` is at a time. Must not know skb lives.
//!
//! An address of a sock is not an identity (SLAB_TYPESAFE_BY_RCU: it served many connections within minutes): the cookie
//! is, where recorded; else address and 4-tuple together, until the socket closes.
//!
//! ```text
//! inet_sock_set_state ─┐
//! tcp_probe ───────────┼─ cookie ─> address+tuple ─> tuple ─> new ──> Socket ─> ConnectionRow
//! tcp_* (sock class) ──┘
//! retransmit: SYN state -> syn; TIMER softirq: Loss set in this run -> rto, Recovery -> rack_timer, else tlp;
//!             elsewhere: state Recovery -> fast; Loss set by a timer -> loss_recovery, by or after ICMP -> pmtu; else unknown
//! ```
//! Rules: RECONSTRUCTION 3b, 3e. `tcp_probe` fires before its segment is processed (first statement of `tcp_rcv_established`).

mod reads;
mod retransmit;
pub mod role;
mod sent_again;
mod sockets;
pub mod states;
pub mod tables;
mod tasks;
#[cfg(test)]
mod tests;
mod timers;
mod tracker;

pub use reads::Reads;
pub use sockets::{Sockets, Tuple};
pub use tracker::{MSG_PEEK, Tcp, ends, run};
