//! Whose the dropped packets are: no row of a ledger names a packet that was refused before it reached a socket, but its drop,
//! or an event just before it, may.
//!
//! In: `kfree_skb` (`rx_sk`, place, protocol), `tcp_send_reset`, `tcp_bad_csum` (ports of the segment), `icmp_send` (ports of
//! a datagram), `sock_send_length`, `sock_recv_length` (protocol of a socket). Out: of each drop whether it is the subject's, another's,
//! or not known whose. Flows are TCP's: what is proven to be a datagram or no IP packet is another's.
//!
//! ```text
//! tcp_send_reset skbaddr=A 10.0.0.1:9 10.0.0.2:443      CPU 0   whose ends these are ...
//! kfree_skb      skbaddr=A NO_SOCKET                    CPU 0   ... its drop is, where the same CPU frees it within 1 ms
//! ```

use std::net::IpAddr;

use netmortem_formats::sockaddr::{self, SockAddr};
use netmortem_formats::tracepoints::Tracepoint;
use netmortem_formats::tracepoints::icmp_send::IcmpSend;
use netmortem_formats::tracepoints::kfree_skb::KfreeSkb;
use netmortem_formats::tracepoints::sock_recv_length::SockRecvLength;
use netmortem_formats::tracepoints::sock_send_length::SockSendLength;
use netmortem_formats::tracepoints::tcp_bad_csum::TcpBadCsum;
use netmortem_formats::tracepoints::tcp_send_reset::TcpSendReset;
use rustc_hash::{FxHashMap, FxHashSet};

use super::owners::Of;
use super::subject::{Ends, Subject};
use crate::facts::{Facts, SkbId};
use crate::ingest::Trace;
use crate::reconstruct::drops::is_no_packet;
use crate::reconstruct::skb::Identity;
use crate::reconstruct::tcp::Tcp;
use crate::table::Cell;

/// ns within which an answer (RST, ICMP) and the free of the packet that caused it follow each other.
const SAME_PACKET_NS: i64 = 1_000_000;
/// Beginnings of names of functions that free datagrams, or what is no packet of an IP flow. Not `arp_`: what waits for a
/// neighbour is freed there.
const NOT_TCP: [&str; 9] = [
    "udp",
    "__udp",
    "ping_",
    "igmp",
    "unix_",
    "__unix_",
    "netlink_",
    "__netlink_",
    "sctp_",
];
/// ETH_P_IP, ETH_P_IPV6, and what a frame with a tag or label may hide.
const MAY_BE_IP: [u16; 8] = [0x0800, 0x86dd, 0x8100, 0x88a8, 0x8847, 0x8848, 0x8863, 0x8864];
/// IPPROTO_TCP, IPPROTO_MPTCP.
const TCP: [u16; 2] = [6, 262];

/// One `kfree_skb`.
#[derive(Debug, Clone, Copy)]
pub struct Drop {
    /// Place of the event in the merged sequence.
    pub index: u32,
    /// The life that it ended.
    pub skb: Option<SkbId>,
    /// Row of `drops`.
    pub row: usize,
    /// Of which flow.
    pub flow: Of,
    /// Of which device, where it has no life that says so.
    pub dev: Of,
}

/// Every drop; none where its events and the rows of `drops` do not agree.
pub fn drops(
    (trace, identity, tcp): (&Trace<'_>, &Identity, &Tcp),
    facts: &Facts,
    subject: &Subject,
    ends: &[Ends],
    connections: &[Of],
) -> Vec<Drop> {
    let Ok((kfree, bound)) = trace.schema.bind::<KfreeSkb<'static>>() else {
        return vec![];
    };
    let causes = Causes::of(trace, ends);
    let datagrams = datagrams(trace);
    let mut pending: FxHashMap<(u16, u64), (i64, Of)> = FxHashMap::default();
    let mut out = vec![];
    let mut rows = facts.drops.iter().enumerate();
    for e in trace.events(|k| k == kfree || causes.has(k)) {
        if e.kind != kfree {
            if let Some((skbaddr, of)) = causes.read(e.kind, e.payload) {
                pending.insert((e.cpu, skbaddr), (e.ts, of));
            }
            continue;
        }
        let Some(p) = KfreeSkb::read(&bound, e.payload) else {
            continue;
        };
        let Some((row, d)) = rows.next().filter(|(_, d)| (d.time_ns, d.cpu) == (e.ts, e.cpu)) else {
            return vec![];
        };
        let caused = pending.remove(&(e.cpu, p.skbaddr));
        let caused = caused.filter(|(since, _)| e.ts.saturating_sub(*since) <= SAME_PACKET_NS);
        let sk = p.rx_sk.filter(|sk| *sk != 0);
        let connection = sk.and_then(|sk| tcp.sockets.at(sk, e.ts));
        let of_socket = connection.and_then(|c| connections.get(c.0 as usize)).copied();
        let of_socket = of_socket.filter(|of| *of != Of::Unknown);
        let not_tcp = || {
            let location = facts.names.locations.get(&d.location).map(String::as_str);
            let reason = match facts.names.drop_reason(d.reason) {
                Cell::Str(name) => Some(name),
                _ => None,
            };
            let place = location.is_some_and(|l| NOT_TCP.iter().any(|n| l.starts_with(n)));
            let no_ip = match d.protocol {
                0 => is_no_packet(reason.as_deref(), location, 0, d.skb_id.is_some()),
                protocol => !MAY_BE_IP.contains(&protocol),
            };
            let datagram = connection.is_none() && sk.is_some_and(|sk| datagrams.contains(&sk));
            place || no_ip || datagram
        };
        let flow = match (ends.is_empty(), caused.map(|c| c.1).or(of_socket)) {
            (true, _) => Of::Own,
            (_, Some(of)) => of,
            (_, None) if not_tcp() => Of::Other,
            _ => Of::Unknown,
        };
        let dev = match (subject.devs.is_empty(), d.dev.is_empty()) {
            (true, _) => Of::Own,
            (_, true) => Of::Unknown,
            _ if subject.devs.iter().any(|s| *s == d.dev.text()) => Of::Own,
            _ => Of::Other,
        };
        out.push(Drop {
            index: e.index,
            skb: identity.of(e.index),
            row,
            flow,
            dev,
        });
    }
    out
}

