//! The machine and its questions.

use netmortem_formats::tracepoints::Tracepoint;
use netmortem_formats::tracepoints::sched_migrate_task::SchedMigrateTask;
use netmortem_formats::tracepoints::sched_switch::SchedSwitch;
use netmortem_formats::tracepoints::sched_wakeup::SchedWakeup;
use netmortem_formats::tracepoints::sched_wakeup_new::SchedWakeupNew;
use netmortem_formats::tracepoints::sched_waking::SchedWaking;
use netmortem_formats::tracepoints::sock_recv_length::SockRecvLength;
use netmortem_formats::tracepoints::sys_enter::SysEnter;
use netmortem_formats::tracepoints::tcp_rcv_space_adjust::TcpRcvSpaceAdjust;
use rustc_hash::FxHashMap;

use super::began::Began;
use super::calls::{Calls, Sleeps, Slept};
use super::cpus::CpuRuns;
use super::ended::Ended;
use super::timeline::{Split, State, Timeline};
use super::unseen;
use super::waits::{Wait, Waits};
use crate::ingest::{GapRow, Schema, Trace};
use crate::reconstruct::dispatch::{Lost, Routes, Tracker};

/// Of who went to sleep before the recording it is not known how.
const INTERRUPTIBLE: i64 = 1;
const IPPROTO_TCP: u16 = 6;
/// CPUs above this are a damaged event's.
const MAX_CPU: usize = 65_536;
/// In tables: the idle task, as the kernel calls it without its CPU.
pub const IDLE: &str = "swapper";

#[derive(Debug, Default)]
pub(super) struct Thread {
    pub(super) timeline: Timeline,
    waits: Waits,
    sleeps: Sleeps,
    /// CPU on whose queue it waits, or that it ran on last.
    cpu: usize,
    /// Runnable on a CPU of which nothing had been seen: idle or not shows when it leaves.
    unsure: bool,
}

/// State changes of all threads.
#[derive(Debug, Default)]
pub struct Threads {
    pub(super) of: FxHashMap<i32, Thread>,
    cpus: Vec<CpuRuns>,
    /// System calls that are recorded.
    calls: Calls,
    /// When events of some CPU were lost.
    lost: Lost,
    /// Since when all switches are told.
    began: Began,
    /// Those that ended.
    pub ended: Ended,
    /// Why states may be missing.
    pub missing: Vec<String>,
    /// Switches that no event told (see [`super::unseen`]).
    pub unseen: u64,
}

impl Tracker for Threads {
    fn gap(&mut self, gap: &GapRow) {
        if let Some(c) = self.cpus.get_mut(gap.cpu as usize) {
            *c = CpuRuns::default();
        }
        self.calls.forget();
        self.began.lose();
    }
}

