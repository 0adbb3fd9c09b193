//! From where to where a received packet went that was dropped then: the route that was looked up for it. On a host that forwards no socket tells.
//!
//! ```text
//! netif_receive_skb A ─ fib_table_lookup (a device it came in by, from, to) ─ kfree_skb A      one at a time: its own
//! netif_receive_skb A, B ─ look-up, look-up ─ kfree_skb A                                      as a list: as many look-ups as packets, in order, no two alike side by side
//! netif_receive_skb A, B ─ look-up ─ kfree_skb A                                               nothing: for the next to the same address none is needed
//! ```
//! In: those events of a CPU. Out: addresses of a packet that is freed, if it has its look-up; how many of the same addresses had one and were not dropped. What has an established socket of this host (`tcp_early_demux`) has none, nor
//! what is dropped before its route is known. Source: net/ipv4/ip_input.c `ip_list_rcv_finish`, net/core/dev.c.

use std::collections::hash_map::Entry;
use std::net::IpAddr;

use rustc_hash::{FxHashMap, FxHashSet};

use super::passing::{OneWay, Passing};
use crate::facts::SkbId;

/// Packets of a list that are kept; the kernel's lists have 8 (net.core.gro_normal_batch), rarely 64.
const LIST: usize = 64;
/// The loopback device, and what is sent by this host itself.
const LOOPBACK: i32 = 1;

/// Pairs of addresses that are counted.
const PAIRS: usize = 65_536;

/// From where to where.
type Ends = (IpAddr, IpAddr);

/// From where to where a received packet went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Way {
    /// Source address.
    pub from: IpAddr,
    /// Destination address.
    pub to: IpAddr,
    /// Packets of these addresses that had a look-up and were not dropped: before the first that was, and behind it; `None`: too many addresses.
    pub passed: Option<(u32, u32)>,
}

/// Of two addresses.
#[derive(Debug, Default)]
struct Pair {
    looked_up: u32,
    /// Each look-up, whosever it was.
    way: OneWay,
    dropped: u32,
    /// Looked up before the first that was dropped.
    before: u32,
}

/// Pairs of addresses, and what became of their packets.
#[derive(Debug, Default)]
pub(super) struct Pairs(FxHashMap<Ends, Pair>, FxHashMap<IpAddr, i64>);

impl Pairs {
    fn looked_up(&mut self, ends: Ends) {
        let room = self.0.len() < PAIRS;
        if let Some(of) = self.0.get_mut(&ends) {
            of.looked_up = of.looked_up.saturating_add(1);
        } else if room {
            self.0.insert(
                ends,
                Pair {
                    looked_up: 1,
                    ..Pair::default()
                },
            );
        }
    }

    /// A look-up, of whichever packet.
    fn goes(&mut self, ends: Ends, ts: i64) {
        let room = self.0.len() < PAIRS;
        if room || self.0.contains_key(&ends) {
            self.0.entry(ends).or_default().way.goes(ts);
        }
        if let Some(back) = self.0.get_mut(&(ends.1, ends.0)) {
            back.way.answered();
        }
    }

    /// Packets for these may have gone on without a look-up: whose they were is not known.
    fn unseen(&mut self, to: impl Iterator<Item = (IpAddr, i64)>) {
        for (to, ts) in to {
            if self.1.len() < PAIRS || self.1.contains_key(&to) {
                self.1.insert(to, ts);
            }
        }
    }

    /// Those that spoke both ways, by address. To whom packets went of which no look-up tells may have had its answer.
    pub(super) fn passing(&self) -> Vec<Passing> {
        let of = self.0.iter().filter_map(|((from, to), p)| {
            let back = self.0.get(&(*to, *from))?;
            Some(Passing {
                from: *from,
                to: *to,
                sent: p.way.looked_up,
                answers: back.way.looked_up,
                since: match self.1.get(from) {
                    Some(at) if *at >= p.way.since_ns => 0,
                    _ => p.way.since,
                },
                since_ns: p.way.since_ns,
                last_ns: p.way.last_ns,
                dropped: p.dropped.saturating_add(back.dropped),
            })
        });
        let mut all: Vec<Passing> = of.filter(|p| p.sent > 0 && p.answers > 0).collect();
        all.sort_by_key(|p| (p.from, p.to));
        all
    }

    fn dropped(&mut self, ends: Ends) {
        if let Some(of) = self.0.get_mut(&ends) {
            if of.dropped == 0 {
                of.before = of.looked_up.saturating_sub(1);
            }
            of.dropped = of.dropped.saturating_add(1);
        }
    }

    /// When all is seen.
    pub(super) fn passed(&self, (from, to): Ends) -> Option<(u32, u32)> {
        let of = self.0.get(&(from, to))?;
        let all = of.looked_up.saturating_sub(of.dropped);
        Some((of.before.min(all), all.saturating_sub(of.before)))
    }
}