/// Sockets that are not TCP's in all of the recording.
fn datagrams(trace: &Trace<'_>) -> FxHashSet<u64> {
    let sent = trace.schema.bind::<SockSendLength<'static>>().ok();
    let read = trace.schema.bind::<SockRecvLength<'static>>().ok();
    let wanted = [sent.as_ref().map(|b| b.0), read.as_ref().map(|b| b.0)];
    let (mut tcp, mut other) = (FxHashSet::default(), FxHashSet::default());
    for e in trace.events(|k| wanted.contains(&Some(k))) {
        let of_sent = sent.as_ref().filter(|b| b.0 == e.kind);
        let of_read = read.as_ref().filter(|b| b.0 == e.kind);
        let seen = match (of_sent, of_read) {
            (Some((_, b)), _) => SockSendLength::read(b, e.payload).map(|p| (p.sk, p.protocol)),
            (_, Some((_, b))) => SockRecvLength::read(b, e.payload).map(|p| (p.sk, p.protocol)),
            _ => None,
        };
        if let Some((sk, protocol)) = seen {
            match TCP.contains(&protocol) {
                true => tcp.insert(sk),
                false => other.insert(sk),
            };
        }
    }
    other.retain(|sk| !tcp.contains(sk));
    other
}

type Bound<P> = Option<(u16, <P as Tracepoint>::Bound)>;

/// Events that name a packet and its ends just before it is freed.
struct Causes<'e> {
    ends: &'e [Ends],
    endian: netmortem_formats::Endian,
    reset: Bound<TcpSendReset<'static>>,
    csum: Bound<TcpBadCsum<'static>>,
    icmp: Bound<IcmpSend<'static>>,
}

impl<'e> Causes<'e> {
    fn of(trace: &Trace<'_>, ends: &'e [Ends]) -> Causes<'e> {
        Causes {
            ends,
            endian: trace.schema.endian,
            reset: trace.schema.bind::<TcpSendReset<'static>>().ok(),
            csum: trace.schema.bind::<TcpBadCsum<'static>>().ok(),
            icmp: trace.schema.bind::<IcmpSend<'static>>().ok(),
        }
    }

    fn has(&self, kind: u16) -> bool {
        let kinds = [
            self.reset.as_ref().map(|b| b.0),
            self.csum.as_ref().map(|b| b.0),
            self.icmp.as_ref().map(|b| b.0),
        ];
        kinds.contains(&Some(kind))
    }

    /// The packet, and whose it is where the event tells.
    fn read(&self, kind: u16, payload: &[u8]) -> Option<(u64, Of)> {
        if let Some((_, b)) = self.reset.as_ref().filter(|b| b.0 == kind) {
            let p = TcpSendReset::read(b, payload)?;
            let (one, other) = match p.sport.zip(p.dport) {
                None => (
                    SockAddr::read(p.saddr, self.endian)?,
                    SockAddr::read(p.daddr, self.endian)?,
                ),
                Some((sport, dport)) => (
                    SockAddr::from_fields(p.family, sport, p.saddr, p.saddr_v6?)?,
                    SockAddr::from_fields(p.family, dport, p.daddr, p.daddr_v6?)?,
                ),
            };
            return Some((p.skbaddr, self.whose(one, other)?));
        }
        if let Some((_, b)) = self.csum.as_ref().filter(|b| b.0 == kind) {
            let p = TcpBadCsum::read(b, payload)?;
            let (one, other) = (
                SockAddr::read(p.saddr, self.endian)?,
                SockAddr::read(p.daddr, self.endian)?,
            );
            return Some((p.skbaddr, self.whose(one, other)?));
        }
        let (_, b) = self.icmp.as_ref().filter(|b| b.0 == kind)?;
        let p = IcmpSend::read(b, payload)?;
        // It has ports of UDP alone.
        let datagram = p.sport != 0 && p.dport != 0 && sockaddr::v4(p.saddr).is_some();
        datagram.then_some((p.skbaddr, Of::Other))
    }

    fn whose(&self, one: SockAddr, other: SockAddr) -> Option<Of> {
        let end = |a: SockAddr| -> (Option<IpAddr>, u16) { (Some(a.canonical().ip), a.port) };
        let told = one.port != 0 && other.port != 0;
        let own = self.ends.iter().any(|e| e.are(end(one), end(other)));
        told.then_some(if own { Of::Own } else { Of::Other })
    }
}
