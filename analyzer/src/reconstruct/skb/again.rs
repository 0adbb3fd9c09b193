//! Packets that go on under their address later, or through a device of no wire: received again by a bridge for its own host or by a
//! tunnel for what it carried, queued again by a tunnel or an IFB that had it a while.
//!
//! ```text
//! netif_receive_skb(veth) ─> netif_receive_skb[_entry](bridge)            the same length: `br_pass_frame_up`
//! netif_receive_skb(eth0) ─> gro entry | netif_rx | receive (vxlan0)      shorter by the outer headers: `gro_cells_receive`
//! start_xmit(wg0) .. net_dev_xmit(wg0) ─> net_dev_queue(eth0)             longer by them, in a kworker: `wg_packet_tx_worker`
//! start_xmit(ifb0) .. net_dev_xmit(ifb0) ─> net_dev_queue(eth0)           the same length, in a tasklet: `ifb_ri_tasklet`
//! start_xmit(vxlan0) .. net_dev_xmit(vxlan0) ─> net_dev_queue(eth0)       longer by them, when the neighbour has answered: `neigh_update`
//! netif_receive_skb(vxlan0) ─> neigh_update(cni0) ─> net_dev_queue(cni0)  longer by its header, sent on when the neighbour has answered
//! ```
//! What queues within its own `ndo_start_xmit` (vxlan, gre, a VLAN, a bond) needs no rule: the nesting tells.

use super::life::Phase;
use super::owners::Doing;
use super::tracker::Skbs;
use super::transmit::MOMENT_NS;
use crate::confidence::Confidence;
use crate::facts::SkbId;
use crate::ingest::Event;
use crate::name::Name;

/// By which event a packet is handed in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Entry {
    /// `napi_gro_receive_entry`, `napi_gro_frags_entry`.
    Gro,
    /// `netif_rx_entry`, `netif_rx`.
    NetifRx,
    /// `netif_receive_skb_entry`, `netif_receive_skb`.
    Receive,
}

/// What outer headers (and an authentication tag, and padding) may take: an IPv4 header alone, to IPv6 with options of the tunnel.
const OUTER: std::ops::RangeInclusive<u32> = 20..=200;
/// Ethernet header of the outer frame.
const ETHERNET: u32 = 14;
/// Longest time in a tunnel on its way in, and in an IFB, ns.
const HELD_NS: i64 = 100_000_000;
/// Longest time in a tunnel on its way out, ns: wireguard may shake hands first.
const STAGED_NS: i64 = 1_000_000_000;
/// Longest that an outer packet waits for its neighbour, ns: three questions, a second apart (`mcast_solicit`, `retrans_time_ms`).
const PARKED_NS: i64 = 3_000_000_000;

