//! How do softirq and NAPI run? Work per poll and budget exhaustion per device; NET_RX run time and delay per CPU.

use std::collections::BTreeMap;

use rayon::prelude::*;

use crate::analyses::{Outcome, reasons};
use crate::explain::{Id, Kind};
use crate::facts::Facts;
use crate::name::Name;
use crate::reconstruct::context::{PARTS, Part, RunBy};
use crate::reconstruct::softirq::Counted;
use crate::reconstruct::softirq::tables::{NET_RX, VECTORS};
use crate::stat::Distribution;

mod preempted;
mod saturated;
#[cfg(test)]
mod tests;

pub use preempted::Preempted;
pub use saturated::Saturated;

/// Polls of one device.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct DevicePolls {
    /// Device; `(no_device)` is the per-CPU backlog.
    pub dev: String,
    /// Polls.
    pub polls: u64,
    /// Packets received by them.
    pub packets: u64,
    /// Polls whose work reached the budget.
    pub exhausted: u64,
    /// Polls that received nothing (transmit completions run here too).
    pub without_work: u64,
    /// (work, polls), ascending by work.
    pub work: Vec<(i32, u64)>,
    /// Poll durations (start inferred).
    pub duration: Distribution,
    /// The longest poll; where no length is known, the one with most work.
    pub longest: Option<Id>,
}

/// One vector on one CPU.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct CpuVector {
    /// CPU.
    pub cpu: u16,
    /// Vector name.
    pub vector: &'static str,
    /// Runs.
    pub runs: u64,
    /// Share of the recording that this CPU spent in it.
    pub share: f64,
    /// Run times, without those that their threads were switched out (PREEMPT_RT).
    pub run: Distribution,
    /// Raise-to-entry delays, of runs whose raise was seen.
    pub wait: Distribution,
    /// The run with the longest of these, where there is one; else the longest run.
    pub worst: Option<Id>,
    /// Runs by who ran them.
    pub runners: BTreeMap<&'static str, u64>,
    /// What the CPU did in these delays, ns by part: `irq`, `softirq`, `bh_off`, `ksoftirqd`, `task`, `idle`, `unknown`.
    pub waited_for: BTreeMap<&'static str, i64>,
}

/// A NAPI thread.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct NapiThread {
    /// Device it polls.
    pub dev: String,
    /// `task/thread`.
    pub task: String,
    /// Its polls.
    pub polls: u64,
    /// From being woken to running, of polls before which that is known.
    pub wait: Distribution,
    /// The poll with the longest of these waits.
    pub worst: Option<Id>,
    /// Who ran longest on its CPU in the longest wait before a poll, and the share that all waits before such polls have of all, most
    /// first; `swapper`: nobody. Others may have run in these waits, too.
    pub behind: Vec<(String, f64)>,
}

/// NET_RX runs stopped by their limits.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct Squeezes {
    /// Inferred from the runs.
    pub inferred: u64,
    /// Runs of which the recording does not tell.
    pub not_known: u64,
    /// What the kernel counted, from snapshot to snapshot, and the limits.
    pub counted: Counted,
    /// One sentence.
    pub sentence: String,
}

/// The answer.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Napi {
    /// Per device.
    pub devices: Vec<DevicePolls>,
    /// Per CPU and vector.
    pub cpus: Vec<CpuVector>,
    /// Threads that poll in place of softirqs, the longest wait first.
    pub threads: Vec<NapiThread>,
    /// Runs stopped by netdev_budget or netdev_budget_usecs.
    pub squeezes: Squeezes,
    /// The CPU that did nothing but receive, where there is one.
    pub saturated: Option<Saturated>,
    /// NET_RX runs whose threads were switched out, where there are any.
    pub preempted: Option<Preempted>,
}

