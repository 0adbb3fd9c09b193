//! From packets and flows to rows: differences of neighbouring times, and what is in none of them.

use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use super::adopt::adopt;
use super::again::segments;
use super::censor;
use super::device::Device;
use super::flow::{Flow, Of, Shared, bare, came_in};
use super::full::{left, refused};
use super::order::{doubted, in_order};
use super::packet::Packet;
use super::routes::{Inputs, Transmit};
use super::sends::{Call, sends};
use super::stages::{Stage, StageTimes};
use super::stream::OfSocket;
use super::tables::{TxEnd, TxKind, TxRow, TxStart};
use super::tracker::{TCP_PROTOCOLS, Transmits};
use super::windows::header;
use crate::confidence::Confidence;
use crate::facts::{ConnectionId, SkbId};
use crate::name::Name;
use crate::reconstruct::dispatch::Lost;
use crate::reconstruct::receive::tables::Censored;
use crate::reconstruct::skb::tables::SkbClass;
use crate::reconstruct::thread::Threads;

/// IPPROTO_UDP, IPPROTO_UDPLITE.
const UDP_PROTOCOLS: [u16; 2] = [17, 136];
/// UDP header, bytes.
const UDP_HEADER: u32 = 8;

/// All rows, by start, what held each write queue, and what each retransmission sent.
pub(super) fn rows(mut t: Transmits<'_>, inputs: &Inputs<'_>, lost: &Lost) -> Transmit {
    let told = !t.sends.appends.is_empty();
    let calls = t.sends.calls;
    let mut flows: FxHashMap<ConnectionId, Of<'_>> = FxHashMap::default();
    let mut others: Vec<u32> = vec![];
    for (i, p) in t.packets.iter().enumerate() {
        match p.connection {
            Some(c) => flows.entry(c).or_default().packets.push(i as u32),
            None => others.push(i as u32),
        }
    }
    let mut sent = vec![];
    for (c, mut appends) in t.sends.appends {
        appends.sort_by_key(|a| a.index);
        sent.extend(sends(c, &appends, &calls));
        flows.entry(c).or_default().appends = appends;
    }
    for (c, rooms) in t.rooms.found {
        flows.entry(c).or_default().rooms = rooms;
    }
    for (probe, sample) in inputs.tcp.probes.iter().zip(&inputs.tcp.samples) {
        if let Some(of) = flows.get_mut(&probe.1) {
            of.probes.push((probe.0, sample));
        }
    }
    for e in inputs.timers.events.iter().filter(|e| e.kind.of_socket()) {
        let of = inputs.tcp.sockets.at(e.owner, e.ts);
        if let Some(of) = of.and_then(|c| flows.get_mut(&c)) {
            of.timers.push(*e);
        }
    }
    for s in &inputs.tcp.states {
        if let Some(of) = flows.get_mut(&s.connection) {
            of.states.push(s);
        }
    }
    let mut flows: Vec<(ConnectionId, Of<'_>)> = flows.into_iter().collect();
    flows.sort_unstable_by_key(|f| f.0);
    let came_in = came_in(inputs.identity);
    let mut before = shared(inputs, &t.packets, (lost, &came_in));
    let mut headers = calibrated(&flows, &mut before);
    let most = before.header;
    let adopted = adopt(&flows, &headers, &before, &others);
    if !adopted.is_empty() {
        own(&mut t.packets, &mut flows, &adopted);
        others.retain(|i| adopted.binary_search_by_key(i, |a| a.0).is_err());
    }
    let mut shared = shared(inputs, &t.packets, (lost, &came_in));
    shared.header = most;
    if !adopted.is_empty() {
        headers = calibrated(&flows, &mut shared);
    }
    let again = segments(&flows, &headers, &shared, inputs.passes);
    let ledger = Ledger {
        inputs,
        calls: &calls,
        told,
        lost,
    };
    let of_flows: Vec<OfSocket> = flows
        .par_iter()
        .zip(headers)
        .map(|((c, of), h)| ledger.flow(*c, of, &shared, h.map(|h| h.0)))
        .collect();
    let once = flows
        .iter()
        .zip(&of_flows)
        .map(|(flow, of)| (flow.0, of.once))
        .collect();
    let (mut parts, mut behind, mut halts) = (vec![], vec![], FxHashMap::default());
    for (flow, mut of) in flows.iter().zip(of_flows) {
        if !of.halts.is_empty() {
            halts.insert(flow.0, of.halts);
        }
        parts.append(&mut of.parts);
        behind.append(&mut of.behind);
    }
    let others = others.par_iter().filter_map(|i| t.packets.get(*i as usize));
    parts.push(
        others
            .map(|p| ledger.packet(p, p.len <= shared.header.unwrap_or(0)))
            .collect(),
    );
    parts
        .par_iter_mut()
        .flatten()
        .for_each(|r| doubted(r, lost, inputs.identity.hashed));
    Transmit {
        rows: in_order(&parts),
        sends: sent,
        last_sends: t.sends.last,
        left_full: left(&t.sends.refusals),
        refused: refused(t.sends.refusals, inputs.threads),
        once,
        again,
        behind,
        halts,
        ..Transmit::default()
    }
}

fn shared<'s>(
    inputs: &Inputs<'s>,
    packets: &'s [Packet],
    (lost, came_in): (&'s Lost, &'s FxHashSet<SkbId>),
) -> Shared<'s> {
    Shared {
        identity: inputs.identity,
        packets,
        header: None,
        lost,
        came_in,
    }
}

