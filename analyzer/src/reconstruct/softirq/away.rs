//! Times in which a thread that runs a softirq, or has bottom halves off, is not on its CPU. PREEMPT_RT alone lets that happen: a thread of a
//! higher rank runs instead, or the thread waits for a lock, since spinlocks sleep there. (kernel/softirq.c, `__local_bh_disable_ip`.)
//!
//! `sched_switch` carries the context of the thread that it switches out; such a thread cannot migrate.

use rustc_hash::FxHashMap;

use crate::ingest::Event;
use crate::reconstruct::context::{BH_OFF, SOFTIRQ};

/// One of these times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Away {
    /// Thread.
    pub pid: i32,
    /// Switched out.
    pub from: i64,
    /// And in again.
    pub to: i64,
    /// Thread that had the CPU longest meanwhile; 0: none, the CPU idled.
    pub by: i32,
    /// It waited for a lock: it was not runnable when it was switched out.
    pub lock: bool,
}

/// The time of several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sum {
    /// ns.
    pub ns: i64,
    /// Of it, those that waited for a lock.
    pub lock_ns: i64,
    /// Who ran in the longest of them, of equals in the first.
    pub by: i32,
}

/// Threads that are away from one CPU at a time, at most; the oldest is forgotten.
const OPEN: usize = 32;
/// Others that run meanwhile and are told apart.
const OTHERS: usize = 16;

#[derive(Debug)]
struct Open {
    pid: i32,
    from: i64,
    lock: bool,
    others: Vec<(i32, i64)>,
}

impl Open {
    fn ran(&mut self, pid: i32, ns: i64) {
        if let Some(other) = self.others.iter_mut().find(|o| o.0 == pid) {
            other.1 = other.1.saturating_add(ns);
        } else if self.others.len() < OTHERS {
            self.others.push((pid, ns));
        }
    }
}

/// Of one CPU.
#[derive(Debug, Default)]
pub struct OnCpu {
    open: Vec<Open>,
    /// The last `sched_switch`.
    since: i64,
    /// In order of `to`.
    done: Vec<Away>,
}

impl OnCpu {
    /// `sched_switch`; `runnable`: the thread that goes still was.
    pub fn switch(&mut self, e: &Event<'_>, (prev, runnable): (i32, bool), next: i32) {
        let ran = e.ts.wrapping_sub(self.since);
        self.since = e.ts;
        self.open.iter_mut().for_each(|o| o.ran(prev, ran));
        if let Some(at) = self.open.iter().position(|o| o.pid == next) {
            let o = self.open.remove(at);
            // The first of equals.
            let by = o.others.iter().rev().max_by_key(|(_, ns)| *ns);
            self.done.push(Away {
                pid: o.pid,
                from: o.from,
                to: e.ts,
                by: by.map_or(0, |(pid, _)| *pid),
                lock: o.lock,
            });
        }
        if prev > 0 && e.flags & (SOFTIRQ | BH_OFF) != 0 {
            if self.open.len() >= OPEN {
                self.open.remove(0);
            }
            self.open.push(Open {
                pid: prev,
                from: e.ts,
                lock: !runnable,
                others: vec![],
            });
        }
    }
    /// Events were lost.
    pub fn forget(&mut self) {
        self.open.clear();
    }
    /// The times for which a thread was away since `start`.
    pub fn since(&self, pid: i32, start: i64) -> Option<Sum> {
        let of = self.done.iter().rev().take_while(|a| a.to > start);
        sum(of.filter(|a| a.pid == pid), (start, i64::MAX))
    }
    /// All of them.
    pub fn finish(self) -> Vec<Away> {
        self.done
    }
}

/// Of these, what lies in an interval.
fn sum<'a>(of: impl Iterator<Item = &'a Away>, (from, to): (i64, i64)) -> Option<Sum> {
    let mut longest = 0;
    let add = |all: Option<Sum>, a: &Away| {
        let ns = a.to.min(to).saturating_sub(a.from.max(from));
        let mut all = all.unwrap_or(Sum {
            ns: 0,
            lock_ns: 0,
            by: a.by,
        });
        all.ns = all.ns.saturating_add(ns);
        if a.lock {
            all.lock_ns = all.lock_ns.saturating_add(ns);
        }
        if ns > longest {
            (longest, all.by) = (ns, a.by);
        }
        Some(all)
    };
    of.fold(None, add)
}

/// Of all CPUs, to be asked by CPU, thread and time.
#[derive(Debug, Default)]
pub struct Aways(FxHashMap<(u16, i32), Vec<Away>>);

impl Aways {
    /// Of the CPUs' times, each in order.
    pub fn of(cpus: impl IntoIterator<Item = (u16, Vec<Away>)>) -> Aways {
        let mut all: FxHashMap<(u16, i32), Vec<Away>> = FxHashMap::default();
        for (cpu, of) in cpus {
            for a in of {
                all.entry((cpu, a.pid)).or_default().push(a);
            }
        }
        Aways(all)
    }
    /// Whether there is any: not on a kernel without PREEMPT_RT.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    /// The times for which a thread was away from a CPU between two moments; `None`: it was not.
    pub fn between(&self, cpu: u16, pid: i32, from: i64, to: i64) -> Option<Sum> {
        // The times of one thread do not overlap.
        let of = self.0.get(&(cpu, pid))?;
        let first = of.partition_point(|a| a.to <= from);
        sum(of.get(first..)?.iter().take_while(|a| a.from < to), (from, to))
    }
}
