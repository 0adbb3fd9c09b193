//! The end of a send: its packets and its bytes are its socket's.

use super::tracker::{TCP_PROTOCOLS, Transmits};
use crate::confidence::Confidence;
use crate::facts::ConnectionId;
use crate::ingest::Event;
use crate::reconstruct::ETH_P_ARP;
use crate::reconstruct::datagrams::one_datagram;
use crate::reconstruct::skb::tables::SkbClass;

const IPPROTO_UDP: u16 = 17;
/// What a call that may send returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Returned {
    /// Bytes, or an error.
    Bytes(i64),
    /// Messages (`sendmmsg`), or an error.
    Messages(i64),
    Unknown,
}

impl Transmits<'_> {
    /// `sock_send_length`: `ret` bytes, or an error.
    pub(super) fn sent(&mut self, e: &Event<'_>, sk: u64, protocol: u16, ret: i32) {
        let tcp = TCP_PROTOCOLS.contains(&protocol);
        let connection = self.tcp.sockets.at(sk, e.ts).filter(|_| tcp);
        self.send_over(e, connection, protocol, ret, Confidence::Certain);
    }

    /// An event of the running thread names a socket.
    pub(super) fn named(&mut self, e: &Event<'_>, sk: u64) {
        let Some(c) = self.tcp.sockets.at(sk, e.ts).filter(|_| e.in_task()) else {
            return;
        };
        if let Some(d) = &mut self.descriptors {
            d.named(e.pid, c);
        }
    }

    /// Packets of a call on no TCP socket that is known: datagrams of UDP, by their lengths. `sendmmsg` returns their number.
    fn datagrams(&self, queued: &[u32], ret: Returned) -> bool {
        let packets = || queued.iter().filter_map(|at| self.packets.get(*at as usize));
        let packets = || packets().filter(|p| p.ethertype != Some(ETH_P_ARP));
        if packets().any(|p| p.class == SkbClass::TxClone || p.connection.is_some()) {
            return false;
        }
        let before = packets().next().and_then(|p| p.before_transport).map(u32::from);
        match ret {
            Returned::Bytes(n) => {
                let lens: Vec<u32> = packets().map(|p| p.len).collect();
                u32::try_from(n).is_ok_and(|n| one_datagram(&lens, before, n))
            }
            Returned::Messages(n) => usize::try_from(n).is_ok_and(|n| n > 0 && packets().count() == n),
            Returned::Unknown => false,
        }
    }

    /// A system call that may send returned: the end of a send, where nothing nearer tells.
    pub(super) fn returned(&mut self, e: &Event<'_>, sockets_only: bool, ret: Returned) {
        let Some(t) = self.sends.threads.get(&e.pid).filter(|t| t.sending()) else {
            return;
        };
        let packet = |at: &u32| self.packets.get(*at as usize);
        let clone = t.queued.iter().filter_map(packet).any(|p| p.class == SkbClass::TxClone);
        let idle = t.queued.is_empty();
        let of = self
            .descriptors
            .as_mut()
            .and_then(|d| d.of(e.pid, clone || sockets_only));
        // A number that another thread of its process gave back, which no event ties to this one, may still be known as what it was.
        let over = |c: &ConnectionId| {
            let socket = self.tcp.sockets.all.get(c.0 as usize);
            socket.is_some_and(|s| s.closed && s.row.last_ns < e.ts)
        };
        let of = of.filter(|c| !over(c));
        let injects = self.descriptors.as_ref().is_some_and(|d| d.may_inject(e.pid));
        if of.is_none() && (idle || injects) {
            return;
        }
        let queued = t.queued.clone();
        let protocol = match of {
            Some(_) => TCP_PROTOCOLS[0],
            None if self.datagrams(&queued, ret) => IPPROTO_UDP,
            None => 0,
        };
        let bytes = match ret {
            Returned::Bytes(n) => i32::try_from(n).unwrap_or(0),
            _ => 0,
        };
        self.send_over(e, of, protocol, bytes, Confidence::Strong);
        if protocol == IPPROTO_UDP && matches!(ret, Returned::Messages(_)) {
            // Each a datagram of its own, most likely: nothing tells how long it was.
            for at in queued {
                if let Some(p) = self.packets.get_mut(at as usize) {
                    (p.fragment, p.link) = (false, Confidence::Weak);
                }
            }
        }
    }

    fn send_over(
        &mut self,
        e: &Event<'_>,
        connection: Option<ConnectionId>,
        protocol: u16,
        ret: i32,
        link: Confidence,
    ) {
        let tcp = TCP_PROTOCOLS.contains(&protocol);
        let sent = self.sends.end(e, connection, ret, link);
        if let Some(c) = connection {
            self.originals.extend(sent.tails.into_iter().map(|t| (t, c)));
            if ret > 0 {
                self.rooms.sent(e.pid, c);
            }
        }
        for (nth, at) in sent.queued.into_iter().enumerate() {
            let Some(p) = self.packets.get_mut(at as usize) else {
                continue;
            };
            if p.ethertype == Some(ETH_P_ARP) || (connection.is_none() && p.connection.is_some()) {
                continue;
            }
            (p.call, p.protocol) = (Some(sent.call), protocol);
            p.fragment = nth > 0 && !tcp;
            if p.connection.is_none() && connection.is_some() {
                (p.connection, p.link) = (connection, link);
                if let (Some(o), Some(c)) = (p.original, connection) {
                    self.originals.insert(o, c);
                }
            }
        }
        for p in self.parked.values_mut().flatten() {
            if p.pid == e.pid && p.call.is_none() {
                (p.call, p.connection, p.protocol) = (Some(sent.call), connection, protocol);
            }
        }
    }
}
