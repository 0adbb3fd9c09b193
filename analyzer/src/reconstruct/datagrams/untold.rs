//! UDP sockets on kernels of which no event names one (`sock_send_length`, `sock_recv_length` and `sk_data_ready` came with 6.3): there a socket
//! is a process' descriptor, until it is closed.
//!
//! ```text
//! a send call    queues packets as long as what it returned and a header of UDP ─── its descriptor is a UDP socket, and that was sent
//! a receive call frees a received packet (`consume_skb`) as long as what it took ── the same, and that packet was read
//! ```
//! Once a descriptor is known, whatever its calls return was sent or read, until a segment of TCP leaves by it or `accept` gives its number anew.
//! Calls for several messages (`sendmmsg`) tell no lengths: what they begin is weak until a read or a send of one fits. A read of which no packet is known (linear datagrams are freed
//! without an event from 6.13 on) is weak. Source: net/ipv4/udp.c `udp_recvmsg`, `skb_consume_udp`.
//!
//! Not seen: what came to a socket and was not read; sockets that processes share; what a descriptor is that is only written to before its
//! neighbour is resolved.

use netmortem_formats::tracepoints::consume_skb::ConsumeSkb;
use netmortem_formats::tracepoints::net_dev_queue::NetDevQueue;
use netmortem_formats::tracepoints::net_dev_start_xmit::NetDevStartXmit;
use rustc_hash::{FxHashMap, FxHashSet};

use super::calls::{Call, Use};
use super::lengths::{fits, one_datagram};
use super::sockets::SYNTHETIC;
use super::tracker::Machine;
use crate::confidence::Confidence;
use crate::facts::SkbId;
use crate::ingest::{Event, Schema};
use crate::reconstruct::dispatch::Routes;
use crate::reconstruct::skb::Identity;
use crate::reconstruct::skb::tables::{SkbClass, SkbRow};

/// Packets of one call that are remembered.
const PACKETS: usize = 1024;

/// A packet that a read took from a socket.
#[derive(Debug, Clone, Copy)]
pub(super) struct Taken {
    pub(super) skb: SkbId,
    pub(super) socket: u32,
    /// The turn that it answered.
    pub(super) turn: Option<u32>,
}

/// What a thread's call did so far.
#[derive(Debug, Default)]
struct Inside {
    /// Packets that it queued: when, which, how long.
    queued: Vec<(i64, SkbId, u32)>,
    /// Bytes before the transport header of the first.
    before: Option<u32>,
    /// Received packets that it freed.
    freed: Vec<SkbId>,
}

/// The state.
pub(super) struct Untold<'f> {
    identity: &'f Identity,
    inside: FxHashMap<i32, Inside>,
    /// Threads whose first event was the end of a receive call, and the packet as long as what that took: what they send then answers it.
    received: FxHashMap<i32, SkbId>,
    /// Sockets of which only calls for several messages tell, whose lengths they do not: no more than that packets were sent.
    unproven: FxHashSet<u64>,
    /// Numbers given to sockets.
    numbers: u64,
    pub(super) taken: Vec<Taken>,
}

