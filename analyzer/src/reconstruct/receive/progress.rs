//! Reads that copy nothing: `splice(2)` and other users of `tcp_read_sock`, of which `tcp_rcv_space_adjust` tells that
//! they happened but not how much; and datagrams of kernels without `sk_data_ready`, freed by their reader.

use super::reads::{Copied, fits};
use super::tables::{ReadBy, RxEnd};
use super::tracker::Ledger;
use super::unit::Key;
use crate::confidence::Confidence;
use crate::ingest::Event;

/// `tcp_rcv_space_adjust` of a thread that no length has followed yet.
#[derive(Debug, Clone, Copy)]
pub(super) struct Progress {
    ts: i64,
    cpu: u16,
    key: Option<Key>,
    /// A copy came before it: an ordinary receive.
    copied: bool,
}

/// The socket of a datagram on kernels that do not say which.
const UNANNOUNCED: Key = Key::Other(0, 17);

impl Ledger<'_> {
    /// A copy: the `tcp_rcv_space_adjust` that follows is its own.
    pub(super) fn copied_now(&mut self, pid: i32) {
        if let Some(p) = self.progress.get_mut(&pid) {
            p.copied = true;
        } else {
            let p = Progress {
                ts: 0,
                cpu: 0,
                key: None,
                copied: true,
            };
            self.progress.insert(pid, p);
        }
    }

    /// A copy, where no `sock_recv_length` will tell of its read. `tcp_recvmsg` calls `tcp_rcv_space_adjust` after each. Where
    /// that does not follow, the copy is of another skb at the address of one that was freed silently: a packet tap's clone.
    pub(super) fn unsized_copy(&mut self, pid: i32, c: Copied) {
        self.copying.remove(&pid);
        let key = c.unit.and_then(|u| u.1).filter(|k| matches!(k, Key::Tcp(_)));
        let waits = key.is_some_and(|k| self.followed.contains(&k));
        if let Some(key) = key {
            self.copying.insert(pid, (key, waits.then_some(c)));
        }
        if !waits {
            self.settle(pid, None, vec![c], None);
        }
    }

    /// `tcp_rcv_space_adjust`.
    pub(super) fn space_adjusted(&mut self, e: &Event<'_>, sk: u64) {
        let before = self.progress.remove(&e.pid);
        if e.in_task() && before.is_some_and(|p| p.copied) {
            if let Some((key, copy)) = self.copying.remove(&e.pid) {
                self.followed.insert(key);
                self.settle(e.pid, None, copy.into_iter().collect(), None);
            }
            return;
        }
        let key = self.tcp.sockets.at(sk, e.ts).map(Key::Tcp);
        let now = Progress {
            ts: e.ts,
            cpu: e.cpu,
            key,
            copied: false,
        };
        if !e.in_task() {
            // Whoever was interrupted keeps what was his.
            if let Some(p) = before {
                self.progress.insert(e.pid, p);
            }
            self.took_all(0, now);
            return;
        }
        // One splice reads several times; another socket, or a thread without calls, had a read of its own.
        if let Some(p) = before.filter(|p| p.key != key) {
            self.took_all(e.pid, p);
        }
        self.progress.insert(e.pid, now);
    }

    /// A read of unknown length: all that was readable, at most.
    fn took_all(&mut self, pid: i32, p: Progress) {
        let Some(f) = p.key.and_then(|k| self.fifos.get_mut(&k)) else {
            return;
        };
        let done = f.take_all(&mut self.units);
        let clock = self.clock(p.cpu);
        for id in &done {
            if let Some(u) = self.units.get_mut(*id) {
                (u.copy, u.pid, u.clock) = (Some(p.ts), pid, clock);
                u.read_by = Some(ReadBy::SpaceAdjust);
                u.link(Confidence::Weak);
            }
        }
        for id in done {
            self.emit(id, RxEnd::Read, Confidence::Weak);
        }
    }

    /// Reads whose length nothing told.
    pub(super) fn flush_progress(&mut self) {
        let mut of: Vec<(i32, Progress)> = std::mem::take(&mut self.progress).into_iter().collect();
        of.sort_unstable_by_key(|p| p.0);
        for (pid, p) in of {
            self.took_all(pid, p);
        }
    }

    /// `splice` returned: that many bytes, if it read a socket at all.
    pub(super) fn spliced(&mut self, e: &Event<'_>, ret: i64) {
        let Some(p) = self.progress.remove(&e.pid) else { return };
        let bytes = u32::try_from(ret).ok().filter(|b| *b > 0);
        if let (Some(key), Some(bytes), false) = (p.key, bytes, p.copied) {
            let mut whole = self.whole(e, ReadBy::Splice, bytes);
            whole.ts = p.ts;
            self.settle(e.pid, Some(key), vec![whole], None);
            // Its own return, which is now.
            if let Some(r) = self.returning.get_mut(&e.pid) {
                r.ret = ret;
            }
        }
    }

    /// Another read call returned what no `sock_recv_length` told (not recorded before 6.3).
    pub(super) fn call_over(&mut self, e: &Event<'_>, ret: Option<i64>) {
        let progress = self.progress.remove(&e.pid);
        self.copying.remove(&e.pid);
        let bytes = ret.and_then(|r| u32::try_from(r).ok());
        if self.has_length {
            return;
        }
        if let (Some(p), Some(bytes)) = (progress.filter(|p| !p.copied), bytes.filter(|b| *b > 0)) {
            let mut whole = self.whole(e, ReadBy::SpaceAdjust, bytes);
            whole.ts = p.ts;
            self.settle(e.pid, p.key, vec![whole], None);
        }
        if let Some((id, ts)) = self.consumed.remove(&e.pid) {
            let Some(u) = self.units.get_mut(id) else { return };
            // Another packet than a datagram whose headers and given bytes make its length is not read here.
            if !bytes.is_some_and(|b| fits(17, u.recv_len, b)) {
                self.units.remove(id);
                return;
            }
            (u.bytes, u.copy, u.pid) = (bytes, Some(ts), e.pid);
            (u.exit, u.read_by) = (Some(e.ts), Some(ReadBy::Consume));
            self.emit(id, RxEnd::Read, Confidence::Weak);
        }
    }

    /// `consume_skb` of a unit by a thread: of a datagram, the end of its read.
    pub(super) fn consumed_by(&mut self, e: &Event<'_>, location: u64) {
        let Some(id) = self.unit_of(e).filter(|_| e.in_task() && e.pid > 0) else {
            return;
        };
        let symbols = self.symbols;
        let known = *self.consume_udp.entry(location).or_insert_with(|| {
            let name = symbols.resolve(location).map(|(name, _)| name);
            name.is_some_and(|n| n.starts_with("skb_consume_udp") || n.starts_with("__consume_stateless_skb"))
        });
        let Some(u) = self.units.get_mut(id).filter(|u| u.recv.is_some() && !u.recv_in_task) else {
            return;
        };
        match u.key {
            Some(Key::Other(..)) if known => {}
            // Nothing announces datagrams here, and before 6.3 the location is not recorded: TCP's are told by tcp_probe.
            None if !self.has_ready && self.has_probe && u.proto.is_none() && (known || location == 0) => {
                u.key = Some(UNANNOUNCED);
            }
            _ => return,
        }
        if let Some((before, _)) = self.consumed.insert(e.pid, (id, e.ts))
            && self.units.get(before).is_some_and(|u| u.key == Some(UNANNOUNCED))
        {
            self.units.remove(before);
        }
    }
}
