//! How TCP connections were opened, and which were reset: what a program waits for before its first byte, and what ends it early.
//!
//! In: socket states, `connect`, SYNs retransmitted, RSTs, errors told to sockets; sockets (tcp), names. Out: rows of `opens` (attempts of
//! this host to open a connection) and `resets`. Must not judge.
//!
//! ```text
//! sys_enter_connect ─ SYN_SENT ─ (tcp_retransmit_skb ...) ─┬─ ESTABLISHED                      established
//!                                                          ├─ tcp_receive_reset ─ CLOSE        refused
//!                                                          ├─ CLOSE in the call, its errno     no local port, no route, ...
//!                                                          ├─ CLOSE in softirq, by a timer     timed out (or an ICMP error, told behind it)
//!                                                          └─ CLOSE in task context            given up: the program closed it
//! ```
//! SYN_SENT is set before a local port is chosen, so an attempt that finds none begins and ends inside its call. One that finds no
//! route does not even begin: its call alone tells. Source: net/ipv4/tcp_ipv4.c `tcp_v4_connect`, net/ipv4/tcp_input.c `tcp_reset`.

mod accepts;
mod listens;
pub mod local;
pub mod reset_reasons;
mod resets;
mod senders;
pub mod tables;
#[cfg(test)]
mod tests;
mod tracker;

pub use accepts::at_ports;
pub use tracker::{Opens, walk};
