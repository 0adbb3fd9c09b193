//! What held senders, twice: by the kernel's own clocks (TCP_INFO, in the socket snapshots at both ends of a recording) and
//! by the transmit ledger. They owe nothing to each other, so one checks the other.
//!
//! In: `sockets` snapshots, sockets (tcp), rows of `tx` and each write queue's waits counted once (transmit). Out: rows of
//! `limiters`. Must not change the ledger: a difference is stated.
//!
//! ```text
//! snapshot "start" ── tcp.busy_time, rwnd_limited, sndbuf_limited ──> snapshot "end"      the kernel's, in steps of a jiffy
//!        └ not there, and the socket was seen to be born: 0            └ not there: not told
//! ledger:  busy    from the first byte handed over to the last acknowledged, without pauses in which nothing was outstanding
//!          rwnd, cwnd    pieces of time in which the window held the first unsent byte (they do not overlap)
//!          sndbuf  the writer slept for room in a send call, or in poll until an ACK made some; the kernel counts of it only what it had nothing to send in
//! ```
//! `busy_time` holds the other two. Source: net/ipv4/tcp_output.c `tcp_chrono_start`, `tcp_cwnd_validate`; net/ipv4/tcp.c
//! `tcp_get_info_chrono_stats`.

mod compute;
mod snapshot;
pub mod tables;
#[cfg(test)]
mod tests;

pub use compute::{Inputs, compute};
