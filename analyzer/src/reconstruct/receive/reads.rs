//! Reads: copies, and which units they took.

use super::claims::UDP_PROTOCOLS;
use super::cpu::SoftirqClock;
use super::fifo::Named;
use super::readable::Taken;
use super::tables::{ReadBy, RxEnd};
use super::tracker::{Coalesced, Ledger, Read, TCP_PROTOCOLS};
use super::unit::Key;
use super::units::UnitId;
use crate::confidence::Confidence;
use crate::facts::SkbId;
use crate::ingest::Event;
use crate::reconstruct::tcp::MSG_PEEK;

/// -EAGAIN: the socket was found empty.
const EAGAIN: i32 = -11;
/// Headers that a datagram socket does not give: IPv4 or IPv6 without options, and UDP.
const UDP_HEADERS: [u32; 2] = [28, 48];
/// Of raw and ping sockets: none (raw IPv4), the IP header.
const RAW_HEADERS: [u32; 3] = [0, 20, 40];
/// Copies of one call that are remembered.
const COPIES: usize = 65_536;

/// A copy to a reader, or what counts as one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Copied {
    pub(super) ts: i64,
    /// The softirq clock of the CPU then.
    pub(super) clock: Option<SoftirqClock>,
    pub(super) by: ReadBy,
    /// A copy event, which names an skb; else the whole read in one.
    pub(super) names: bool,
    /// That skb.
    pub(super) skb: Option<SkbId>,
    /// Its unit and its socket, as of the copy: by the time the read returns the skb may have been freed on the CPU that
    /// allocated it, and its row written.
    pub(super) unit: Option<(UnitId, Option<Key>)>,
    pub(super) bytes: u32,
}

/// Units read whose system call has not returned.
#[derive(Debug, Default)]
pub(super) struct Returning {
    /// What it will return, bytes.
    pub(super) ret: i64,
    pub(super) units: Vec<UnitId>,
}

/// Whether a datagram of that length at `netif_receive_skb` is one of which so much was given.
pub(super) fn fits(protocol: u16, recv_len: Option<u32>, bytes: u32) -> bool {
    let headers: &[u32] = if UDP_PROTOCOLS.contains(&protocol) {
        &UDP_HEADERS
    } else {
        &RAW_HEADERS
    };
    recv_len.is_some_and(|l| headers.contains(&l.wrapping_sub(bytes)))
}