impl Skbs<'_> {
    /// Whether a packet received before is received again by another device, and how sure that is. An address may be another
    /// packet's soon after: one that a socket's backlog took in is freed in silence. So it goes on only to devices that do such things.
    pub(super) fn received_again(
        &self,
        e: &Event<'_>,
        addr: u64,
        (entry, len, dev): (Entry, u32, Name),
    ) -> Option<Confidence> {
        let l = self.open.get(&addr)?;
        if l.phase != Phase::Received || l.last_dev == dev {
            return None;
        }
        // Polls in threads have no softirq_entry between them.
        let run = match e.in_softirq() {
            true => self.same_run(e, l.last_ns),
            false => self.still(e, l) || e.ts.saturating_sub(l.last_ns) < MOMENT_NS,
        };
        // What hands it on does so before the CPU receives anything else. Not to the port by which it came in.
        let at_once = run && l.last_cpu == e.cpu && self.just_received(e.cpu) == Some(l.id) && l.dev != dev;
        let kind = self.devices.kind(dev);
        match l.last_len?.checked_sub(len)? {
            0 => {
                let hands_up = match entry {
                    Entry::Gro => false,
                    Entry::NetifRx => kind.is_some_and(|k| k.bridge.some),
                    Entry::Receive => kind.is_none_or(|k| k.bridge.some),
                };
                // Of a name that is a bridge's in one namespace alone it may be the other device.
                let bridge = kind.is_some_and(|k| k.bridge.all());
                match (at_once && hands_up, self.probe_names_skb && bridge) {
                    (false, _) => None,
                    (true, true) => Some(Confidence::Certain),
                    // Where tcp_probe names no skb (before 6.9), a freed segment's address may carry one of the same length at once.
                    (true, false) => Some(Confidence::Strong),
                }
            }
            // What comes out of a tunnel came in to its host before, in whatever worker or on whatever CPU it was unpacked.
            outer if OUTER.contains(&outer) => match kind {
                Some(k) if k.tunnel.all() && e.ts.saturating_sub(l.last_ns) < HELD_NS => Some(Confidence::Strong),
                Some(k) if k.tunnel.some && at_once => Some(Confidence::Strong),
                None if at_once => Some(Confidence::Weak),
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether a frame that a device was given before is queued on another by now, and how sure that is.
    pub(super) fn queued_again(&self, e: &Event<'_>, addr: u64, len: u32, dev: Name) -> Option<Confidence> {
        let l = self.open.get(&addr)?;
        // Without the frees, what the driver of a card was done with would pass for it.
        if l.phase != Phase::TxStarted || l.last_dev == dev || !self.frees_recorded {
            return None;
        }
        let (kind, held) = (self.devices.kind(l.last_dev)?, e.ts.saturating_sub(l.last_ns));
        let gained = len.checked_sub(l.last_len?)?;
        let wrapped = OUTER.contains(&gained) || gained.checked_sub(ETHERNET).is_some_and(|g| OUTER.contains(&g));
        let encrypted = wrapped && held < STAGED_NS;
        let bounced = gained == 0 && l.last_cpu == e.cpu && held < HELD_NS;
        // No tunnel keeps a packet of its own accord, but for those that work later.
        let parked = wrapped && held < PARKED_NS;
        let does = match (kind.worker.some && encrypted, kind.ifb.some && bounced) {
            (true, _) => kind.worker,
            (_, true) => kind.ifb,
            _ if kind.tunnel.some && parked => kind.tunnel,
            _ => return None,
        };
        // A card of that name elsewhere is done with a frame, and its address may be the next one's.
        Some(if does.all() {
            Confidence::Strong
        } else {
            Confidence::Weak
        })
    }

    /// `neigh_update` of a device's neighbour, to its `neigh_update_done`: what waited for it is queued.
    pub(super) fn resolved(&mut self, e: &Event<'_>, dev: Option<Name>) {
        let at = usize::from(e.cpu);
        if self.resolved.len() <= at {
            self.resolved.resize(at + 1, None);
        }
        if let Some(of) = self.resolved.get_mut(at) {
            *of = dev;
        }
    }

    /// Whether a packet that was received is queued now that its neighbour has answered, with the header that it waited for.
    pub(super) fn waited(&self, e: &Event<'_>, addr: u64, len: u32, dev: Name) -> Option<Confidence> {
        let of = self.resolved.get(usize::from(e.cpu)).copied().flatten();
        let l = self
            .open
            .get(&addr)
            .filter(|l| l.phase == Phase::Received && of == Some(dev))?;
        let waited = self.frees_recorded && e.ts.saturating_sub(l.last_ns) < PARKED_NS;
        (waited && len.checked_sub(l.last_len?)? == ETHERNET).then_some(Confidence::Strong)
    }

    /// The CPU's last received packet: between its reception and this event it received no other.
    pub(super) fn just_received(&self, cpu: u16) -> Option<SkbId> {
        let last = self.received.get(usize::from(cpu)).copied().flatten();
        last.map(|(id, _)| id)
    }

    /// `netif_receive_skb` of a life.
    pub(super) fn note_received(&mut self, e: &Event<'_>, addr: u64) {
        let at = usize::from(e.cpu);
        self.owners.does(e, Doing::Other);
        if self.received.len() <= at {
            self.received.resize(at + 1, None);
        }
        let id = self.open.get(&addr).map(|l| l.id);
        if let Some(slot) = self.received.get_mut(at) {
            *slot = id.map(|id| (id, if e.in_task() { e.pid } else { -1 }));
        }
    }
}
