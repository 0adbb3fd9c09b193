//! What read units waited for: who had the CPU before the softirq and while their reader was runnable, and in which system call
//! the reader slept.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::explain::{Id, Kind};
use crate::facts::SkbId;
use crate::name::Name;
use crate::reconstruct::context::Part;
use crate::reconstruct::receive::tables::{RxRow, Stage};
use crate::reconstruct::thread::{IDLE, STOPPED, TRACED, UNINTERRUPTIBLE, UNRECORDED};

/// Kept of a stage at most: those with most time.
pub const BLAMED: usize = 20;
/// Of these, rows of a reader before more of another's are left out.
const OF_A_READER: usize = 4;

/// Stages of which that is told, in the order of the path.
const STAGES: [Stage; 5] = [
    Stage::SoftirqWait,
    Stage::Rps,
    Stage::Preempted,
    Stage::ReaderAsleep,
    Stage::RunQueue,
];
/// The part of a sleep that was in a known system call, that was none of its own, and the rest of it.
const CALL: &str = "call";
const HELD: &str = "held";
const OTHER_CALLS: &str = "unknown";
/// Share of the time asleep that one call must have to be named for all of it.
const MOSTLY: f64 = 0.9;

/// Name and thread of who waited.
type Reader = (Name, i32);
const NOBODY: Reader = (Name::EMPTY, 0);

/// What units waited for.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Blamed {
    /// Stage: `softirq_wait`, `rps`, `preempted`, `reader_asleep`, `run_queue`.
    pub stage: &'static str,
    /// Largest part of a softirq's wait: `irq`, `softirq`, `bh_off`, `ksoftirqd`, `task`, `idle`, `unknown`; of a run queue or a preemption: `task`, or `idle` (the reader was held off a CPU that idled, the softirq waited for a lock); of a sleep: `call`, or `held` (stopped, traced).
    pub part: &'static str,
    /// Who had most of it: interrupt, vector, task or system call; empty when it has no name, or is not known.
    pub who: String,
    /// Of a run queue the task and thread that waited in it, which is the units' reader; empty for other stages.
    pub reader: String,
    /// Units that waited so.
    pub units: u64,
    /// Their time in the stage, ns.
    pub ns: i64,
    /// The unit with most of it, of equals the one with the smallest id.
    pub worst: Option<Id>,
}

/// Units, their time, and the longest of it: whose.
#[derive(Default, Clone, Copy)]
struct Sum {
    units: u64,
    ns: i64,
    worst: Option<(i64, SkbId)>,
}

impl Sum {
    fn add(&mut self, other: Sum) {
        self.units += other.units;
        self.ns = self.ns.saturating_add(other.ns);
        let both = self.worst.into_iter().chain(other.worst);
        self.worst = both.min_by_key(|(ns, skb)| (std::cmp::Reverse(*ns), *skb));
    }
}