impl<'f> Untold<'f> {
    pub(super) fn new(identity: &'f Identity) -> Untold<'f> {
        Untold {
            identity,
            inside: FxHashMap::default(),
            received: FxHashMap::default(),
            unproven: FxHashSet::default(),
            numbers: 0,
            taken: vec![],
        }
    }
    pub(super) fn begins(&mut self, pid: i32) {
        self.inside.remove(&pid);
    }
    pub(super) fn forget(&mut self) {
        self.inside.clear();
        self.received.clear();
        self.unproven.clear();
    }
    fn life(&self, id: SkbId) -> Option<&SkbRow> {
        self.identity.lives.get(id.0 as usize)
    }
    /// It queued what only TCP's write queue is sent as.
    fn is_tcp(&self, inside: &Inside) -> bool {
        let clone = |id: SkbId| self.life(id).is_some_and(|l| l.class == SkbClass::TxClone);
        inside.queued.iter().any(|q| clone(q.1))
    }
    /// What was sent by a call that returned so much: when each datagram was queued, and its bytes.
    fn sent(&self, inside: &Inside, call: Call, ret: i64) -> Vec<(i64, u32)> {
        let Ok(n) = u32::try_from(ret) else { return vec![] };
        let lens: Vec<u32> = inside.queued.iter().map(|q| q.2).collect();
        match call.counts {
            // Their lengths are the packets' less the headers of the first, where these are told.
            true if lens.len() == n as usize => {
                let header = inside.before.map_or(42, |b| b.saturating_add(8));
                let each = inside.queued.iter().map(|q| (q.0, q.2.saturating_sub(header)));
                each.collect()
            }
            false if one_datagram(&lens, inside.before, n) => vec![(call.begin, n)],
            _ => vec![],
        }
    }
    /// Which of the freed packets a receive call took: all that it may be on a socket that is known, else those of the right length.
    fn took(&self, inside: &Inside, call: Call, ret: i64, known: bool) -> Vec<SkbId> {
        let Ok(n) = u32::try_from(ret) else { return vec![] };
        let len = |id: SkbId| self.life(id).and_then(|l| l.bytes);
        let one = |id: &&SkbId| known || !call.counts && len(**id).is_some_and(|l| fits(l, n));
        let most = if call.counts { n as usize } else { 1 };
        inside.freed.iter().filter(one).take(most).copied().collect()
    }
}

/// Routes what tells a call's packets.
pub(super) fn route(r: &mut Routes<Machine<'_>>, s: &Schema<'_>) {
    r.on::<NetDevQueue<'static>>(s, |t, e, p| {
        if let Some((u, id)) = t.inside(e, Use::Send) {
            let of = u.inside.entry(e.pid).or_default();
            if of.queued.len() < PACKETS && of.queued.iter().all(|q| q.1 != id) {
                of.queued.push((e.ts, id, p.len));
            }
        }
    });
    r.on::<NetDevStartXmit<'static>>(s, |t, e, p| {
        if let Some((u, id)) = t.inside(e, Use::Send) {
            let of = u.inside.entry(e.pid).or_default();
            let first = of.queued.first().is_some_and(|q| q.1 == id);
            if first && of.before.is_none() && p.transport_offset_valid {
                of.before = u32::try_from(p.transport_offset).ok();
            }
        }
    });
    r.on::<ConsumeSkb<'static>>(s, |t, e, _| {
        if let Some((u, id)) = t.inside(e, Use::Receive) {
            let of = u.inside.entry(e.pid).or_default();
            if of.freed.len() < PACKETS {
                of.freed.push(id);
            }
        }
    });
}

