//! What a CPU did between two neighbouring events of it: told by the context flags of the first, and where these leave it
//! open (an interrupt just ended), by those of the second.

use super::Cpu;
use crate::ingest::Event;
use crate::name::Name;

/// `TRACE_FLAG_BH_OFF`: bottom halves are off (a lock with `_bh`, `local_bh_disable`). On kernels before about 6.2 never set.
pub const BH_OFF: u8 = 0x80;
/// `TRACE_FLAG_SOFTIRQ`: a softirq runs, perhaps interrupted.
pub const SOFTIRQ: u8 = 0x10;

/// An event as far as its context goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Point {
    /// When.
    pub ts: i64,
    /// `common_flags`.
    pub flags: u8,
    /// Running thread; behind a `sched_switch` the next one.
    pub pid: i32,
    /// What it begins or ends.
    pub edge: Edge,
}

/// Events that change the context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Edge {
    /// None.
    #[default]
    Inside,
    /// `irq_handler_exit`.
    IrqExit,
    /// `softirq_raise` of a vector.
    Raise(u32),
    /// `softirq_entry`.
    SoftirqEntry,
    /// `softirq_exit`.
    SoftirqExit,
    /// `sched_switch`.
    Switch,
}

impl Point {
    /// Of an event that is no edge.
    pub fn inside(e: &Event<'_>) -> Point {
        Point {
            ts: e.ts,
            flags: e.flags,
            pid: e.pid,
            edge: Edge::Inside,
        }
    }
    /// Inside a hard interrupt.
    pub fn in_hardirq(&self) -> bool {
        self.flags & 0x08 != 0
    }
}

/// Longer is no interrupt of which nothing but its first and last event is known: a tick comes every millisecond at most.
const INTERRUPT_NS: i64 = 500_000;

/// What a CPU was doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doing {
    /// A hard interrupt; without a name where it has no handler event (timer, IPI).
    Irq(Name),
    /// A softirq vector; `None` when its entry was not seen.
    Softirq(Option<u32>),
    /// A thread with bottom halves off.
    BhOff(i32),
    /// A thread.
    Task(i32),
    /// Nothing.
    Idle,
    /// An NMI: not told from what it interrupted.
    Unknown,
}

/// What `cpu`, in the state it has behind `from`, did until its next event `to`.
pub fn between(cpu: &Cpu, from: &Point, to: &Point) -> Doing {
    let task = |pid: i32| if pid == 0 { Doing::Idle } else { Doing::Task(pid) };
    if from.edge == Edge::Switch {
        return task(from.pid);
    }
    if from.edge == Edge::SoftirqExit {
        // Between two vectors of one loop of handle_softirqs, or on the way out of it: no vector's.
        let loops = to.edge == Edge::SoftirqEntry || to.flags & SOFTIRQ != 0;
        return if loops { Doing::Softirq(None) } else { task(from.pid) };
    }
    if from.flags & 0x40 != 0 {
        return Doing::Unknown;
    }
    if from.in_hardirq() {
        if let Some(irq) = cpu.in_irq() {
            return Doing::Irq(irq.name);
        }
        // Its handler has returned, or it has none whose end is traced: it may end any time behind this event. What it
        // interrupted counts, unless the next event shows that the interrupt went on or ran the softirq itself.
        // (Two of them a tick apart are two.)
        let goes_on = from.edge != Edge::IrqExit && to.in_hardirq() && to.ts.wrapping_sub(from.ts) < INTERRUPT_NS;
        // One that comes while handle_softirqs is between two vectors shows a softirq, but interrupted none.
        let in_softirq = from.flags & SOFTIRQ != 0 && cpu.run.is_some();
        let ran_it = to.edge == Edge::SoftirqEntry && from.flags & BH_OFF == 0 && !in_softirq;
        if goes_on || ran_it {
            return Doing::Irq(
                cpu.last_irq()
                    .filter(|_| from.edge == Edge::IrqExit)
                    .unwrap_or_default(),
            );
        }
    }
    match from.flags {
        f if f & SOFTIRQ != 0 => Doing::Softirq(cpu.run.map(|r| r.vec)),
        f if f & BH_OFF != 0 => Doing::BhOff(from.pid),
        _ => task(from.pid),
    }
}
