//! Sockets of originals, by the address of `struct sock`: two at one address that different sockets sent are two.
//!
//! ```text
//! tcp_sendmsg_locked(tail) ... sock_send_length(sk)        the thread's call was on that socket
//! tcp_probe(sk) ... net_dev_queue(clone)                   in one softirq, nothing received in between: what its ACK let go
//! tcp_retransmit_skb(original, sk)                         named
//! ```
//! When a socket has closed, what waited in its queue is freed, and its own address may be another socket's.

use rustc_hash::FxHashMap;

use super::life::Life;
use super::tables::SkbClass;
use super::tracker::Skbs;
use crate::facts::SkbId;
use crate::ingest::Event;
use crate::reconstruct::tcp::states::CLOSE;

/// IPPROTO_TCP: what MPTCP's own socket is given its subflows send, other sockets.
const TCP: u16 = 6;
/// Tails that one call names, at most.
const TAILS: usize = 65_536;

/// What is known of sockets.
#[derive(Debug, Default)]
pub(super) struct Owners {
    /// Tails that the call of a thread named.
    tails: FxHashMap<i32, Vec<(u64, SkbId)>>,
    /// The socket that a CPU's softirq processes an ACK of.
    acking: Vec<u64>,
    /// When sockets closed.
    closed: FxHashMap<u64, i64>,
}

impl Owners {
    /// Events were lost.
    pub fn forget(&mut self) {
        self.tails.clear();
        self.acking.clear();
    }
    /// `inet_sock_set_state`.
    pub fn state(&mut self, e: &Event<'_>, sk: u64, protocol: u16, state: i32) {
        if state == CLOSE && protocol == TCP {
            self.closed.insert(sk, e.ts);
        }
    }
    /// A CPU's softirq processes a segment of a socket; 0: something else.
    pub fn acking(&mut self, e: &Event<'_>, sk: u64) {
        let at = usize::from(e.cpu);
        if self.acking.len() <= at {
            self.acking.resize(at + 1, 0);
        }
        if let Some(of) = self.acking.get_mut(at).filter(|_| !e.in_task()) {
            *of = sk;
        }
    }
    /// Whether an original that a socket (0: which is not known) sends now is another one than that of before.
    pub fn another(&self, before: &Life, sk: u64) -> bool {
        let closed = || self.closed.get(&before.sock).is_some_and(|t| *t > before.last_ns);
        before.sock != 0 && ((sk != 0 && sk != before.sock) || closed())
    }
}

impl Skbs<'_> {
    /// A frame of an original is queued: for the socket whose ACK is being processed, if no event named it.
    pub(super) fn owned(&mut self, e: &Event<'_>, original: u64, named: u64) {
        let softirqs = self
            .softirq_since
            .get(usize::from(e.cpu))
            .is_some_and(|t| *t > i64::MIN);
        let acking = self.owners.acking.get(usize::from(e.cpu)).copied();
        let acking = acking.filter(|_| softirqs && !e.in_task()).unwrap_or(0);
        if let Some(o) = self.open.get_mut(&original) {
            o.sock = [named, o.sock, acking].into_iter().find(|sk| *sk != 0).unwrap_or(0);
        }
    }

    /// `tcp_sendmsg_locked` named an original.
    pub(super) fn tail_of(&mut self, e: &Event<'_>, addr: u64) {
        let Some(id) = self.open.get(&addr).filter(|l| l.sock == 0).map(|l| l.id) else {
            return;
        };
        let tails = self.owners.tails.entry(e.pid).or_default();
        if tails.len() >= TAILS {
            tails.clear(); // sock_send_length is not recorded
        }
        if tails.last() != Some(&(addr, id)) {
            tails.push((addr, id));
        }
    }

    /// `sock_send_length`: the call that named them is over.
    pub(super) fn sent_on(&mut self, pid: i32, sk: u64, protocol: u16) {
        let Some(tails) = self.owners.tails.get_mut(&pid) else {
            return;
        };
        for (addr, id) in tails.drain(..).filter(|_| protocol == TCP) {
            let of = self.open.get_mut(&addr).filter(|l| l.id == id);
            if let Some(l) = of.filter(|l| l.class == SkbClass::TxOriginal) {
                l.sock = sk;
            }
        }
    }
}
