//! Ties what was sent to what came: packets, sockets of this recording, copies, addresses.

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};

use super::calls::SendCall;
use super::landed::{self, Landed};
use super::left;
use super::lengths::HEADERS;
use super::replies;
use super::snapshot::Line;
use super::sockets::{CopyRow, SocketRow};
use super::tables::TurnRow;
use super::tracker::Found;
use super::whither::{self, Way};
use crate::facts::SkbId;
use crate::name::Name;
use crate::reconstruct::receive::Queued;
use crate::reconstruct::receive::tables::RxRow;
use crate::reconstruct::skb::tables::HopRow;
use crate::reconstruct::transmit::tables::{TxKind, TxRow, TxStart};

/// Longest time from a copy to what it is a copy of on the same device, ns.
const BESIDE_NS: i64 = 1_000_000;

/// What rows are made from.
#[derive(Clone, Copy)]
pub struct Inputs<'f> {
    /// What was queued on sockets that are not TCP's.
    pub queued: &'f [Queued],
    /// Received units.
    pub rx: &'f [RxRow],
    /// Packets sent.
    pub tx: &'f [TxRow],
    /// Steps through devices, in time order.
    pub hops: &'f [HopRow],
    /// Packets that were in a socket, not read, when it was destroyed, and when that was.
    pub left: &'f FxHashMap<SkbId, i64>,
}

/// The tables.
#[derive(Debug, Default)]
pub struct Datagrams {
    /// View `udp_turns`.
    pub turns: Vec<TurnRow>,
    /// View `udp_sockets`.
    pub sockets: Vec<SocketRow>,
    /// View `udp_copies`.
    pub copies: Vec<CopyRow>,
    /// No event names a UDP socket: they are told by calls and the packets in them.
    pub by_calls: bool,
    /// What the capture lacks.
    pub missing: Vec<String>,
}

/// All rows.
pub fn rows(found: Found, of: Inputs<'_>) -> Datagrams {
    let Found {
        mut turns,
        mut sockets,
        mut sends,
        lines,
        processes,
        taken,
        by_calls,
        to,
        missing,
    } = found;
    let mut landed = landed::landed(&sockets, of);
    landed::taken_by_calls(&taken, of.rx, &mut landed, &mut turns);
    left::two_of_one_address(&mut sockets, &mut landed, &turns, of.left);
    for l in landed.values().filter(|l| l.unread) {
        if let Some(s) = sockets.get_mut(l.socket as usize) {
            s.unread += 1;
        }
    }
    sends.sort_unstable_by_key(|s| (s.pid, s.begin, s.end));
    let mut by_call = packets(&sends, of.tx);
    parked(&sends, of, &mut by_call);
    for (call, packets) in &by_call {
        let Some(turn) = sends.get(*call).and_then(|s| turns.get_mut(s.turn as usize)) else {
            continue;
        };
        let first = packets.first().map(|p| p.skb_id);
        if turn.skb_id.is_none_or(|have| first.is_some_and(|f| f < have)) {
            turn.skb_id = first;
        }
        // The first of several is the datagram itself: others are its copies, or its parts.
        if let Some(l) = packets.iter().find_map(|p| landed.get(&p.skb_id)) {
            turn.there = turn.there.or(Some(l.socket));
            turn.landed += 1;
            turn.unread += u32::from(l.unread || l.left);
        }
    }
    let mut copies = made_in_calls(&sends, &by_call, &landed);
    copies.extend(made_on_the_way(of, &sends, &by_call, &landed));
    copies.sort_by_key(|c| (c.time_ns, c.copy));
    for c in &copies {
        if let Some(s) = sockets.get_mut(c.socket as usize) {
            s.copies += 1;
        }
    }
    // Who came over loopback did not ask for the address that others reach.
    let lo: FxHashSet<SkbId> = of
        .rx
        .iter()
        .filter(|r| r.dev.text() == "lo")
        .map(|r| r.skb_id)
        .collect();
    let looped = landed.iter().filter(|(skb, _)| lo.contains(skb));
    let looped: FxHashSet<u32> = looped.map(|(_, l)| l.socket).collect();
    let ways = whither::tell(&sends, &by_call, &to, &mut turns, sockets.len());
    name(&mut sockets, &ways, &looped, &lines, &processes);
    whither::peers(&mut sockets, &ways, &to);
    replies::mark(&mut turns);
    Datagrams {
        turns,
        sockets,
        copies,
        by_calls,
        missing,
    }
}

