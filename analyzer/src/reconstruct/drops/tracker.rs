//! The machine.

use std::net::{IpAddr, Ipv4Addr};

use netmortem_formats::Capture;
use netmortem_formats::event_format::ValueTable;
use netmortem_formats::sockaddr::SockAddr;
use netmortem_formats::tracepoints::fib_table_lookup::FibTableLookup;
use netmortem_formats::tracepoints::fib6_table_lookup::Fib6TableLookup;
use netmortem_formats::tracepoints::icmp_send::IcmpSend;
use netmortem_formats::tracepoints::kfree_skb::KfreeSkb;
use netmortem_formats::tracepoints::net_dev_queue::NetDevQueue;
use netmortem_formats::tracepoints::netif_receive_skb::NetifReceiveSkb;
use netmortem_formats::tracepoints::netif_receive_skb_list_entry::NetifReceiveSkbListEntry;
use netmortem_formats::tracepoints::softirq_entry::SoftirqEntry;
use netmortem_formats::tracepoints::timer_expire_entry::TimerExpireEntry;
use netmortem_formats::tracepoints::udp_fail_queue_rcv_skb::UdpFailQueueRcvSkb;
use rustc_hash::FxHashMap;

use super::flooded;
use super::freed::Freed;
use super::judge;
use super::looked_up::Ways;
use super::places;
use super::rules::{
    has_no_device, has_no_route, is_for_another_host, is_for_no_address_here, is_for_no_udp_socket, is_too_big,
};
use super::tables::DropRow;
use super::too_big::Message;
use super::unjoined;
use super::unrouted::{By, Sender};
use crate::confidence::Confidence;
use crate::facts::SkbId;
use crate::ingest::{Event, GapRow, Trace};
use crate::name::Name;
use crate::reconstruct::ETH_P_IP;
use crate::reconstruct::dispatch::{Routes, Tracker, Walk, ready};
use crate::reconstruct::skb::Identity;
use crate::reconstruct::tcp::Tcp;
use crate::reconstruct::whose::{Carries, Owner};

/// Longest frame on a link with an MTU of 1,500 bytes.
const FRAME_BYTES: u32 = 1518;

/// Where qdisc drops are freed, right after the enqueue that caused them (net/core/dev.c).
const QDISC_PLACE: &str = "__dev_queue_xmit";

/// ICMP_DEST_UNREACH, ICMP_PORT_UNREACH: TCP answers by a RST.
const PORT_UNREACHABLE: (i32, i32) = (3, 3);

/// Longest time from an ICMP message to the free of the packet that it is about, ns: it passes the stack in between.
const ANSWER_NS: i64 = 5_000_000;

/// Longest time from a socket's refusal of a datagram to its free, ns: nothing lies between that the kernel does, and no other datagram
/// on that CPU, but interrupts, and a hypervisor that lets a CPU wait (one of 1,833 took longer than 100 us).
const REFUSED_NS: i64 = 10_000_000;

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

/// When, where it was for, the error.
type Refused = (i64, (Option<IpAddr>, u16), i32);

struct Drops<'i> {
    identity: &'i Identity,
    tcp: &'i Tcp,
    capture: &'i Capture,
    reasons: Option<&'i ValueTable>,
    told_apart: bool,
    names: FxHashMap<u32, String>,
    /// Device and life of the last `net_dev_queue` per CPU, and when.
    queued: FxHashMap<u16, (Name, Option<SkbId>, i64)>,
    /// Who queued a packet last, by its address.
    senders: FxHashMap<u64, Sender>,
    /// Last expiry of a timer on each CPU: when, its function, its address.
    expired: FxHashMap<u16, (i64, u64, u64)>,
    /// The ICMP message that was made last on each CPU.
    messages: FxHashMap<u16, Made>,
    /// Whether such a message would have been seen, of IPv4.
    messages_recorded: bool,
    /// The datagram that its socket refused last on each CPU: when, where it was for, the error.
    refused: FxHashMap<u16, Refused>,
    /// The row of the datagram that UDP freed last on each CPU, of which nothing told yet where it was for.
    at_socket: FxHashMap<u16, usize>,
    /// What came in last on each CPU, and the routes that were looked up for it.
    ways: Ways,
    /// The kernel records no reasons: the place stands for one.
    by_place: bool,
    freed: Freed,
}