/// Of read units; in the order of the path, then readers with most time first, then most time first.
pub(super) fn blamed(read: &[&RxRow]) -> Vec<Blamed> {
    let mut by: FxHashMap<(Stage, Reader, &'static str, Name), Sum> = FxHashMap::default();
    for r in read {
        let mut add = |stage: Stage, reader: Reader, ns: i64, part: &'static str, who: Name| {
            by.entry((stage, reader, part, who)).or_default().add(Sum {
                units: 1,
                ns,
                worst: Some((ns, r.skb_id)),
            });
        };
        for stage in [Stage::SoftirqWait, Stage::Rps] {
            if let Some(ns) = r.stage(stage) {
                let blame = r.softirq_blame;
                let (part, who) = blame.map_or((Part::Unknown, Name::default()), |b| (b.part, b.who));
                add(stage, NOBODY, ns, part.word(), who);
            }
        }
        let part = |task: &Name| match &*task.text() {
            "" => Part::Unknown,
            IDLE => Part::Idle,
            _ => Part::Task,
        };
        if let Some(ns) = r.stage(Stage::Preempted) {
            let by = r.preempted_by;
            add(Stage::Preempted, NOBODY, ns, part(&by).word(), by);
        }
        if let Some(ns) = r.stage(Stage::RunQueue) {
            let part = part(&r.run_queue_task);
            add(Stage::RunQueue, (r.task, r.pid), ns, part.word(), r.run_queue_task);
        }
        if let Some(ns) = r.stage(Stage::ReaderAsleep) {
            let rest = ns.saturating_sub(r.asleep_in_ns);
            if !r.asleep_in.is_empty() {
                let part = match &*r.asleep_in.text() {
                    STOPPED | TRACED => HELD,
                    _ => CALL,
                };
                add(Stage::ReaderAsleep, NOBODY, r.asleep_in_ns, part, r.asleep_in);
            }
            if rest > 0 {
                add(Stage::ReaderAsleep, NOBODY, rest, OTHER_CALLS, Name::default());
            }
        }
    }
    // Names may differ and read the same.
    let mut texts: BTreeMap<(&'static str, String, &'static str, String), Sum> = BTreeMap::new();
    let mut of_reader: FxHashMap<(&'static str, String), i64> = FxHashMap::default();
    for ((stage, reader, part, who), of) in by {
        let reader = match reader {
            NOBODY => String::new(),
            (name, pid) => format!("{}/{pid}", name.text()),
        };
        let sum = of_reader.entry((stage.name(), reader.clone())).or_default();
        *sum = sum.saturating_add(of.ns);
        let key = (stage.name(), reader, part, who.text().into_owned());
        texts.entry(key).or_default().add(of);
    }
    let mut all: Vec<Blamed> = texts
        .into_iter()
        .map(|((stage, reader, part, who), of)| Blamed {
            stage,
            part,
            who,
            reader,
            units: of.units,
            ns: of.ns,
            worst: of.worst.map(|(_, skb)| Id::new(Kind::Rx, skb.0)),
        })
        .collect();
    let nth = |stage: &str| STAGES.iter().position(|s| s.name() == stage);
    // Stable: ties stay in the order of their names.
    all.sort_by_cached_key(|b| {
        let reader = of_reader.get(&(b.stage, b.reader.clone())).copied();
        let reader = (std::cmp::Reverse(reader.unwrap_or(0)), b.reader.clone());
        (nth(b.stage), reader, std::cmp::Reverse(b.ns))
    });
    // Of each stage so many, of every reader some first.
    let mut rank = 0usize;
    let mut ranked: Vec<(Option<usize>, usize, usize, Blamed)> = vec![];
    for (at, b) in all.into_iter().enumerate() {
        let same = ranked
            .last()
            .is_some_and(|(.., l)| (l.stage, &l.reader) == (b.stage, &b.reader));
        rank = if same { rank + 1 } else { 0 };
        ranked.push((nth(b.stage), rank / OF_A_READER, at, b));
    }
    ranked.sort_by_key(|(stage, round, at, _)| (*stage, *round, *at));
    let mut kept = [0usize; STAGES.len()];
    ranked.retain(|(stage, ..)| match stage.and_then(|at| kept.get_mut(at)) {
        Some(n) => {
            *n += 1;
            *n <= BLAMED
        }
        None => false,
    });
    ranked.sort_by_key(|(_, _, at, _)| *at);
    ranked.into_iter().map(|(.., b)| b).collect()
}

/// What the stage of a sleeping reader means in this recording, where most of it is in calls of one kind.
pub(super) fn asleep(blamed: &[Blamed]) -> Option<&'static str> {
    let of = blamed.iter().filter(|b| b.stage == Stage::ReaderAsleep.name());
    let mut all = 0i64;
    let mut by: BTreeMap<&'static str, i64> = BTreeMap::new();
    for b in of {
        all = all.saturating_add(b.ns);
        if matches!(b.part, CALL | HELD) {
            let sum = by.entry(meaning(&b.who)).or_default();
            *sum = sum.saturating_add(b.ns);
        }
    }
    let most = by.into_iter().max_by_key(|(_, ns)| *ns)?;
    (all > 0 && most.1 as f64 >= MOSTLY * all as f64).then_some(most.0)
}

/// By the system call that the reader slept in.
fn meaning(call: &str) -> &'static str {
    match call {
        "clock_nanosleep" | "nanosleep" => {
            "readable, but the reader slept in clock_nanosleep: in a pause of its own or as part of its work, not for lack of data"
        }
        "futex" => "readable, but the reader slept in futex: it waited for another thread",
        STOPPED => "readable, but the reader was stopped by a signal (SIGSTOP)",
        TRACED => "readable, but the reader was stopped by its tracer (a debugger, strace)",
        UNINTERRUPTIBLE => {
            "readable, but the reader was in uninterruptible sleep (state D): a disk, most likely, a page, or a lock inside the kernel"
        }
        UNRECORDED => {
            "readable, but the reader slept in no recorded syscall: it waited for something else (a lock, a page, a disk)"
        }
        "poll" | "ppoll" | "select" | "pselect6" | "epoll_wait" | "epoll_pwait" | "epoll_pwait2" => {
            "readable, but the reader slept in poll or epoll_wait: for something else, or not yet woken"
        }
        "read" | "readv" | "recvfrom" | "recvmsg" | "recvmmsg" | "io_uring_enter" => {
            "readable, but the reader slept in a read: on something else, or not yet woken"
        }
        "write" | "writev" | "sendto" | "sendmsg" | "sendmmsg" | "sendfile64" | "splice" => {
            "readable, but the reader slept in a write or send: it waited for room"
        }
        _ => "readable, but the reader slept in another system call (show rx, asleep_in)",
    }
}
