//! The machine.

use std::net::{IpAddr, Ipv4Addr};

use netmortem_formats::Capture;
use netmortem_formats::event_format::ValueTable;
use netmortem_formats::sockaddr::SockAddr;
use netmortem_formats::tracepoints::icmp_send::IcmpSend;
use netmortem_formats::tracepoints::kfree_skb::KfreeSkb;
use netmortem_formats::tracepoints::net_dev_queue::NetDevQueue;
use netmortem_formats::tracepoints::softirq_entry::SoftirqEntry;
use netmortem_formats::tracepoints::timer_expire_entry::TimerExpireEntry;
use netmortem_formats::tracepoints::udp_fail_queue_rcv_skb::UdpFailQueueRcvSkb;
use rustc_hash::{FxHashMap, FxHashSet};

use super::flooded;
use super::judge;
use super::otherhost::{self, Hindsight};
use super::repair;
use super::rules::{
    has_no_device, has_no_route, is_for_another_host, is_for_no_address_here, is_for_no_udp_socket, is_too_big,
};
use super::tables::DropRow;
use super::too_big::{self, Message};
use super::unjoined;
use super::unrouted::{self, By, Sender};
use crate::confidence::Confidence;
use crate::facts::{ConnectionId, SkbId};
use crate::ingest::{Event, GapRow, Trace};
use crate::name::Name;
use crate::reconstruct::dispatch::{Routes, Tracker, Walk, ready};
use crate::reconstruct::skb::Identity;
use crate::reconstruct::tcp::Tcp;
use crate::reconstruct::whose::{Carries, Known, Owner, Whose};

/// Where qdisc drops are freed, right after the enqueue that caused them (net/core/dev.c).
const QDISC_PLACE: &str = "__dev_queue_xmit";

/// What is said of a TCP segment that UDP had no socket for: it was inside a tunnel.
const NO_TUNNEL: &str = "a tunnel's packet with a TCP segment in it came to a host that has no such tunnel: no socket for its outer UDP port";

/// ICMP_DEST_UNREACH, ICMP_PORT_UNREACH: TCP answers by a RST.
const PORT_UNREACHABLE: (i32, i32) = (3, 3);

/// ETH_P_IP.
const IPV4: u16 = 0x0800;

/// Longest time from an ICMP message to the free of the packet that it is about, ns: it passes the stack in between.
const ANSWER_NS: i64 = 5_000_000;

/// Longest time from a socket's refusal of a datagram to its free, ns: nothing lies between.
const REFUSED_NS: i64 = 100_000;

/// Longest time from a timer's expiry to the free of what it sent, ns.
const TIMER_NS: i64 = 200_000;

/// An ICMP message, as it was made.
#[derive(Debug, Clone, Copy)]
struct Made {
    ns: i64,
    /// The packet that it is about.
    skbaddr: u64,
    /// Type and code.
    says: (i32, i32),
    /// Where a datagram was for that came to no socket.
    to: Option<(Option<IpAddr>, u16)>,
    /// How many rows there were then.
    from: usize,
    /// The message's own life: what is queued next on this CPU.
    message: Option<SkbId>,
}

struct Drops<'i> {
    identity: &'i Identity,
    tcp: &'i Tcp,
    capture: &'i Capture,
    reasons: Option<&'i ValueTable>,
    told_apart: bool,
    names: FxHashMap<u32, String>,
    /// Device and life of the last `net_dev_queue` per CPU.
    queued: FxHashMap<u16, (Name, Option<SkbId>)>,
    /// Who queued a packet last, by its address.
    senders: FxHashMap<u64, Sender>,
    /// Last expiry of a timer on each CPU: when, its function, its address.
    expired: FxHashMap<u16, (i64, u64, u64)>,
    /// The ICMP message that was made last on each CPU.
    messages: FxHashMap<u16, Made>,
    /// Whether such a message would have been seen, of IPv4.
    messages_recorded: bool,
    /// The datagram that its socket refused last on each CPU: when, where it was for.
    refused: FxHashMap<u16, (i64, (Option<IpAddr>, u16))>,
    freed: Freed,
}

/// What was freed; judged by what was known then.
#[derive(Debug, Default)]
pub struct Freed {
    rows: Vec<DropRow>,
    /// Rows of frames for another host.
    otherhost: Vec<usize>,
    /// Rows of packets for an address that is none of the host's.
    not_mine: Vec<usize>,
    /// Devices that are ports of bridges.
    ports: FxHashSet<Name>,
    /// Rows without a route, with who sent them.
    unrouted: Vec<(usize, By)>,
    /// Rows of packets larger than an MTU, with what became of the ICMP message.
    too_big: Vec<(usize, Message)>,
    /// Rows of packets for which UDP had no socket.
    no_datagram: FxHashSet<usize>,
    /// Sockets that rows were for, by `rx_sk`.
    meant_for: FxHashMap<usize, ConnectionId>,
    /// What the capture lacks.
    pub missing: Vec<String>,
}

