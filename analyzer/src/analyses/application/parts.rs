//! Where turnarounds passed: what their threads did, and asleep in which system call.

use rustc_hash::FxHashMap;

use super::task;
use super::waker::WakerHeld;
use super::waker_read::WakerRead;
use crate::name::Name;
use crate::reconstruct::application::tables::TurnaroundRow;
use crate::reconstruct::thread::{STOPPED, TRACED, UNINTERRUPTIBLE, UNRECORDED};

/// Share of a sleep's time that one thread must have ended to be named.
const MOSTLY: f64 = 0.5;

/// Of a thread that another one woke, in no recorded call.
pub const FOR_A_THREAD: &str = "waiting for another thread";

/// Names with which threads of the kernel begin that wake sleepers.
const KERNEL_THREADS: [&str; 8] = [
    "kworker",
    "ksoftirqd",
    "jbd2",
    "kswapd",
    "rcu",
    "migration",
    "irq/",
    "nvme",
];

/// One way to spend time.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Part {
    /// `running`, `run_queue`, `wakeup`, `asleep_in` a call, `asleep` (in other calls, or no event tells in which), `unknown`.
    pub state: &'static str,
    /// The system call of `asleep_in`; `unrecorded`: in none that was recorded; `uninterruptible`: likewise, in state D; `stopped`, `traced`: not asleep but held.
    pub call: Option<String>,
    /// `task/thread` that ended most of the time of `asleep_in`, where one did; `threads named task` where none did and several of
    /// one name did.
    pub woken_by: Option<String>,
    /// Of `asleep_in` in no recorded call: `task/thread` of the same process that ran half of that time or more, and the share of it (0 to 1).
    pub ran_meanwhile: Option<(String, f64)>,
    /// Of those that `woken_by` woke, when answers are late: what held its process meanwhile.
    pub waker_held: Option<WakerHeld>,
    /// Likewise: what that one thread had read right before it woke them.
    pub waker_read: Option<WakerRead>,
    /// Likewise: share of it (0 to 1) in which those who woke it, one behind the other, slept in state D for answers of their own.
    pub waker_in_state_d: Option<f64>,
    /// ns.
    pub ns: i64,
    /// Share of the whole, 0 to 1.
    pub share: f64,
}

/// Asleep in one call, and what of that other threads ended.
#[derive(Debug, Default)]
struct Call {
    ns: i64,
    woken_by: FxHashMap<(Name, i32), i64>,
    ran_meanwhile: FxHashMap<(Name, i32), i64>,
}

impl Call {
    fn mostly_ran(&self) -> Option<(String, f64)> {
        let most = self
            .ran_meanwhile
            .iter()
            .max_by_key(|(who, ns)| (**ns, std::cmp::Reverse(**who)));
        let ((name, pid), ns) = most?;
        let share = (*ns as f64 / self.ns.max(1) as f64).min(1.0);
        (share >= MOSTLY).then(|| (task(name, *pid), share))
    }
    fn mostly_woken_by(&self) -> Option<String> {
        let mostly = |ns: i64| ns as f64 >= MOSTLY * self.ns as f64;
        let most = self
            .woken_by
            .iter()
            .max_by_key(|(who, ns)| (**ns, std::cmp::Reverse(**who)));
        if let Some(((name, pid), _)) = most.filter(|(_, ns)| mostly(**ns)) {
            return Some(task(name, *pid));
        }
        let mut by_name: FxHashMap<Name, i64> = FxHashMap::default();
        for ((name, _), ns) in self.woken_by.iter().filter(|((name, _), _)| !name.is_empty()) {
            let of = by_name.entry(*name).or_insert(0);
            *of = of.saturating_add(*ns);
        }
        let most = by_name
            .into_iter()
            .max_by_key(|(name, ns)| (*ns, std::cmp::Reverse(*name)));
        let (name, _) = most.filter(|(_, ns)| mostly(*ns))?;
        Some(format!("threads named {}", name.text()))
    }
}

/// Sums over turnarounds.
#[derive(Debug, Default)]
pub struct Parts {
    total: i64,
    running: i64,
    run_queue: i64,
    wakeup: i64,
    asleep: i64,
    unknown: i64,
    calls: FxHashMap<Name, Call>,
}

