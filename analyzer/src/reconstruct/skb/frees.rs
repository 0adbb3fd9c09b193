//! Which free events can end which lives. The kernel frees most TCP skbs without an event and re-uses their addresses
//! for anything, so a free is believed only where an skb in that phase can be freed.

use netmortem_formats::kallsyms::Kallsyms;
use rustc_hash::FxHashMap;

use super::life::{Life, Phase};
use super::tables::{DeathKind, SkbClass};
use crate::confidence::Confidence;

/// Kind of code that freed an skb, by its function name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FreePlace {
    /// Builds segments and frees the whole (software GSO, qdisc segmentation).
    Segmenter,
    /// The transmit path: queueing disciplines and what hands packets to them.
    Transmit,
    /// TCP.
    Tcp,
    /// The deferred free of what a reader on another CPU was done with (`skb_attempt_defer_free`, since 5.19).
    Deferred,
    /// A packet capture on the recorded host lets go of what it looked at: its own copy of a frame being sent, or a
    /// received packet that nobody else wanted.
    Tap,
    /// Protocols other than TCP, and what hands received packets to them: only a received packet is freed there.
    Receiver,
    /// netlink, unix, vsock, audit: never a packet of a device.
    Elsewhere,
    /// Other network code.
    Network,
    /// The recording has no symbols or no location.
    Unknown,
}

/// Function-name beginnings of each place. Kernel source: net/core/dev.c `validate_xmit_skb`, net/sched/sch_tbf.c,
/// sch_cake.c, sch_netem.c; net/core/skbuff.c `skb_attempt_defer_free`, net/core/dev.c `skb_defer_free_flush`.
const PLACES: &[(&str, FreePlace)] = &[
    ("validate_xmit_skb", FreePlace::Segmenter),
    ("tbf_", FreePlace::Segmenter),
    ("cake_", FreePlace::Segmenter),
    ("netem_", FreePlace::Segmenter),
    ("__dev_queue_xmit", FreePlace::Transmit),
    ("__dev_xmit_skb", FreePlace::Transmit),
    ("dev_hard_start_xmit", FreePlace::Transmit),
    ("dev_qdisc_enqueue", FreePlace::Transmit),
    ("qdisc_", FreePlace::Transmit),
    ("__qdisc_", FreePlace::Transmit),
    ("net_tx_action", FreePlace::Transmit),
    ("fq_", FreePlace::Transmit),
    ("htb_", FreePlace::Transmit),
    ("codel_", FreePlace::Transmit),
    ("tcp_", FreePlace::Tcp),
    ("__tcp_", FreePlace::Tcp),
    ("inet_", FreePlace::Tcp),
    ("sk_stream_", FreePlace::Tcp),
    ("skb_defer_free", FreePlace::Deferred),
    ("skb_attempt_defer_free", FreePlace::Deferred),
    ("net_rx_action", FreePlace::Deferred),
    ("skb_release_data", FreePlace::Tcp),
    ("napi_skb_", FreePlace::Deferred),
    ("arp_", FreePlace::Receiver),
    ("ip_rcv", FreePlace::Receiver),
    ("ip_local_deliver", FreePlace::Receiver),
    ("ip_sublist_rcv", FreePlace::Receiver),
    ("ip_protocol_deliver", FreePlace::Receiver),
    ("ip_mr_", FreePlace::Receiver),
    ("ip6_mc_input", FreePlace::Receiver),
    ("ip6_input", FreePlace::Receiver),
    ("ip6_rcv", FreePlace::Receiver),
    ("ip6_protocol_deliver", FreePlace::Receiver),
    ("ip6_pkt_discard", FreePlace::Receiver),
    ("ipv6_rcv", FreePlace::Receiver),
    ("icmp_rcv", FreePlace::Receiver),
    ("icmpv6_rcv", FreePlace::Receiver),
    ("igmp_rcv", FreePlace::Receiver),
    ("ndisc_rcv", FreePlace::Receiver),
    ("raw_rcv", FreePlace::Receiver),
    ("rawv6_rcv", FreePlace::Receiver),
    ("udp_", FreePlace::Receiver),
    ("__udp", FreePlace::Receiver),
    ("udpv6_", FreePlace::Receiver),
    ("skb_consume_udp", FreePlace::Receiver),
    ("skb_free_datagram", FreePlace::Receiver),
    ("__netif_receive_skb", FreePlace::Receiver),
    ("netif_receive_skb", FreePlace::Receiver),
    ("llc_", FreePlace::Receiver),
    ("netlink_", FreePlace::Elsewhere),
    ("nlmsg_", FreePlace::Elsewhere),
    ("genl", FreePlace::Elsewhere),
    ("unix_", FreePlace::Elsewhere),
    ("__unix_", FreePlace::Elsewhere),
    ("virtio_transport_", FreePlace::Elsewhere),
    ("vsock_", FreePlace::Elsewhere),
    ("audit_", FreePlace::Elsewhere),
    ("kobject_uevent", FreePlace::Elsewhere),
    ("uevent_", FreePlace::Elsewhere),
    ("tpacket_rcv", FreePlace::Tap),
    ("packet_rcv", FreePlace::Tap),
    ("tpacket_", FreePlace::Elsewhere),
    ("packet_", FreePlace::Elsewhere),
];

