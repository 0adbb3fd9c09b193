//! What kept a softirq waiting: the time between its raise and its run, divided by what its CPU did meanwhile.

use super::doing::Doing;
use crate::name::Name;

/// The parts of a softirq's wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// Hard interrupts, the raising one included, with the way out of the last.
    Irq,
    /// Other vectors, or the run of the same vector that was not over yet.
    Softirq,
    /// A thread with bottom halves off.
    BhOff,
    /// Left to ksoftirqd: while that was runnable and something else ran, and from its start until the softirq's.
    Ksoftirqd,
    /// A thread of which no event shows that bottom halves were off.
    Task,
    /// The CPU was idle or leaving idle.
    Idle,
    /// Not told by the recording.
    Unknown,
}

/// Number of parts.
pub const PARTS: usize = 7;

impl Part {
    /// All, in order.
    pub const ALL: [Part; PARTS] = [
        Part::Irq,
        Part::Softirq,
        Part::BhOff,
        Part::Ksoftirqd,
        Part::Task,
        Part::Idle,
        Part::Unknown,
    ];
    /// The word in tables.
    pub fn word(self) -> &'static str {
        match self {
            Part::Irq => "irq",
            Part::Softirq => "softirq",
            Part::BhOff => "bh_off",
            Part::Ksoftirqd => "ksoftirqd",
            Part::Task => "task",
            Part::Idle => "idle",
            Part::Unknown => "unknown",
        }
    }
}

/// Who had the CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    /// An interrupt handler.
    Irq(Name),
    /// A vector.
    Vector(Option<u32>),
    /// A thread.
    Task(i32),
    /// Nobody.
    Nobody,
}

/// Culprits kept apart in one wait; the time of further ones counts, their names do not.
const CULPRITS: usize = 16;

/// A wait being divided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wait {
    /// ns per part, in the order of [`Part::ALL`].
    pub ns: [i64; PARTS],
    who: Vec<(Part, Who, i64)>,
}

impl Default for Wait {
    fn default() -> Self {
        Wait {
            ns: [0; PARTS],
            who: Vec::new(),
        }
    }
}

impl Wait {
    /// Adds `ns` of what the CPU did; `ksoftirqd` is the state of the CPU's own ksoftirqd thread.
    pub fn add(&mut self, doing: Doing, ns: i64, ksoftirqd: Ksoftirqd) {
        let (part, who) = match doing {
            Doing::Irq(name) => (Part::Irq, Who::Irq(name)),
            Doing::Softirq(vec) => (Part::Softirq, Who::Vector(vec)),
            Doing::BhOff(pid) => (Part::BhOff, Who::Task(pid)),
            Doing::Task(pid) if ksoftirqd.wants_cpu(pid) => (Part::Ksoftirqd, Who::Task(pid)),
            Doing::Idle if ksoftirqd.wants_cpu(0) => (Part::Ksoftirqd, Who::Nobody),
            Doing::Task(_) if ksoftirqd == Ksoftirqd::Unknown => (Part::Unknown, Who::Nobody),
            Doing::Task(pid) => (Part::Task, Who::Task(pid)),
            Doing::Idle => (Part::Idle, Who::Nobody),
            Doing::Unknown => (Part::Unknown, Who::Nobody),
        };
        if let Some(slot) = self.ns.get_mut(part as usize) {
            *slot = slot.wrapping_add(ns);
        }
        if let Some(w) = self.who.iter_mut().find(|w| (w.0, w.1) == (part, who)) {
            w.2 = w.2.wrapping_add(ns);
        } else if self.who.len() < CULPRITS {
            self.who.push((part, who, ns));
        }
    }
    /// The largest part, who had most of it, and its ns; `None` for a wait of nothing.
    pub fn top(&self) -> Option<(Part, Who, i64)> {
        let of = Part::ALL.into_iter().zip(self.ns).filter(|(_, ns)| *ns > 0);
        // The first of equals.
        let (part, ns) = of.rev().max_by_key(|(_, ns)| *ns)?;
        let who = self.who.iter().rev().filter(|w| w.0 == part).max_by_key(|w| w.2);
        Some((part, who.map_or(Who::Nobody, |w| w.1), ns))
    }
}

/// The CPU's ksoftirqd thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Ksoftirqd {
    /// Not woken, or not seen.
    #[default]
    Asleep,
    /// Events were lost, and nothing was seen of it since.
    Unknown,
    /// Woken or preempted; its thread id.
    Runnable(i32),
    /// On the CPU; its thread id.
    Running(i32),
}

impl Ksoftirqd {
    /// Whether a softirq pending while thread `running` has the CPU waits for ksoftirqd.
    fn wants_cpu(self, running: i32) -> bool {
        match self {
            Ksoftirqd::Asleep | Ksoftirqd::Unknown => false,
            Ksoftirqd::Runnable(_) => true,
            Ksoftirqd::Running(pid) => pid == running,
        }
    }
}
