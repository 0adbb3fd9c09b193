//! How busy were the host's CPUs, and for how much of their time did the hypervisor not run them though they had work (steal)? In: `counters` and `counters_over_time` of /proc/stat.
//!
//! Method: the kernel divides each CPU's time into kinds, in ticks of 10 ms (`Documentation/filesystems/proc.rst`); the share of a kind is its rise among those of all
//! kinds. The snapshots enclose the recording, so start and end of the recorder are in it. No event tells of stolen time: a task, a softirq or a timer that waited for it
//! looks as if it had run, or slept. Limits: of a shorter time than a reading nothing is known; hosts that do not tell (emulation, some clouds) have none.

use std::collections::BTreeMap;

use crate::analyses::Outcome;
use crate::facts::{Facts, Reason};

#[cfg(test)]
mod tests;

/// Source of these counters.
const SOURCE: &str = "stat";
/// Ticks of a CPU from which a share is told: half a second.
const LEAST_TICKS: u64 = 50;
/// A tick (USER_HZ), ns.
const TICK_NS: i64 = 10_000_000;
/// Share of a CPU's time between two readings from which that is told.
const SPELL: f64 = 0.05;

/// Shares of a CPU's time.
#[derive(Debug, Clone, Copy, Default, PartialEq, serde::Serialize)]
pub struct Shares {
    /// In programs (`user` and `nice`, guests among it).
    pub user: f64,
    /// In the kernel.
    pub system: f64,
    /// In interrupts.
    pub irq: f64,
    /// In softirqs.
    pub softirq: f64,
    /// Idle while a task of this CPU waited for a disk.
    pub iowait: f64,
    /// Idle.
    pub idle: f64,
    /// Not run by the hypervisor, for other guests or a limit of this one, while the CPU had something to do.
    pub steal: f64,
}

impl Shares {
    /// What the CPU was at work.
    pub fn busy(&self) -> f64 {
        self.user + self.system + self.irq + self.softirq
    }
    fn of(ticks: &Ticks) -> Option<Shares> {
        let all = ticks.all();
        let share = |n: u64| n as f64 / all as f64;
        (all > 0).then(|| Shares {
            user: share(ticks.of("user_ticks").saturating_add(ticks.of("nice_ticks"))),
            system: share(ticks.of("system_ticks")),
            irq: share(ticks.of("irq_ticks")),
            softirq: share(ticks.of("softirq_ticks")),
            iowait: share(ticks.of("iowait_ticks")),
            idle: share(ticks.of("idle_ticks")),
            steal: share(ticks.of("steal_ticks")),
        })
    }
}

/// One CPU.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Cpu {
    /// Its number.
    pub cpu: u32,
    /// Ticks of 10 ms that were counted.
    pub ticks: u64,
    /// Of these.
    pub shares: Shares,
}

/// When most was stolen.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Stolen {
    /// The CPU.
    pub cpu: u32,
    /// The reading before, ns since the start of the recording.
    pub from_ns: i64,
    /// The reading after.
    pub to_ns: i64,
    /// Share of its time.
    pub share: f64,
}

/// The answer.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Cpus {
    /// Of all together.
    pub all: Shares,
    /// Each, by number.
    pub cpus: Vec<Cpu>,
    /// The time between two readings in which most was stolen of a CPU; `None`: in none a twentieth, or there are no readings.
    pub worst: Option<Stolen>,
}

impl Cpus {
    /// The one that most was stolen of.
    pub fn most_stolen(&self) -> Option<&Cpu> {
        self.cpus
            .iter()
            .max_by(|a, b| a.shares.steal.total_cmp(&b.shares.steal))
    }
    /// The busiest.
    pub fn busiest(&self) -> Option<&Cpu> {
        self.cpus
            .iter()
            .max_by(|a, b| a.shares.busy().total_cmp(&b.shares.busy()))
    }
}

/// Rises by kind.
#[derive(Debug, Default)]
struct Ticks(BTreeMap<String, u64>);