/// Header sizes of all sockets, and of most of them.
fn calibrated(flows: &[(ConnectionId, Of<'_>)], shared: &mut Shared<'_>) -> Vec<Option<(u32, u64)>> {
    let headers: Vec<Option<(u32, u64)>> = flows.par_iter().map(|(_, of)| header(of, shared)).collect();
    let mut by_size: FxHashMap<u32, u64> = FxHashMap::default();
    for (h, n) in headers.iter().flatten() {
        *by_size.entry(*h).or_insert(0) += n;
    }
    let most = by_size.into_iter().max_by_key(|(h, n)| (*n, std::cmp::Reverse(*h)));
    shared.header = most.map(|x| x.0);
    headers
}

/// Packets whose bytes tell the socket.
fn own(packets: &mut [Packet], flows: &mut [(ConnectionId, Of<'_>)], adopted: &[(u32, ConnectionId)]) {
    for (i, c) in adopted {
        let flow = flows.binary_search_by_key(c, |f| f.0).ok();
        let (Some(p), Some((_, of))) = (packets.get_mut(*i as usize), flow.and_then(|f| flows.get_mut(f))) else {
            continue;
        };
        (p.connection, p.link) = (Some(*c), Confidence::Strong);
        let at = of.packets.partition_point(|x| x < i);
        of.packets.insert(at, *i);
    }
}

pub(super) struct Ledger<'l> {
    pub(super) inputs: &'l Inputs<'l>,
    pub(super) calls: &'l [Call],
    /// Some send call's bytes are known.
    pub(super) told: bool,
    /// When events of some CPU were lost.
    pub(super) lost: &'l Lost,
}

impl Ledger<'_> {
    /// A row that begins with the packet's queue.
    pub(super) fn begin(&self, p: &Packet, kind: TxKind, link: Confidence) -> TxRow {
        let life = self.inputs.identity.life(p.skb);
        TxRow {
            skb_id: p.skb,
            original: p.original,
            connection: p.connection,
            kind,
            task: Name::default(),
            pid: 0,
            dev: p.dev,
            cpu: p.cpu,
            bytes: None,
            start_ns: p.ts,
            start: TxStart::Queue,
            total_ns: 0,
            end: TxEnd::Open,
            censored: None,
            at_least_ns: None,
            refused: false,
            retransmits: 0,
            recovery_by: None,
            t_sched_ns: p.ts,
            t_snd_ns: p.started.or_else(|| self.first_segment(p)),
            t_ack_ns: None,
            unattributed_ns: 0,
            stages: StageTimes::default(),
            observer_ns: None,
            confidence: life.map_or(link, |l| link.min(l.links)),
        }
    }

    /// When the driver was given the first segment that software GSO or a qdisc made of a packet.
    fn first_segment(&self, p: &Packet) -> Option<i64> {
        let segments = self.inputs.passes.segments(p.skb);
        segments.filter(|s| s.dev == p.dev).filter_map(|s| s.started_ns).min()
    }

    /// A packet that no ACK of the recording ends: UDP, ICMP, ARP, TCP control.
    /// `measured`: that it has no payload was measured, where it may have some.
    pub(super) fn packet(&self, p: &Packet, measured: bool) -> TxRow {
        let udp = UDP_PROTOCOLS.contains(&p.protocol);
        let tcp = p.connection.is_some() || TCP_PROTOCOLS.contains(&p.protocol) || p.class == SkbClass::TxClone;
        // Whose it is, or how long its headers are, is not known: it may carry payload.
        let clones = self.inputs.identity.fclone_distance.is_some();
        let no_clone = p.class != SkbClass::TxClone && (clones || p.class == SkbClass::TxOther);
        let measured = p.connection.is_some() && (measured || no_clone);
        let kind = match (udp, tcp) {
            (true, _) => TxKind::Udp,
            (false, true) if measured || bare(p, clones) => TxKind::TcpControl,
            (false, true) => TxKind::TcpUnknown,
            (false, false) => TxKind::Other,
        };
        let mut row = self.begin(p, kind, p.link);
        let before = p.before_transport.map(u32::from);
        row.bytes = match kind {
            TxKind::TcpControl => Some(0),
            TxKind::Udp => before.and_then(|b| p.len.checked_sub(b + if p.fragment { 0 } else { UDP_HEADER })),
            _ => None,
        };
        if kind == TxKind::TcpUnknown {
            // Then what was before its queue is not known either.
            row.confidence = row.confidence.min(Confidence::Weak);
        }
        let call = p.call.and_then(|c| self.calls.get(c as usize));
        row.censored = call.filter(|c| c.cut).map(|_| Censored::Start);
        let handed = p.parked.unwrap_or(p.ts);
        // 0: which protocol's call it was is not known.
        let whole = udp || (kind == TxKind::Other && p.protocol == 0);
        if let Some(call) = call.filter(|_| whole) {
            (row.pid, row.task) = (call.pid, self.inputs.comms.at(call.pid, handed));
            if let Some(enter) = call.enter.filter(|t| *t <= handed) {
                (row.start_ns, row.start) = (enter, TxStart::Sendmsg);
                in_call(&mut row.stages, self.inputs.threads, call.pid, (enter, handed));
            }
        }
        if p.parked.is_some() {
            row.start_ns = row.start_ns.min(handed);
            row.stages.set(Stage::Neighbour, Some(p.ts.wrapping_sub(handed)));
        }
        let device = Device::of(self.inputs, &mut row.stages, p, None);
        row.confidence = row.confidence.min(device.link);
        let last = match (device.completed, device.dropped) {
            (Some(t), _) if device.taken => {
                row.end = TxEnd::Completed;
                let late = (t > device.ended).then(|| t.wrapping_sub(device.ended));
                row.stages.set(Stage::Completion, late);
                t
            }
            (_, Some(t)) => {
                row.end = TxEnd::Dropped;
                t
            }
            _ => {
                row.end = if device.taken { TxEnd::Sent } else { TxEnd::Open };
                device.ended
            }
        };
        let mut row = finish(row, last);
        censor::by_ends(&mut row, || censor::alive(self.inputs, p.skb, p.ts));
        censor::by_loss(&mut row, self.lost, |gap| gap);
        row
    }
}

impl Flow {
    /// Payload of a data packet.
    pub(super) fn payload(&self, p: &Packet) -> u32 {
        p.len.saturating_sub(self.header.unwrap_or(0))
    }
}

/// Time in the send call: asleep is a full send buffer, else the call's own work, to which waits for memory, for the socket's lock and a stopped
/// thread count. What is not known of the thread stays unattributed.
pub(super) fn in_call(stages: &mut StageTimes, threads: &Threads, pid: i32, (from, to): (i64, i64)) {
    let s = threads.split(pid, from, to);
    let held = match s.asleep_ns {
        0 => 0,
        asleep => threads.held_in(pid, from, to).min(asleep),
    };
    let slept = s.asleep_ns.wrapping_sub(held);
    let room = slept.wrapping_add(s.waking_ns).wrapping_add(s.idle_exit_ns);
    let (room, woken) = if slept > 0 { (room, 0) } else { (0, room) };
    let ran = (s.running_ns.wrapping_add(s.run_queue_ns)).wrapping_add(held.wrapping_add(woken));
    stages.set(Stage::Sndbuf, (room > 0).then_some(room));
    stages.set(Stage::Send, (ran > 0 || s.unknown_ns == 0).then_some(ran));
}

pub(super) fn finish(mut row: TxRow, last: i64) -> TxRow {
    row.total_ns = last.wrapping_sub(row.start_ns);
    row.unattributed_ns = row.total_ns.wrapping_sub(row.stages.sum());
    row
}
