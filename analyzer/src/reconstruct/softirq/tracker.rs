//! The machine of one CPU.

use super::away::{self, Away};
use super::squeeze::{Limits, Work};
use super::tables::{Blame, NET_RX, Preempted, SoftirqRow};
use crate::confidence::Confidence;
use crate::ingest::{Event, GapRow};
use crate::name::Name;
use crate::reconstruct::context::{
    BH_OFF, Cpu, Doing, Edge, Ksoftirqd, Point, Run, RunBy, SOFTIRQ, Wait, Who, between,
};
use crate::reconstruct::dispatch::Tracker;

/// From the last event of an interrupt, or of the run before, to the entry of a run that follows at once.
const AT_ONCE_NS: i64 = 5_000;

/// Softirq runs of one CPU.
pub struct OnCpu {
    cpu: u16,
    state: Cpu,
    /// The event before.
    last: Option<Point>,
    /// The last event before that was in no hard interrupt of a softirq.
    below: Option<Point>,
    /// What the current event is, when its handler says.
    here: Option<(Edge, i32)>,
    /// Waits of pending vectors.
    waits: [Option<Wait>; 16],
    ksoftirqd: Ksoftirqd,
    /// What is known of the run that is open.
    open: Option<Open>,
    away: away::OnCpu,
    limits: Limits,
    tells: Tells,
    /// Rows in order of end, and who is to blame, while threads have no names.
    rows: Vec<(SoftirqRow, Who)>,
}

/// What a recording would tell.
#[derive(Debug, Clone, Copy, Default)]
pub struct Tells {
    /// Some event shows bottom halves off: then a flag that is not set means they were on.
    pub bh_off: bool,
    /// Which thread a CPU runs is.
    pub switches: bool,
    /// Hard interrupts: without that, none seen is no 0.
    pub irqs: bool,
    /// Polls.
    pub polls: bool,
    /// Raises: without them an interrupt that raised a vector may have shown nothing.
    pub raises: bool,
}

#[derive(Debug, Clone)]
struct Open {
    run_by: RunBy,
    episode: i64,
    wait: Option<Wait>,
    work: Work,
}

impl Tracker for OnCpu {
    fn gap(&mut self, _: &GapRow) {
        self.cut();
        self.state.forget();
        self.away.forget();
        self.waits = Default::default();
        (self.last, self.below) = (None, None);
        self.ksoftirqd = unseen(self.tells);
    }
}

/// What is known of ksoftirqd before anything is seen of it: where threads are not recorded nothing ever would be.
fn unseen(tells: Tells) -> Ksoftirqd {
    match tells.switches {
        true => Ksoftirqd::Unknown,
        false => Ksoftirqd::Asleep,
    }
}

