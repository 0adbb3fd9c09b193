//! Whose requests a server's thread was at work on while others lay unread: a command that takes long, in a program that does one after
//! the other.
//!
//! Needs the views `turnarounds`, `responses`. At work: between the read of a request and its answer, by one thread, for [`LONG_NS`] or more, in
//! which it read and sent nothing else: a request that an event loop leaves open while it serves others keeps nobody waiting.

use std::net::IpAddr;

use rustc_hash::FxHashMap;

use super::sockets::{Role, Socket};
use super::spans::Spans;
use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::application::tables::TurnaroundRow;
use crate::stat::nearest_rank;

/// Shortest work that others are said to wait for, ns.
pub(super) const LONG_NS: i64 = 1_000_000;
/// Addresses kept of a thread, those with most time.
const ADDRESSES: usize = 32;

/// Long work on one request. A connection's own was answered before its next request is readable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Work {
    pub(super) read_ns: i64,
    pub(super) send_ns: i64,
    /// ns of it that the thread ran, at least: what it ran while that request lay unread is in the same sum.
    pub(super) running_ns: i64,
    pub(super) connection: ConnectionId,
}

impl Work {
    fn of(t: &TurnaroundRow) -> Work {
        let unread = t.read_ns.saturating_sub(t.start_ns());
        Work {
            read_ns: t.read_ns,
            send_ns: t.send_ns,
            running_ns: t.split.running_ns.saturating_sub(unread).max(0),
            connection: t.connection,
        }
    }
    pub(super) fn ns(&self) -> i64 {
        self.send_ns.saturating_sub(self.read_ns)
    }
}

/// What a thread did for one address.
struct Address {
    peer: IpAddr,
    /// Long, in order of time.
    work: Vec<Work>,
    /// Its time.
    spans: Spans,
    /// Median from read to answer of all its requests, ns.
    p50_ns: i64,
}

struct Thread {
    of: Vec<Address>,
    /// Addresses whose requests it read.
    addresses: usize,
    /// Median from read to answer of all these, ns.
    p50_ns: i64,
}

/// By thread.
pub(super) struct Others {
    by: FxHashMap<i32, Thread>,
}

/// An address that others waited behind.
pub(super) struct Behind {
    pub(super) peer: IpAddr,
    /// The work that they waited for, in order of time.
    pub(super) work: Vec<Work>,
    /// Of their waits, ns.
    pub(super) ns: i64,
}

fn time(work: &[Work]) -> i64 {
    work.iter().fold(0, |sum, w| sum.saturating_add(w.ns()))
}

fn median(ns: &mut [i64]) -> i64 {
    nearest_rank(ns, 50).unwrap_or(0)
}

/// When each thread read or sent on sockets in turns.
pub(crate) struct Calls(FxHashMap<i32, Vec<i64>>);