impl Tracker for Drops<'_> {
    fn gap(&mut self, gap: &GapRow) {
        self.queued.remove(&(gap.cpu as u16));
        self.expired.remove(&(gap.cpu as u16));
        self.senders.clear();
        self.messages.remove(&(gap.cpu as u16));
        self.refused.remove(&(gap.cpu as u16));
        self.at_socket.remove(&(gap.cpu as u16));
        self.ways.forget(gap.cpu as u16);
    }
}

/// Reads the trace; rows in time order.
pub fn walk<'f>(
    trace: &'f Trace<'_>,
    capture: &'f Capture,
    (identity, tcp): (&'f Identity, &'f Tcp),
    (reasons, by_place): (Option<&'f ValueTable>, bool),
) -> impl Walk<Out = Freed> {
    let mut routes = Routes::<Drops<'_>>::new("drops");
    routes.on::<NetDevQueue<'static>>(&trace.schema, |t, e, p| {
        let skb = t.identity.of(e.index);
        t.queued.insert(e.cpu, (Name::new(p.name), skb, e.ts));
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
    routes.on::<UdpFailQueueRcvSkb<'static>>(&trace.schema, |t, e, p| t.refused(e, &p));
    // Without the events of lists one of several could be taken for one alone.
    if trace.info.recorded("net:netif_receive_skb_list_entry") {
        look_ups(&mut routes, trace);
    }
    // Only a help: their absence is no reason against the answer.
    routes.missing.clear();
    routes.on::<KfreeSkb<'static>>(&trace.schema, |t, e, p| t.freed(e, &p));
    let t = Drops {
        identity,
        tcp,
        capture,
        reasons,
        told_apart: !by_place && unjoined::are_told_apart(reasons),
        names: FxHashMap::default(),
        queued: FxHashMap::default(),
        senders: FxHashMap::default(),
        expired: FxHashMap::default(),
        messages: FxHashMap::default(),
        refused: FxHashMap::default(),
        at_socket: FxHashMap::default(),
        ways: Ways::default(),
        by_place,
        messages_recorded: trace.info.recorded("icmp:icmp_send"),
        freed: Freed {
            ports: flooded::ports(capture),
            by_place,
            ..Freed::default()
        },
    };
    ready(trace, routes, t, |t, missing| Freed {
        missing,
        pairs: t.ways.pairs,
        ..t.freed
    })
}

