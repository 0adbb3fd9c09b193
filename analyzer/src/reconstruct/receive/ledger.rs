//! From the times of a unit to its row: differences of neighbours, and what is in none of them.

use super::tables::{RxEnd, RxRow, RxStart, Stage, StageTimes};
use super::unit::Unit;
use crate::confidence::Confidence;
use crate::name::Name;
use crate::nearby::Nearby;
use crate::reconstruct::comms::Comms;
use crate::reconstruct::context::{Part, RunBy};
use crate::reconstruct::napi::tables::{PollContext, PollRow};
use crate::reconstruct::softirq::Aways;
use crate::reconstruct::softirq::tables::{Blame, SoftirqRow};
use crate::reconstruct::tcp::Sockets;
use crate::reconstruct::thread::Threads;

/// What the ledger asks of others.
#[derive(Debug)]
pub struct Asks<'f> {
    /// What threads did meanwhile.
    pub threads: &'f Threads,
    /// What they are called.
    pub comms: &'f Comms,
    /// Whose an address of a socket is.
    pub sockets: &'f Sockets,
    /// Softirq runs by (start, CPU).
    pub softirqs: Nearby<'f, SoftirqRow>,
    /// When threads that run them were away from their CPUs.
    pub aways: &'f Aways,
    /// Polls by end.
    pub polls: Nearby<'f, PollRow>,
}

/// Ends of polls of other CPUs between a packet's reception and the end of its own poll, at most.
const OTHER_POLLS: usize = 64;

impl Asks<'_> {
    fn softirq(&self, start: i64, cpu: u16) -> Option<&SoftirqRow> {
        let run = self.softirqs.row(|r| (r.start_ns, r.cpu) < (start, cpu));
        run.filter(|r| (r.start_ns, r.cpu) == (start, cpu))
    }
    /// `poll`: that of a task that received it.
    fn run_by(&self, u: &Unit, poll: Option<&PollRow>) -> Option<RunBy> {
        match u.recv_softirq {
            Some(start) => self.softirq(start, u.cpu).map(|r| r.run_by),
            None => poll.map(|p| p.run_by),
        }
    }
    /// The poll outside softirq that received it.
    fn poll_in_task(&self, u: &Unit) -> Option<&PollRow> {
        let recv = u.recv.filter(|_| u.recv_in_task)?;
        let from = self.polls.place(|p| p.end_ns < recv);
        let mut next = self.polls.rows().get(from..)?.iter().take(OTHER_POLLS);
        next.find(|p| p.cpu == u.cpu && p.context == PollContext::Task)
    }
}

fn between(from: Option<i64>, to: Option<i64>) -> Option<i64> {
    from.zip(to).map(|(a, b)| b.wrapping_sub(a))
}

/// The stages of a row while they are found, and how long who received it was away from its CPU in them.
struct Parts<'f> {
    times: StageTimes,
    aways: &'f Aways,
    /// CPU and thread of the softirq runs, or of the poll, that had it.
    by: [Option<(u16, i32)>; 2],
    /// The NAPI thread that received it, and when it was waited for.
    thread: Option<(i32, Option<(i64, i64)>)>,
    /// Time away, the longest of it in one stage, and who ran for that.
    away: Option<(i64, i64, i32)>,
}

