//! Identity of skbs: which life of its address each event is about, and the lives themselves.
//!
//! In: every event that names an skb. Out: [`Identity`]: the life of each event (by position in the merged sequence), the
//! rows of `skbs` and `hops`. Everything downstream asks for lives, never for addresses. Must not know sockets or tasks
//! (`acks` alone knows the ends of sockets that send again, `owners` the addresses of sockets).
//!
//! An address is re-used within microseconds and most TCP skbs die without an event, so a life is an epoch of its address:
//!
//! ```text
//!  none ── netif_rx_entry, gro entry, netif_receive_skb ──> rx: queued ─> in gro ─> received ─> in tcp ─> copied
//!       ── net_dev_queue ────────────────────────────────> tx: queued ─> started ─┬─ netif_rx / gro entry nested or next, same
//!       ── tcp_sendmsg_locked (write-queue tail) ────────> tx original            │  address: the life goes on as rx (veth, lo)
//!                                                                                 └─ net_dev_queue on the next device (forward)
//!  a bridge, tunnel, IFB receives or queues it again: the life goes on (`again`)
//!  death: consume_skb, kfree_skb, GRO exit ret 1; else silent: the next birth of the address ends the life at an unknown
//!  time after its last event, which is exact enough to state only for pure ACKs (TCP frees them at once) and read data.
//! ```
//! A free that names an address whose life must already have ended silently, from a place where such skbs are not freed, is
//! the free of an untracked re-use (netlink, unix): it is counted, not taken as the end of a long life. Rules: RECONSTRUCTION 3a.

mod acks;
mod again;
mod deaths;
mod devices;
mod fclone;
mod flight;
mod forwarded;
mod frees;
mod identity;
mod life;
mod owners;
mod programs;
mod refused;
mod stack;
pub mod tables;
#[cfg(test)]
mod tests;
mod tracker;
mod transmit;
mod verdicts;

pub use forwarded::Forwarded;
pub use frees::{FreePlace, Frees};
pub use identity::{Identity, Sent, identify};
pub use programs::{ByProgram, Traffic};
pub use verdicts::{Pause, Reinjected, SILENT_NS, name as name_verdicts};
