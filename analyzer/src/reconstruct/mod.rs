//! Trackers: from the merged events to fact tables. One folder per tracker; `run.rs` says in which order they run.
//!
//! ```text
//! Trace ─┬─ skb (identity of every address: ids per event, lives, hops) ─┐
//!        ├─ tcp (sockets, samples, states, retransmits) ─────────────────┼─ receive (ledger) ── drops
//!        ├─ thread, comms (who ran, slept, was called what) ─────────────┼─ transmit (ledger)
//!        ├─ timers (which socket's), xmits (passes over devices) ────────┘
//!        ├─ neighbours (entries of ARP and neighbour discovery)
//!        ├─ application (requests and answers: whose time) <─ reads of receive, sends of transmit, thread
//!        ├─ datagrams (what was sent on UDP sockets, what came back, what came twice) <─ rows of receive and transmit, thread
//!        ├─ lineage (edges between lives) ── balances (do their bytes add up)
//!        ├─ whose (the socket or thread that a packet is of) ── drops
//!        ├─ limiters (what held senders, by the kernel's own clocks too)
//!        ├─ negotiated (window scaling and sizes, by the kernel's lists of sockets)
//!        ├─ listeners (how many sockets share a port, by the same lists)
//!        ├─ softirq (waits and who ran them) ── napi
//!        └─ skew (how far the CPUs' clocks are apart)
//! ```

pub mod application;
pub mod balances;
pub mod comms;
pub mod context;
pub mod datagrams;
pub mod dispatch;
pub mod drops;
pub mod herds;
pub mod limiters;
pub mod lineage;
pub mod listeners;
pub mod napi;
pub mod negotiated;
pub mod neighbours;
mod noticed;
pub mod observer;
pub mod opens;
pub mod peers;
pub mod probes;
pub mod receive;
mod run;
pub mod skb;
pub mod skew;
pub mod softirq;
pub mod stage_times;
pub mod tcp;
pub mod thread;
pub mod timers;
pub mod transmit;
pub mod whose;
pub mod xmits;

pub use run::reconstruct;

/// Ethertype of ARP: a request that is sent from inside a send call is not its payload (include/uapi/linux/if_ether.h).
pub(crate) const ETH_P_ARP: u16 = 0x0806;
/// Ethertypes of IPv4 and IPv6.
pub(crate) const ETH_P_IP: u16 = 0x0800;
pub(crate) const ETH_P_IPV6: u16 = 0x86dd;