impl OnCpu {
    /// Knows nothing yet.
    pub fn new(cpu: u16, limits: Limits, tells: Tells) -> OnCpu {
        OnCpu {
            cpu,
            state: Cpu::default(),
            last: None,
            below: None,
            here: None,
            waits: Default::default(),
            ksoftirqd: unseen(tells),
            open: None,
            away: away::OnCpu::default(),
            limits,
            tells,
            rows: Vec::new(),
        }
    }
    /// Whether a vector is pending: then every event tells something.
    pub fn waits(&self) -> bool {
        self.waits.iter().any(Option::is_some)
    }
    /// An event that no handler saw lies before the next.
    pub fn passed(&mut self, e: &Event<'_>) {
        self.at(Point::inside(e));
    }
    fn at(&mut self, p: Point) {
        self.last = Some(p);
        if !(p.in_hardirq() && p.flags & SOFTIRQ != 0) {
            self.below = Some(p);
        }
    }
    /// Before an event is handled: the time since the one before it goes to the waits of the pending vectors.
    pub fn before(&mut self, e: &Event<'_>, is_entry: bool) {
        let Some(last) = self.last.filter(|_| self.waits()) else {
            return;
        };
        let mut to = Point::inside(e);
        if is_entry {
            to.edge = Edge::SoftirqEntry;
        }
        let doing = match between(&self.state, &last, &to) {
            // Another thread runs and no sched_switch told: when it began to, and what ran until then, is not known.
            Doing::Task(_) | Doing::Idle | Doing::BhOff(_) if last.pid != e.pid => Doing::Unknown,
            doing => doing,
        };
        let ns = e.ts.wrapping_sub(last.ts);
        for w in self.waits.iter_mut().flatten() {
            w.add(doing, ns, self.ksoftirqd);
        }
    }
    /// After it was handled.
    pub fn after(&mut self, e: &Event<'_>) {
        let mut point = Point::inside(e);
        if let Some((edge, pid)) = self.here.take() {
            (point.edge, point.pid) = (edge, pid);
        }
        self.at(point);
    }
    pub(super) fn irq_entry(&mut self, e: &Event<'_>, name: &[u8]) {
        self.state.irq_entry(e, name);
    }
    pub(super) fn irq_exit(&mut self, e: &Event<'_>) {
        self.state.irq_exit(e);
        self.here = Some((Edge::IrqExit, e.pid));
    }
    pub(super) fn raise(&mut self, e: &Event<'_>, vec: u32) {
        if let Some(wait) = self.waits.get_mut(vec as usize)
            && !self.state.is_raised(vec)
        {
            *wait = Some(Wait::default());
        }
        self.state.raise(e, vec);
        self.here = Some((Edge::Raise(vec), e.pid));
    }
    pub(super) fn entry(&mut self, e: &Event<'_>, vec: u32) {
        let wait = self.waits.get_mut(vec as usize).and_then(Option::take);
        self.cut();
        self.state.softirq_entry(e, vec);
        let raised = self.state.run.and_then(|r| r.raise).map(|r| r.ts);
        let (episode, run_by) = self.run_by(e, raised);
        // A raise that need not be the first has no wait.
        let wait = wait.filter(|_| self.state.run.is_some_and(|r| r.raise.is_some()));
        self.open = Some(Open {
            run_by,
            episode,
            wait,
            work: Work::default(),
        });
        self.here = Some((Edge::SoftirqEntry, e.pid));
    }
    pub(super) fn exit(&mut self, e: &Event<'_>, vec: u32) {
        let run = self.state.run;
        match self.state.softirq_exit(vec) {
            Some(run) => self.close(run, Some(e.ts)),
            // The exit of another vector: the end of the open run was not seen.
            None => run.into_iter().for_each(|r| self.close(r, None)),
        }
        self.here = Some((Edge::SoftirqExit, e.pid));
    }
    pub(super) fn poll(&mut self, e: &Event<'_>, work: Option<i32>, budget: Option<i32>) {
        if let Some(open) = &mut self.open
            && e.in_softirq()
        {
            open.work.poll(e.ts, work, budget);
        }
    }
    pub(super) fn switch(&mut self, e: &Event<'_>, prev: (i32, &[u8], bool), next: (i32, &[u8])) {
        self.away.switch(e, (prev.0, prev.2), next.0);
        if is_ksoftirqd(next.1) {
            self.ksoftirqd = Ksoftirqd::Running(next.0);
        } else if is_ksoftirqd(prev.1) {
            self.ksoftirqd = if prev.2 {
                Ksoftirqd::Runnable(prev.0)
            } else {
                Ksoftirqd::Asleep
            };
        }
        // A CPU that goes idle has nothing that wants it.
        if next.0 == 0 && self.ksoftirqd == Ksoftirqd::Unknown {
            self.ksoftirqd = Ksoftirqd::Asleep;
        }
        self.here = Some((Edge::Switch, next.0));
    }
    /// Each CPU's ksoftirqd is woken on it.
    pub(super) fn wake(&mut self, pid: i32, comm: &[u8]) {
        if is_ksoftirqd(comm) && matches!(self.ksoftirqd, Ksoftirqd::Asleep | Ksoftirqd::Unknown) {
            self.ksoftirqd = Ksoftirqd::Runnable(pid);
        }
    }

