//! `netmortem:accept_queue`: a probe of ours (`--extra kprobes`) at `inet_csk_complete_hashdance` (net/ipv4/inet_connection_sock.c): the handshake of a
//! connection is complete, and it is about to wait for `accept`. Linux 6.4 and later, with BTF. Recorders name the group after their pid.
//!
//! Traps: `waiting` is what waited before this one; a queue is full when more than `limit` wait. Not each that is told is then taken: the kernel looks
//! for room before and, when two CPUs complete one handshake, keeps one.

use crate::tracepoints::tracepoint;

tracepoint! {
    /// A connection that is ready to be accepted.
    pub struct AcceptQueue: "netmortem" "accept_queue" {
        /// Address of the listening `struct sock`.
        sk: u64,
        /// Connections that wait already (sk_ack_backlog).
        waiting: u32,
        /// The `backlog` of `listen`, or net.core.somaxconn where that is less (sk_max_ack_backlog).
        limit: u32,
    }
}

#[cfg(test)]
mod tests;