/// net/core/dev.c: `__dev_xmit_skb` hands a packet to the queue, and frees what that gave back.
const QUEUEING: &[&str] = &["__dev_queue_xmit", "__dev_xmit_skb", "dev_qdisc_enqueue"];
/// net/sched: dequeueing, and resets; what these gather the lock frees (`rtnl_kfree_skbs`).
const LETTING_GO: &[&str] = &[
    "qdisc_",
    "__qdisc_",
    "fq_",
    "codel_",
    "htb_",
    "__rtnl_unlock",
    "rtnl_unlock",
];

/// Without symbols, a free this long after the last event may be another skb's.
const DOUBT_NS: i64 = 1_000_000;

/// Places of free locations, resolved once each.
pub struct Frees<'k> {
    symbols: &'k Kallsyms,
    known: FxHashMap<u64, FreePlace>,
}

impl<'k> Frees<'k> {
    /// With the recording's symbols.
    pub fn new(symbols: &'k Kallsyms) -> Frees<'k> {
        Frees {
            symbols,
            known: FxHashMap::default(),
        }
    }
    /// Whether a segmenter is software GSO, as opposed to a queueing discipline.
    pub fn is_gso(&self, location: u64) -> bool {
        let name = self.symbols.resolve(location);
        name.is_some_and(|(name, _)| name.starts_with("validate_xmit_skb"))
    }
    fn starts(&self, location: u64, with: &[&str]) -> bool {
        let name = self.symbols.resolve(location);
        name.is_some_and(|(name, _)| with.iter().any(|w| name.starts_with(w)))
    }
    /// Whether a device's queue is asked there to take a packet: what it did not keep then is freed at the end of that.
    pub fn queues(&self, location: u64) -> bool {
        self.starts(location, QUEUEING)
    }
    /// Whether a queue lets go there of what it had taken: it is emptied, or drops what it was about to give.
    pub fn lets_go(&self, location: u64) -> bool {
        self.starts(location, LETTING_GO)
    }
    /// Whether it is tbf, which frees a packet as dropped when no segment of it was taken as if there were room: a queue that drops
    /// another for it says so (`NET_XMIT_CN`), and has it.
    pub fn is_tbf(&self, location: u64) -> bool {
        self.starts(location, &["tbf_"])
    }
    /// The place of a text address.
    pub fn place(&mut self, location: u64) -> FreePlace {
        let symbols = self.symbols;
        *self
            .known
            .entry(location)
            .or_insert_with(|| match symbols.resolve(location) {
                None => FreePlace::Unknown,
                Some((name, _)) => PLACES
                    .iter()
                    .find(|(start, _)| name.starts_with(start))
                    .map_or(FreePlace::Network, |(_, p)| *p),
            })
    }
}

/// How sure it is that a free at `place` ends this life; `None`: it ends another skb at a re-used address. Where no event
/// tells that TCP was done with a packet (tcp_probe names no skb before 6.9), its silent free may lie before this one.
pub fn link(life: &Life, place: FreePlace, kind: DeathKind, now: i64, probe_names_skb: bool) -> Option<Confidence> {
    if place == FreePlace::Elsewhere || life.class == SkbClass::TxOriginal {
        return None;
    }
    let doubtful = now - life.last_ns > DOUBT_NS;
    match life.phase {
        Phase::WriteQueue => None,
        Phase::TxQueued | Phase::TxStarted => Some(Confidence::Certain),
        // A segment built by a qdisc and dropped there is named by no other event; it is not this received packet.
        Phase::RxQueued | Phase::GroMember | Phase::Received
            if matches!(place, FreePlace::Transmit | FreePlace::Segmenter) =>
        {
            None
        }
        Phase::Received if place == FreePlace::Unknown && (doubtful || !probe_names_skb) => Some(Confidence::Weak),
        Phase::RxQueued | Phase::GroMember | Phase::Received => Some(Confidence::Certain),
        // Processed by TCP: the kernel frees these silently, unless it drops them at once or defers the free.
        Phase::TcpDone | Phase::TcpData | Phase::Copied => match place {
            FreePlace::Tcp if kind == DeathKind::Dropped && life.phase == Phase::TcpDone && doubtful => None,
            FreePlace::Tcp if kind == DeathKind::Dropped => Some(Confidence::Certain),
            FreePlace::Tcp | FreePlace::Deferred => Some(Confidence::Strong),
            FreePlace::Unknown if !doubtful => Some(Confidence::Weak),
            _ => None,
        },
    }
}