impl<'f> Machine<'f> {
    /// An event of a packet inside a thread's own call.
    fn inside(&mut self, e: &Event<'_>, what: Use) -> Option<(&mut Untold<'f>, SkbId)> {
        // A call that began before the recording is one that frees what it received.
        let call = self.calls.get(&e.pid).map_or(Use::Receive, |c| c.what);
        let own = e.in_task() && call == what;
        let u = self.untold.as_mut().filter(|_| own)?;
        let id = u.identity.of(e.index)?;
        Some((u, id))
    }
    /// The socket of a descriptor; `new`: it is one from now on.
    fn by_descriptor(&mut self, pid: i32, fd: i32, new: bool) -> Option<u64> {
        let key = self.key(pid, fd);
        if let Some(sk) = self.fds.get(&key) {
            return Some(*sk);
        }
        let u = self.untold.as_mut().filter(|_| new)?;
        u.numbers = (u.numbers + 1).min(SYNTHETIC - 1);
        let sk = u.numbers;
        self.fds.insert(key, sk);
        Some(sk)
    }
    /// A descriptor's number means something else now.
    pub(super) fn another(&mut self, pid: i32, fd: i32) {
        let key = self.key(pid, fd);
        if self.untold.is_some()
            && let Some(sk) = self.fds.remove(&key)
        {
            self.live.remove(&sk);
            self.connected.remove(&key);
        }
    }
    /// A thread's call is of no UDP socket: what it had read before the recording may have been of any.
    fn nothing_of(&mut self, pid: i32) {
        if let Some(u) = &mut self.untold {
            u.received.remove(&pid);
        }
    }
    /// What a call for several messages began is proven by one whose length fits.
    fn proven(&mut self, sk: u64, known: bool, call: Call, nothing: bool) {
        let Some(u) = &mut self.untold else { return };
        match call.counts {
            true if !known => _ = u.unproven.insert(sk),
            false if !nothing => _ = u.unproven.remove(&sk),
            _ => {}
        }
    }
    /// A call is over: what it did tells whether its descriptor is a UDP socket.
    pub(super) fn told_by_call(&mut self, e: &Event<'_>, what: Use, ret: i64) {
        let Some(u) = &mut self.untold else { return };
        let call = self.calls.get(&e.pid).copied();
        if call.is_none() && what == Use::Receive {
            let inside = u.inside.remove(&e.pid).unwrap_or_default();
            let begun = Call {
                what,
                fd: None,
                begin: e.ts,
                looks: false,
                counts: false,
            };
            if let Some(one) = u.took(&inside, begun, ret, false).first() {
                u.received.insert(e.pid, *one);
            }
        }
        let Some((call, fd)) = call.and_then(|c| Some((c, c.fd?))) else {
            return;
        };
        let inside = u.inside.remove(&e.pid).unwrap_or_default();
        match call.what {
            Use::Send => {
                if u.is_tcp(&inside) {
                    return self.another(e.pid, fd);
                }
                let sent = u.sent(&inside, call, ret);
                let known = self.fds.contains_key(&self.key(e.pid, fd));
                let Some(sk) = self.by_descriptor(e.pid, fd, !sent.is_empty()) else {
                    return self.nothing_of(e.pid);
                };
                self.proven(sk, known, call, sent.is_empty());
                self.begun_before(e, sk, Use::Send);
                match (sent.as_slice(), i32::try_from(ret)) {
                    ([], Ok(bytes)) if !call.counts || bytes < 0 => self.sent(e, sk, bytes),
                    // How long they were nothing tells.
                    ([], Ok(n)) => (0..n.min(PACKETS as i32)).for_each(|_| self.sent(e, sk, 0)),
                    (all, _) => {
                        for (nth, (_, bytes)) in all.iter().enumerate() {
                            // One ends where the next begins.
                            let end = all.get(nth + 1).map_or(e.ts, |next| next.0);
                            let at = Event { ts: end, ..*e };
                            self.sent(&at, sk, i32::try_from(*bytes).unwrap_or(0));
                        }
                        self.doubt(sk);
                    }
                }
            }
            Use::Receive if !call.looks => {
                let known = self.fds.contains_key(&self.key(e.pid, fd));
                let Some(u) = &self.untold else { return };
                let took = u.took(&inside, call, ret, known);
                let Some(sk) = self.by_descriptor(e.pid, fd, !took.is_empty()) else {
                    return self.nothing_of(e.pid);
                };
                let fitting = self
                    .untold
                    .as_ref()
                    .is_some_and(|u| !u.took(&inside, call, ret, false).is_empty());
                self.proven(sk, known, call, !fitting);
                self.begun_before(e, sk, Use::Receive);
                match i32::try_from(ret) {
                    Ok(error) if error < 0 => self.read(e, sk, error, 0),
                    Ok(n) => {
                        let (socket, _) = self.used(e, sk, Use::Receive);
                        let most = if call.counts { n.min(PACKETS as i32) } else { 1 };
                        for nth in 0..usize::try_from(most).unwrap_or(0) {
                            self.takes(e, socket, took.get(nth).copied());
                        }
                    }
                    Err(_) => {}
                }
            }
            _ => {}
        }
    }
    /// The first UDP socket of a thread that came out of a receive call first: what it had read was of it, and what it sends answers that.
    fn begun_before(&mut self, e: &Event<'_>, sk: u64, what: Use) {
        let Some(skb) = self.untold.as_mut().and_then(|u| u.received.remove(&e.pid)) else {
            return;
        };
        let (socket, _) = self.used(e, sk, what);
        if let Some(s) = self.sockets.get_mut(socket as usize) {
            s.served |= s.sent == 0;
        }
        let turn = None;
        if let Some(u) = &mut self.untold {
            u.taken.push(Taken { skb, socket, turn });
        }
    }
    /// A turn on a socket that is not proven is weak.
    fn doubt(&mut self, sk: u64) {
        let unproven = self.untold.as_ref().is_some_and(|u| u.unproven.contains(&sk));
        let turn = self.live.get(&sk).and_then(|n| self.last.get(n));
        if let Some(t) = turn.and_then(|at| self.turns.get_mut(*at)).filter(|_| unproven) {
            t.row.confidence = Confidence::Weak;
        }
    }
    /// A datagram was read, of a packet that is known or not.
    fn takes(&mut self, e: &Event<'_>, socket: u32, skb: Option<SkbId>) {
        let life = skb.and_then(|id| self.untold.as_ref()?.life(id));
        let began = life.map(|l| l.birth_ns);
        let before = self.last.get(&socket).copied();
        if let Some(s) = self.sockets.get_mut(socket as usize) {
            s.came(e.ts);
        }
        self.took(e, socket, began);
        let answered = |t: &super::tracker::Turn| t.row.read_ns == Some(e.ts);
        let turn = before.filter(|at| self.turns.get(*at).is_some_and(answered));
        match (skb, turn) {
            (None, Some(at)) => {
                if let Some(t) = self.turns.get_mut(at) {
                    t.row.confidence = Confidence::Weak;
                }
            }
            (Some(skb), turn) => {
                let sk = self.sockets.get(socket as usize).map_or(0, |s| s.sk);
                let proven = self.untold.as_ref().is_some_and(|u| !u.unproven.contains(&sk));
                if let Some(t) = turn.and_then(|at| self.turns.get_mut(at)).filter(|_| proven) {
                    t.row.confidence = Confidence::Strong;
                }
                let turn = turn.and_then(|at| u32::try_from(at).ok());
                if let Some(u) = &mut self.untold {
                    u.taken.push(Taken { skb, socket, turn });
                }
            }
            _ => {}
        }
    }
}
