//! Sockets of originals, by the address of `struct sock`: two at one address that different sockets sent are two.
//!
//! ```text
//! tcp_sendmsg_locked ... net_dev_queue(clone) ... sock_send_length(sk)   one thread: its call was on that socket
//! tcp_probe(sk) ... net_dev_queue(clone)                                 in one softirq, of the last that was received: what its ACK let go
//! hrtimer_expire_entry(sk + constant) ... net_dev_queue(clone)           in one softirq: what its pacing timer let go
//! tcp_retransmit_skb(original, sk)                                       named
//! ```
//! The constant is learned from originals whose socket is known otherwise. When a socket has closed, what waited in its queue is
//! freed, and its own address may be another socket's.

use rustc_hash::{FxHashMap, FxHashSet};

use super::life::Life;
use super::tracker::Skbs;
use crate::ingest::Event;
use crate::reconstruct::tcp::states::CLOSE;

/// IPPROTO_TCP: what MPTCP's own socket is given its subflows send, other sockets.
const TCP: u16 = 6;
/// Size of a socket, at most: a timer within it lies no further behind its address.
const SOCK: u64 = 8192;
/// Agreeing originals that the place of the pacing timer needs to be believed.
const ENOUGH: u32 = 3;

/// What a CPU's softirq does.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum Doing {
    #[default]
    Other,
    /// It processes a segment of a socket.
    Segment(u64),
    /// It runs a timer.
    Timer(u64),
}

/// What is known of sockets.
#[derive(Debug, Default)]
pub(super) struct Owners {
    /// Threads in a call that `tcp_sendmsg_locked` named.
    sending: FxHashSet<i32>,
    doing: Vec<Doing>,
    /// How far behind its socket the pacing timer lies, and how many originals say so.
    timer: (u64, u32),
    /// When sockets closed.
    closed: FxHashMap<u64, i64>,
}

impl Owners {
    /// Events were lost.
    pub fn forget(&mut self) {
        self.sending.clear();
        self.doing.clear();
    }
    /// `inet_sock_set_state`.
    pub fn state(&mut self, e: &Event<'_>, sk: u64, protocol: u16, state: i32) {
        if state == CLOSE && protocol == TCP {
            self.closed.insert(sk, e.ts);
        }
    }
    /// What a CPU's softirq does from now on.
    pub fn does(&mut self, e: &Event<'_>, what: Doing) {
        let at = usize::from(e.cpu);
        if self.doing.len() <= at {
            self.doing.resize(at + 1, Doing::Other);
        }
        if let Some(of) = self.doing.get_mut(at).filter(|_| e.in_softirq()) {
            *of = what;
        }
    }
    /// `sock_send_length`.
    pub fn sent(&mut self, pid: i32) {
        self.sending.remove(&pid);
    }
    /// A timer let an original go whose socket is known.
    fn learn(&mut self, behind: u64) {
        match &mut self.timer {
            (at, n) if *at == behind => *n = n.saturating_add(1),
            of if behind < SOCK => *of = (behind, 1),
            _ => {}
        }
    }
    /// Whether an original that a socket (0: which is not known) sends now is another one than that of before.
    pub fn another(&self, before: &Life, sk: u64) -> bool {
        let closed = || self.closed.get(&before.sock).is_some_and(|t| *t > before.last_ns);
        before.sock != 0 && ((sk != 0 && sk != before.sock) || closed())
    }
}

impl Skbs<'_> {
    /// The socket that a thread's call is on; 0 when not known.
    pub(super) fn calls_on(&mut self, e: &Event<'_>) -> u64 {
        self.owners.sending.insert(e.pid);
        self.layout.called(e.pid, e.index)
    }

    /// The socket of what is sent now, by the call, the ACK or the timer that lets it go; 0 when not known.
    pub(super) fn sends_for(&self, e: &Event<'_>) -> u64 {
        if e.in_task() {
            let call = self.owners.sending.contains(&e.pid);
            return if call { self.layout.called(e.pid, e.index) } else { 0 };
        }
        let (behind, n) = self.owners.timer;
        match self.doing(e) {
            Doing::Segment(sk) => sk,
            Doing::Timer(at) if n >= ENOUGH => at.wrapping_sub(behind),
            _ => 0,
        }
    }

    /// `tcp_probe` of a segment. What waits behind it in its batch may be of a socket in a state without probes, which sends too.
    pub(super) fn segment(&mut self, e: &Event<'_>, sk: u64, skb: Option<u64>) {
        let id = skb.and_then(|addr| self.open.get(&addr)).map(|l| l.id);
        let last = self.just_received(e.cpu).is_none_or(|last| Some(last) == id);
        self.owners
            .does(e, if last { Doing::Segment(sk) } else { Doing::Other });
    }

    fn doing(&self, e: &Event<'_>) -> Doing {
        // Without softirq events nobody says when it is over.
        let at = usize::from(e.cpu);
        let told = self.softirq_since.get(at).is_some_and(|t| *t > i64::MIN) && e.in_softirq();
        let of = self.owners.doing.get(at).filter(|_| told);
        of.copied().unwrap_or_default()
    }

    /// A frame of an original is queued, or an event names it with its socket.
    pub(super) fn owned(&mut self, e: &Event<'_>, original: u64, named: u64) {
        let (now, doing) = (self.sends_for(e), self.doing(e));
        let Some(o) = self.open.get_mut(&original) else { return };
        if let (Doing::Timer(at), true) = (doing, o.sock != 0) {
            self.owners.learn(at.wrapping_sub(o.sock));
        }
        o.sock = [named, o.sock, now].into_iter().find(|sk| *sk != 0).unwrap_or(0);
    }
}
