//! The transmit path: write queue, device queue, qdisc, driver, and packets that are sent on.

use super::acks::Fate;
use super::identity::Sent;
use super::life::{Frame, Life, Phase};
use super::owners::Doing;
use super::refused::told;
use super::tables::{BirthKind, SkbClass};
use super::tracker::Skbs;
use crate::confidence::Confidence;
use crate::facts::SkbId;
use crate::ingest::Event;
use crate::name::Name;

/// Without softirq events, an skb is taken for forwarded only this soon after it was received.
pub(super) const MOMENT_NS: i64 = 20_000;
/// What is received in a thread's call is sent on this soon: the batch of a poll, through long lists of rules (`netdev_budget_usecs`).
const CALL_NS: i64 = 2_000_000;
/// Link-layer header that a forwarded frame gains again: Ethernet, Ethernet with one VLAN tag; none on a device of layer 3.
const LINK_HEADERS: [u32; 2] = [14, 18];
/// What VLAN and MPLS tags add to a frame, or take from it, in a queue, bytes.
const TAGS: u32 = 8;
/// What more of them add, or the trailer of ESP where the card encrypts (`validate_xmit_xfrm`): a block of 16 as padding, 2 and 32 bytes.
const TRAILER: u32 = 72;
/// A part of what a longer original holds is a full segment, headers apart (TCP_MSS_DEFAULT, include/net/tcp.h).
const LEAST_MSS: u32 = 536;
/// `truesize` of a pure ACK that this host sent to itself.
const PURE_ACK: u32 = 2;

