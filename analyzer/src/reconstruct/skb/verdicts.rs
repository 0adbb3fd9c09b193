//! Packets that netfilter gave to a program and that go on when it has said so (NFQUEUE; net/netfilter/nfnetlink_queue.c).
//!
//! ```text
//! netif_receive_skb(lan1) ─> held ─> sendto of an AF_NETLINK socket of netfilter's: nf_reinject ─> net_dev_queue(dc1)   longer by its link-layer header
//! ```
//! The packet goes on inside the program's own send call, in plain task context: such a thread is known by its sends to NETLINK_NETFILTER. What it sends
//! by sockets of its own has an address that no received packet holds; a packet that TCP took in silently may have left its address to it, so this is
//! strong and not certain. Packets of GSO are cut up for the queue, and go on as others.

use rustc_hash::FxHashMap;

use crate::facts::SkbId;
use crate::ingest::Event;
use crate::name::Name;
use crate::reconstruct::comms::Comms;
use crate::reconstruct::thread::Threads;

/// linux/socket.h, linux/netlink.h.
const AF_NETLINK: u16 = 16;
const NETLINK_NETFILTER: u16 = 12;
/// From one word of a thread to its next, at least, to be a pause, ns.
pub const SILENT_NS: i64 = 5_000_000;
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

/// A thread that speaks to netfilter, and from when to when it said nothing.
pub type Pause = (i32, i64, i64);

/// Threads that speak to netfilter, and what they let go on.
#[derive(Debug, Default)]
pub(super) struct Verdicts {
    /// When they spoke last.
    threads: FxHashMap<i32, i64>,
    /// Thread, from when to when it said nothing.
    pub(super) pauses: Vec<Pause>,
    pub(super) rows: Vec<Reinjected>,
}

impl Verdicts {
    /// `sock_send_length`: who sends to others, too, is no such thread until it speaks to netfilter again.
    pub fn sent(&mut self, e: &Event<'_>, family: u16, protocol: u16) {
        if (family, protocol) != (AF_NETLINK, NETLINK_NETFILTER) {
            self.threads.remove(&e.pid);
        } else if let Some(last) = self.threads.insert(e.pid, e.ts)
            && e.ts.saturating_sub(last) >= SILENT_NS
            && self.pauses.len() < MOST
        {
            self.pauses.push((e.pid, last, e.ts));
        }
    }
    /// Whether the event lies in such a thread's own time.
    pub fn speaks(&self, e: &Event<'_>) -> bool {
        e.in_task() && self.threads.contains_key(&e.pid)
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
