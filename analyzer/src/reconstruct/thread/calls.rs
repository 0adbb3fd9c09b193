//! In which system call a thread slept.
//!
//! ```text
//! sys_enter_X ── sched_switch prev (asleep) ... sched_waking ── sys_exit_X        asleep in X
//!                sched_switch prev (asleep) ... sched_waking ── sys_exit_X        the same: only its end was recorded
//! sys_exit_X  ── sched_switch prev (asleep) ... sched_waking ── sys_enter_Y       asleep in no recorded call
//!                sched_switch prev (T or t) ... sched_waking                      stopped, or traced, whatever the call
//! sys_exit_X  ── sched_switch prev (D) ... sched_waking ── sys_enter_Y            uninterruptible, in no recorded call
//! ```
//! A thread that leaves its CPU in TASK_STOPPED or TASK_TRACED does not sleep of its own: a signal or a debugger holds it.
//! A sleep that another thread ended, in plain task context (a lock let go, a byte in a pipe, SIGCONT), keeps who did; a timer,
//! an interrupt or a softirq is nobody. Before a receive call returns, its socket is told (`sock_recv_length`, `tcp_rcv_space_adjust`): a
//! sleep of [`LONG_NS`] or more in that call was for this socket. A question costs the logarithm of the thread's sleeps, times the calls that it ever slept in.

use super::waits::{Wait, Waits};
use crate::name::Name;

/// Numbers of calls: the first is "in none that is recorded", the last "not known (yet)".
const NONE: u16 = 0;
const PENDING: u16 = u16::MAX;
/// Not calls: prev_state had the bit of `__TASK_STOPPED`, or of `__TASK_TRACED`.
const HELD: [(u16, i64, &str); 2] = [(u16::MAX - 1, 4, STOPPED), (u16::MAX - 2, 8, TRACED)];
/// Likewise of TASK_UNINTERRUPTIBLE, where it is in no recorded call.
const DEEP: (u16, i64, &str) = (u16::MAX - 3, 2, UNINTERRUPTIBLE);
/// Name of [`NONE`] in tables: a call that was not recorded (futex), or a page fault.
pub const UNRECORDED: &str = "unrecorded";
/// In tables, instead of a call: stopped by a signal (SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU) until SIGCONT.
pub const STOPPED: &str = "stopped";
/// In tables, instead of a call: asleep in state D in a call that was not recorded (fsync), a page fault, or a lock inside the kernel.
pub const UNINTERRUPTIBLE: &str = "uninterruptible";
/// In tables, instead of a call: stopped for its tracer (a debugger, strace).
pub const TRACED: &str = "traced";

/// Sleeps whose socket is kept, ns.
const LONG_NS: i64 = 1_000_000;
/// A call that reads any of its sockets: what it read first is not what it waited for.
const OF_ANY: &str = "io_uring_enter";

/// Names of the recorded system calls.
#[derive(Debug, Clone, Default)]
pub struct Calls {
    names: Vec<Name>,
    /// Whether begins are recorded, too.
    begin: bool,
    /// Losses told so far: what a thread was in before one is not known after it.
    era: u32,
}

/// Where a thread is, and its sleeps.
#[derive(Debug, Default)]
pub struct Sleeps {
    /// The call it is in, and the era of which that holds; [`PENDING`]: not known.
    at: Option<(u16, u32)>,
    /// (since, call) of sleeps, ascending.
    marks: Vec<(i64, u16)>,
    /// First mark whose call a coming `sys_exit` may tell.
    pending: usize,
    /// (when, thread) of wakings by another thread, ascending.
    wakings: Vec<(i64, i32)>,
    /// (since, address of the socket) of sleeps in a receive call, ascending.
    read: Vec<(i64, u64)>,
    /// First mark whose socket a coming event may tell.
    unread: usize,
    /// Since when it slept uninterruptibly in a call, ascending: for a page or a lock, and not for what it receives.
    deep: Vec<i64>,
    /// The era of the last mark.
    era: u32,
    by: Vec<Of>,
    /// Since when it waited for no event, in whatever call, ascending: uninterruptible, stopped, or held by its tracer.
    no_event: Vec<i64>,
    /// The same as sleeps.
    held: Vec<Span>,
}

/// The sleeps in one call, and those of them that another thread ended.
#[derive(Debug)]
struct Of {
    call: u16,
    spans: Vec<Span>,
    ended: Waits,
    /// Those whose socket is known: `who` is the place in `sks`.
    read: Waits,
    sks: Vec<u64>,
}

