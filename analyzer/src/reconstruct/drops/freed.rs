//! What was freed, and how it is judged when the walk is over.

use rustc_hash::{FxHashMap, FxHashSet};

use super::by_count;
use super::flooded;
use super::looked_up::Pairs;
use super::otherhost::{self, Hindsight};
use super::passing::Passing;
use super::places;
use super::reasons::{LEFT, PURGED};
use super::repair;
use super::tables::DropRow;
use super::too_big::{self, Message};
use super::unrouted::{self, By};
use crate::confidence::Confidence;
use crate::facts::{ConnectionId, SkbId};
use crate::name::Name;
use crate::reconstruct::ETH_P_ARP;
use crate::reconstruct::whose::{Carries, Known, Owner, Whose};

/// What is said of a TCP segment that UDP had no socket for: it was inside a tunnel.
const NO_TUNNEL: &str = "a tunnel's packet with a TCP segment in it came to a host that has no such tunnel: no socket for its outer UDP port";

/// What was freed; judged by what was known then.
#[derive(Debug, Default)]
pub struct Freed {
    pub(super) rows: Vec<DropRow>,
    /// Rows of frames for another host.
    pub(super) otherhost: Vec<usize>,
    /// Rows of packets for an address that is none of the host's.
    pub(super) not_mine: Vec<usize>,
    /// Devices that are ports of bridges.
    pub(super) ports: FxHashSet<Name>,
    /// Rows without a route, with who sent them.
    pub(super) unrouted: Vec<(usize, By)>,
    /// Rows of packets larger than an MTU, with what became of the ICMP message.
    pub(super) too_big: Vec<(usize, Message)>,
    /// Rows of packets for which UDP had no socket.
    pub(super) no_datagram: FxHashSet<usize>,
    /// Rows of packets that were refused where a route of input is looked up, on a kernel that records no reasons.
    pub(super) looked_up: Vec<usize>,
    /// Rows of packets that were to be forwarded, of which no message tells why not, on such a kernel.
    pub(super) not_forwarded: Vec<usize>,
    /// Rows at places that are shared, on such a kernel.
    pub(super) shared: by_count::Shared,
    /// The reasons are those that places stand for.
    pub(super) by_place: bool,
    /// Sockets that rows were for, by `rx_sk`.
    pub(super) meant_for: FxHashMap<usize, ConnectionId>,
    /// Addresses of received packets whose routes were looked up.
    pub(super) pairs: Pairs,
    /// What the capture lacks.
    pub missing: Vec<String>,
}

impl Freed {
    /// Every place that a free was at.
    pub fn locations(&self) -> impl Iterator<Item = u64> + '_ {
        self.rows.iter().map(|r| r.location)
    }
    /// Packets that were in a socket, not read, when it was destroyed, and when that was.
    pub fn left_in_sockets(&self) -> impl Iterator<Item = (SkbId, i64)> + '_ {
        let left = self.rows.iter().filter(|r| [LEFT, PURGED].contains(&r.why));
        left.filter_map(|r| Some((r.skb_id?, r.time_ns)))
    }
    /// Who speaks with whom through this host.
    pub fn passing(&self) -> Vec<Passing> {
        self.pairs.passing()
    }
    /// The rows, judged by what is known after the walk too.
    pub fn rows(mut self, known: &Hindsight<'_>) -> Vec<DropRow> {
        for way in self.rows.iter_mut().filter_map(|r| r.way.as_mut()) {
            way.passed = self.pairs.passed((way.from, way.to)).filter(|_| !known.lost);
        }
        // Counters count what was lost to the recording, too.
        if self.by_place && !known.lost {
            places::by_counter(&mut self.rows, &self.looked_up, known.counters);
            if places::forwarded(&mut self.rows, &self.not_forwarded, known.counters) {
                let message = match places::each_was_told(known.counters) {
                    true => Message::Counted,
                    false => Message::Unknown,
                };
                self.too_big.extend(self.not_forwarded.iter().map(|at| (*at, message)));
            }
            by_count::came_back(&mut self.rows, &self.looked_up, known);
        }
        if self.by_place {
            places::others_at_input(&mut self.rows, &mut self.otherhost, known.counters);
        }
        otherhost::judge(&mut self.rows, &self.otherhost, known);
        flooded::judge(&mut self.rows, (&self.not_mine, &self.ports), known);
        unrouted::judge(&mut self.rows, &self.unrouted, known);
        too_big::judge(&mut self.rows, &self.too_big, known);
        self.own(known);
        if self.by_place && !known.lost {
            by_count::judge(&mut self.rows, &self.shared, (known.counters, known.resets));
        }
        repair::judge(&mut self.rows, known);
        self.rows
    }
}

impl Freed {
    /// Whose what was or may have been lost is: its sender's; where nothing tells of that, the socket's that it was for.
    fn own(&mut self, known: &Hindsight<'_>) {
        if self.rows.iter().all(|r| r.expected == Some(true)) {
            return;
        }
        let whose = Whose::of(Known {
            tx: known.tx,
            lineage: known.lineage,
            states: known.states,
            retransmits: known.retransmits,
            lives: &known.identity.lives,
            hops: &known.identity.hops,
        });
        let again = too_big::Again::of(known.retransmits);
        let unnamed = |r: &DropRow| r.owner.is_some_and(|o| o.carries == Carries::Sent);
        let named = self.rows.iter().any(unnamed).then_some(known.tx).into_iter().flatten();
        let tasks: FxHashMap<i32, Name> = named.map(|t| (t.pid, t.task)).collect();
        for (at, row) in self.rows.iter_mut().enumerate() {
            if row.expected == Some(true) {
                continue;
            }
            let skb = row.skb_id.or(row.cut_from);
            let meant_for = || {
                Some(Owner {
                    connection: Some(*self.meant_for.get(&at)?),
                    carries: Carries::Received,
                    task: Name::default(),
                    pid: 0,
                    confidence: Confidence::Strong,
                })
            };
            row.owner = skb.and_then(|s| whose.packet(s)).or_else(meant_for).or(row.owner);
            // A call that sends a datagram asks for a neighbour first: that frame is nobody's.
            row.owner = row.owner.filter(|_| row.protocol != ETH_P_ARP);
            let segment = row.owner.is_some_and(|o| {
                matches!(
                    o.carries,
                    Carries::Data | Carries::Syn | Carries::SynData | Carries::Fin
                )
            });
            if segment && self.no_datagram.contains(&at) {
                (row.expected, row.why) = (Some(false), NO_TUNNEL);
                row.confidence = row
                    .owner
                    .map_or(Confidence::Weak, |o| o.confidence.min(Confidence::Strong));
            }
            if let Some(owner) = row.owner.as_mut().filter(|o| o.carries == Carries::Sent) {
                owner.task = tasks.get(&owner.pid).copied().unwrap_or(owner.task);
            }
            if let Some(owner) = row
                .owner
                .filter(|o| o.carries == Carries::TooBig && row.expected == Some(false))
            {
                row.why = again.by_tunnel(&owner, row.time_ns);
            }
        }
    }
}
