//! `tcp:tcp_sendmsg_locked`: A send is about to append to the write queue: loop of `tcp_sendmsg_locked`
//! (net/ipv4/tcp.c). Since 6.16.
//!
//! Traps: no socket here; the task and its `sock_send_length` tell. `skb_addr` is the queue's tail BEFORE this append,
//! 0 when none.

use crate::tracepoints::tracepoint;

tracepoint! {
    /// One round of a send.
    pub struct TcpSendmsgLocked: "tcp" "tcp_sendmsg_locked" {
        /// Address of the tail `struct sk_buff`, or 0.
        skb_addr: u64,
        /// Its length, bytes.
        skb_len: i32,
        /// Bytes of the call still to take.
        msg_left: i32,
        /// Bytes that an skb should reach.
        size_goal: i32,
    }
}

#[cfg(test)]
mod tests;