/// The routes that are looked up for what comes in.
fn look_ups<'i>(routes: &mut Routes<Drops<'i>>, trace: &Trace<'_>) {
    let s = &trace.schema;
    routes.on::<NetifReceiveSkbListEntry<'static>>(s, |t, e, p| {
        t.ways.lists(e.cpu, p.skbaddr);
    });
    routes.on::<NetifReceiveSkb<'static>>(s, |t, e, p| {
        t.ways.receives(e.cpu, p.skbaddr, t.identity.of(e.index));
    });
    routes.on::<FibTableLookup<'static>>(s, |t, e, p| t.ways.looks_up((e.cpu, e.ts), p.iif, (p.src, p.dst)));
    routes.on::<Fib6TableLookup<'static>>(s, |t, e, p| t.ways.looks_up((e.cpu, e.ts), p.iif, (p.src, p.dst)));
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
    /// A socket refused a datagram: it is freed behind this; before about 6.10 just before it.
    fn refused(&mut self, e: &Event<'_>, p: &UdpFailQueueRcvSkb<'_>) {
        let Some(port) = p.dport else { return };
        let address = p.daddr.and_then(|to| SockAddr::read(to, self.capture.endian));
        let to = (address.map(|a| a.canonical().ip), port);
        let last = self.at_socket.remove(&e.cpu);
        let row = last.and_then(|at| self.freed.rows.get_mut(at));
        let Some(row) = row.filter(|r| e.ts.saturating_sub(r.time_ns) <= REFUSED_NS) else {
            self.refused.insert(e.cpu, (e.ts, to, p.rc));
            return;
        };
        row.to = Some(to);
        if self.by_place {
            row.reason = places::at_socket(p.rc);
            let name = row.reason.and_then(|n| self.reasons?.name(u64::from(n)));
            (row.expected, row.why, row.confidence) = judge(name.as_deref(), None, row.protocol, true);
        }
    }
    fn freed(&mut self, e: &Event<'_>, p: &KfreeSkb<'_>) {
        let skb_id = self.identity.of(e.index);
        let dev = skb_id
            .and_then(|id| self.identity.life(id))
            .map_or(Name::default(), |l| l.last_dev);
        let location = self.capture.kallsyms.resolve(p.location).map(|(name, _)| name);
        let at_socket = places::is_at_socket(location);
        let refused = self.refused.remove(&e.cpu);
        let refused = refused.filter(|r| e.ts.saturating_sub(r.0) <= REFUSED_NS);
        // Made in the softirq that frees the packet, and handed on within it.
        let made = self.messages.get(&e.cpu).copied();
        let made = made.filter(|m| m.skbaddr == p.skbaddr && e.ts.saturating_sub(m.ns) <= ANSWER_NS);
        if made.is_some() {
            self.messages.remove(&e.cpu);
        }
        let number = match (self.by_place, refused) {
            (false, _) => p.reason,
            (true, Some((_, _, rc))) if at_socket => places::at_socket(rc),
            (true, _) if places::forwards(location) => places::not_forwarded(made.map(|m| m.says)),
            (true, _) => places::reason(location, self.queued_last(e, skb_id, p.protocol)),
        };
        let reason = number.map(|n| {
            let table = self.reasons;
            let name = || {
                table
                    .and_then(|t| t.name(u64::from(n)))
                    .unwrap_or_else(|| format!("reason {n}"))
            };
            self.names.entry(n).or_insert_with(name).as_str()
        });
        let owner = sender(e, (reason, location), skb_id);
        let at_queue = location == Some(QDISC_PLACE) || self.by_place && reason == Some(places::QUEUE);
        // A segment dropped by the qdisc that built it has no life; the packet queued last on this CPU named its device.
        let (dev, cut_from) = match location {
            Some(_) if at_queue && dev.is_empty() => {
                let (dev, skb, _) = self.queued.get(&e.cpu).copied().unwrap_or_default();
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
                None => timer()
                    .or_else(|| e.in_task().then_some(By::Task(e.pid)))
                    .filter(|_| has_no_route(reason)),
                Some(_) => self.senders.get(&p.skbaddr).copied().map(By::Sender),
            };
            self.freed.unrouted.extend(by.map(|by| (self.freed.rows.len(), by)));
        }
        if self.by_place && expected.is_none() && places::looks_up(location) {
            self.freed.looked_up.push(self.freed.rows.len());
        }
        if self.by_place && number.is_none() {
            self.freed.shared.at(location, self.freed.rows.len());
        }
        if self.by_place && number.is_none() && places::forwards(location) {
            self.freed.not_forwarded.push(self.freed.rows.len());
        }
        // A kernel that gives reasons tells which of those that end there found no room.
        let no_room =
            self.by_place || reason.is_some_and(|r| ["SOCKET_RCVBUFF", "PROTO_MEM"].iter().any(|n| r.ends_with(n)));
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
        if too_big {
            let message = self.message(e, p, made);
            self.freed.too_big.push((self.freed.rows.len(), message));
        }
        if at_socket && refused.is_none() && no_room {
            self.at_socket.insert(e.cpu, self.freed.rows.len());
        }
        self.freed.rows.push(DropRow {
            time_ns: e.ts,
            cpu: e.cpu,
            reason: number,
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
            to: made.and_then(|m| m.to).or(refused.map(|r| r.1)),
            way: self.ways.drops(p.skbaddr, skb_id),
            repair: None,
        });
    }
    /// Whether it is the packet that was queued last on this CPU, or a segment of it that no event saw.
    fn queued_last(&self, e: &Event<'_>, skb_id: Option<SkbId>, protocol: u16) -> bool {
        let Some((_, last, ns)) = self.queued.get(&e.cpu) else {
            return false;
        };
        match skb_id {
            Some(_) => skb_id == *last,
            // Of one that was to be cut: nothing else has segments that no event saw.
            None => {
                let life = last.and_then(|id| self.identity.life(id));
                let long = life.and_then(|l| l.bytes).is_some_and(|n| n > FRAME_BYTES);
                long && protocol != 0 && e.ts.saturating_sub(*ns) <= REFUSED_NS
            }
        }
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
            None if self.messages_recorded && p.protocol == ETH_P_IP => Message::None,
            None => Message::Unknown,
        }
    }
}