impl Parts {
    /// Adds a row.
    pub fn add(&mut self, r: &TurnaroundRow) {
        let s = &r.split;
        self.total = self.total.saturating_add(r.total_ns());
        self.running = self.running.saturating_add(s.running_ns);
        self.run_queue = self.run_queue.saturating_add(s.run_queue_ns);
        self.wakeup = self.wakeup.saturating_add(s.waking_ns.saturating_add(s.idle_exit_ns));
        self.unknown = self.unknown.saturating_add(s.unknown_ns);
        self.asleep = self.asleep.saturating_add(s.asleep_ns.saturating_sub(r.asleep_in_ns));
        if !r.asleep_in.is_empty() {
            let of = self.calls.entry(r.asleep_in).or_default();
            of.ns = of.ns.saturating_add(r.asleep_in_ns);
            if r.woken_by_pid != 0 {
                let by = of.woken_by.entry((r.woken_by, r.woken_by_pid)).or_insert(0);
                *by = by.saturating_add(r.woken_by_ns);
            }
            if r.ran_meanwhile_pid != 0 {
                let ran = of
                    .ran_meanwhile
                    .entry((r.ran_meanwhile, r.ran_meanwhile_pid))
                    .or_insert(0);
                *ran = ran.saturating_add(r.ran_meanwhile_ns.min(r.asleep_in_ns));
            }
        }
    }
    /// The parts that are there, largest first.
    pub fn largest(&self) -> Vec<Part> {
        let part = |state, call, ns: i64| Part {
            state,
            call,
            woken_by: None,
            ran_meanwhile: None,
            waker_held: None,
            waker_read: None,
            waker_in_state_d: None,
            ns,
            share: ns as f64 / self.total.max(1) as f64,
        };
        let mut all: Vec<Part> = [
            ("running", self.running),
            ("run_queue", self.run_queue),
            ("wakeup", self.wakeup),
            ("asleep", self.asleep),
            ("unknown", self.unknown),
        ]
        .into_iter()
        .map(|(state, ns)| part(state, None, ns))
        .collect();
        let calls = self.calls.iter();
        all.extend(calls.map(|(call, of)| Part {
            woken_by: of.mostly_woken_by(),
            ran_meanwhile: of.mostly_ran(),
            ..part("asleep_in", Some(call.text().into_owned()), of.ns)
        }));
        all.retain(|p| p.ns > 0);
        all.sort_by(|a, b| {
            b.ns.cmp(&a.ns)
                .then_with(|| (a.state, &a.call).cmp(&(b.state, &b.call)))
        });
        all
    }
}

impl Part {
    /// Whether threads that spend their time so may be meant to: at work, or asleep by their own wish. In no recorded call they may sleep by
    /// a timer of their own; not where another thread ran meanwhile or waited for a disk, or (`stood`) nothing of that kind is believed.
    pub fn meant(&self, stood: bool) -> bool {
        let held = match self.call.as_deref() {
            Some(UNINTERRUPTIBLE | STOPPED | TRACED) => true,
            Some(UNRECORDED) => stood || self.ran_meanwhile.is_some() || self.waker_in_state_d.is_some(),
            _ => false,
        };
        !(matches!(self.state, "run_queue" | "wakeup") || self.state == "asleep_in" && held)
    }
    /// `, while VM Thread/4038 of the same process ran 98 % of that time`, `, woken by python3/4038`; empty: not known of most of it.
    pub fn woken(&self) -> String {
        if let Some((who, share)) = &self.ran_meanwhile {
            return format!(
                ", while {who} of the same process ran {:.0} % of that time",
                share * 100.0
            );
        }
        let by = self.woken_by.as_ref();
        by.map_or_else(String::new, |who| format!(", woken by {who}"))
    }
    /// Programs wait in no recorded call for one another by futex; kernel threads end waits for disks and pages, too.
    fn by_a_thread(&self) -> bool {
        let who = self.woken_by.as_deref().map(|w| w.trim_start_matches("threads named "));
        who.is_some_and(|w| !w.starts_with("thread ") && !KERNEL_THREADS.iter().any(|k| w.starts_with(k)))
    }
    /// Its thread waited for another one of a program, as on a lock.
    pub fn lock(&self) -> bool {
        self.state == "asleep_in" && self.call.as_deref() == Some(UNRECORDED) && self.by_a_thread()
    }
    /// As a person says it.
    pub fn words(&self) -> String {
        match (self.state, self.call.as_deref()) {
            ("running", _) => "running".into(),
            ("run_queue", _) => "waiting for a CPU".into(),
            ("wakeup", _) => "being woken".into(),
            ("asleep_in", Some(UNRECORDED)) if self.by_a_thread() => {
                format!("{FOR_A_THREAD} (in no recorded syscall: most likely a lock)")
            }
            ("asleep_in", Some(UNRECORDED)) => "asleep, in no recorded syscall".into(),
            ("asleep_in", Some(UNINTERRUPTIBLE)) => {
                "in uninterruptible sleep (state D, in no recorded syscall: most likely a disk)".into()
            }
            ("asleep_in", Some(STOPPED)) => "stopped by a signal (SIGSTOP)".into(),
            ("asleep_in", Some(TRACED)) => "stopped by its tracer (a debugger, strace)".into(),
            ("asleep_in", Some(call)) => format!("asleep in {call}"),
            ("asleep", _) => "asleep".into(),
            _ => "doing something that was not recorded".into(),
        }
    }
}

/// The name that all who sent these have.
pub(super) fn of_one_name(rows: &[&TurnaroundRow]) -> Option<String> {
    let name = rows.first()?.sender;
    let one = !name.is_empty() && rows.iter().all(|r| r.sender == name);
    one.then(|| name.text().into_owned())
}

/// Where these passed, largest first; task and thread with most of it, and its share.
pub(super) fn doing(rows: &[&TurnaroundRow]) -> (Vec<Part>, (String, f64)) {
    let (mut parts, mut tasks): (Parts, FxHashMap<_, i64>) = Default::default();
    let mut whole = 0i64;
    for r in rows {
        parts.add(r);
        whole = whole.saturating_add(r.total_ns());
        let of = tasks.entry((r.sender, r.sender_pid)).or_insert(0);
        *of = of.saturating_add(r.total_ns());
    }
    let most = tasks.into_iter().max_by_key(|(who, ns)| (*ns, std::cmp::Reverse(*who)));
    let who = most.map_or_else(Default::default, |((name, pid), ns)| {
        (task(&name, pid), ns as f64 / whole.max(1) as f64)
    });
    (parts.largest(), who)
}