impl Calls {
    pub(crate) fn of(sockets: &[Socket<'_>]) -> Calls {
        let mut by: FxHashMap<i32, Vec<i64>> = FxHashMap::default();
        for s in sockets {
            for t in s.judged_turnarounds() {
                by.entry(t.pid).or_default().push(t.read_ns);
                by.entry(t.sender_pid).or_default().push(t.send_ns);
            }
            for (_, r) in s.judged_responses() {
                by.entry(r.pid).or_default().extend([r.send_ns, r.read_ns]);
            }
        }
        by.values_mut().for_each(|of| of.sort_unstable());
        Calls(by)
    }

    /// With what else these threads did: by thread, when.
    pub(super) fn and(mut self, more: impl Iterator<Item = (i32, i64)>) -> Calls {
        for (pid, at) in more {
            if let Some(of) = self.0.get_mut(&pid) {
                of.push(at);
            }
        }
        self.0.values_mut().for_each(|of| of.sort_unstable());
        self
    }

    /// Whether one thread read this one and answered it, and read and sent nothing else between.
    pub(crate) fn at_work(&self, t: &TurnaroundRow) -> bool {
        let of = self.0.get(&t.pid).map_or(&[][..], Vec::as_slice);
        t.pid == t.sender_pid && of.partition_point(|at| *at <= t.read_ns) == of.partition_point(|at| *at < t.send_ns)
    }
}

impl Others {
    pub(super) fn of(facts: &Facts, sockets: &[Socket<'_>]) -> Others {
        // Long work, and the time of each request.
        type Of = (Vec<Work>, Vec<i64>);
        let mut by: FxHashMap<i32, FxHashMap<IpAddr, Of>> = FxHashMap::default();
        let calls = Calls::of(sockets);
        for s in sockets.iter().filter(|s| s.in_turns && s.role == Role::Server) {
            let Some(peer) = facts.connections.get(s.connection.0 as usize).and_then(|c| c.daddr) else {
                continue;
            };
            for t in s.judged_turnarounds() {
                let of = by.entry(t.pid).or_default().entry(peer).or_default();
                let work = Work::of(t);
                of.1.push(work.ns());
                if work.ns() >= LONG_NS && calls.at_work(t) {
                    of.0.push(work);
                }
            }
        }
        let busiest = |(pid, of): (i32, FxHashMap<IpAddr, Of>)| {
            let mut all: Vec<i64> = of.values().flat_map(|of| of.1.iter().copied()).collect();
            let addresses = of.len();
            let mut of: Vec<(IpAddr, Of)> = of.into_iter().filter(|(_, of)| !of.0.is_empty()).collect();
            of.sort_by_cached_key(|(peer, of)| (std::cmp::Reverse(time(&of.0)), *peer));
            of.truncate(ADDRESSES);
            let address = |(peer, (mut work, mut each)): (IpAddr, Of)| {
                work.sort_unstable();
                Address {
                    peer,
                    spans: Spans::of(work.iter().map(|w| (w.read_ns, w.send_ns)).collect()),
                    p50_ns: median(&mut each),
                    work,
                }
            };
            let thread = Thread {
                of: of.into_iter().map(address).collect(),
                addresses,
                p50_ns: median(&mut all),
            };
            (pid, thread)
        };
        Others {
            by: by.into_iter().map(busiest).collect(),
        }
    }

    fn addresses(&self, pid: i32) -> impl Iterator<Item = &Address> {
        self.by.get(&pid).into_iter().flat_map(|t| &t.of)
    }

    /// The address with most of that while these lay unread.
    pub(super) fn during(&self, rows: &[&TurnaroundRow]) -> Option<Behind> {
        let mut unread: FxHashMap<i32, Vec<(i64, i64)>> = FxHashMap::default();
        for r in rows.iter().filter(|r| r.pid == r.sender_pid) {
            let of = unread.entry(r.pid).or_default();
            of.push((r.start_ns(), r.read_ns));
        }
        let mut sums: FxHashMap<IpAddr, i64> = FxHashMap::default();
        for (pid, unread) in &unread {
            for a in self.addresses(*pid) {
                let ns = unread.iter().map(|(from, to)| a.spans.within(*from, *to));
                let sum = sums.entry(a.peer).or_default();
                *sum = ns.fold(*sum, i64::saturating_add);
            }
        }
        let most = sums.into_iter().filter(|(_, ns)| *ns > 0);
        let (peer, ns) = most.max_by_key(|(peer, ns)| (*ns, std::cmp::Reverse(*peer)))?;
        let mut work: Vec<Work> = vec![];
        for (pid, unread) in unread {
            let waiting = Spans::of(unread);
            let of = self.addresses(pid).filter(|a| a.peer == peer).flat_map(|a| &a.work);
            work.extend(of.filter(|w| waiting.within(w.read_ns, w.send_ns) > 0));
        }
        work.sort_unstable();
        Some(Behind { peer, work, ns })
    }

    /// Whether requests of an address take so many times as long as a thread's do, by the medians of all; one that is its only one has no others.
    pub(super) fn far_longer(&self, pid: i32, peer: IpAddr, times: i64) -> bool {
        let of = |t: &Thread| {
            let usual = t.of.iter().find(|a| a.peer == peer).map(|a| a.p50_ns);
            t.addresses > 1 && usual >= Some(t.p50_ns.saturating_mul(times).max(LONG_NS))
        };
        self.by.get(&pid).is_some_and(of)
    }
}