impl Ticks {
    fn add(&mut self, kind: &str, rise: u64) {
        let of = self.0.entry(kind.to_owned()).or_default();
        *of = of.saturating_add(rise);
    }
    fn of(&self, kind: &str) -> u64 {
        self.0.get(kind).copied().unwrap_or(0)
    }
    fn all(&self) -> u64 {
        self.0.values().fold(0, |sum, n| sum.saturating_add(*n))
    }
}

fn number(of: &str) -> Option<u32> {
    of.strip_prefix("CPU ")?.parse().ok()
}

/// Asks.
pub fn answer(facts: &Facts) -> Outcome<Cpus> {
    let mut by: BTreeMap<u32, Option<Ticks>> = BTreeMap::new();
    for row in facts.counters.iter().filter(|r| r.source == SOURCE) {
        let Some(cpu) = number(&row.of) else { continue };
        let of = by.entry(cpu).or_insert_with(|| Some(Ticks::default()));
        // Where a kind fell (`idle` and `iowait` are estimates), or the CPU came or went, nothing is known of it.
        match (of.as_mut(), row.rise()) {
            (Some(ticks), Some(rise)) => ticks.add(&row.name, rise),
            _ => *of = None,
        }
    }
    let by: BTreeMap<u32, Ticks> = by
        .into_iter()
        .filter_map(|(cpu, ticks)| Some((cpu, ticks.filter(|t| t.all() >= LEAST_TICKS)?)))
        .collect();
    let mut all = Ticks::default();
    for (kind, rise) in by.values().flat_map(|t| &t.0) {
        all.add(kind, *rise);
    }
    let of = |(cpu, ticks): (&u32, &Ticks)| {
        Some(Cpu {
            cpu: *cpu,
            ticks: ticks.all(),
            shares: Shares::of(ticks)?,
        })
    };
    match Shares::of(&all) {
        Some(all) => Outcome::Findings(Cpus {
            all,
            cpus: by.iter().filter_map(of).collect(),
            worst: worst(facts),
        }),
        None => Outcome::Unknown(vec![Reason {
            subject: "cpus",
            because: "the recording has no /proc/stat from before and after it: only a bundle has, and only when it was not cut off".into(),
        }]),
    }
}

fn worst(facts: &Facts) -> Option<Stolen> {
    let start = facts.capture.start_ns?;
    let mut by: BTreeMap<(u32, i64, i64), Option<Ticks>> = BTreeMap::new();
    for row in facts
        .counters_over_time
        .rows
        .iter()
        .filter(|r| r.counter.source == SOURCE)
    {
        let at = || Some((number(&row.counter.of)?, row.from_ns?, row.to_ns?));
        let Some(key) = at() else { continue };
        let of = by.entry(key).or_insert_with(|| Some(Ticks::default()));
        match (of.as_mut(), row.rise.filter(|_| row.whole)) {
            (Some(ticks), Some(rise)) => ticks.add(&row.counter.name, rise),
            _ => *of = None,
        }
    }
    // Where a kind is told for another time, as of readings that were joined, these are not all.
    let told = by
        .into_iter()
        .filter_map(|(key, ticks)| Some((key, ticks?)))
        .filter(|((_, from, to), t)| {
            let time = to.saturating_sub(*from) / TICK_NS;
            t.all() >= LEAST_TICKS
                && i64::try_from(t.all()).is_ok_and(|n| n.saturating_mul(5) >= time.saturating_mul(4))
        });
    let stolen = told.filter_map(|((cpu, from, to), ticks)| {
        Some(Stolen {
            cpu,
            from_ns: from.saturating_sub(start),
            to_ns: to.saturating_sub(start),
            share: Shares::of(&ticks)?.steal,
        })
    });
    stolen
        .filter(|s| s.share >= SPELL)
        .max_by(|a, b| a.share.total_cmp(&b.share).then(b.from_ns.cmp(&a.from_ns)))
}