/// Asks.
pub fn answer(facts: &Facts) -> Outcome<Napi> {
    if facts.polls.is_empty() && facts.softirqs.is_empty() {
        return Outcome::Unknown(reasons(facts, "polls", "no NAPI poll and no softirq was recorded"));
    }
    let (devices, cpus) = rayon::join(|| devices(facts), || cpus(facts));
    Outcome::Findings(Napi {
        saturated: saturated::saturated(facts, &cpus),
        preempted: preempted::preempted(&facts.softirqs),
        devices,
        cpus,
        threads: threads(facts),
        squeezes: squeezes(facts),
    })
}

fn squeezes(facts: &Facts) -> Squeezes {
    let runs = || facts.softirqs.iter().filter(|s| s.vec == NET_RX);
    let inferred = runs().filter(|s| s.squeezed == Some(true)).count() as u64;
    let not_known = runs().filter(|s| s.squeezed.is_none()).count() as u64;
    let counted = facts.softnet;
    let of = format!("{} NET_RX runs", runs().count());
    let doubt = match not_known {
        0 => String::new(),
        n => format!(" ({n} not known)"),
    };
    let kernel = match counted.squeezed {
        Some(n) => format!("the kernel counted {n} from before to after the recording"),
        None => "the kernel's count was not recorded".into(),
    };
    let limits = if counted.limits_recorded { "recorded" } else { "default" };
    let sentence = format!(
        "{inferred} of {of} were stopped by their limits{doubt}; {kernel}; {limits} limits: {} packets, {} us.",
        counted.budget,
        counted.time_ns / 1_000
    );
    Squeezes {
        inferred,
        not_known,
        counted,
        sentence,
    }
}

fn threads(facts: &Facts) -> Vec<NapiThread> {
    type Acc = (u64, Vec<i64>, BTreeMap<Name, i64>, Longest);
    let mut by: BTreeMap<(Name, Name, i32), Acc> = BTreeMap::new();
    let polls = facts.polls.iter().enumerate();
    for (at, poll, thread) in polls.filter_map(|(at, p)| Some((at, p, p.threaded.as_ref()?))) {
        let (polls, waits, behind, longest) = by.entry((poll.dev, thread.task, thread.pid)).or_default();
        *polls += 1;
        if let Some(ns) = thread.wait_ns {
            waits.push(ns);
            longest.see(ns, at);
            let sum = behind.entry(thread.behind).or_default();
            *sum = sum.saturating_add(ns);
        }
    }
    let mut out: Vec<NapiThread> = vec![];
    for ((dev, task, pid), (polls, waits, behind, longest)) in by {
        let whole = waits.iter().sum::<i64>().max(1) as f64;
        let known = behind.into_iter().filter(|(who, ns)| !who.is_empty() && *ns > 0);
        let mut behind: Vec<(String, f64)> = known
            .map(|(who, ns)| (who.text().into_owned(), ns as f64 / whole))
            .collect();
        behind.sort_by(|a, b| b.1.total_cmp(&a.1));
        let unknown = polls - waits.len() as u64;
        out.push(NapiThread {
            dev: dev.text().into_owned(),
            task: format!("{}/{pid}", task.text()),
            polls,
            wait: Distribution::of(waits, unknown),
            worst: longest.id(Kind::Poll),
            behind,
        });
    }
    out.sort_by_key(|t| std::cmp::Reverse(t.wait.max_ns));
    out
}

/// The first of the longest, and its place.
#[derive(Default)]
struct Longest(Option<(i64, usize)>);

impl Longest {
    fn see(&mut self, ns: i64, at: usize) {
        if self.0.is_none_or(|(most, _)| ns > most) {
            self.0 = Some((ns, at));
        }
    }
    fn id(&self, kind: Kind) -> Option<Id> {
        self.0.and_then(|(_, at)| Id::at(kind, at))
    }
}

/// The device's figures, polls by work, durations, the longest.
type Acc = (DevicePolls, BTreeMap<i32, u64>, Vec<i64>, Longest);