/// The socket that a sleep in a receive call was for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadOf {
    /// Its address.
    pub sk: u64,
    /// Asleep since.
    pub from: i64,
    /// Woken.
    pub to: i64,
    /// The part of the sleep that lies in the interval asked for, ns.
    pub ns: i64,
}

/// An answer: the longest time asleep in one call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Slept {
    /// The system call; [`UNRECORDED`], [`UNINTERRUPTIBLE`], [`STOPPED`], [`TRACED`] as they say.
    pub call: Name,
    /// ns in it.
    pub ns: i64,
    /// Of the longest of these sleeps that another thread ended: the thread, and the ns.
    pub woken_by: Option<(i32, i64)>,
    /// When it did.
    pub woken_at: i64,
    /// Of the longest of these sleeps of a ms or more whose socket the call told: that.
    pub read: Option<ReadOf>,
}

/// A sleep, and the sum of those of the same call before it.
#[derive(Debug, Clone, Copy)]
struct Span {
    from: i64,
    to: i64,
    before: i64,
}

impl Calls {
    /// The number of a call.
    pub fn number(&mut self, name: &str) -> u16 {
        if self.names.is_empty() {
            self.names.push(Name::new(UNRECORDED.as_bytes()));
        }
        let name = Name::new(name.as_bytes());
        let at = self.names.iter().position(|n| *n == name).unwrap_or_else(|| {
            self.names.push(name);
            self.names.len() - 1
        });
        u16::try_from(at).ok().filter(|n| *n < DEEP.0).unwrap_or(PENDING)
    }
    /// Whether any is recorded.
    pub fn recorded(&self) -> bool {
        !self.names.is_empty()
    }
    /// The begin of one is recorded.
    pub fn begins(&mut self) {
        self.begin = true;
    }
    /// Whether begins are recorded.
    pub fn begin(&self) -> bool {
        self.begin
    }
    /// Events were lost.
    pub fn forget(&mut self) {
        self.era = self.era.wrapping_add(1);
    }
    fn name(&self, number: u16) -> Option<Name> {
        let held = HELD.iter().chain([&DEEP]).find(|h| h.0 == number);
        held.map(|h| Name::new(h.2.as_bytes()))
            .or_else(|| self.names.get(usize::from(number)).copied())
    }
}