/// The UDP packets of each send call, in time order.
fn packets<'t>(sends: &[SendCall], tx: &'t [TxRow]) -> FxHashMap<usize, Vec<&'t TxRow>> {
    let mut of: FxHashMap<usize, Vec<&TxRow>> = FxHashMap::default();
    // Those that waited for their neighbour and left after their call, by the first of the several datagrams of the call.
    let mut several: BTreeMap<usize, Vec<&TxRow>> = BTreeMap::new();
    let ends = |at: usize| sends.get(at).map(|s| (s.pid, s.end));
    let mut first_of: Vec<usize> = Vec::with_capacity(sends.len());
    for at in 0..sends.len() {
        let before = at.checked_sub(1).filter(|n| ends(*n) == ends(at));
        first_of.push(before.and_then(|n| first_of.get(n).copied()).unwrap_or(at));
    }
    for p in tx.iter().filter(|p| p.kind == TxKind::Udp && p.pid > 0) {
        let in_call = |at_ns: i64| {
            let at = sends
                .partition_point(|s| (s.pid, s.begin) <= (p.pid, at_ns))
                .checked_sub(1)?;
            sends.get(at).filter(|s| s.pid == p.pid && at_ns <= s.end).map(|_| at)
        };
        if let Some(at) = in_call(p.t_sched_ns) {
            of.entry(at).or_default().push(p);
        } else if let Some(at) = in_call(p.start_ns).filter(|_| p.start == TxStart::Sendmsg) {
            several
                .entry(first_of.get(at).copied().unwrap_or(at))
                .or_default()
                .push(p);
        }
    }
    for (first, mut packets) in several {
        packets.sort_by_key(|p| (p.t_sched_ns, p.skb_id));
        let calls: Vec<usize> = (first..)
            .take_while(|n| ends(*n).is_some() && ends(*n) == ends(first))
            .collect();
        match calls.as_slice() {
            [one] => of.entry(*one).or_default().extend(packets),
            // As many packets as datagrams, each as long as its own: they left in the order in which they were sent. Else nothing tells.
            _ => {
                let long = |n: &usize| sends.get(*n).map(|s| s.bytes);
                if calls.len() == packets.len() && calls.iter().zip(&packets).all(|(n, p)| long(n) == p.bytes) {
                    for (n, p) in calls.into_iter().zip(packets) {
                        of.entry(n).or_default().push(p);
                    }
                }
            }
        }
    }
    for packets in of.values_mut() {
        packets.sort_by_key(|p| (p.t_sched_ns, p.skb_id));
    }
    of
}

/// Packets that waited for their neighbour and left in a softirq, for calls that have none: the only one queued first before the call
/// was over that is as long as its datagram with headers.
fn parked<'t>(sends: &[SendCall], of: Inputs<'t>, by_call: &mut FxHashMap<usize, Vec<&'t TxRow>>) {
    let without: Vec<usize> = (0..sends.len()).filter(|at| !by_call.contains_key(at)).collect();
    if without.is_empty() {
        return;
    }
    let softirqs = |p: &&TxRow| p.kind == TxKind::Other && p.start == TxStart::Queue;
    let mut others: Vec<&TxRow> = of.tx.iter().filter(softirqs).collect();
    others.sort_by_key(|p| p.t_sched_ns);
    let mut lengths: FxHashMap<SkbId, u32> = FxHashMap::default();
    for h in of.hops.iter().filter(|h| h.kind == "queue") {
        if let Some(bytes) = h.bytes {
            lengths.entry(h.skb_id).or_insert(bytes);
        }
    }
    for call in without {
        let Some(s) = sends.get(call) else { continue };
        let from = others.partition_point(|p| p.t_sched_ns < s.begin);
        let within = others.iter().skip(from).take_while(|p| p.t_sched_ns <= s.end);
        let fits = |p: &&&TxRow| {
            let headers = lengths.get(&p.skb_id).and_then(|l| l.checked_sub(s.bytes));
            headers.is_some_and(|h| HEADERS.contains(&h))
        };
        let mut fitting = within.filter(fits);
        if let (Some(one), None) = (fitting.next(), fitting.next()) {
            by_call.insert(call, vec![*one]);
        }
    }
}

/// Whole packets of one call beyond the first that came to the same socket; parts of a datagram are shorter than it.
fn made_in_calls(
    sends: &[SendCall],
    by_call: &FxHashMap<usize, Vec<&TxRow>>,
    landed: &FxHashMap<SkbId, Landed>,
) -> Vec<CopyRow> {
    let mut out = vec![];
    for (call, packets) in by_call.iter().filter(|(_, p)| p.len() > 1) {
        let Some(send) = sends.get(*call) else { continue };
        let whole = packets.iter().filter(|p| p.bytes == Some(send.bytes));
        let mut came = whole.filter_map(|p| Some((*p, landed.get(&p.skb_id)?)));
        let Some((first, there)) = came.next() else { continue };
        out.extend(came.filter(|(_, l)| l.socket == there.socket).map(|(p, l)| CopyRow {
            time_ns: p.t_sched_ns,
            dev: p.dev,
            copy: p.skb_id,
            skb_id: first.skb_id,
            socket: l.socket,
            bytes: p.bytes,
            turn: Some(send.turn),
            in_call: true,
            confidence: l.confidence.min(there.confidence).min(p.confidence),
        }));
    }
    out
}

