//! Whose time it was, the application's or the network's: on each TCP socket, from request to answer.
//!
//! In: reads (receive), sends (transmit), thread states, names, sockets. Out: rows of `turnarounds` and `responses`. Must not
//! judge: whether a socket speaks in requests and answers at all is asked in `analyses/application`.
//!
//! ```text
//! here    send call ───────────────────────── response ─────────────────────────> first byte of the answer readable ─> read
//!              └ there ─> peer: last byte readable ─ unread ─> read ─ think ─> send call ── back ──^
//!                              └────────────── turnaround ──────────────────────┘
//! ```
//! Reads and sends of a socket are taken in order of time. Reads without a send between them are one request (or answer), and
//! so are sends without a read. A turnaround runs from when the last byte that was read became readable: the request was there
//! then, whatever the application did before it looked. It is divided by what threads did: the reading one until its read, the
//! sending one from there. Where two threads share the work the link between them is order alone: weak.
//!
//! What is read next was sometimes readable before the send began: then it is no answer to it, and the request was not alone
//! (`overlap`). A response and the one turnaround of the peer's socket that lies in it are a pair; three parts sum to it.
//!
//! Of long turnarounds asleep in no recorded call it is told which thread of the same process (by the snapshots of tasks) ran meanwhile.
//!
//! Not seen: reads by splice and by the kernel (kTLS, NFS), datagrams (see `datagrams`), requests of a multiplexed stream (HTTP/2) one by one.

mod asleep;
mod meanwhile;
mod responses;
pub mod tables;
#[cfg(test)]
mod tests;
mod tracker;

pub use tracker::{Application, Inputs, compute};
