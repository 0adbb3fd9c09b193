//! `netmortem:backlog`: a probe of ours (`--extra kprobes`) at `tcp_add_backlog` (net/ipv4/tcp_ipv4.c): a segment comes while a thread is in a system
//! call of its socket, and waits behind that. Linux 6.4 and later, with BTF. Recorders name the group after their pid.
//!
//! Traps: the figures are those before this segment; `backlog` is memory (truesize) and not payload, and counts until the whole backlog was worked off.

use crate::tracepoints::tracepoint;

tracepoint! {
    /// A segment that waits for its socket.
    pub struct Backlog: "netmortem" "backlog" {
        /// Address of the `struct sock`.
        sk: u64,
        /// Address of the `struct sk_buff`.
        skb: u64,
        /// Memory of the segments that wait already (sk_backlog.len), bytes.
        backlog: i32,
        /// Memory of the receive queue (sk_rmem_alloc), bytes.
        rmem: i32,
        /// Its limit (sk_rcvbuf), bytes.
        rcvbuf: i32,
    }
}

#[cfg(test)]
mod tests;