impl Threads {
    /// Reads the trace.
    pub fn read(trace: &Trace<'_>) -> Threads {
        let mut routes = Routes::<Threads>::new("threads");
        let s = &trace.schema;
        routes.on::<SchedSwitch<'static>>(s, |t, e, p| {
            t.began.switch(e.cpu, e.ts);
            t.follows(e.cpu.into(), p.prev_pid);
            t.leave(e.ts, e.cpu.into(), p.prev_pid, p.prev_state);
            t.run(e.ts, e.cpu.into(), p.prev_pid, p.next_pid);
        });
        routes.on::<SchedWaking<'static>>(s, |t, e, p| {
            // Fires with interrupts off, which is a flag: without any, flags were not recorded, nor whose doing it was.
            let by = e.flags != 0 && e.in_task() && e.pid > 0 && e.pid != p.pid;
            t.waking(e.ts, p.pid, by.then_some(e.pid));
        });
        routes.on::<SchedWakeup<'static>>(s, |t, e, p| t.woken(e.ts, p.pid, p.target_cpu));
        routes.on::<SchedWakeupNew<'static>>(s, |t, e, p| t.woken(e.ts, p.pid, p.target_cpu));
        let mut threads = Threads {
            began: Began::of(&trace.info.whole_host),
            ended: Ended::of(&trace.info.kernel_release, trace.info.recorded("sched:sched_switch")),
            ..Threads::default()
        };
        // Older bundles and hand-made recordings do without.
        let moves = routes.on::<SchedMigrateTask<'static>>(s, |t, e, p| t.migrate(e.ts, p.pid, p.dest_cpu));
        if !moves {
            routes.missing.pop();
        }
        receives(&mut routes, s);
        let calls = system_calls(&mut routes, s);
        threads.calls = calls.clone();
        routes.run(trace, &mut threads);
        if threads.unseen > 0 {
            let again = Threads {
                calls,
                ended: Ended::of(&trace.info.kernel_release, true),
                ..Threads::default()
            };
            threads = unseen::read(trace, &routes, again);
        }
        threads.missing = routes.missing;
        threads.lost = Lost::of(&trace.gaps);
        threads.finish();
        threads
    }

    fn finish(&mut self) {
        self.cpus = Vec::new();
        self.ended.finish();
        for t in self.of.values_mut() {
            t.timeline.finish(self.lost.spans());
            t.waits.finish();
            t.sleeps.finish(t.timeline.asleep());
        }
    }

    pub(super) fn cpu(&mut self, cpu: usize) -> Option<&mut CpuRuns> {
        if cpu >= MAX_CPU {
            return None;
        }
        if self.cpus.len() <= cpu {
            self.cpus.resize_with(cpu + 1, CpuRuns::default);
        }
        self.cpus.get_mut(cpu)
    }

    /// A thread leaves its CPU.
    fn leave(&mut self, ts: i64, cpu: usize, pid: i32, prev_state: i64) {
        if pid <= 0 {
            return;
        }
        let t = self.of.entry(pid).or_default();
        (t.cpu, t.unsure) = (cpu, false);
        if prev_state & 0xff == 0 {
            t.timeline.push(ts, State::RunQueue);
            return;
        }
        self.ended.leaves(ts, pid, prev_state);
        t.timeline.push(ts, State::Asleep);
        t.sleeps
            .sleep(t.timeline.since().unwrap_or(ts), prev_state, &self.calls);
    }

    /// A CPU takes another thread.
    pub(super) fn run(&mut self, ts: i64, cpu: usize, prev: i32, next: i32) {
        let left_idle = match self.cpu(cpu) {
            Some(c) if prev == 0 => std::mem::take(&mut c.leaving_idle),
            _ => vec![],
        };
        // Those woken on it while it was idle, but it took another first.
        for pid in left_idle.into_iter().filter(|p| *p != next) {
            let waiting = self.of.get_mut(&pid).filter(|t| t.cpu == cpu);
            if let Some(t) = waiting.filter(|t| t.timeline.last() == Some(State::IdleExit)) {
                t.timeline.push(ts, State::RunQueue);
            }
        }
        if next > 0 {
            self.end_wait(ts, next, Some(prev));
            let t = self.of.entry(next).or_default();
            (t.cpu, t.unsure) = (cpu, false);
            t.timeline.push(ts, State::Running);
        }
        if let Some(c) = self.cpu(cpu) {
            c.switch(ts, next);
        }
    }

    /// A thread's wait on its queue ends; `prev`: whom it follows on its CPU.
    pub(super) fn end_wait(&mut self, ts: i64, pid: i32, prev: Option<i32>) {
        let Some(t) = self.of.get_mut(&pid) else { return };
        if t.unsure && prev == Some(0) {
            t.timeline.correct(State::IdleExit);
        }
        let from = t
            .timeline
            .since()
            .filter(|_| t.timeline.last() == Some(State::RunQueue));
        let who = from
            .zip(self.cpus.get(t.cpu))
            .and_then(|(from, c)| c.longest(from, ts).filter(|w| *w != pid));
        if let Some((from, who)) = from.zip(who) {
            t.waits.push(Wait { from, to: ts, who });
        }
    }

    /// `sched_waking`. A waking of a thread that has not left its CPU changes nothing.
    fn waking(&mut self, ts: i64, pid: i32, by: Option<i32>) {
        if pid <= 0 {
            return;
        }
        let t = self.of.entry(pid).or_default();
        if let Some(from) = self.began.before(ts).filter(|_| t.timeline.last().is_none()) {
            t.timeline.push(from, State::Asleep);
            // Of one that was stopped in it no call ends; where calls that begin are not recorded, that of the next would seem to be its.
            if self.calls.begin() {
                t.sleeps.sleep(from, INTERRUPTIBLE, &self.calls);
            }
        }
        if matches!(t.timeline.last(), None | Some(State::Unknown | State::Asleep)) {
            let asleep = t.timeline.last() == Some(State::Asleep);
            t.timeline.push(ts, State::Waking);
            if let Some(by) = by.filter(|_| asleep) {
                t.sleeps.woken(t.timeline.since().unwrap_or(ts), by);
            }
        }
    }

    /// `sched_wakeup`: on a queue.
    fn woken(&mut self, ts: i64, pid: i32, cpu: i32) {
        let cpu = usize::try_from(cpu).unwrap_or(MAX_CPU);
        let idle = self.cpu(cpu).and_then(|c| c.current()).map(|p| p == 0);
        if pid <= 0 {
            return;
        }
        let t = self.of.entry(pid).or_default();
        let on_its_way = matches!(
            t.timeline.last(),
            None | Some(State::Unknown | State::Asleep | State::Waking)
        );
        if !on_its_way {
            return;
        }
        (t.cpu, t.unsure) = (cpu, idle.is_none());
        let state = if idle == Some(true) {
            State::IdleExit
        } else {
            State::RunQueue
        };
        t.timeline.push(ts, state);
        if state == State::IdleExit
            && let Some(c) = self.cpu(cpu)
        {
            c.leaving_idle.push(pid);
        }
    }

    /// `sched_migrate_task`: the queue it waits on is another CPU's from now on.
    fn migrate(&mut self, ts: i64, pid: i32, cpu: i32) {
        let cpu = usize::try_from(cpu).unwrap_or(MAX_CPU);
        let waits = self
            .of
            .get(&pid)
            .is_some_and(|t| matches!(t.timeline.last(), Some(State::RunQueue | State::IdleExit)));
        if !waits {
            return;
        }
        self.end_wait(ts, pid, None);
        if let Some(t) = self.of.get_mut(&pid) {
            t.timeline.push(ts, State::Waking);
        }
        self.woken(ts, pid, cpu as i32);
    }

    /// Whether an event names it.
    pub fn knows(&self, pid: i32) -> bool {
        self.of.contains_key(&pid)
    }

    /// Divides `[from, to)` of a thread by state.
    pub fn split(&self, pid: i32, from: i64, to: i64) -> Split {
        match self.of.get(&pid).filter(|_| to > from) {
            Some(t) => t.timeline.split(from, to),
            None => Split {
                unknown_ns: to.wrapping_sub(from),
                ..Split::default()
            },
        }
    }

    /// Time of `[from, to)` in which a thread was uninterruptible, stopped, or held by its tracer.
    pub fn held_in(&self, pid: i32, from: i64, to: i64) -> i64 {
        let of = self.of.get(&pid);
        of.map_or(0, |t| t.sleeps.held(from, to))
    }

    /// The system call in which a thread slept longest in `[from, to)`, and how long; [`super::UNRECORDED`]: in none that was
    /// recorded; [`super::STOPPED`], [`super::TRACED`]: not asleep but held. `None`: it did not sleep, or nothing tells.
    pub fn slept_in(&self, pid: i32, from: i64, to: i64) -> Option<Slept> {
        self.of.get(&pid)?.sleeps.longest(&self.calls, from, to)
    }

    /// The thread that ran while this one waited on its run queue in `[from, to)`: of the longest such wait, the one that
    /// had most of it; 0: the idle task, the thread was held off a CPU that did nothing. And that wait, ns.
    pub fn ran_instead(&self, pid: i32, from: i64, to: i64) -> Option<(i32, i64)> {
        self.of.get(&pid)?.waits.longest_in(from, to)
    }
}

