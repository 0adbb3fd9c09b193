//! Which socket a unit is for, when it is readable, and when it leaves otherwise than by a read.

use super::acks::Acked;
use super::aside::Run;
use super::tables::RxEnd;
use super::tracker::{Ledger, Queued, RUN_NS, TCP_PROTOCOLS};
use super::unit::{Key, Unit, payload};
use super::units::UnitId;
use crate::confidence::Confidence;
use crate::facts::ConnectionId;
use crate::ingest::Event;

/// Address families whose sockets receive packets of devices: AF_INET, AF_INET6.
const FAMILIES: [u16; 2] = [2, 10];
/// IP and TCP headers of a segment: smallest and largest sum.
const HEADERS: std::ops::RangeInclusive<u32> = 40..=140;
/// Most bytes of TCP options: by so much may headers of one socket differ.
const OPTIONS: u32 = 40;
/// IPPROTO_UDP, IPPROTO_UDPLITE: what is queued is the packet itself. Raw and ping sockets get a clone.
pub(super) const UDP_PROTOCOLS: [u16; 2] = [17, 136];

impl Ledger<'_> {
    /// Freed: no longer a unit that a socket will read, unless a socket has it already.
    pub(super) fn forget(&mut self, e: &Event<'_>) {
        if let Some(id) = self.identity.of(e.index).and_then(|skb| self.open.remove(&skb)) {
            self.close(id);
        }
    }

    /// Sent. An ACK tells how far the stream had come whose segment was just processed.
    pub(super) fn sent(&mut self, e: &Event<'_>) {
        let acked = self.identity.of(e.index).and_then(|skb| self.acks.sent(skb));
        if let Some(acked) = acked {
            self.acknowledges(e, &acked);
        }
        self.forget(e);
    }

    fn acknowledges(&mut self, e: &Event<'_>, acked: &Acked) {
        let last = *self.state(e.cpu).last(e);
        let after = last.and_then(|id| match self.units.get(id)?.key {
            Some(Key::Tcp(c)) if self.acks.is_of(acked, self.tcp, c) => Some((id, c)),
            _ => None,
        });
        let reading = !self.copies.is_empty();
        let Some(c) = after.map(|a| a.1).or(acked.by) else {
            return;
        };
        let Some(f) = self.fifos.get_mut(&Key::Tcp(c)) else {
            return;
        };
        if let Some(first) = self.acks.first_byte(c).filter(|_| !f.bytes.cut) {
            f.proof.begin(first);
        }
        let place = f.proof.acked(e.ts, acked.merged_ns, acked.una);
        if acked.merged_ns.is_some() {
            return;
        }
        if let Some(place) = place {
            f.stands(place, e.ts);
        }
        if !reading {
            f.anchor(acked.una, &self.units);
        }
        if let Some((id, _)) = after {
            f.acknowledged(id, acked.una, &mut self.units);
        }
    }

    pub(super) fn dropped(&mut self, e: &Event<'_>) {
        let Some(id) = self.unit_of(e) else { return };
        let Some(u) = self.units.get_mut(id) else { return };
        // Of raw and ping sockets a clone waits; the original's drop (NO_SOCKET) is none.
        let queued = !matches!(u.key, Some(Key::Other(_, p)) if !UDP_PROTOCOLS.contains(&p));
        if let (Some(key), true, false) = (u.key, queued && u.place.is_some(), u.done) {
            if let Key::Tcp(c) = key {
                *self.out.dropped_bytes.entry(c).or_insert(0) += u64::from(u.left);
            }
            if let Some(f) = self.fifos.get_mut(&key) {
                f.remove(id, &mut self.units);
            }
            if let Some(u) = self.units.get_mut(id) {
                u.key = None;
            }
        }
        self.forget(e);
    }

    /// Units received in this burst that nobody claimed, still alive. A run that is not over may have been held up for as
    /// long as its CPU was (a guest's is, by its host).
    pub(super) fn candidates(&mut self, e: &Event<'_>, fits: impl Fn(&Unit) -> bool) -> Vec<UnitId> {
        let run = self.net_rx(e).map(|r| r.start);
        let same_run = |u: &Unit| run.is_some() && u.recv_softirq == run;
        let in_burst = |u: &Unit| same_run(u) || u.recv.is_some_and(|t| e.ts - t <= RUN_NS);
        let fits = |u: &Unit| u.unclaimed && in_burst(u) && fits(u);
        let of = std::mem::take(&mut self.state(e.cpu).unclaimed);
        let found = of
            .iter()
            .copied()
            .filter(|id| self.units.get(*id).is_some_and(fits))
            .collect();
        self.state(e.cpu).unclaimed = of;
        found
    }

    pub(super) fn probe(&mut self, e: &Event<'_>, data_len: u16) {
        let probes = &self.tcp.probes;
        while probes.get(self.probe_at).is_some_and(|p| p.0 < e.index) {
            self.probe_at += 1;
        }
        let connection = probes.get(self.probe_at).filter(|p| p.0 == e.index).map(|p| p.1);
        let before = self.state(e.cpu).processed.replace(e.ts);
        *self.state(e.cpu).last(e) = None;
        let known = self.unit_of(e);
        let mut merged: Option<Run> = None;
        let (id, link) = match known {
            Some(id) => (id, Confidence::Certain),
            None if self.identity.of(e.index).is_some() => return,
            // No skb address in the event (before 6.9): the first unclaimed segment of that length in this run.
            None => {
                let fits = |u: &Unit| {
                    u.recv_len
                        .is_some_and(|l| HEADERS.contains(&l.wrapping_sub(payload(data_len, Some(l)))))
                };
                match self.candidates(e, fits).as_slice() {
                    // Out of a backlog: by the payloads of what was put aside.
                    [] => match connection
                        .filter(|_| e.in_task())
                        .and_then(|c| self.run(e, c, data_len, None))
                    {
                        Some(run) => {
                            let first = run.units.first().copied();
                            let Some(first) = first else { return };
                            merged = Some(run);
                            (first, Confidence::Strong)
                        }
                        None => return,
                    },
                    [one] => (*one, Confidence::Strong),
                    [first, ..] => (*first, Confidence::Weak),
                }
            }
        };
        let Some(u) = self.units.get_mut(id).filter(|u| u.key.is_none()) else {
            return;
        };
        let backlog = e.in_task() && !u.recv_in_task;
        if !backlog && u.cpu == e.cpu {
            u.through = before.filter(|t| u.recv.is_some_and(|r| *t > r));
        }
        let header = u.recv_len.unwrap_or(0).wrapping_sub(data_len.into()) & 0xffff;
        let apart = backlog && merged.is_none() && !HEADERS.contains(&header);
        if let Some(c) = connection.filter(|_| apart) {
            // Longer than the segment itself: what the backlog merged into it.
            merged = self.run(e, c, data_len, Some(id)).filter(|r| r.units.len() > 1);
        }
        if let Some(run) = &merged {
            self.merge(run);
        }
        let Some(u) = self.units.get_mut(id) else { return };
        let mut bytes = payload(data_len, u.recv_len);
        if let Some(run) = &merged {
            bytes = run.bytes;
        } else if let (Some(c), Some(len)) = (connection, u.recv_len) {
            let header = len.saturating_sub(bytes);
            if !backlog {
                if let Some(v4) = self.is_v4(c).filter(|_| bytes > 0) {
                    self.any_header.seen(v4, header);
                }
                let most = self.headers.entry(c).or_insert(header);
                *most = header.max(*most);
            } else if self
                .headers
                .get(&c)
                .is_some_and(|most| header > most.saturating_add(OPTIONS))
            {
                // Less than the segment itself has: what the backlog merged into it went beyond the length's 16 bits.
                bytes = bytes.saturating_add(1 << 16);
            }
        }
        let last = merged.as_ref().and_then(|r| r.units.last().copied()).unwrap_or(id);
        let received = self.units.get(last).and_then(|u| u.recv);
        if let (Some(c), Some(t)) = (connection, received) {
            self.through.insert(c, t);
        }
        let Some(u) = self.units.get_mut(id) else { return };
        (u.proto, u.backlog, u.connection, u.unclaimed) = (Some(e.ts), backlog, connection, false);
        (u.bytes, u.left) = (Some(bytes), bytes);
        u.link(link);
        let unshown = u64::from(bytes.saturating_sub(u32::from(data_len)));
        if let (Some(c), 1..) = (connection, unshown) {
            *self.out.unshown_bytes.entry(c).or_insert(0) += unshown;
        }
        if bytes == 0 {
            self.emit(id, RxEnd::Protocol, Confidence::Certain);
            return;
        }
        let Some(c) = connection else { return };
        let key = Key::Tcp(c);
        u.key = Some(key);
        if !backlog {
            self.learn(c, id, bytes);
        }
        let st = self.state(e.cpu);
        (*st.probed(e), *st.last(e)) = (Some(id), Some(id));
        self.fifo(key);
        let Some(fifo) = self.fifos.get_mut(&key) else { return };
        match self.has_ready {
            true => fifo.hold(id, &mut self.units),
            false => fifo.push(id, &mut self.units),
        }
    }

    /// Whether a socket's packets are IPv4's.
    pub(super) fn is_v4(&self, c: ConnectionId) -> Option<bool> {
        let socket = self.tcp.sockets.all.get(c.0 as usize)?;
        Some(socket.tuple.daddr.to_canonical().is_ipv4())
    }

    pub(super) fn ready(&mut self, e: &Event<'_>, sk: u64, family: u16, protocol: u16) {
        if !FAMILIES.contains(&family) {
            return;
        }
        let before = self.state(e.cpu).processed.replace(e.ts);
        if TCP_PROTOCOLS.contains(&protocol) {
            self.announced(e, sk);
            return;
        }
        let key = Key::Other(sk, protocol);
        let (id, link) = match self.candidates(e, |_| true).as_slice() {
            // What was queued is not known: another socket's clone (multicast, several raw sockets), or not a packet.
            [] => {
                self.fifo(key).strange_read(0);
                return;
            }
            [one] => (*one, Confidence::Strong),
            [first, ..] => (*first, Confidence::Weak),
        };
        if let Some(u) = self.units.get_mut(id) {
            (u.ready, u.unclaimed, u.key) = (Some(e.ts), false, Some(key));
            u.through = before.filter(|t| u.recv.is_some_and(|r| *t > r));
            u.link(link);
            self.out.queued.push(Queued {
                skb_id: u.skb,
                sk,
                time_ns: e.ts,
                confidence: u.confidence,
            });
        }
        self.fifo(key);
        if let Some(fifo) = self.fifos.get_mut(&key) {
            fifo.push(id, &mut self.units);
        }
    }

    /// A TCP socket is readable.
    fn announced(&mut self, e: &Event<'_>, sk: u64) {
        let connection = self.tcp.sockets.at(sk, e.ts);
        // Another socket's announcement (a listener, a second connection) is not this segment's.
        let probed = *self.state(e.cpu).probed(e);
        let mine = |id: &UnitId| connection.is_some() && self.units.get(*id).and_then(|u| u.connection) == connection;
        let (Some(id), Some(c)) = (probed.filter(mine), connection) else {
            return;
        };
        *self.state(e.cpu).probed(e) = None;
        // Segments that came before this one and were not announced then waited for it.
        let announced = self.fifos.get_mut(&Key::Tcp(c)).map_or(vec![], |f| {
            f.proof.announced(e.ts);
            f.announce(id, &mut self.units)
        });
        for a in announced {
            if let Some(u) = self.units.get_mut(a).filter(|u| u.ready.is_none()) {
                (u.ready, u.held) = (Some(e.ts), a != id && !u.low_water);
            }
        }
    }
}
