//! Reads: copies, and which units they took.

use super::cpu::SoftirqClock;
use super::fifo::{Fifo, Named};
use super::tables::{ReadBy, RxEnd};
use super::tracker::{Copied, Key, Ledger, Receive, TCP_PROTOCOLS};
use crate::confidence::Confidence;
use crate::ingest::Event;
use crate::reconstruct::tcp::MSG_PEEK;

/// -EAGAIN: the socket was found empty.
const EAGAIN: i32 = -11;
/// IP and UDP headers of a datagram without options: IPv4, IPv6.
const UDP_HEADERS: [u32; 2] = [28, 48];

impl Ledger<'_> {
    pub(super) fn copy(&mut self, e: &Event<'_>, len: i32) {
        let c = Copied {
            ts: e.ts,
            clock: self.clock(e.cpu),
            by: ReadBy::Copy,
            unit: Some(self.unit_of(e)),
            bytes: u32::try_from(len).unwrap_or(0),
        };
        if self.has_length {
            let of = self.copies.entry(e.pid).or_default();
            if of.len() < 65536 {
                of.push(c);
            }
        } else {
            self.settle(e, None, vec![c], None);
        }
    }

    pub(super) fn read(&mut self, e: &Event<'_>, sk: u64, protocol: u16, ret: i32, flags: i32) {
        let copies = self.copies.remove(&e.pid).unwrap_or_default();
        self.finish_returning(e.pid, None);
        if flags & MSG_PEEK != 0 {
            return;
        }
        let key = match TCP_PROTOCOLS.contains(&protocol) {
            true => self.tcp.sockets.at(sk, e.ts).map(Key::Tcp),
            false => Some(Key::Other(sk)),
        };
        if ret == EAGAIN
            && let Some(f) = key.and_then(|k| self.fifos.get_mut(&k))
        {
            f.found_empty();
        }
        match (key, copies.is_empty(), u32::try_from(ret)) {
            // Taken without a copy event: splice, zero-copy receive.
            (Some(Key::Tcp(_)), true, Ok(bytes)) if bytes > 0 => {
                let whole = vec![Copied {
                    ts: e.ts,
                    clock: self.clock(e.cpu),
                    by: ReadBy::RecvLength,
                    unit: None,
                    bytes,
                }];
                self.settle(e, key, whole, Some((e.ts, bytes)));
            }
            (Some(Key::Other(_)), _, Ok(bytes)) => self.datagram(e, key, bytes, copies.first().copied()),
            (_, false, Ok(bytes)) => self.settle(e, key, copies, Some((e.ts, bytes))),
            _ => {}
        }
    }

    /// One read of a datagram socket takes one unit.
    pub(super) fn datagram(&mut self, e: &Event<'_>, key: Option<Key>, bytes: u32, copy: Option<Copied>) {
        let now = self.clock(e.cpu);
        let fifo = key.and_then(|k| self.fifos.get_mut(&k));
        let Some((i, mut link)) = fifo.and_then(Fifo::take_first) else {
            return;
        };
        if let Some(u) = self.units.get_mut(i) {
            // Another length: cut by a small buffer, or another datagram.
            if u.recv_len
                .is_some_and(|l| !UDP_HEADERS.contains(&l.wrapping_sub(bytes)))
            {
                link = Confidence::Weak;
            }
            (u.bytes, u.copy, u.read, u.pid) = (Some(bytes), copy.map(|c| c.ts), Some(e.ts), e.pid);
            u.read_by = Some(copy.map_or(ReadBy::RecvLength, |c| c.by));
            u.clock = copy.map_or(now, |c| c.clock);
            u.link(link);
        }
        self.returning(e.pid, i64::from(bytes), vec![i]);
    }

    /// Copies of one read of a stream socket take units by their bytes.
    pub(super) fn settle(&mut self, e: &Event<'_>, key: Option<Key>, copies: Vec<Copied>, read: Option<(i64, u32)>) {
        let (read, ret) = (read.map(|r| r.0), read.map_or(0, |r| i64::from(r.1)));
        for c in copies {
            let named = c.unit.flatten();
            let of_unit = named
                .and_then(|u| self.units.get(u))
                .and_then(|u| u.connection)
                .map(Key::Tcp);
            let Some(fifo) = key.or(of_unit).and_then(|k| self.fifos.get_mut(&k)) else {
                continue;
            };
            // The copy is of an skb that is not among those waiting: older than the recording, or one without a probe
            // (the handshake, a closing state). Its bytes are none of theirs.
            let takes = match (c.unit, named) {
                (None, _) => Named::Next,
                (Some(_), Some(u)) => fifo.named(u, &self.units, self.has_ready),
                (Some(_), None) => Named::Strange,
            };
            let passed = match takes {
                Named::Strange => {
                    fifo.strange_read();
                    continue;
                }
                Named::Already => {
                    // Its own copy: now it is known when.
                    if let Some(u) = named.and_then(|u| self.units.get_mut(u)) {
                        (u.copy, u.read, u.pid) = (Some(c.ts), read, e.pid);
                        (u.clock, u.read_by) = (c.clock, Some(c.by));
                    }
                    continue;
                }
                Named::Next => vec![],
                Named::After(units) => units,
            };
            let done = fifo.take(c.bytes, c.ts, &mut self.units);
            for i in &done {
                if let Some(u) = self.units.get_mut(*i) {
                    (u.read, u.pid) = (read, e.pid);
                    (u.clock, u.read_by) = (c.clock, Some(c.by));
                    // Which bytes a copy took follows from order; only the head is named. Without sock_recv_length it
                    // may have been a peek.
                    u.link(if named == Some(*i) && self.has_length {
                        Confidence::Certain
                    } else {
                        Confidence::Strong
                    });
                }
            }
            // When they were read is not known: not later than now.
            for i in &passed {
                if let Some(u) = self.units.get_mut(*i) {
                    (u.copy, u.read, u.pid, u.left, u.passed) = (Some(c.ts), read, e.pid, 0, true);
                    (u.clock, u.read_by) = (c.clock, Some(ReadBy::Order));
                    u.link(Confidence::Weak);
                }
            }
            match self.has_ready {
                true => self.returning(e.pid, ret, passed),
                // They may yet be named by a copy of their own.
                false => self.passed.extend(passed),
            }
            self.returning(e.pid, ret, done);
        }
    }

    fn returning(&mut self, pid: i32, ret: i64, units: Vec<usize>) {
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

    /// The softirq clock of a CPU, where softirqs were recorded.
    fn clock(&mut self, cpu: u16) -> Option<SoftirqClock> {
        let recorded = self.has_softirq;
        let clock = self.state(cpu).clock(cpu);
        recorded.then_some(clock)
    }

    pub(super) fn finish_returning(&mut self, pid: i32, exit: Option<(i64, Option<SoftirqClock>)>) {
        for i in self.returning.remove(&pid).unwrap_or_default().units {
            if let (Some(u), Some((ts, now))) = (self.units.get_mut(i), exit) {
                u.exit = Some(ts);
                u.nested = now.zip(u.clock).and_then(|(now, then)| now.since(&then));
            }
            self.emit(i, RxEnd::Read, Confidence::Certain);
        }
    }

    /// Units read, without waiting longer for their calls to return, or for a copy to name them.
    pub(super) fn flush_returning(&mut self) {
        for i in std::mem::take(&mut self.passed) {
            self.emit(i, RxEnd::Read, Confidence::Weak);
        }
        let mut pids: Vec<i32> = self.returning.keys().copied().collect();
        pids.sort_unstable();
        for pid in pids {
            self.finish_returning(pid, None);
        }
    }

    pub(super) fn finish(mut self) -> Receive {
        self.flush_returning();
        let fifos = std::mem::take(&mut self.fifos);
        let mut waiting: Vec<(usize, Confidence)> = fifos.into_values().flat_map(Fifo::drain).collect();
        waiting.sort_unstable();
        for (i, link) in waiting {
            self.emit(i, RxEnd::Queued, link);
        }
        self.out.rows.sort_by_key(|r| (r.start_ns, r.skb_id));
        self.out
    }
}