    /// Who runs the softirq that now begins, and when the runs began of which it is the next.
    fn run_by(&self, e: &Event<'_>, raised: Option<i64>) -> (i64, RunBy) {
        // An interrupt of handle_softirqs before its first vector, or between two, tells nothing of who runs these.
        let Some(last) = self.below else {
            return (e.ts, RunBy::Unknown);
        };
        let interrupted = self.last.is_some_and(|l| l != last);
        let at_once = interrupted || e.ts.wrapping_sub(last.ts) <= AT_ONCE_NS;
        // Pending when the vector before ended, or shown to be in softirq since.
        let pending = raised.is_some_and(|t| t <= last.ts);
        // handle_softirqs ends when it has woken ksoftirqd.
        let left = !at_once && matches!(self.ksoftirqd, Ksoftirqd::Runnable(_));
        let loops = match last.edge {
            Edge::SoftirqExit => at_once || pending && !left,
            _ => !left && !last.in_hardirq() && last.flags & SOFTIRQ != 0,
        };
        if let Some((row, _)) = self.rows.last().filter(|(r, _)| loops && r.pid == e.pid) {
            return (row.episode_ns, row.run_by);
        }
        let in_task = last.flags & (SOFTIRQ | 0x48) == 0;
        let run_by = match last.edge {
            Edge::SoftirqExit | Edge::Switch => RunBy::Unknown,
            _ if last.in_hardirq() => match last.flags & BH_OFF {
                0 if self.tells.bh_off || at_once => RunBy::IrqTail,
                0 => RunBy::Unknown,
                _ => RunBy::BhEnable,
            },
            _ if self.tells.raises && in_task && last.pid == e.pid && e.pid > 0 => RunBy::BhEnable,
            _ => RunBy::Unknown,
        };
        (e.ts, run_by)
    }
    /// What it found, when there is no more.
    pub(super) fn finish(mut self) -> (Vec<(SoftirqRow, Who)>, Vec<Away>) {
        self.cut();
        (self.rows, self.away.finish())
    }
    /// The run that is open has an end that was not seen.
    fn cut(&mut self) {
        if let Some(run) = self.state.run.take() {
            self.close(run, None);
        }
    }
    fn close(&mut self, run: Run, end_ns: Option<i64>) {
        let Some(open) = self.open.take() else { return };
        let raised_last = self
            .last
            .is_some_and(|l| l.edge == Edge::Raise(NET_RX) && !l.in_hardirq());
        let squeezed = match end_ns {
            Some(_) if run.vec == NET_RX && self.tells.polls => {
                open.work.squeezed(&self.limits, run.start, raised_last)
            }
            _ => None,
        };
        let preempted = self.away.since(run.pid, run.start).map(|of| {
            Box::new(Preempted {
                ns: of.ns,
                lock_ns: of.lock_ns,
                pid: of.by,
                by: Name::default(),
            })
        });
        let top = open.wait.as_ref().and_then(Wait::top);
        let blame = top.map(|(part, _, ns)| Blame {
            part,
            who: Name::default(),
            ns,
        });
        let row = SoftirqRow {
            cpu: self.cpu,
            start_ns: run.start,
            end_ns,
            vec: run.vec,
            raise_ns: run.raise.map(|r| r.ts),
            run_by: open.run_by,
            wait: open.wait.map(|w| w.ns),
            blame,
            episode_ns: open.episode,
            squeezed,
            pid: run.pid,
            comm: Name::default(),
            irq_ns: self.tells.irqs.then_some(run.irq_ns),
            preempted,
            confidence: match end_ns {
                Some(_) => Confidence::Certain,
                None => Confidence::Unknown,
            },
        };
        self.rows.push((row, top.map_or(Who::Nobody, |t| t.1)));
    }
}

/// Whether a thread of this name is a ksoftirqd.
fn is_ksoftirqd(comm: &[u8]) -> bool {
    comm.starts_with(b"ksoftirqd/")
}

/// Whether it is one of the threads of a CPU that only run softirqs: PREEMPT_RT has another one for timers.
pub(super) fn is_softirq_thread(comm: &[u8]) -> bool {
    is_ksoftirqd(comm) || comm.starts_with(b"ktimers/")
}