/// Receive calls that return, or took data: whose socket theirs is. Kernels before 6.3 tell it of those that took data alone.
fn receives(routes: &mut Routes<Threads>, schema: &Schema<'_>) {
    let missing = routes.missing.len();
    let received = |t: &mut Threads, pid: i32, sk: u64| {
        if let Some(of) = t.of.get_mut(&pid) {
            of.sleeps.received(sk, &t.calls);
        }
    };
    routes.on::<SockRecvLength<'static>>(schema, move |t, e, p| {
        if e.in_task() && p.protocol == IPPROTO_TCP {
            received(t, e.pid, p.sk);
        }
    });
    routes.on::<TcpRcvSpaceAdjust<'static>>(schema, move |t, e, p| {
        if e.in_task() {
            received(t, e.pid, p.skaddr);
        }
    });
    routes.missing.truncate(missing);
}

/// Begins and ends of system calls; a thread that no scheduler event named yet is nobody's.
fn system_calls(routes: &mut Routes<Threads>, schema: &Schema<'_>) -> Calls {
    let mut calls = Calls::default();
    for f in schema.formats().iter().filter(|f| f.system == SysEnter::SYSTEM) {
        if let Some(name) = f.name.strip_prefix("sys_enter_") {
            let call = calls.number(name);
            calls.begins();
            routes.raw(f.id, move |t, e| {
                if let Some(of) = t.of.get_mut(&e.pid) {
                    of.sleeps.enter(call, &t.calls);
                }
            });
        } else if let Some(name) = f.name.strip_prefix("sys_exit_") {
            let call = calls.number(name);
            routes.raw(f.id, move |t, e| {
                if let Some(of) = t.of.get_mut(&e.pid) {
                    of.sleeps.exit(call, &t.calls);
                }
            });
        }
    }
    calls
}
