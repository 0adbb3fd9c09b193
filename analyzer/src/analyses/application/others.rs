//! Whose requests a server's thread was at work on while others lay unread: a command that takes long, in a program that does one after
//! the other.
//!
//! Needs the views `turnarounds`, `responses`. At work: between the read of a request and its answer, by one thread, for [`LONG_NS`] or more, in
//! which it read and sent nothing else: a request that an event loop leaves open while it serves others keeps nobody waiting.

use std::net::IpAddr;

use rustc_hash::FxHashMap;

use super::sockets::{Role, Socket};
use super::waited::Spans;
use crate::facts::Facts;
use crate::reconstruct::application::tables::TurnaroundRow;

/// Shortest work that others are said to wait for, ns.
pub(super) const LONG_NS: i64 = 1_000_000;
/// Addresses kept of a thread, those with most time.
const ADDRESSES: usize = 32;

/// Long work for one address: from, to. A connection's own was answered before its next request is readable.
type Work = Vec<(i64, i64)>;

/// By thread and address, in order of time.
pub(super) struct Others {
    by: FxHashMap<i32, Vec<(IpAddr, Work)>>,
}

fn time(work: &Work) -> i64 {
    work.iter()
        .fold(0, |sum, w| sum.saturating_add(w.1.saturating_sub(w.0)))
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
        let mut by: FxHashMap<i32, FxHashMap<IpAddr, Work>> = FxHashMap::default();
        let calls = Calls::of(sockets);
        for s in sockets.iter().filter(|s| s.in_turns && s.role == Role::Server) {
            let Some(peer) = facts.connections.get(s.connection.0 as usize).and_then(|c| c.daddr) else {
                continue;
            };
            let long = s.judged_turnarounds();
            let long = long.filter(|t| t.send_ns.saturating_sub(t.read_ns) >= LONG_NS);
            for t in long.filter(|t| calls.at_work(t)) {
                let of = by.entry(t.pid).or_default().entry(peer).or_default();
                of.push((t.read_ns, t.send_ns));
            }
        }
        let busiest = |(pid, of): (i32, FxHashMap<IpAddr, Work>)| {
            let mut of: Vec<(IpAddr, Work)> = of.into_iter().collect();
            of.sort_by_cached_key(|(peer, work)| (std::cmp::Reverse(time(work)), *peer));
            of.truncate(ADDRESSES);
            for (_, work) in &mut of {
                work.sort_unstable();
            }
            (pid, of)
        };
        Others {
            by: by.into_iter().map(busiest).collect(),
        }
    }

    /// The address with most of that while these lay unread, its requests that had it, and ns of these waits.
    pub(super) fn during(&self, rows: &[&TurnaroundRow]) -> Option<(IpAddr, u64, i64)> {
        let mut unread: FxHashMap<i32, Vec<(i64, i64)>> = FxHashMap::default();
        for r in rows.iter().filter(|r| r.pid == r.sender_pid) {
            let of = unread.entry(r.pid).or_default();
            of.push((r.start_ns(), r.read_ns));
        }
        let mut sums: FxHashMap<IpAddr, (i64, u64)> = FxHashMap::default();
        for (pid, unread) in &unread {
            for (peer, work) in self.by.get(pid).into_iter().flatten() {
                let (ns, requests) = sums.entry(*peer).or_default();
                let all = Spans::of(work.clone());
                for (from, to) in unread {
                    *ns = ns.saturating_add(all.within(*from, *to));
                }
                let waiting = Spans::of(unread.clone());
                *requests += work.iter().filter(|w| waiting.within(w.0, w.1) > 0).count() as u64;
            }
        }
        let most = sums
            .into_iter()
            .filter(|(_, (ns, _))| *ns > 0)
            .max_by_key(|(peer, (ns, _))| (*ns, std::cmp::Reverse(*peer)));
        most.map(|(peer, (ns, requests))| (peer, requests, ns))
    }
}
