//! Sockets whose readiness wakes many threads at once, of which one takes what came: a thundering herd.
//!
//! In: sk_data_ready, sched_waking; events that begin or end a packet, a poll or a softirq. Out: a row per such socket. `sk_data_ready` calls all who wait on the socket, in one loop:
//! their wakings follow it at once, in the same softirq of its CPU. What a woken thread, an interrupt, another softirq or the next packet wakes then is not theirs. Most of those threads
//! look, find nothing and sleep again inside their system call, so that no other event tells of it.

use netmortem_formats::tracepoints::sched_waking::SchedWaking;
use netmortem_formats::tracepoints::sk_data_ready::SkDataReady;
use rustc_hash::FxHashMap;

use crate::ingest::{Event, GapRow, Trace};
use crate::name::Name;
use crate::reconstruct::comms::Comms;
use crate::reconstruct::dispatch::{Routes, Tracker};

/// Threads woken at once from which it is a herd.
pub const HERD: u32 = 8;
/// Between two wakings of one loop, at most, ns.
const NEXT_NS: i64 = 50_000;
/// Events that the loop over a socket's waiters does not make.
const ENDS: [(&str, &str); 6] = [
    ("net", "netif_receive_skb"),
    ("net", "napi_gro_receive_entry"),
    ("tcp", "tcp_probe"),
    ("napi", "napi_poll"),
    ("irq", "softirq_entry"),
    ("irq", "softirq_exit"),
];
/// Sockets that are kept.
const SOCKETS: usize = 4096;

/// A socket, and whom it woke.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HerdRow {
    /// Its address.
    pub sk: u64,
    /// Name of those it woke last.
    pub task: Name,
    /// Times that it became ready since it first woke so many at once.
    pub ready: u64,
    /// Of these, times that it woke so many at once.
    pub times: u64,
    /// Wakings at these.
    pub woken: u64,
    /// Most of one time.
    pub most: u32,
}

/// The loop that may be under way on a CPU.
#[derive(Debug, Clone, Copy)]
struct Loop {
    sk: u64,
    last_ns: i64,
    woken: u32,
    /// Whom it woke last.
    pid: i32,
    /// The thread that its softirq interrupted, or that runs it.
    within: i32,
}

struct Herds<'c> {
    comms: &'c Comms,
    cpus: FxHashMap<u16, Loop>,
    rows: FxHashMap<u64, HerdRow>,
}

impl Tracker for Herds<'_> {
    fn gap(&mut self, gap: &GapRow) {
        self.cpus.retain(|cpu, _| u32::from(*cpu) != gap.cpu);
    }
}

impl Herds<'_> {
    fn ready(&mut self, e: &Event<'_>, sk: u64) {
        self.end(e.cpu);
        // A listener, and a socket of UDP, become ready by what comes.
        if e.in_softirq() {
            let of = Loop {
                sk,
                last_ns: e.ts,
                woken: 0,
                pid: 0,
                within: e.pid,
            };
            self.cpus.insert(e.cpu, of);
        }
    }
    fn waking(&mut self, e: &Event<'_>, pid: i32) {
        let Some(l) = self.cpus.get_mut(&e.cpu) else { return };
        let own = e.in_softirq() && e.pid == l.within && e.ts.saturating_sub(l.last_ns) <= NEXT_NS;
        if !own {
            return self.end(e.cpu);
        }
        (l.last_ns, l.woken, l.pid) = (e.ts, l.woken.saturating_add(1), pid);
    }
    fn end(&mut self, cpu: u16) {
        let Some(l) = self.cpus.remove(&cpu) else { return };
        if l.woken < HERD {
            if let Some(row) = self.rows.get_mut(&l.sk) {
                row.ready = row.ready.saturating_add(1);
            }
            return;
        }
        if self.rows.len() >= SOCKETS && !self.rows.contains_key(&l.sk) {
            return;
        }
        let row = self.rows.entry(l.sk).or_insert(HerdRow {
            sk: l.sk,
            task: Name::default(),
            ready: 0,
            times: 0,
            woken: 0,
            most: 0,
        });
        row.ready = row.ready.saturating_add(1);
        row.task = self.comms.at(l.pid, l.last_ns);
        row.times = row.times.saturating_add(1);
        row.woken = row.woken.saturating_add(l.woken.into());
        row.most = row.most.max(l.woken);
    }
}