/// What came in on a CPU, and the look-ups since.
#[derive(Debug, Default)]
pub(super) struct LookedUp {
    /// In a list that is handed on next.
    listed: FxHashSet<u64>,
    came: Vec<Came>,
    ways: Vec<Ends>,
    /// The last look-up.
    at: i64,
}

/// A packet by its address, and its life.
type Came = (u64, Option<SkbId>);

impl LookedUp {
    /// It is put in a list.
    fn lists(&mut self, skb: u64) {
        if self.listed.len() >= LIST {
            self.listed.clear();
        }
        self.listed.insert(skb);
    }

    /// Where packets of a list went for which no route was looked up, as another before them went there, too, and when that was.
    fn unseen(&self) -> impl Iterator<Item = (IpAddr, i64)> + '_ {
        let some = self.came.len() > self.ways.len();
        self.ways.iter().filter(move |_| some).map(|w| (w.1, self.at))
    }

    /// It is received.
    fn receives(&mut self, skb: u64, life: Option<SkbId>) {
        let alone = !self.listed.remove(&skb);
        if alone || !self.ways.is_empty() || self.came.len() >= LIST {
            self.came.clear();
            self.ways.clear();
        }
        self.came.push((skb, life));
    }

    /// A route is looked up for what came in by a device: whether it is a packet's first.
    fn looks_up(&mut self, iif: Option<i32>, way: Ends) -> bool {
        let received = iif.is_some_and(|dev| dev > LOOPBACK);
        // Of one packet several tables may be asked; and the way back, where its source is checked (rp_filter), as of what came in by the device it goes out by.
        let again = self.ways.last().is_some_and(|w| *w == way || *w == (way.1, way.0));
        if received && !again && self.ways.len() <= self.came.len() {
            self.ways.push(way);
        }
        received && !again
    }

    /// Those of the packets that are under way, where each has one.
    fn each(&self) -> impl Iterator<Item = (Came, Ends)> + '_ {
        let all = self.ways.len() == self.came.len();
        let pairs = self.came.iter().copied().zip(self.ways.iter().copied());
        pairs.filter(move |_| all)
    }
}

/// Of all CPUs.
#[derive(Debug, Default)]
pub(super) struct Ways {
    cpus: FxHashMap<u16, LookedUp>,
    /// By the address of a packet, with its life: it may be dropped later, out of a queue.
    of: FxHashMap<u64, (Option<SkbId>, Ends)>,
    pub(super) pairs: Pairs,
}

impl Ways {
    /// Events of a CPU are lost.
    pub(super) fn forget(&mut self, cpu: u16) {
        self.cpus.remove(&cpu);
    }
    fn on(&mut self, cpu: u16) -> &mut LookedUp {
        self.cpus.entry(cpu).or_default()
    }
    /// It is put in a list.
    pub(super) fn lists(&mut self, cpu: u16, skb: u64) {
        self.on(cpu).lists(skb);
    }
    /// It is received.
    pub(super) fn receives(&mut self, cpu: u16, skb: u64, life: Option<SkbId>) {
        // By another device, as in another namespace, it is the same.
        if self.of.get(&skb).is_some_and(|of| of.0 != life) {
            self.of.remove(&skb);
        }
        let of = self.cpus.entry(cpu).or_default();
        self.pairs.unseen(of.unseen());
        of.receives(skb, life);
    }
    /// A route, of an event with addresses as it has them.
    pub(super) fn looks_up(&mut self, (cpu, ts): (u16, i64), iif: Option<i32>, (from, to): (Option<&[u8]>, &[u8])) {
        let Some(ends) = from.and_then(address).zip(address(to)) else {
            return;
        };
        let of = self.cpus.entry(cpu).or_default();
        if !of.looks_up(iif, ends) {
            return;
        }
        of.at = ts;
        self.pairs.goes(ends, ts);
        // One more than there are packets: whose they were is not known.
        if of.ways.len() > of.came.len() {
            for (skb, life) in &of.came {
                if self.of.get(skb).is_some_and(|of| of.0 == *life) {
                    self.of.remove(skb);
                }
            }
        }
        // A packet counts once, by its first.
        for ((skb, life), ends) in of.each() {
            if let Entry::Vacant(entry) = self.of.entry(skb) {
                entry.insert((life, ends));
                self.pairs.looked_up(ends);
            }
        }
    }
    /// A packet is dropped.
    pub(super) fn drops(&mut self, skb: u64, life: Option<SkbId>) -> Option<Way> {
        let (_, (from, to)) = self.of.remove(&skb).filter(|of| of.0 == life)?;
        self.pairs.dropped((from, to));
        let passed = None;
        Some(Way { from, to, passed })
    }
}

/// IPv4 or IPv6, as the event has them.
fn address(bytes: &[u8]) -> Option<IpAddr> {
    let v4 = <[u8; 4]>::try_from(bytes).ok().map(IpAddr::from);
    v4.or_else(|| <[u8; 16]>::try_from(bytes).ok().map(IpAddr::from))
}

#[cfg(test)]
mod tests;
