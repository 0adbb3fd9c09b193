//! The machine: every packet at its first device queue, what made TCP send it, and whose it is.

use std::collections::VecDeque;

use netmortem_formats::kallsyms::Kallsyms;
use netmortem_formats::tracepoints::net_dev_start_xmit::NetDevStartXmit;
use rustc_hash::FxHashMap;

use super::descriptors::Descriptors;
use super::packet::{Cause, Packet};
use super::parked::Parked;
use super::room::Rooms;
use super::sends::Sends;
use crate::confidence::Confidence;
use crate::facts::{ConnectionId, SkbId};
use crate::ingest::{Event, GapRow};
use crate::name::Name;
use crate::reconstruct::comms::Comms;
use crate::reconstruct::dispatch::Tracker;
use crate::reconstruct::skb::Identity;
use crate::reconstruct::skb::tables::SkbClass;
use crate::reconstruct::tcp::Tcp;
use crate::reconstruct::timers::{Kind, Timers, What};

/// IPPROTO_TCP, IPPROTO_MPTCP.
pub(super) const TCP_PROTOCOLS: [u16; 2] = [6, 262];
/// TASKLET vector (include/linux/interrupt.h): TCP small queues ran there until they became a work item.
const TASKLET: u32 = 6;
/// What runs TCP small queues: a work item, before that a tasklet.
const TSQ: [&str; 2] = ["tcp_tsq_workfn", "tcp_tasklet_func"];

/// What a CPU does outside of tasks.
#[derive(Debug, Clone, Default)]
pub(super) struct Soft {
    cause: Option<(Cause, Option<ConnectionId>)>,
    /// The packet queued last on this CPU outside of tasks.
    last: Option<u32>,
    /// Packets that a neighbour's answer releases now, in order, and the thread in which; -1: none, a softirq.
    pub(super) releasing: VecDeque<Parked>,
    pub(super) releaser: i32,
    /// Those of them that were queued since, places in the packets, and the thread that sent each.
    pub(super) let_go: Vec<(u32, i32)>,
}

/// The machine's state.
pub(super) struct Transmits<'f> {
    pub(super) identity: &'f Identity,
    pub(super) tcp: &'f Tcp,
    pub(super) timers: &'f Timers,
    pub(super) comms: &'f Comms,
    pub(super) sends: Sends,
    pub(super) rooms: Rooms,
    /// Sockets of descriptors, where no event names a send's socket.
    pub(super) descriptors: Option<Descriptors>,
    pub(super) packets: Vec<Packet>,
    symbols: &'f Kallsyms,
    /// Functions of work items and tasklets: whether they are of TCP small queues.
    functions: FxHashMap<u64, bool>,
    cpus: Vec<Soft>,
    /// The packet each thread queued last, outside of interrupts. A device of this host (veth, loopback) receives before the
    /// queueing returns, so the softirq's packets come between a thread's packet and what the thread says of it.
    last_of: FxHashMap<i32, u32>,
    /// Packets between queue and the end of their driver function.
    open: FxHashMap<SkbId, u32>,
    /// Sockets of TCP originals, by life.
    pub(super) originals: FxHashMap<SkbId, ConnectionId>,
    pub(super) parked: FxHashMap<(Name, Vec<u8>), VecDeque<Parked>>,
    timer_at: usize,
    probe_at: usize,
    retransmit_at: usize,
    last_birth: Option<SkbId>,
    /// States of sockets were recorded: an address is known to change hands.
    born: bool,
}

impl Tracker for Transmits<'_> {
    fn gap(&mut self, _: &GapRow) {
        self.cpus.clear();
        self.last_of.clear();
        self.sends.threads.clear();
        self.parked.clear();
        self.rooms.forget();
        self.open.clear();
        if let Some(d) = &mut self.descriptors {
            d.forget();
        }
    }
}

