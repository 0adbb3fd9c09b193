//! Packets that netfilter gave to a program and that go on when it has said so (NFQUEUE; net/netfilter/nfnetlink_queue.c).
//!
//! ```text
//! netif_receive_skb(lan1) ─> held ─> sendto of an AF_NETLINK socket of netfilter's: nf_reinject ─> net_dev_queue(dc1)   longer by its link-layer header
//! ```
//! The packet goes on inside the program's own send call, in plain task context: such a thread is known by its sends to NETLINK_NETFILTER. What it sends
//! by sockets of its own has an address that no received packet holds; a packet that TCP took in silently may have left its address to it, so this is
//! strong and not certain. Packets of GSO are cut up for the queue, and go on as others.

use rustc_hash::FxHashSet;

use crate::facts::SkbId;
use crate::ingest::Event;
use crate::name::Name;
use crate::reconstruct::comms::Comms;
use crate::reconstruct::thread::Threads;

/// linux/socket.h, linux/netlink.h.
const AF_NETLINK: u16 = 16;
const NETLINK_NETFILTER: u16 = 12;
/// Kept of each recording.
const MOST: usize = 1_000_000;

/// A packet that went on when a program had said so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reinjected {
    /// Which.
    pub skb: SkbId,
    /// When it had been received.
    pub from_ns: i64,
    /// When it went on.
    pub to_ns: i64,
    /// The program's thread.
    pub pid: i32,
    /// Its name.
    pub task: Name,
    /// Of this time, so long it was on a CPU.
    pub running_ns: i64,
}

/// Names the threads, and tells what they did meanwhile.
pub fn name(rows: &mut [Reinjected], threads: &Threads, comms: &Comms) {
    for r in rows {
        r.task = comms.at(r.pid, r.to_ns);
        r.running_ns = threads.split(r.pid, r.from_ns, r.to_ns).running_ns;
    }
}

/// Threads that speak to netfilter, and what they let go on.
#[derive(Debug, Default)]
pub(super) struct Verdicts {
    threads: FxHashSet<i32>,
    pub(super) rows: Vec<Reinjected>,
}

impl Verdicts {
    /// `sock_send_length`.
    pub fn sent(&mut self, e: &Event<'_>, family: u16, protocol: u16) {
        if (family, protocol) == (AF_NETLINK, NETLINK_NETFILTER) {
            self.threads.insert(e.pid);
        }
    }
    /// Whether the event lies in such a thread's own time.
    pub fn speaks(&self, e: &Event<'_>) -> bool {
        e.in_task() && self.threads.contains(&e.pid)
    }
    /// A packet received at `from_ns` is queued.
    pub fn goes_on(&mut self, e: &Event<'_>, skb: SkbId, from_ns: i64) {
        if self.rows.len() < MOST {
            self.rows.push(Reinjected {
                skb,
                from_ns,
                to_ns: e.ts,
                pid: e.pid,
                task: Name::default(),
                running_ns: 0,
            });
        }
    }
}
