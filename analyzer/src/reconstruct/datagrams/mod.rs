//! What was sent on UDP sockets, and whether anything came back: by socket and task, and which datagrams came twice.
//!
//! In: the socket events of UDP, system calls, thread states, what `receive` saw queued on sockets, rows of `rx` and `tx`, snapshots of
//! sockets. Out: rows of `udp_turns`, `udp_sockets`, `udp_copies`. Must not judge: whether an answer is missed is asked in
//! `analyses/datagrams`.
//!
//! ```text
//! sends of a thread on a socket ──┬─ a datagram that arrived since is read ─────────────── answered
//! (no read, no wait in between)   ├─ a call on it gives ECONNREFUSED and the like ──────── refused
//!                                 ├─ the thread waited, then sends on it again ─────────── asked_again
//!                                 ├─ close of its descriptor ───────────────────────────── closed
//!                                 └─ events are lost, or the recording ends ────────────── lost, recording_end
//!
//! waiting for it: the first sleep after the send is in a receive call on the socket (receive); or in a poll, select or epoll_wait whose
//! time runs out, and before it sleeps again the thread asks the same (as many bytes) on a new socket, or closes this one, on which
//! nothing else was sent (poll: of one descriptor; several); or in a poll of one, and the socket was read after such a poll another time.
//! What a poll waits for is in the program's memory: without the rest it is "perhaps".
//! ```
//! A copy is a datagram that no send call made, queued on a device right beside one of the same length, where both came to the same socket
//! (nft `dup`, tc `mirred`); or the second complete packet of one send call seen there.
//!
//! Before Linux 6.3 no event names a UDP socket: there it is a process' descriptor, known by what its calls queue and take (`untold`).
//!
//! Not seen: which thread of several that share a socket waits for what another sent; sockets used by io_uring. Source: net/ipv4/udp.c `__udp_enqueue_schedule_skb`, net/ipv4/netfilter/nf_dup_ipv4.c.

mod arrivals;
mod calls;
mod landed;
mod left;
mod lengths;
mod replies;
mod routes;
mod rows;
mod snapshot;
pub mod sockets;
pub mod tables;
#[cfg(test)]
mod tests;
mod tracker;
mod untold;
mod whither;

pub(crate) use lengths::one_datagram;
pub use routes::walk;
pub use rows::{Datagrams, Inputs, rows};
pub use tracker::Found;