/// Reads the trace; those that woke most first.
pub fn walk(trace: &Trace<'_>, comms: &Comms) -> Vec<HerdRow> {
    let mut routes = Routes::<Herds<'_>>::new("herds");
    let s = &trace.schema;
    if !routes.on::<SkDataReady<'static>>(s, |t, e, p| t.ready(e, p.skaddr)) {
        return vec![];
    }
    routes.on::<SchedWaking<'static>>(s, |t, e, p| t.waking(e, p.pid));
    // Another packet, poll or softirq: what these wake is theirs.
    for (system, name) in ENDS {
        if let Some(f) = s.format(system, name) {
            routes.raw(f.id, |t, e| t.end(e.cpu));
        }
    }
    let mut herds = Herds {
        comms,
        cpus: FxHashMap::default(),
        rows: FxHashMap::default(),
    };
    routes.run(trace, &mut herds);
    let open: Vec<u16> = herds.cpus.keys().copied().collect();
    open.into_iter().for_each(|cpu| herds.end(cpu));
    let mut rows: Vec<HerdRow> = herds.rows.into_values().collect();
    rows.sort_by_key(|r| (std::cmp::Reverse(r.woken), r.sk));
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Ctx, Script, V};

    /// Ten times a socket is ready, in the first context, and so many threads are woken, the last of them so long behind the one before and in the second.
    fn herd(woken: u64, late_ns: u64, contexts: (Ctx, Ctx)) -> Vec<HerdRow> {
        between(woken, late_ns, contexts, None)
    }

    /// The same, with an event before the last is woken.
    fn between(woken: u64, late_ns: u64, (ready, last): (Ctx, Ctx), event: Option<&str>) -> Vec<HerdRow> {
        let mut s = Script::new("6.18.44", &[]);
        for n in 0..10 {
            let mut at = 1_000_000 * (n + 1);
            s.ev(
                at,
                0,
                ready,
                "sock:sk_data_ready",
                &[("skaddr", V::N(0xff00)), ("family", V::N(2)), ("protocol", V::N(6))],
            );
            for pid in 0..woken {
                let is_last = pid + 1 == woken;
                at += if is_last { late_ns } else { 1_000 };
                if let Some(name) = event.filter(|_| is_last) {
                    s.ev(at - 1, 0, ready, name, &[]);
                }
                s.ev(
                    at,
                    0,
                    if is_last { last } else { ready },
                    "sched:sched_waking",
                    &[("comm", V::S("gunicorn")), ("pid", V::N(100 + pid))],
                );
            }
        }
        s.facts().herds
    }

    #[test]
    fn who_is_woken_at_once_is_a_herd() {
        let (idle, other) = (Ctx::Soft(0), Ctx::Soft(7));
        let rows = herd(12, 1_000, (idle, idle));
        let [row] = rows.as_slice() else { panic!("{rows:?}") };
        assert_eq!((row.sk, row.times, row.woken, row.most), (0xff00, 10, 120, 12));
        // Seven; the eighth much later, by another cause.
        assert_eq!(herd(7, 1_000, (idle, idle)), []);
        assert_eq!(herd(8, 200_000, (idle, idle)), []);
        // The eighth by a thread that was woken, by another softirq, by an interrupt; all of them by a thread's own call.
        for last in [Ctx::Task(0), other, Ctx::Hard(0)] {
            assert_eq!(herd(8, 1_000, (idle, last)), []);
        }
        assert_eq!(herd(12, 1_000, (Ctx::Task(7), Ctx::Task(7))), []);
        // The eighth by the next packet, or in the next softirq of an idle CPU.
        for event in ["net:netif_receive_skb", "tcp:tcp_probe", "irq:softirq_exit"] {
            assert_eq!(between(8, 1_000, (idle, idle), Some(event)), []);
        }
    }

    #[test]
    fn times_that_one_is_woken_count_as_well() {
        let mut s = Script::new("6.18.44", &[]);
        for n in 0..10 {
            let at = 1_000_000 * (n + 1);
            let idle = Ctx::Soft(0);
            s.ev(
                at,
                0,
                idle,
                "sock:sk_data_ready",
                &[("skaddr", V::N(0xff00)), ("family", V::N(2)), ("protocol", V::N(6))],
            );
            for pid in 0..if n % 5 == 1 { 9 } else { 1 } {
                s.ev(
                    at + 1_000 + pid,
                    0,
                    idle,
                    "sched:sched_waking",
                    &[("comm", V::S("gunicorn")), ("pid", V::N(100 + pid))],
                );
            }
        }
        let rows = s.facts().herds;
        let [row] = rows.as_slice() else { panic!("{rows:?}") };
        // Since the first herd, which is the second time: nine times, of them two herds.
        assert_eq!((row.ready, row.times, row.woken), (9, 2, 18));
    }
}