/// Packets first seen in a device's queue, of no send call, right beside one of the same length that had come there from elsewhere. What a neighbour's address
/// lets go at once was sent before, each by a call of its own.
fn made_on_the_way(
    of: Inputs<'_>,
    sends: &[SendCall],
    by_call: &FxHashMap<usize, Vec<&TxRow>>,
    landed: &FxHashMap<SkbId, Landed>,
) -> Vec<CopyRow> {
    let of_call = by_call
        .iter()
        .flat_map(|(call, packets)| packets.iter().map(|p| (p.skb_id, *call)));
    let of_call: FxHashMap<SkbId, usize> = of_call.collect();
    let sent = |p: &&TxRow| p.kind == TxKind::Udp && p.start == TxStart::Sendmsg;
    let sent: FxHashSet<SkbId> = of.tx.iter().filter(sent).map(|p| p.skb_id).collect();
    let known = |skb: SkbId| of_call.contains_key(&skb) || sent.contains(&skb);
    // First step of each, and the last queued on each CPU.
    let mut born: FxHashSet<SkbId> = FxHashSet::default();
    let mut last: FxHashMap<u16, (&HopRow, bool)> = FxHashMap::default();
    let mut done: FxHashSet<SkbId> = FxHashSet::default();
    let mut out = vec![];
    for h in of.hops {
        let new = born.insert(h.skb_id) && !known(h.skb_id);
        if h.kind != "queue" {
            continue;
        }
        let Some((before, made)) = last.insert(h.cpu, (h, new)) else {
            continue;
        };
        let (copy, own) = match (made, new) {
            (true, false) => (before, h),
            (false, true) => (h, before),
            _ => continue,
        };
        let beside =
            h.dev == before.dev && h.bytes == before.bytes && h.time_ns.saturating_sub(before.time_ns) <= BESIDE_NS;
        let both = landed.get(&copy.skb_id).zip(landed.get(&own.skb_id));
        let Some((a, b)) = both.filter(|(a, b)| beside && a.socket == b.socket) else {
            continue;
        };
        if !done.insert(copy.skb_id) {
            continue;
        }
        let call = of_call.get(&own.skb_id).and_then(|call| sends.get(*call));
        out.push(CopyRow {
            time_ns: copy.time_ns,
            dev: copy.dev,
            copy: copy.skb_id,
            skb_id: own.skb_id,
            socket: a.socket,
            bytes: copy.bytes,
            turn: call.map(|c| c.turn),
            in_call: false,
            confidence: a.confidence.min(b.confidence).min(copy.confidence).min(own.confidence),
        });
    }
    out
}

/// Which line of the snapshot each socket is.
fn name(
    sockets: &mut [SocketRow],
    ways: &[Way],
    looped: &FxHashSet<u32>,
    lines: &[Line],
    processes: &FxHashMap<i32, (i32, Name)>,
) {
    let process = |pid: i32| processes.get(&pid).map_or(pid, |p| p.0);
    let mut mine: BTreeMap<i32, Vec<usize>> = BTreeMap::new();
    let mut unread = vec![];
    for (at, s) in sockets.iter().enumerate().filter(|(_, s)| !s.closed) {
        if s.pid > 0 {
            mine.entry(process(s.pid)).or_default().push(at);
        }
        if s.unread > 0 {
            unread.push(at);
        }
    }
    let mut found: Vec<(usize, usize, &'static str)> = vec![];
    for (pid, of) in &mine {
        for at in of {
            let port = ways.get(*at).map_or(0, |w| w.from_port);
            let bound = |l: &Line| port > 0 && l.pids.contains(pid) && l.port() == Some(port);
            let mut fitting = (0..).zip(lines).filter(|(_, l)| bound(l)).map(|(n, _)| n);
            if let (Some(line), None) = (fitting.next(), fitting.next()) {
                found.push((*at, line, "port"));
            }
        }
    }
    for (pid, of) in &mine {
        // The last of a process' sockets is the last of its lines.
        let mut left = of.iter().filter(|at| !found.iter().any(|f| f.0 == **at));
        let of_it = |n: usize, l: &Line| l.pids.contains(pid) && !found.iter().any(|f| f.1 == n);
        let mut theirs = (0..).zip(lines).filter(|(n, l)| of_it(*n, l)).map(|(n, _)| n);
        if let (Some(one), None, Some(line), None) = (left.next(), left.next(), theirs.next(), theirs.next()) {
            found.push((*one, line, "task"));
        }
    }
    let mut grown = (0..).zip(lines).filter(|(_, l)| l.grown > 0).map(|(n, _)| n);
    if let ([one], Some(line), None) = (unread.as_slice(), grown.next(), grown.next()) {
        found.push((*one, line, "queue"));
    }
    for (at, line, by) in found {
        if let (Some(s), Some(l)) = (sockets.get_mut(at), lines.get(line)) {
            let only = l.only.as_ref().filter(|_| !looped.contains(&(at as u32)));
            s.local = only.unwrap_or(&l.local).clone();
            (s.remote, s.rcvbuf) = (l.remote.clone(), l.rcvbuf);
            (s.holder, s.named_by) = (l.pids.first().copied().unwrap_or(0), by);
            s.holder_task = processes.get(&s.holder).map_or(Name::default(), |p| p.1);
        }
    }
}

#[cfg(test)]
mod tests;