impl Freed {
    /// Every place that a free was at.
    pub fn locations(&self) -> impl Iterator<Item = u64> + '_ {
        self.rows.iter().map(|r| r.location)
    }
    /// The rows, judged by what is known after the walk too.
    pub fn rows(mut self, known: &Hindsight<'_>) -> Vec<DropRow> {
        otherhost::judge(&mut self.rows, &self.otherhost, known);
        flooded::judge(&mut self.rows, (&self.not_mine, &self.ports), known);
        unrouted::judge(&mut self.rows, &self.unrouted, known);
        too_big::judge(&mut self.rows, &self.too_big, known);
        self.own(known);
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

impl Tracker for Drops<'_> {
    fn gap(&mut self, gap: &GapRow) {
        self.queued.remove(&(gap.cpu as u16));
        self.expired.remove(&(gap.cpu as u16));
        self.senders.clear();
        self.messages.remove(&(gap.cpu as u16));
    }
}

/// Reads the trace; rows in time order.
pub fn walk<'f>(
    trace: &'f Trace<'_>,
    capture: &'f Capture,
    (identity, tcp): (&'f Identity, &'f Tcp),
    reasons: Option<&'f ValueTable>,
) -> impl Walk<Out = Freed> {
    let mut routes = Routes::<Drops<'_>>::new("drops");
    routes.on::<NetDevQueue<'static>>(&trace.schema, |t, e, p| {
        let skb = t.identity.of(e.index);
        t.queued.insert(e.cpu, (Name::new(p.name), skb));
        if let Some(made) = t
            .messages
            .get_mut(&e.cpu)
            .filter(|m| m.message.is_none() && m.skbaddr != p.skbaddr)
        {
            made.message = skb;
        }
        let pid = e.in_task().then_some(e.pid);
        t.senders.insert(p.skbaddr, Sender { pid, ns: e.ts });
    });
    // What a vector's timers send is sent in its own run.
    routes.on::<SoftirqEntry<'static>>(&trace.schema, |t, e, _| {
        t.expired.remove(&e.cpu);
    });
    routes.on::<TimerExpireEntry<'static>>(&trace.schema, |t, e, p| {
        t.expired.insert(e.cpu, (e.ts, p.function.unwrap_or(0), p.timer));
    });
    routes.on::<IcmpSend<'static>>(&trace.schema, |t, e, p| {
        let made = Made {
            ns: e.ts,
            skbaddr: p.skbaddr,
            says: (p.r#type, p.code),
            to: address(p.daddr, p.r#type, p.code).map(|a| (Some(a), p.dport)),
            from: t.freed.rows.len(),
            message: None,
        };
        t.messages.insert(e.cpu, made);
    });
    routes.on::<UdpFailQueueRcvSkb<'static>>(&trace.schema, |t, e, p| {
        if let Some(port) = p.dport {
            let address = p.daddr.and_then(|to| SockAddr::read(to, t.capture.endian));
            let address = address.map(|a| a.canonical().ip);
            t.refused.insert(e.cpu, (e.ts, (address, port)));
        }
    });
    // Only a help: their absence is no reason against the answer.
    routes.missing.clear();
    routes.on::<KfreeSkb<'static>>(&trace.schema, |t, e, p| t.freed(e, &p));
    let t = Drops {
        identity,
        tcp,
        capture,
        reasons,
        told_apart: unjoined::are_told_apart(reasons),
        names: FxHashMap::default(),
        queued: FxHashMap::default(),
        senders: FxHashMap::default(),
        expired: FxHashMap::default(),
        messages: FxHashMap::default(),
        refused: FxHashMap::default(),
        messages_recorded: trace.info.recorded("icmp:icmp_send"),
        freed: Freed {
            ports: flooded::ports(capture),
            ..Freed::default()
        },
    };
    ready(trace, routes, t, |t, missing| Freed { missing, ..t.freed })
}

/// Where a datagram was for about which a message says that its port has no socket (its ports are read where UDP has them).
fn address(daddr: &[u8], kind: i32, code: i32) -> Option<IpAddr> {
    let bytes = <[u8; 4]>::try_from(daddr).ok()?;
    ((kind, code) == PORT_UNREACHABLE).then(|| Ipv4Addr::from(bytes).into())
}

/// A packet that no event saw before and that has no neighbour was dropped in the call that sent it: its task. A full queue drops the oldest
/// in it, and who deletes an entry its queue: those are others'.
fn sender(e: &Event<'_>, (reason, at): (Option<&str>, Option<&str>), skb_id: Option<SkbId>) -> Option<Owner> {
    let own = match reason {
        Some("NEIGH_CREATEFAIL") => true,
        Some("NEIGH_FAILED") => at == Some("__neigh_event_send"),
        _ => false,
    };
    let unseen = skb_id.is_none() && own;
    (unseen && e.in_task() && e.pid > 0).then(|| Owner {
        connection: None,
        carries: Carries::Sent,
        task: Name::default(),
        pid: e.pid,
        confidence: Confidence::Strong,
    })
}