impl Sleeps {
    /// It enters a call.
    pub fn enter(&mut self, call: u16, calls: &Calls) {
        self.at = Some((call, calls.era));
        self.pending = self.marks.len();
    }
    /// It leaves a call: the one that it was in, if nothing told that before.
    pub fn exit(&mut self, call: u16, calls: &Calls) {
        if self.now(calls) == PENDING {
            for m in self.marks.iter_mut().skip(self.pending).filter(|m| m.1 == PENDING) {
                m.1 = call;
            }
        }
        self.at = Some((NONE, calls.era));
        self.pending = self.marks.len();
    }
    /// It falls asleep, or is stopped, with this prev_state.
    pub fn sleep(&mut self, ts: i64, prev_state: i64, calls: &Calls) {
        if HELD.iter().chain([&DEEP]).any(|h| prev_state & h.1 != 0) {
            self.no_event.push(ts);
        }
        if let Some(held) = HELD.iter().find(|h| prev_state & h.1 != 0) {
            self.marks.push((ts, held.0));
            return;
        }
        if !calls.recorded() {
            return;
        }
        if self.at.is_some_and(|a| a.1 != calls.era) {
            (self.at, self.pending) = (None, self.marks.len());
        }
        if self.era != calls.era {
            (self.era, self.unread) = (calls.era, self.marks.len());
        }
        let call = match self.now(calls) {
            NONE if prev_state & DEEP.1 != 0 => DEEP.0,
            call => call,
        };
        if prev_state & DEEP.1 != 0 {
            self.deep.push(ts);
        }
        self.marks.push((ts, call));
    }
    /// Another thread wakes it.
    pub fn woken(&mut self, ts: i64, by: i32) {
        self.wakings.push((ts, by));
    }
    /// The call that it is in received from this socket, or failed to.
    pub fn received(&mut self, sk: u64, calls: &Calls) {
        let marks = self.marks.get(self.pending.max(self.unread)..).unwrap_or_default();
        // What was lost since may have been the end of the call, and another's begin.
        if self.now(calls) != NONE && self.era == calls.era {
            let asleep = marks.iter().filter(|m| self.deep.binary_search(&m.0).is_err());
            self.read.extend(asleep.map(|m| (m.0, sk)));
        }
        self.deep.clear();
        self.unread = self.marks.len();
    }
    fn now(&self, calls: &Calls) -> u16 {
        self.at.filter(|a| a.1 == calls.era).map_or(PENDING, |a| a.0)
    }
    /// No event will follow; `asleep`: from when to when it slept, ascending.
    pub fn finish(&mut self, asleep: impl Iterator<Item = (i64, i64)>) {
        let mut marks = std::mem::take(&mut self.marks).into_iter().peekable();
        let mut wakings = std::mem::take(&mut self.wakings).into_iter().peekable();
        let mut read = std::mem::take(&mut self.read).into_iter().peekable();
        let mut no_event = std::mem::take(&mut self.no_event).into_iter().peekable();
        for (from, to) in asleep {
            while no_event.next_if(|ts| *ts < from).is_some() {}
            if no_event.next_if_eq(&from).is_some() {
                push(&mut self.held, from, to);
            }
            let mut call = PENDING;
            while let Some(m) = marks.next_if(|m| m.0 <= from) {
                call = if m.0 == from { m.1 } else { PENDING };
            }
            if call == PENDING {
                continue;
            }
            let of = match self.by.iter().position(|b| b.call == call) {
                Some(at) => at,
                None => {
                    self.by.push(Of {
                        call,
                        spans: vec![],
                        ended: Waits::default(),
                        read: Waits::default(),
                        sks: vec![],
                    });
                    self.by.len() - 1
                }
            };
            while wakings.next_if(|w| w.0 < to).is_some() {}
            let who = wakings.next_if(|w| w.0 == to).map(|w| w.1);
            while read.next_if(|r| r.0 < from).is_some() {}
            let sk = read.next_if(|r| r.0 == from).map(|r| r.1);
            // Who is held does not wait for its socket.
            let sk = sk.filter(|_| to.saturating_sub(from) >= LONG_NS && call < DEEP.0);
            if let Some(Of {
                spans,
                ended,
                read,
                sks,
                ..
            }) = self.by.get_mut(of)
            {
                push(spans, from, to);
                if let Some(who) = who {
                    ended.push(Wait { from, to, who });
                }
                if let Some((sk, who)) = sk.zip(i32::try_from(sks.len()).ok()) {
                    read.push(Wait { from, to, who });
                    sks.push(sk);
                }
            }
        }
        for of in &mut self.by {
            of.spans.shrink_to_fit();
            of.ended.finish();
            of.read.finish();
        }
    }
    /// ns of `[from, to)` in which it waited for no event: uninterruptible, stopped, or held by its tracer.
    pub fn held(&self, from: i64, to: i64) -> i64 {
        within(&self.held, from, to)
    }
    /// The call in which it slept longest in `[from, to)`, and how long; the first by name of equals.
    pub fn longest(&self, calls: &Calls, from: i64, to: i64) -> Option<Slept> {
        let of = self
            .by
            .iter()
            .filter_map(|of| Some((calls.name(of.call)?, within(&of.spans, from, to), of)));
        let (call, ns, of) = of.filter(|c| c.1 > 0).max_by_key(|c| (c.1, std::cmp::Reverse(c.0)))?;
        let ended = of.ended.longest_wait(from, to);
        let read = of.read.longest_wait(from, to).filter(|_| call.text() != OF_ANY);
        let read = read.and_then(|(w, ns)| {
            Some(ReadOf {
                sk: *of.sks.get(usize::try_from(w.who).ok()?)?,
                from: w.from,
                to: w.to,
                ns,
            })
        });
        Some(Slept {
            call,
            ns,
            woken_by: ended.map(|(w, ns)| (w.who, ns)),
            woken_at: ended.map_or(0, |(w, _)| w.to),
            read,
        })
    }
}

/// One more.
fn push(spans: &mut Vec<Span>, from: i64, to: i64) {
    let before = spans
        .last()
        .map_or(0, |s| s.before.saturating_add(s.to.saturating_sub(s.from)));
    spans.push(Span { from, to, before });
}

/// ns of `[from, to)` that lie in spans.
fn within(spans: &[Span], from: i64, to: i64) -> i64 {
    let first = spans.partition_point(|s| s.to <= from);
    let behind = spans.partition_point(|s| s.from < to);
    let (Some(a), Some(b)) = (spans.get(first), behind.checked_sub(1).and_then(|i| spans.get(i))) else {
        return 0;
    };
    if behind <= first {
        return 0;
    }
    let whole = b
        .before
        .saturating_sub(a.before)
        .saturating_add(b.to.min(to).saturating_sub(b.from));
    whole.saturating_sub(from.saturating_sub(a.from).max(0))
}
