//! From where to where a received packet went that was dropped then: the route that was looked up for it. On a host that forwards no socket tells.
//!
//! ```text
//! netif_receive_skb A ─ fib_table_lookup (a device it came in by, from, to) ─ kfree_skb A      one at a time: its own
//! netif_receive_skb A, B ─ look-up, look-up ─ kfree_skb A                                      as a list: as many look-ups as packets, in order
//! netif_receive_skb A, B ─ look-up ─ kfree_skb A                                               nothing: for the next to the same address none is needed
//! ```
//! In: those events of a CPU. Out: addresses of a packet that is freed, if it has its look-up. What has an established socket of this host (`tcp_early_demux`) has none, nor
//! what is dropped before its route is known. Source: net/ipv4/ip_input.c `ip_list_rcv_finish`, net/core/dev.c.

use std::net::IpAddr;

use rustc_hash::FxHashSet;

/// Packets of a list that are kept; the kernel's lists have 8 (net.core.gro_normal_batch), rarely 64.
const LIST: usize = 64;
/// The loopback device, and what is sent by this host itself.
const LOOPBACK: i32 = 1;

/// From where to where.
pub type Way = (IpAddr, IpAddr);

/// What came in on a CPU, and the look-ups since.
#[derive(Debug, Default)]
pub(super) struct LookedUp {
    /// In a list that is handed on next.
    listed: FxHashSet<u64>,
    came: Vec<u64>,
    ways: Vec<Way>,
}

impl LookedUp {
    /// It is put in a list.
    pub(super) fn lists(&mut self, skb: u64) {
        if self.listed.len() >= LIST {
            self.listed.clear();
        }
        self.listed.insert(skb);
    }

    /// It is received.
    pub(super) fn receives(&mut self, skb: u64) {
        let alone = !self.listed.remove(&skb);
        if alone || !self.ways.is_empty() || self.came.len() >= LIST {
            self.came.clear();
            self.ways.clear();
        }
        self.came.push(skb);
    }

    /// A route is looked up for what came in by a device.
    pub(super) fn looks_up(&mut self, iif: Option<i32>, way: Way) {
        let received = iif.is_some_and(|dev| dev > LOOPBACK);
        // Of one packet several tables may be asked.
        let again = self.came.len() == 1 && self.ways.last() == Some(&way);
        if received && !again && self.ways.len() <= self.came.len() {
            self.ways.push(way);
        }
    }

    /// That of a packet that is freed.
    pub(super) fn of(&self, skb: u64) -> Option<Way> {
        let at = self.came.iter().position(|came| *came == skb)?;
        (self.ways.len() == self.came.len()).then(|| self.ways.get(at).copied())?
    }
}

/// IPv4 or IPv6, as the event has them.
pub(super) fn address(bytes: &[u8]) -> Option<IpAddr> {
    let v4 = <[u8; 4]>::try_from(bytes).ok().map(IpAddr::from);
    v4.or_else(|| <[u8; 16]>::try_from(bytes).ok().map(IpAddr::from))
}

#[cfg(test)]
mod tests;
