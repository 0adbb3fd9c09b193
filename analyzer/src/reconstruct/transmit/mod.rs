//! The transmit ledger: for every TCP segment and every other packet sent, the waits that sum to its time.
//!
//! In: lives (skb), sockets and samples (tcp), timers, thread states, names, passes over devices (xmits), and the send
//! path's events. Out: rows of `tx`. Must not decide identity nor what happened inside a device: it asks.
//!
//! ```text
//! sys_enter_send* ─> tcp_sendmsg_locked ... ─> [write queue: rwnd cwnd nagle pacing tsq] ─> net_dev_queue ─> device ─> ... tcp_probe
//!     call            bytes handed over                      limits                          packet         xmits      snd_una
//! sends (calls by thread) ─┐
//! tracker (packets, what released each) ─┬─ per socket: flow (byte map, headers, ACKs) ─ limits (what held the queue) ─ stream ─┬─ ledger ─> TxRow
//! timers, tcp_probe ───────┘             └─ UDP and others ─────────────────────────────────────────────────────────────────────┘
//! ```
//! No event carries a sequence number. A socket's packets in order, less a header size calibrated so that payloads sum to
//! what `snd_nxt` advanced between two `tcp_probe`, give each its bytes; the same bytes in order of the send calls give each
//! its call. `tcp_probe` shows a socket BEFORE its segment is processed: an ACK's effect is in the next one. A queue's wait
//! is named by the numbers at the next `tcp_probe`, and by what released it. Rules: RECONSTRUCTION 3d, 3e.

mod adopt;
mod again;
mod agree;
mod behind;
mod bytes;
mod censor;
mod descriptors;
mod device;
mod ends;
mod fair_queue;
mod flow;
mod full;
mod halts;
mod headers;
mod held;
mod largest;
mod ledger;
mod limits;
mod order;
mod paced;
mod packet;
mod parked;
mod room;
mod routes;
mod sends;
mod shifted;
mod spent;
pub mod stages;
mod stream;
pub mod tables;
#[cfg(test)]
mod tests;
mod tracker;
mod unanswered;
mod windows;

pub use behind::BehindRow;
pub use full::{LeftFull, RefusedSend};
pub use halts::Halt;
pub use held::Once;
pub use largest::FullSegment;
pub use routes::{Inputs, Walked, walk};
pub use sends::{LastSend, Send};
pub use shifted::{Sacks, acknowledged};
pub use spent::Spent;
pub use stages::Stage;