fn devices(facts: &Facts) -> Vec<DevicePolls> {
    let mut by: BTreeMap<Name, Acc> = BTreeMap::new();
    for (at, p) in facts.polls.iter().enumerate() {
        let (d, work, durations, longest) = by.entry(p.dev).or_insert_with(|| {
            let empty = DevicePolls {
                dev: p.dev.text().into_owned(),
                polls: 0,
                packets: 0,
                exhausted: 0,
                without_work: 0,
                work: vec![],
                duration: Distribution::default(),
                longest: None,
            };
            (empty, BTreeMap::new(), vec![], Longest::default())
        });
        d.polls += 1;
        if let Some(w) = p.work {
            d.packets += u64::try_from(w).unwrap_or(0);
            d.without_work += u64::from(w == 0);
            d.exhausted += u64::from(p.budget.is_some_and(|b| w >= b));
            *work.entry(w).or_insert(0) += 1;
        }
        if let Some(ns) = p.start_ns.map(|s| p.end_ns - s) {
            durations.push(ns);
            longest.see(ns, at);
        } else {
            longest.see(i64::MIN.saturating_add(p.work.unwrap_or(0).into()), at);
        }
    }
    let finish = |(mut d, work, durations, longest): Acc| {
        d.longest = longest.id(Kind::Poll);
        d.work = work.into_iter().collect();
        let unknown = d.polls - durations.len() as u64;
        d.duration = Distribution::of(durations, unknown);
        d
    };
    by.into_values().map(finish).collect()
}

fn cpus(facts: &Facts) -> Vec<CpuVector> {
    #[derive(Default)]
    struct Acc {
        runs: u64,
        run: Vec<i64>,
        wait: Vec<i64>,
        runners: BTreeMap<RunBy, u64>,
        waited_for: [i64; PARTS],
        longest_run: Longest,
        longest_wait: Longest,
    }
    let mut by: BTreeMap<(u16, u32), Acc> = BTreeMap::new();
    for (at, s) in facts.softirqs.iter().enumerate() {
        let a = by.entry((s.cpu, s.vec)).or_default();
        a.runs += 1;
        if let Some(ns) = s.ran_ns() {
            a.run.push(ns);
            a.longest_run.see(ns, at);
        }
        if let Some(ns) = s.raise_ns.map(|r| s.start_ns - r) {
            a.wait.push(ns);
            a.longest_wait.see(ns, at);
        }
        for (sum, ns) in a.waited_for.iter_mut().zip(s.wait.into_iter().flatten()) {
            *sum = sum.saturating_add(ns);
        }
        *a.runners.entry(s.run_by).or_insert(0) += 1;
    }
    let by: Vec<((u16, u32), Acc)> = by.into_iter().collect();
    by.into_par_iter()
        .map(|((cpu, vec), a)| {
            let (no_end, no_raise) = (a.runs - a.run.len() as u64, a.runs - a.wait.len() as u64);
            let run = Distribution::of(a.run, no_end);
            CpuVector {
                cpu,
                vector: VECTORS.get(vec as usize).copied().unwrap_or("?"),
                runs: a.runs,
                share: if facts.capture.duration_ns > 0 {
                    run.sum_ns as f64 / facts.capture.duration_ns as f64
                } else {
                    0.0
                },
                wait: Distribution::of(a.wait, no_raise),
                worst: (a.longest_wait.id(Kind::Softirq)).or(a.longest_run.id(Kind::Softirq)),
                run,
                runners: a.runners.into_iter().map(|(by, n)| (by.word(), n)).collect(),
                waited_for: waited_for(a.waited_for),
            }
        })
        .collect()
}

/// The parts that had any time.
fn waited_for(ns: [i64; PARTS]) -> BTreeMap<&'static str, i64> {
    let parts = Part::ALL.into_iter().map(Part::word).zip(ns);
    parts.filter(|(_, ns)| *ns != 0).collect()
}