impl<'f> Transmits<'f> {
    pub(super) fn new(
        identity: &'f Identity,
        tcp: &'f Tcp,
        timers: &'f Timers,
        (comms, symbols): (&'f Comms, &'f Kallsyms),
    ) -> Transmits<'f> {
        Transmits {
            identity,
            tcp,
            timers,
            comms,
            symbols,
            functions: FxHashMap::default(),
            sends: Sends::default(),
            rooms: Rooms::default(),
            descriptors: None,
            packets: vec![],
            cpus: vec![],
            last_of: FxHashMap::default(),
            open: FxHashMap::default(),
            originals: FxHashMap::default(),
            parked: FxHashMap::default(),
            timer_at: 0,
            probe_at: 0,
            retransmit_at: 0,
            last_birth: None,
            born: tcp.states.iter().any(|s| s.kind == "sock"),
        }
    }

    /// What a CPU does outside of tasks.
    pub(super) fn cause(&self, cpu: u16) -> Option<(Cause, Option<ConnectionId>)> {
        self.cpus.get(usize::from(cpu)).and_then(|c| c.cause)
    }

    pub(super) fn cpu(&mut self, cpu: u16) -> &mut Soft {
        let at = usize::from(cpu);
        if self.cpus.len() <= at {
            self.cpus.resize_with(at + 1, Soft::default);
        }
        &mut self.cpus[at]
    }

    /// Expired timers before an event: they are what made the CPU send.
    pub(super) fn catch_up(&mut self, e: &Event<'_>) {
        while let Some(t) = self.timers.events.get(self.timer_at).filter(|t| t.index < e.index) {
            self.timer_at += 1;
            if !matches!(t.what, What::Expired { .. }) || !t.kind.of_socket() {
                continue;
            }
            let cause = match t.kind {
                Kind::Pace => Cause::Pace,
                Kind::Write => Cause::WriteTimer,
                _ => Cause::Other,
            };
            let of = self.tcp.sockets.at(t.owner, t.ts);
            self.cpu(t.cpu).cause = Some((cause, of));
        }
    }

    /// A softirq run begins or ends.
    pub(super) fn softirq(&mut self, e: &Event<'_>, vec: Option<u32>) {
        self.catch_up(e);
        let cpu = self.cpu(e.cpu);
        cpu.cause = (vec == Some(TASKLET)).then_some((Cause::Tsq, None));
        cpu.releasing.clear();
    }

    /// The work item or tasklet of TCP small queues begins or ends.
    pub(super) fn tsq(&mut self, e: &Event<'_>, function: u64, begins: bool) {
        let symbols = self.symbols;
        let is = |f: u64| {
            symbols
                .resolve(f)
                .is_some_and(|(n, at)| at == 0 && TSQ.iter().any(|t| n.starts_with(t)))
        };
        if !*self.functions.entry(function).or_insert_with(|| is(function)) {
            return;
        }
        self.catch_up(e);
        if e.in_task() {
            self.sends.thread(e.pid).tsq = begins;
        } else {
            self.cpu(e.cpu).cause = begins.then_some((Cause::Tsq, None));
        }
    }

    pub(super) fn probe(&mut self, e: &Event<'_>) {
        self.catch_up(e);
        let probes = &self.tcp.probes;
        while probes.get(self.probe_at).is_some_and(|p| p.0 < e.index) {
            self.probe_at += 1;
        }
        let Some(p) = probes.get(self.probe_at).filter(|p| p.0 == e.index) else {
            return;
        };
        let at = self.probe_at as u32;
        if e.in_task() {
            self.sends.thread(e.pid).ack = Some((at, p.1));
            if let Some(d) = &mut self.descriptors {
                d.named(e.pid, p.1);
            }
        } else {
            self.cpu(e.cpu).cause = Some((Cause::Ack(at), Some(p.1)));
        }
    }

    /// A packet comes in: what an ACK before it lets go is sent. Not every socket tells whose this one is (a socket that is closing has no probe).
    pub(super) fn came_in(&mut self, e: &Event<'_>) {
        self.catch_up(e);
        let cause = &mut self.cpu(e.cpu).cause;
        if matches!(cause, Some((Cause::Ack(_), _))) {
            *cause = None;
        }
    }

    /// The original of a clone.
    fn original(&self, clone: SkbId) -> Option<SkbId> {
        let all = &self.identity.clones;
        let at = all.partition_point(|c| c.clone < clone);
        all.get(at).filter(|c| c.clone == clone).map(|c| c.original)
    }

    pub(super) fn queue(&mut self, e: &Event<'_>, addr: u64, len: u32, dev: Name) {
        self.catch_up(e);
        let Some(id) = self.identity.of(e.index) else { return };
        let Some(life) = self.identity.life(id) else { return };
        // Lives are numbered by birth: a number not above the last is one that was queued before (a stacked device).
        let tx = matches!(life.class, SkbClass::Tx | SkbClass::TxClone | SkbClass::TxOther);
        if !tx || life.birth_ns != e.ts || self.last_birth.is_some_and(|last| id <= last) {
            return;
        }
        self.last_birth = Some(id);
        let at = self.packets.len() as u32;
        let mut link = Confidence::Strong;
        let (mut cause, mut connection, mut by_address) = (Cause::Other, None, false);
        // The answer came in a softirq, or through a write to a tap, or was set by hand: then in a task.
        let thread = thread(e);
        let cpu = self.cpu(e.cpu);
        let released = (cpu.releaser == thread).then(|| cpu.releasing.pop_front()).flatten();
        if let Some(parked) = released {
            connection = parked.connection;
        } else if e.in_task() {
            if let Some(t) = self.sends.threads.get_mut(&e.pid) {
                if t.tsq {
                    cause = Cause::Tsq;
                } else if let Some((probe, c)) = t.ack {
                    (cause, connection) = (Cause::Ack(probe), Some(c));
                } else if t.sending() {
                    cause = Cause::Call;
                }
                if t.sending() {
                    t.queued.push(at);
                }
            }
        } else if let Some((c, of)) = self.cpu(e.cpu).cause {
            (cause, connection) = (c, of);
            by_address = of.is_some();
        }
        let original = self.original(id);
        if by_address && !self.born {
            // The socket is told by its address, and another may have it by now.
            link = Confidence::Weak;
        } else if connection.is_some() {
            link = Confidence::Certain;
        } else if cause != Cause::Call {
            connection = original.and_then(|o| self.originals.get(&o).copied());
        }
        if let (Some(o), Some(c)) = (original, connection) {
            self.originals.insert(o, c);
        }
        let mut p = Packet {
            index: e.index,
            ts: e.ts,
            cpu: e.cpu,
            skb: id,
            addr,
            len,
            dev,
            class: life.class,
            cause,
            call: None,
            connection,
            link,
            ethertype: None,
            gso_size: 0,
            gso_segs: 0,
            before_transport: None,
            linear: None,
            started: None,
            xmitted: None,
            retransmit: None,
            failed: false,
            fragment: false,
            parked: None,
            original,
            protocol: 0,
        };
        if let Some(parked) = released {
            (p.parked, p.call, p.protocol) = (Some(parked.ts), parked.call, parked.protocol);
            self.cpu(e.cpu).let_go.push((at, parked.pid));
            // Answered before the send that asked returned.
            if let (None, Some(t)) = (parked.call, self.sends.threads.get_mut(&parked.pid)) {
                t.queued.push(at);
            }
        }
        self.packets.push(p);
        self.open.insert(id, at);
        if e.in_task() {
            self.last_of.insert(e.pid, at);
        } else {
            self.cpu(e.cpu).last = Some(at);
        }
    }

    fn packet_of(&mut self, e: &Event<'_>) -> Option<&mut Packet> {
        let at = *self.open.get(&self.identity.of(e.index)?)?;
        self.packets.get_mut(at as usize)
    }

    pub(super) fn started(&mut self, e: &Event<'_>, x: &NetDevStartXmit<'_>) {
        if let Some(p) = self.packet_of(e).filter(|p| p.started.is_none()) {
            (p.started, p.ethertype) = (Some(e.ts), Some(x.protocol));
            (p.gso_size, p.gso_segs) = (x.gso_size, x.gso_segs);
            let before = x.transport_offset_valid.then_some(x.transport_offset);
            p.before_transport = before.and_then(|b| u16::try_from(b).ok());
            // A device below may see another length than the first queue.
            let linear = x.len.checked_sub(x.data_len).filter(|_| x.len == p.len);
            p.linear = linear.filter(|_| x.data_len > 0);
        }
    }

    /// The driver's function returned.
    pub(super) fn xmitted(&mut self, e: &Event<'_>, taken: bool) {
        if let Some(p) = self.packet_of(e)
            && taken
        {
            p.xmitted = Some(e.ts);
            let id = p.skb;
            self.open.remove(&id);
        }
    }

    pub(super) fn mark(&mut self, e: &Event<'_>, left: i32, goal: u32) {
        self.sends.mark(e, self.identity.of(e.index), left, goal);
    }

    /// `tcp_retransmit_skb` follows its transmit.
    pub(super) fn retransmit(&mut self, e: &Event<'_>, original: u64, sk: u64, err: Option<i32>) {
        let connection = self.tcp.sockets.at(sk, e.ts);
        let life = self.identity.of(e.index);
        if let (Some(o), Some(c)) = (life, connection) {
            self.originals.insert(o, c);
        }
        let failed = err.is_some_and(|e| e != 0);
        let mut row = None;
        if !failed {
            let rows = &self.tcp.retransmits;
            while rows.get(self.retransmit_at).is_some_and(|r| r.index < e.index) {
                self.retransmit_at += 1;
            }
            row = rows
                .get(self.retransmit_at)
                .filter(|r| r.index == e.index)
                .map(|_| self.retransmit_at as u32);
        }
        let d = self.identity.fclone_distance;
        let last = match e.in_task() {
            true => self.last_of.get(&e.pid).copied(),
            false => self.cpu(e.cpu).last,
        };
        let Some(p) = last.and_then(|at| self.packets.get_mut(at as usize)) else {
            return;
        };
        let clone = d.is_some_and(|d| p.addr == original.wrapping_add(d));
        // A copy has an address of its own: it was queued last in this context.
        if p.retransmit.is_some() || (failed && !clone) {
            return;
        }
        (p.retransmit, p.failed, p.connection) = (row, failed, connection);
        p.original = p.original.or(life);
        p.link = if clone { Confidence::Certain } else { Confidence::Strong };
    }

    /// A system call begins or ends.
    pub(super) fn boundary(&mut self, e: &Event<'_>, sends: bool) {
        self.cpu(e.cpu).releasing.clear();
        self.sends.boundary(e, sends);
    }
}

/// The running thread; -1 in interrupts.
pub(super) fn thread(e: &Event<'_>) -> i32 {
    if e.in_task() { e.pid } else { -1 }
}
