//! Reads: copies, and which units they took.

use super::fifo::Fifo;
use super::tables::RxEnd;
use super::tracker::{Copied, Key, Ledger, Receive, TCP_PROTOCOLS};
use crate::confidence::Confidence;
use crate::ingest::Event;
use crate::reconstruct::tcp::MSG_PEEK;

impl Ledger<'_> {
    pub(super) fn copy(&mut self, e: &Event<'_>, len: i32) {
        let c = Copied {
            ts: e.ts,
            skb: self.identity.of(e.index),
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
        match (key, copies.is_empty(), u32::try_from(ret)) {
            // Taken without a copy event: splice, zero-copy receive.
            (Some(Key::Tcp(_)), true, Ok(bytes)) if bytes > 0 => {
                let whole = vec![Copied {
                    ts: e.ts,
                    skb: None,
                    bytes,
                }];
                self.settle(e, key, whole, Some(e.ts));
            }
            (Some(Key::Other(_)), _, Ok(bytes)) => self.datagram(e, key, bytes, copies.first().map(|c| c.ts)),
            (_, false, _) => self.settle(e, key, copies, Some(e.ts)),
            _ => {}
        }
    }

    /// One read of a datagram socket takes one unit.
    pub(super) fn datagram(&mut self, e: &Event<'_>, key: Option<Key>, bytes: u32, copy: Option<i64>) {
        let Some(i) = key.and_then(|k| self.fifos.get_mut(&k)).and_then(Fifo::take_first) else {
            return;
        };
        if let Some(u) = self.units.get_mut(i) {
            (u.bytes, u.copy, u.read, u.pid) = (Some(bytes), copy, Some(e.ts), e.pid);
            u.link(Confidence::Strong);
        }
        self.returning.entry(e.pid).or_default().push(i);
    }

    /// Copies of one read of a stream socket take units by their bytes.
    pub(super) fn settle(&mut self, e: &Event<'_>, key: Option<Key>, copies: Vec<Copied>, read: Option<i64>) {
        for c in copies {
            let named = c.skb.and_then(|id| self.open.get(&id).copied());
            let of_unit = named
                .and_then(|u| self.units.get(u))
                .and_then(|u| u.connection)
                .map(Key::Tcp);
            let Some(fifo) = key.or(of_unit).and_then(|k| self.fifos.get_mut(&k)) else {
                continue;
            };
            let skipped = named.map_or(vec![], |u| fifo.named(u));
            let done = fifo.take(c.bytes, c.ts, &mut self.units);
            for s in skipped {
                self.emit(s, RxEnd::Queued, Confidence::Unknown);
            }
            for i in done {
                if let Some(u) = self.units.get_mut(i) {
                    (u.read, u.pid) = (read, e.pid);
                    // Which bytes a copy took follows from order; only the head is named.
                    u.link(if named == Some(i) {
                        Confidence::Certain
                    } else {
                        Confidence::Strong
                    });
                }
                self.returning.entry(e.pid).or_default().push(i);
            }
        }
    }

    pub(super) fn returned(&mut self, e: &Event<'_>) {
        self.finish_returning(e.pid, Some(e.ts));
    }

    pub(super) fn finish_returning(&mut self, pid: i32, exit: Option<i64>) {
        for i in self.returning.remove(&pid).unwrap_or_default() {
            if let Some(u) = self.units.get_mut(i) {
                u.exit = exit;
            }
            self.emit(i, RxEnd::Read, Confidence::Certain);
        }
    }

    pub(super) fn finish(mut self) -> Receive {
        let mut pids: Vec<i32> = self.returning.keys().copied().collect();
        pids.sort_unstable();
        for pid in pids {
            self.finish_returning(pid, None);
        }
        let fifos = std::mem::take(&mut self.fifos);
        let mut waiting: Vec<usize> = fifos.into_values().flat_map(Fifo::drain).collect();
        waiting.sort_unstable();
        for i in waiting {
            self.emit(i, RxEnd::Queued, Confidence::Certain);
        }
        self.out.rows.sort_by_key(|r| (r.start_ns, r.skb_id));
        self.out
    }
}
