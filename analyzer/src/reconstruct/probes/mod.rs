//! What the probes of `--extra kprobes` tell that no event of the kernel does: how many connections wait to be accepted, what waits behind a socket that is
//! in use, and how long names are resolved.
//!
//! In: the events of the group netmortem, the sockets of TCP. Out: rows of `accept_queues`, `socket_backlogs`, `name_lookups`. It must not guess: a queue's length is
//! known at the moment a connection joins it, and not between; a lookup whose begin or end is not in the recording has no length.
//!
//! ```text
//! accept_queue (listener, waiting) ── SYN_RECV -> ESTABLISHED on this CPU ──> its port, waiting + 1
//! backlog (socket, bytes) ──> largest of each socket, and when          getaddrinfo ── return, same thread ──> one lookup
//! ```
//! Sources: net/ipv4/inet_connection_sock.c `inet_csk_complete_hashdance`, net/ipv4/tcp_ipv4.c `tcp_add_backlog`, net/ipv4/tcp_minisocks.c `tcp_child_process`.

pub mod tables;
#[cfg(test)]
mod tests;
mod tracker;

pub use tracker::{Probes, walk};