impl Drops<'_> {
    fn freed(&mut self, e: &Event<'_>, p: &KfreeSkb<'_>) {
        let skb_id = self.identity.of(e.index);
        let dev = skb_id
            .and_then(|id| self.identity.life(id))
            .map_or(Name::default(), |l| l.last_dev);
        let reason = p.reason.map(|n| {
            let table = self.reasons;
            let name = || {
                table
                    .and_then(|t| t.name(u64::from(n)))
                    .unwrap_or_else(|| format!("reason {n}"))
            };
            self.names.entry(n).or_insert_with(name).as_str()
        });
        let location = self.capture.kallsyms.resolve(p.location).map(|(name, _)| name);
        let owner = sender(e, (reason, location), skb_id);
        // A segment dropped by the qdisc that built it has no life; the packet queued last on this CPU named its device.
        let (dev, cut_from) = match location {
            Some(QDISC_PLACE) if dev.is_empty() => {
                let (dev, skb) = self.queued.get(&e.cpu).copied().unwrap_or_default();
                (dev, skb.filter(|_| skb_id.is_none()))
            }
            _ => (dev, None),
        };
        if let Some(socket) = p
            .rx_sk
            .filter(|sk| *sk != 0)
            .and_then(|sk| self.tcp.sockets.at(sk, e.ts))
        {
            self.freed.meant_for.insert(self.freed.rows.len(), socket);
        }
        let judged = judge(reason, location, p.protocol, skb_id.is_some());
        let (expected, why, confidence) = unjoined::judge(judged, (reason, location, p.protocol), self.told_apart);
        if has_no_route(reason) || has_no_device(reason) {
            let timer = || {
                let (at, function, timer) = self.expired.get(&e.cpu).copied()?;
                let name = self.capture.kallsyms.resolve(function).map(|(name, _)| name)?;
                let now = e.in_softirq() && e.ts - at <= TIMER_NS && name.starts_with("tcp_");
                now.then_some(By::Timer(timer))
            };
            let by = match skb_id {
                None => timer().filter(|_| has_no_route(reason)),
                Some(_) => self.senders.get(&p.skbaddr).copied().map(By::Sender),
            };
            self.freed.unrouted.extend(by.map(|by| (self.freed.rows.len(), by)));
        }
        let too_big = is_too_big(reason);
        if is_for_another_host(reason) {
            self.freed.otherhost.push(self.freed.rows.len());
        }
        if expected.is_none() && is_for_no_udp_socket(reason, location) {
            self.freed.no_datagram.insert(self.freed.rows.len());
        }
        if is_for_no_address_here(reason) {
            self.freed.not_mine.push(self.freed.rows.len());
        }
        // Made in the softirq that frees the packet, and handed on within it.
        let made = self.messages.get(&e.cpu).copied();
        let made = made.filter(|m| m.skbaddr == p.skbaddr && e.ts.saturating_sub(m.ns) <= ANSWER_NS);
        if made.is_some() {
            self.messages.remove(&e.cpu);
        }
        if too_big {
            let message = self.message(e, p, made);
            self.freed.too_big.push((self.freed.rows.len(), message));
        }
        let refused = self.refused.remove(&e.cpu);
        let refused = refused.filter(|r| e.ts.saturating_sub(r.0) <= REFUSED_NS).map(|r| r.1);
        self.freed.rows.push(DropRow {
            time_ns: e.ts,
            cpu: e.cpu,
            reason: p.reason,
            location: p.location,
            dev,
            skb_id,
            protocol: p.protocol,
            expected,
            background: false,
            why,
            confidence,
            owner,
            icmp: made.map(|m| m.says),
            cut_from,
            sk: p.rx_sk.unwrap_or(0),
            to: made.and_then(|m| m.to).or(refused),
            repair: None,
        });
    }
    /// What became of the ICMP message that a packet caused just before it was freed: both happen in one softirq, in which nothing
    /// else of this CPU's is freed in between.
    fn message(&self, e: &Event<'_>, p: &KfreeSkb<'_>, made: Option<Made>) -> Message {
        match made {
            Some(made) => {
                let rows = self.freed.rows.iter().enumerate().skip(made.from);
                let mut lost = rows.filter(|(_, r)| r.cpu == e.cpu && r.expected == Some(false));
                lost.next()
                    .map_or(Message::Sent(made.message), |(at, _)| Message::Dropped(at))
            }
            None if self.messages_recorded && p.protocol == IPV4 => Message::None,
            None => Message::Unknown,
        }
    }
}