impl<'f> Parts<'f> {
    fn of(u: &Unit, asks: &Asks<'f>, poll: Option<&PollRow>) -> Parts<'f> {
        let mut by = [None; 2];
        let thread = poll.and_then(|p| p.threaded.as_ref()).map(|t| t.pid);
        if !asks.aways.is_empty() {
            let run = |start: Option<i64>, cpu| Some((cpu, asks.softirq(start?, cpu)?.pid));
            let polls = || Some((u.cpu, thread?));
            by = [run(u.softirq, u.start_cpu), run(u.recv_softirq, u.cpu).or_else(polls)];
            if by[0] == by[1] {
                by[0] = None;
            }
        }
        Parts {
            times: StageTimes::default(),
            aways: asks.aways,
            by,
            thread: thread.map(|pid| (pid, None)),
            away: None,
        }
    }
    fn set(&mut self, stage: Stage, ns: Option<i64>) {
        self.times.set(stage, ns);
    }
    /// A stage in which a CPU was at it, less what it was not.
    fn on_cpu(&mut self, stage: Stage, from: Option<i64>, to: Option<i64>) {
        let (Some(from), Some(to)) = (from, to) else { return };
        let mut ns = to.wrapping_sub(from);
        for (cpu, pid) in self.by.into_iter().flatten() {
            if let Some(away) = self.aways.between(cpu, pid, from, to) {
                ns = ns.wrapping_sub(away.ns);
                let (all, most, who) = self.away.unwrap_or((0, 0, away.by));
                let (most, who) = if away.ns > most {
                    (away.ns, away.by)
                } else {
                    (most, who)
                };
                self.away = Some((all.saturating_add(away.ns), most, who));
            }
        }
        self.times.add(stage, Some(ns));
    }
}

/// First event to `netif_receive_skb`.
fn arrival(u: &Unit, parts: &mut Parts<'_>, asks: &Asks<'_>) {
    let steered = u.recv.is_some() && u.cpu != u.start_cpu;
    let in_poll = u.gro.or(u.recv);
    if u.start_kind == RxStart::Irq {
        parts.set(Stage::Irq, between(Some(u.start), u.raise));
        parts.set(Stage::SoftirqWait, between(u.raise, u.softirq));
        parts.on_cpu(Stage::PollWait, u.softirq, in_poll);
    }
    // Where it was handed to the CPU that received it: by netif_rx, or not later than the end of the poll.
    let handed = match (u.start_kind, steered) {
        (RxStart::NetifRx, _) | (RxStart::Receive, true) => Some(u.start),
        (RxStart::Irq | RxStart::Gro, true) => u.poll_end,
        (RxStart::Irq | RxStart::Gro, false) => {
            parts.on_cpu(Stage::Gro, u.gro, u.recv);
            return;
        }
        (RxStart::Receive, false) => return,
    };
    let (Some(handed), Some(recv)) = (handed, u.recv) else {
        return;
    };
    if u.gro.is_some() {
        // Delivered before the poll ended: how much of this was GRO is not known.
        if recv < handed {
            return;
        }
        parts.on_cpu(Stage::Gro, u.gro, Some(handed));
    }
    match u.recv_softirq {
        Some(run) if run >= handed => {
            let wait = if steered { Stage::Rps } else { Stage::SoftirqWait };
            parts.set(wait, Some(run.wrapping_sub(handed)));
            parts.on_cpu(Stage::PollWait, Some(run), Some(recv));
        }
        // The softirq was running when the packet was queued.
        Some(_) => parts.on_cpu(Stage::PollWait, Some(handed), Some(recv)),
        // The backlog's own thread (PREEMPT_RT, `threadirqs`): until it had a CPU, and from there.
        None => {
            if let Some((pid, _)) = parts.thread {
                let s = asks.threads.split(pid, handed, recv);
                let wait = if steered { Stage::Rps } else { Stage::SoftirqWait };
                let waited = [s.asleep_ns, s.waking_ns, s.idle_exit_ns, s.run_queue_ns];
                parts.set(wait, Some(waited.into_iter().fold(0, i64::wrapping_add)));
                parts.set(Stage::PollWait, Some(s.running_ns));
                parts.thread = Some((pid, Some((handed, recv))));
            }
        }
    }
}

/// `netif_receive_skb` to readable.
fn protocol(u: &Unit, parts: &mut Parts<'_>) {
    let done = u.proto.or(u.ready);
    match u.through.filter(|_| !u.backlog && done.is_some()) {
        Some(through) => {
            parts.on_cpu(Stage::BatchWait, u.recv, Some(through));
            parts.on_cpu(Stage::Protocol, Some(through), done);
        }
        None if u.backlog => parts.set(Stage::Backlog, between(u.recv, done)),
        None => parts.on_cpu(Stage::Protocol, u.recv, done),
    }
    match u.held {
        true => parts.set(Stage::OutOfOrder, between(u.proto, u.ready)),
        false => parts.on_cpu(Stage::Ready, u.proto, u.ready),
    }
}

/// Who had the CPU for which a NAPI thread waited longest.
fn behind((pid, waited): (i32, Option<(i64, i64)>), asks: &Asks<'_>) -> Option<Blame> {
    let (from, to) = waited?;
    let (who, ns) = asks.threads.ran_instead(pid, from, to)?;
    let (part, who) = match who {
        0 => (Part::Idle, Name::default()),
        pid => (Part::Task, asks.comms.at(pid, to)),
    };
    Some(Blame { part, who, ns })
}

/// Writes the row. A stage is `None` when it did not happen or its ends are not known; the rest is unattributed, so the
/// parts sum to the total by construction. Nothing is clamped: a negative stage is the clocks' error and is shown.
pub fn row(u: &Unit, end: RxEnd, asks: &Asks<'_>) -> RxRow {
    let poll = asks.poll_in_task(u);
    let mut parts = Parts::of(u, asks, poll);
    arrival(u, &mut parts, asks);
    protocol(u, &mut parts);
    let (away, thread, mut parts) = (parts.away, parts.thread, parts.times);
    parts.set(Stage::Preempted, away.map(|(ns, ..)| ns));
    let queued = u.ready.or(u.proto).or(u.recv).unwrap_or(u.start);
    let mut rcvq_ns = None;
    let mut instead = None;
    let mut slept = None;
    let mut last = queued;
    if end == RxEnd::Read {
        let taken = u.copy.or(u.read).unwrap_or(queued);
        rcvq_ns = Some(taken.wrapping_sub(queued));
        if u.pid > 0 {
            let s = asks.threads.split(u.pid, queued, taken);
            // What no event tells of the reader stays unattributed; what is known of it is.
            let states = [
                (Stage::ReaderAsleep, s.asleep_ns),
                (Stage::Wakeup, s.waking_ns),
                (Stage::IdleExit, s.idle_exit_ns),
                (Stage::RunQueue, s.run_queue_ns),
                (Stage::ReaderRunning, s.running_ns),
            ];
            for (stage, ns) in states.into_iter().filter(|(_, ns)| *ns != 0) {
                parts.set(stage, Some(ns));
            }
            if s.asleep_ns > 0 {
                slept = asks.threads.slept_in(u.pid, queued, taken);
            }
            if s.run_queue_ns > 0 {
                instead = asks.threads.ran_instead(u.pid, queued, taken);
            }
        }
        // Where the end of the copy is not seen (no sock_recv_length), the way back is in it.
        parts.set(Stage::Copy, between(u.copy, u.read.or(u.exit)));
        parts.set(Stage::Return, between(u.read, u.exit));
        last = u.exit.or(u.read).unwrap_or(taken);
    }
    let slept = slept.unwrap_or_default();
    let asleep_on = slept.read.and_then(|r| Some((asks.sockets.at(r.sk, r.to)?, r.ns)));
    // In a read of its own it was not yet woken.
    let asleep_on = asleep_on.filter(|(c, _)| Some(*c) != u.connection);
    let total_ns = last.wrapping_sub(u.start);
    let named = |pid: i32| match pid {
        0 => Name::default(),
        _ => asks.comms.at(pid, last),
    };
    // The run that it waited for: of its first CPU, or of the one it was steered to.
    let waited = match (parts.get(Stage::SoftirqWait), u.start_kind) {
        (Some(_), RxStart::Irq) => u.softirq.and_then(|start| asks.softirq(start, u.start_cpu)),
        (None, _) if parts.get(Stage::Rps).is_none() => None,
        _ => u.recv_softirq.and_then(|start| asks.softirq(start, u.cpu)),
    };
    RxRow {
        skb_id: u.skb,
        dev: u.dev,
        cpu: u.cpu,
        connection: u.connection,
        task: named(u.pid.max(0)),
        pid: u.pid,
        bytes: u.bytes,
        start_ns: u.start,
        start: u.start_kind,
        total_ns,
        end,
        unattributed_ns: total_ns.wrapping_sub(parts.sum()),
        stages: parts,
        rcvq_ns,
        censored: None,
        at_least_ns: None,
        poll_nth: u.poll_nth,
        unit_nth: u.unit_nth,
        run_by: asks.run_by(u, poll),
        softirq_blame: waited.and_then(|r| r.blame).or_else(|| behind(thread?, asks)),
        preempted_by: away.map_or_else(Name::default, |(_, _, who)| asks.comms.ran(who, last)),
        run_queue_task: instead.map_or_else(Name::default, |(who, _)| asks.comms.ran(who, last)),
        asleep_in: slept.call,
        asleep_in_ns: slept.ns,
        woken_by_pid: slept.woken_by.map_or(0, |w| w.0),
        woken_by_ns: slept.woken_by.map_or(0, |w| w.1),
        woken_at_ns: slept.woken_at,
        asleep_on: asleep_on.map(|a| a.0),
        asleep_on_ns: asleep_on.map_or(0, |a| a.1),
        busy_ns: 0,
        busy_on: None,
        busy_on_ns: 0,
        read_cpu: u.clock.filter(|_| end == RxEnd::Read).map(|c| c.cpu()),
        read_by: u.read_by.filter(|_| end == RxEnd::Read),
        nested_ns: u.nested,
        observer_ns: None,
        // That it was a hole that it waited for is by order alone.
        confidence: match u.held && !u.hole && parts.get(Stage::OutOfOrder).is_some() {
            true => u.confidence.min(Confidence::Strong),
            false => u.confidence,
        },
    }
}