impl Skbs<'_> {
    /// Whether the CPU has been in one softirq run since `ts`; without softirq events, whether that was moments ago.
    pub(super) fn same_run(&self, e: &Event<'_>, ts: i64) -> bool {
        match self.softirq_since.get(usize::from(e.cpu)) {
            Some(since) if *since > i64::MIN => *since <= ts,
            _ => e.ts - ts < MOMENT_NS,
        }
    }

    /// Whether a CPU still does what it did when it received a packet: the same softirq run; or the same call of a thread, which writes to
    /// a tap or TUN, or polls, with bottom halves off (`tun_rx_batched`, `napi_threaded_poll`). So no softirq comes between.
    pub(super) fn still(&self, e: &Event<'_>, l: &Life) -> bool {
        if l.last_cpu != e.cpu || !e.in_task() {
            return l.last_cpu == e.cpu && e.in_softirq() && self.same_run(e, l.last_ns);
        }
        let at = usize::from(e.cpu);
        let thread = self.received.get(at).copied().flatten().map(|(_, by)| by);
        let since = self.softirq_since.get(at).copied().filter(|since| *since > i64::MIN);
        // Without softirq events nobody says that none came between.
        let (undisturbed, within) = since.map_or((true, MOMENT_NS), |since| (since < l.last_ns, CALL_NS));
        e.pid > 0 && thread == Some(e.pid) && undisturbed && e.ts.saturating_sub(l.last_ns) < within
    }

    /// `softirq_entry` of a CPU.
    pub(super) fn softirq(&mut self, e: &Event<'_>) {
        let at = usize::from(e.cpu);
        self.owners.does(e, Doing::Other);
        if self.softirq_since.len() <= at {
            self.softirq_since.resize(at + 1, i64::MIN);
        }
        if let Some(s) = self.softirq_since.get_mut(at) {
            *s = e.ts;
        }
        if let Some(of) = self.delivered.get_mut(at) {
            of.clear();
        }
    }

    /// The original below a frame, if it is an fclone companion, and whether it was sent before: an original that is open, or
    /// one told by the frame's place in the slab. One that was sent before and is not sent again is another skb at the same
    /// address; so is one that was acknowledged whole before it is sent again.
    fn original_of(&mut self, e: &Event<'_>, addr: u64, len: u32) -> Option<(SkbId, bool, Confidence)> {
        let below = addr.wrapping_sub(self.layout.distance?);
        let resent = self.layout.resent(e.index);
        let sk = resent.map_or_else(|| self.sends_for(e), |s| s.sk);
        if resent.is_some() {
            self.sent_again(below, sk, len);
        }
        let owners = &self.owners;
        let open = self.open.get_mut(&below).filter(|o| o.class == SkbClass::TxOriginal);
        let another = open.as_ref().is_some_and(|o| owners.another(o, sk));
        let fate = match open.as_ref().filter(|o| o.sent).zip(resent) {
            _ if another => Some(Fate::Over),
            of => of.map(|(o, s)| s.fate(o, Some(len))),
        };
        let link = match &open {
            _ if another => None,
            // Without tcp_retransmit_skb nobody says whether it was sent again.
            Some(o) if o.sent && !self.layout.tells_resent => Some(Confidence::Weak),
            Some(o) if !o.sent && o.frame.is_some() => Some(told(o, e.ts)),
            // A tail so long was sent in full segments, or the one before it took it in (`tcp_grow_skb`), all or some.
            Some(o) if !o.sent && len < LEAST_MSS && o.last_len.is_some_and(|had| len < had) => {
                Some(o.confidence.min(Confidence::Weak))
            }
            Some(o) if !o.sent || fate == Some(Fate::Alive) => Some(o.confidence),
            Some(o) if fate == Some(Fate::Untold) => Some(o.confidence.min(Confidence::Weak)),
            _ => None,
        };
        if let (Some(o), Some(link)) = (open, link) {
            let left = std::mem::replace(&mut o.sent, true);
            // What a queue dropped TCP may have taken for sent: then this is no first transmission.
            o.late |= !left && o.frame.is_some() && resent.is_some();
            if !left {
                o.first = Some((e.ts, len));
            }
            // Shorter, it was cut: its last bytes are another's now.
            o.late |= left && o.first.is_some_and(|(_, had)| len < had);
            // Across a loss it may be another original at that address.
            let link = match o.last_ns < self.barrier {
                true => link.min(Confidence::Weak),
                false => link,
            };
            o.confidence = o.confidence.min(link);
            (o.last_ns, o.last_cpu) = (e.ts, e.cpu);
            return Some((o.id, left, link));
        }
        if !self.layout.is_companion(addr) && fate != Some(Fate::Over) {
            return None;
        }
        let unnamed = (Name::default(), None);
        let instead = resent.is_none() && self.open.get(&below).is_some_and(|o| o.sent);
        let id = self.birth(
            e,
            below,
            SkbClass::TxOriginal,
            Phase::WriteQueue,
            BirthKind::Inferred,
            unnamed,
        );
        if let Some(o) = self.open.get_mut(&below) {
            (o.sent, o.first, o.late) = (true, Some((e.ts, len)), resent.is_some());
            o.instead = instead;
            o.confidence = o.confidence.min(Confidence::Strong);
        }
        Some((id, resent.is_some(), Confidence::Strong))
    }

    /// A new frame is queued: companion of an original, or not.
    fn first_queue(&mut self, e: &Event<'_>, addr: u64, len: u32, dev: Name) {
        let original = self.original_of(e, addr, len);
        if let (Some(_), Some(distance)) = (original, self.layout.distance) {
            let below = addr.wrapping_sub(distance);
            self.owned(e, below, 0);
            if original.is_some_and(|(_, left, _)| !left) && self.layout.resent(e.index).is_none() {
                self.went_on(below);
            }
        }
        // Without the companions' place a frame whose original no event named may be one all the same.
        let class = match original {
            Some(_) => SkbClass::TxClone,
            None if self.layout.stride => SkbClass::TxOther,
            None => SkbClass::Tx,
        };
        let clone = self.birth(e, addr, class, Phase::TxQueued, BirthKind::Seen, (dev, Some(len)));
        if let Some((original, left, confidence)) = original {
            self.framed(addr, Frame { clone, left });
            self.clones.push(Sent {
                ts_ns: e.ts,
                original,
                clone,
                again: left || self.layout.resent(e.index).is_some(),
                confidence,
            });
        }
        self.hop(e, addr, "queue", dev, len, Confidence::Certain);
    }

    /// `truesize` of a packet that loopback or veth delivers: TCP gives 2 to pure ACKs (`skb_set_tcp_pure_ack`), which
    /// are never companions.
    pub(super) fn weighed(&mut self, addr: u64, truesize: u32) {
        let Some(l) = self.open.get_mut(&addr).filter(|_| truesize == PURE_ACK) else {
            return;
        };
        match l.class {
            SkbClass::Tx => l.class = SkbClass::TxOther,
            SkbClass::TxClone => l.confidence = l.confidence.min(Confidence::Weak),
            _ => {}
        }
    }

    pub(super) fn queue(&mut self, e: &Event<'_>, addr: u64, len: u32, dev: Name) {
        let link = self.open.get(&addr).and_then(|l| {
            let stacked = l.phase == Phase::TxStarted && self.stacks.in_xmit(e.cpu, l.id);
            let gained = l.last_len.map(|had| len.wrapping_sub(had));
            // A packet is sent on in the softirq that received it; later the address may be another packet of that length.
            let forwarded = l.phase == Phase::Received
                && self.still(e, l)
                && gained.is_some_and(|g| LINK_HEADERS.contains(&g) || (g == 0 && self.bare.get(&dev) != Some(&false)));
            // Nothing comes back to the device that sent it here: an ACK that a socket's backlog took in silently, and its
            // address is the next ACK's at once.
            // In containers all are eth0: of such a name it may be another, if nothing else came in meanwhile.
            let shared = self.devices.kind(dev).is_some_and(|k| k.shared);
            let namesake = shared && self.just_received(e.cpu) == Some(l.id);
            let back = l.class != SkbClass::Rx && l.dev == dev && !namesake;
            // Out where it came in: a router with one leg, or the same.
            let one_leg = l.class == SkbClass::Rx && l.last_dev == dev;
            let let_go = l.phase == Phase::Received
                && self.frees_recorded
                && self.verdicts.speaks(e)
                && gained.is_some_and(|g| g == 0 || LINK_HEADERS.contains(&g));
            match (stacked, forwarded && !back) {
                (true, _) => Some(Confidence::Certain),
                // Where tcp_probe names no skb (before 6.9), a freed segment's address may carry one of the same length at once.
                _ if let_go && (one_leg || !self.probe_names_skb) => Some(Confidence::Weak),
                _ if let_go => Some(Confidence::Strong),
                (_, true) if one_leg => Some(Confidence::Weak),
                (_, true) if l.class != SkbClass::Rx && l.dev == dev => Some(Confidence::Strong),
                // No event tells where a thread's call ends.
                (_, true) if e.in_task() => Some(Confidence::Strong),
                // Nothing was sent on that device yet, and no list of links tells whether its frames have a link-layer header.
                (_, true) if gained == Some(0) && !self.bare.contains_key(&dev) && !self.devices.is_bare(dev) => {
                    Some(Confidence::Weak)
                }
                // Where tcp_probe names no skb (before 6.9), a freed segment's address may carry one of the same length at once.
                (_, true) if self.probe_names_skb => Some(Confidence::Certain),
                (_, true) => Some(Confidence::Strong),
                _ => self
                    .waited(e, addr, len, dev)
                    .or_else(|| self.queued_again(e, addr, len, dev)),
            }
        });
        match link {
            Some(link) => {
                let held = self.open.get(&addr).filter(|l| l.phase == Phase::Received);
                if let Some((id, from)) = held.map(|l| (l.id, l.last_ns)).filter(|_| self.verdicts.speaks(e)) {
                    self.verdicts.goes_on(e, id, from);
                }
                let received = self.open.get(&addr).filter(|l| self.forwards_now(e, l, link));
                let received = received.map(|l| (l.id, l.last_ns, l.last_dev));
                self.touch(e, addr, Phase::TxQueued, link);
                if let Some((id, at, from)) = received {
                    self.forwards.goes_on(e, id, at, (from, dev));
                }
                self.hop(e, addr, "queue", dev, len, link);
            }
            None => self.first_queue(e, addr, len, dev),
        }
        self.offered(e, addr);
    }

    /// Whether this queues what was received in the same softirq run, or in the same call of a thread, surely.
    fn forwards_now(&self, e: &Event<'_>, l: &Life, link: Confidence) -> bool {
        let since = self.softirq_since.get(usize::from(e.cpu));
        let told = since.is_some_and(|s| *s > i64::MIN);
        l.phase == Phase::Received && (told && self.still(e, l)) && l.last_ns >= self.barrier && link.is_solid()
    }

    /// `network`: offset of the network header from the data: 0 on a device of layer 3 (tun, a tunnel).
    pub(super) fn start_xmit(&mut self, e: &Event<'_>, addr: u64, (len, network): (u32, i32), dev: Name) {
        // Devices of one name in several namespaces may differ: then it is not told.
        match self.bare.get_mut(&dev) {
            Some(bare) => *bare &= network == 0,
            None => {
                self.bare.insert(dev, network == 0);
            }
        }
        let open = self.open.get(&addr);
        let queued = open.filter(|l| l.phase == Phase::TxQueued && l.last_dev == dev);
        let known = match queued.and_then(|l| l.last_len) {
            // What left a queue with another length is another packet at that address, as a segment that a token bucket made of one it
            // freed. A longer one may be the same, where its free would have been seen.
            Some(had) if had.abs_diff(len) <= TAGS => Some(Confidence::Certain),
            Some(had) if self.frees_recorded && len > had && len - had <= TRAILER => Some(Confidence::Weak),
            Some(_) => None,
            None => open
                .filter(|l| matches!(l.phase, Phase::TxQueued | Phase::TxStarted))
                .map(|_| Confidence::Certain),
        };
        let link = match (known, queued.is_some()) {
            (Some(link), _) => link,
            (None, true) => Confidence::Weak,
            (None, false) => Confidence::Certain,
        };
        if known.is_some() {
            self.touch(e, addr, Phase::TxStarted, link);
        } else {
            if let Some(l) = self.open.get_mut(&addr).filter(|_| link == Confidence::Weak) {
                l.confidence = l.confidence.min(link);
            }
            // A segment built by software GSO or by a qdisc, or a packet queued before the recording began.
            self.birth(
                e,
                addr,
                SkbClass::TxSegment,
                Phase::TxStarted,
                BirthKind::Inferred,
                (dev, Some(len)),
            );
            if let Some(l) = self.open.get_mut(&addr) {
                l.confidence = l.confidence.min(link);
            }
        }
        self.hop(e, addr, "xmit", dev, len, link);
        if let Some(l) = self.open.get(&addr) {
            self.stacks.xmit_begin(e.cpu, addr, l.id);
        }
    }

    /// An original is named: in the write queue, as the tail of these many bytes, or as sent again.
    /// `sk`: by which socket; 0 when the event does not say.
    pub(super) fn write_queue(&mut self, e: &Event<'_>, addr: u64, tail: Option<u32>, sk: u64) {
        if addr == 0 {
            return;
        }
        let open = self.open.get(&addr).filter(|l| l.class == SkbClass::TxOriginal);
        let open = open.filter(|l| !self.owners.another(l, sk));
        // Sent again as a copy: what became of it is not judged yet.
        let copied = self.layout.copied(e.index).filter(|_| tail.is_none());
        let fate = open.filter(|l| l.sent).zip(copied).map(|(l, s)| s.fate(l, None));
        // An original that was sent left the write queue: the same address as its tail is a new skb.
        let same = open.is_some_and(|l| fate != Some(Fate::Over) && (tail.is_none() || !l.sent));
        // So is most often a tail that shrank: the one before it took it in whole (`tcp_grow_skb`), or only some of it.
        let shrank = same
            && open
                .and_then(|l| l.last_len)
                .zip(tail)
                .is_some_and(|(had, has)| has < had);
        if shrank {
            self.tail(e, addr, Confidence::Weak);
        } else if same {
            let link = match fate {
                Some(Fate::Untold) => Confidence::Weak,
                _ => Confidence::Strong,
            };
            self.touch(e, addr, Phase::WriteQueue, link);
        } else {
            self.tail(e, addr, Confidence::Certain);
            if let Some(l) = self.open.get_mut(&addr).filter(|_| tail.is_none()) {
                (l.sent, l.late) = (true, true);
            }
        }
        if let Some(len) = tail {
            self.length(addr, len);
        }
    }

    fn tail(&mut self, e: &Event<'_>, addr: u64, link: Confidence) {
        let unnamed = (Name::default(), None);
        self.birth(
            e,
            addr,
            SkbClass::TxOriginal,
            Phase::WriteQueue,
            BirthKind::Inferred,
            unnamed,
        );
        if let Some(l) = self.open.get_mut(&addr) {
            l.confidence = l.confidence.min(link);
        }
    }

    /// `qdisc_enqueue` fires after the fact, and its pointer is stale when the qdisc built segments: only a life that is
    /// waiting to be sent is meant.
    pub(super) fn in_qdisc(&mut self, e: &Event<'_>, addr: u64) {
        if self.open.get(&addr).is_some_and(|l| l.phase == Phase::TxQueued) {
            self.touch(e, addr, Phase::TxQueued, Confidence::Certain);
        }
    }
}