impl Ledger<'_> {
    /// The softirq clock of a CPU, where softirqs were recorded.
    pub(super) fn clock(&mut self, cpu: u16) -> Option<SoftirqClock> {
        let recorded = self.has_softirq;
        let clock = self.state(cpu).clock(cpu);
        recorded.then_some(clock)
    }

    /// A whole read as one copy that names nothing.
    pub(super) fn whole(&mut self, e: &Event<'_>, by: ReadBy, bytes: u32) -> Copied {
        Copied {
            ts: e.ts,
            clock: self.clock(e.cpu),
            by,
            names: false,
            skb: None,
            unit: None,
            bytes,
        }
    }

    pub(super) fn copy(&mut self, e: &Event<'_>, len: i32) {
        let unit = self.unit_of(e);
        let c = Copied {
            names: true,
            skb: self.identity.of(e.index),
            unit: unit.and_then(|id| Some((id, self.units.get(id)?.key))),
            ..self.whole(e, ReadBy::Copy, u32::try_from(len).unwrap_or(0))
        };
        self.copied_now(e.pid);
        if self.has_length {
            let of = self.copies.entry(e.pid).or_default();
            if of.len() < COPIES {
                of.push(c);
            }
        } else {
            self.unsized_copy(e.pid, c);
        }
    }

    pub(super) fn read(&mut self, e: &Event<'_>, sk: u64, protocol: u16, ret: i32, flags: i32) {
        let copies = self.copies.remove(&e.pid).unwrap_or_default();
        let consumed = self.consumed.remove(&e.pid);
        let asked = self.asked.remove(&e.pid);
        self.progress.remove(&e.pid);
        self.finish_returning(e.pid, None);
        if flags & MSG_PEEK != 0 {
            return;
        }
        let key = match TCP_PROTOCOLS.contains(&protocol) {
            true => self.tcp.sockets.at(sk, e.ts).map(Key::Tcp),
            false => Some(Key::Other(sk, protocol)),
        };
        if ret == EAGAIN
            && let Some(f) = key.and_then(|k| self.fifos.get_mut(&k))
        {
            f.found_empty(e.ts, &mut self.units);
        }
        let tcp = key.filter(|k| matches!(k, Key::Tcp(_)));
        if let (Some(f), Ok(bytes)) = (tcp.and_then(|k| self.fifos.get_mut(&k)), u32::try_from(ret)) {
            let read = Taken {
                bytes,
                at: copies.last().map_or(e.ts, |c| c.ts),
                all: asked.map(|a| u64::from(bytes) < a),
                named: copies.iter().filter_map(|c| Some(c.unit?.0)).collect(),
            };
            f.order_by(&read, &mut self.units);
        }
        // Copies of a socket whose records are decrypted in the kernel name other skbs: their lengths say nothing of its queue.
        let own = |c: &Copied| c.unit.is_some_and(|(_, k)| k == key);
        let short = asked.is_some_and(|a| i64::from(ret) < i64::try_from(a).unwrap_or(i64::MAX));
        let emptied = tcp.filter(|_| ret > 0 && short && copies.iter().all(own));
        let emptied = emptied.zip(copies.last().copied());
        match (key, copies.is_empty(), u32::try_from(ret)) {
            // Taken without a copy event: MSG_TRUNC, zero-copy receive.
            (Some(Key::Tcp(_)), true, Ok(bytes)) if bytes > 0 => {
                let whole = vec![self.whole(e, ReadBy::RecvLength, bytes)];
                self.settle(e.pid, key, whole, Some((e.ts, bytes)));
            }
            (Some(key @ Key::Other(..)), _, Ok(bytes)) => {
                let known = copies.iter().find_map(|c| c.unit).map(|u| u.0);
                let known = known.or(consumed.map(|c| c.0));
                self.datagram(e, key, bytes, known, &copies);
            }
            (_, false, Ok(bytes)) => self.settle(e.pid, key, copies, Some((e.ts, bytes))),
            _ => {}
        }
        if let Some((key, last)) = emptied {
            self.emptied(e, key, last, ret);
        }
    }

    /// A read got less than it asked for: nothing readable is left.
    fn emptied(&mut self, e: &Event<'_>, key: Key, last: Copied, ret: i32) {
        let Some(fifo) = self.fifos.get_mut(&key) else { return };
        fifo.none_readable(last.ts, &mut self.units);
        let Some(id) = fifo.overlapped(&mut self.units) else {
            return;
        };
        if let Some(u) = self.units.get_mut(id) {
            (u.copy, u.read, u.pid) = (Some(last.ts), Some(e.ts), e.pid);
            (u.clock, u.read_by) = (last.clock, Some(last.by));
            u.link(Confidence::Strong);
        }
        self.returning(e.pid, i64::from(ret), vec![id]);
    }

    /// One read of a datagram socket takes one unit.
    fn datagram(&mut self, e: &Event<'_>, key: Key, bytes: u32, known: Option<UnitId>, copies: &[Copied]) {
        let Key::Other(_, protocol) = key else { return };
        let whole = self.whole(e, ReadBy::RecvLength, bytes);
        let known = known.filter(|id| self.units.get(*id).is_some_and(|u| u.key == Some(key)));
        let Some(fifo) = self.fifos.get_mut(&key) else { return };
        let Some((id, mut link)) = fifo.take_datagram(known, &mut self.units) else {
            return;
        };
        if let Some(u) = self.units.get_mut(id) {
            // Of a linear skb there is none (`copy_linear_skb`); one from before it came is of another call, as a read of a TUN device.
            let copy = copies.iter().find(|c| u.recv.is_none_or(|came| c.ts >= came));
            let at = copy.copied().unwrap_or(whole);
            // Another length: cut by a small buffer, or another datagram.
            if link < Confidence::Certain && !fits(protocol, u.recv_len, bytes) {
                link = Confidence::Weak;
            }
            (u.bytes, u.copy, u.read, u.pid) = (Some(bytes), copy.map(|c| c.ts), Some(e.ts), e.pid);
            (u.clock, u.read_by) = (at.clock, Some(at.by));
            u.link(link);
        }
        self.returning(e.pid, i64::from(bytes), vec![id]);
    }

    /// Copies of one read of a stream socket take units by their bytes.
    pub(super) fn settle(&mut self, pid: i32, key: Option<Key>, copies: Vec<Copied>, read: Option<(i64, u32)>) {
        let (read, ret) = (read.map(|r| r.0), read.map_or(0, |r| i64::from(r.1)));
        let mut touched: Option<Key> = None;
        let last = copies.last().map(|c| c.ts);
        let mut tails: Vec<(Copied, UnitId)> = vec![];
        for c in copies {
            let named = c.unit.map(|u| u.0);
            let Some(key) = key.or(c.unit.and_then(|u| u.1)) else {
                continue;
            };
            let Some(fifo) = self.fifos.get_mut(&key) else { continue };
            touched = Some(key);
            let from = i64::try_from(fifo.bytes.copied).unwrap_or(i64::MAX);
            fifo.bytes.copied += u64::from(c.bytes);
            fifo.proof.copy(from, from.saturating_add(c.bytes.into()));
            // The copy is of an skb that is not among those waiting: older than the recording, or one without a probe
            // (the handshake, a closing state). Its bytes are none of theirs.
            let takes = match c.unit {
                // Read to its own end and freed since: what was coalesced into it follows.
                Some((id, Some(_))) if self.units.get(id).is_none() => Named::Next,
                Some((id, _)) => fifo.named(id, &mut self.units),
                None if c.names => Named::Strange,
                None => Named::Next,
            };
            let passed = match takes {
                Named::Strange => {
                    fifo.strange_read(c.bytes);
                    continue;
                }
                Named::Already => {
                    // Its own copy: now it is known when.
                    if let Some(u) = named.and_then(|id| self.units.get_mut(id)) {
                        (u.copy, u.read, u.pid) = (Some(c.ts), read, pid);
                        (u.clock, u.read_by) = (c.clock, Some(c.by));
                        fifo.since(u, c.ts, true);
                    }
                    continue;
                }
                Named::Next => vec![],
                Named::After(units) => units,
            };
            let done = fifo.take(c.bytes, c.ts, named, &mut self.units);
            for id in &done {
                if let Some(u) = self.units.get_mut(*id) {
                    (u.read, u.pid) = (read, pid);
                    (u.clock, u.read_by) = (c.clock, Some(c.by));
                    // Which bytes a copy took follows from order; only the head is named. Without sock_recv_length it
                    // may have been a peek.
                    u.link(if named == Some(*id) && self.has_length {
                        Confidence::Certain
                    } else {
                        Confidence::Strong
                    });
                }
            }
            // When they were read is not known: not later than now.
            let mut unread = vec![];
            for id in &passed {
                if let Some(u) = self.units.get_mut(*id) {
                    unread.push((*id, u.left));
                    (u.copy, u.read, u.pid, u.left, u.passed) = (Some(c.ts), read, pid, 0, true);
                    (u.place, u.clock, u.read_by) = (None, c.clock, Some(ReadBy::Order));
                    u.link(Confidence::Weak);
                }
            }
            if c.names {
                tails.extend(done.iter().filter(|id| named != Some(**id)).map(|id| (c, *id)));
            }
            match self.has_ready {
                true => self.returning(pid, ret, passed),
                // They may yet be named by a copy of their own.
                false => self.passed.extend(unread),
            }
            self.returning(pid, ret, done);
        }
        if let Some(f) = touched.and_then(|k| self.fifos.get_mut(&k)) {
            f.weaken(&mut self.units);
            f.end_read(&mut self.units);
            let readable = f.reached.take();
            if let (Some(Key::Tcp(connection)), Some(at_ns)) = (touched, read.or(last)) {
                self.out.reads.push(Read {
                    connection,
                    at_ns,
                    readable,
                    pid,
                });
            }
        }
        for (c, tail) in tails {
            if let (Some(head), Some(u)) = (c.skb, self.units.get(tail)) {
                self.out.coalesced.push(Coalesced {
                    ts_ns: c.ts,
                    head,
                    tail: u.skb,
                    bytes: u.bytes.unwrap_or(0),
                    confidence: u.confidence.min(Confidence::Strong),
                });
            }
        }
    }

    pub(super) fn returning(&mut self, pid: i32, ret: i64, units: Vec<UnitId>) {
        if units.is_empty() {
            return;
        }
        let of = self.returning.entry(pid).or_default();
        of.ret = ret;
        of.units.extend(units);
    }

    /// A read call returned; one that returned something else is another call, and this read's was not recorded.
    pub(super) fn returned(&mut self, e: &Event<'_>, ret: Option<i64>) {
        let fits = self
            .returning
            .get(&e.pid)
            .is_some_and(|r| !self.has_length || ret.is_none_or(|x| x == r.ret));
        let exit = fits.then(|| (e.ts, self.clock(e.cpu)));
        self.finish_returning(e.pid, exit);
    }

    pub(super) fn finish_returning(&mut self, pid: i32, exit: Option<(i64, Option<SoftirqClock>)>) {
        for id in self.returning.remove(&pid).unwrap_or_default().units {
            match (self.units.get_mut(id), exit) {
                (Some(u), Some((ts, now))) => {
                    u.exit = Some(ts);
                    u.nested = now.zip(u.clock).and_then(|(now, then)| now.since(&then));
                }
                // The copy's begin is the last that is known of it: how long it lasted is not.
                (Some(u), None) if !self.has_length => u.link(Confidence::Weak),
                _ => {}
            }
            self.emit(id, RxEnd::Read, Confidence::Certain);
        }
    }

    /// Units read, without waiting longer for their calls to return, or for a copy to name them.
    pub(super) fn flush_returning(&mut self) {
        for (id, _) in std::mem::take(&mut self.passed) {
            self.emit(id, RxEnd::Read, Confidence::Weak);
        }
        let mut pids: Vec<i32> = self.returning.keys().copied().collect();
        pids.sort_unstable();
        for pid in pids {
            self.finish_returning(pid, None);
        }
    }
}
