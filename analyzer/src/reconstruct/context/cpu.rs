//! State of one CPU.

use crate::ingest::Event;
use crate::name::Name;

/// The hard interrupt in which a raise happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IrqOrigin {
    /// Handler's name.
    pub name: Name,
    /// `irq_handler_entry`.
    pub entry_ns: i64,
}

/// A `softirq_raise` that a later run answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Raise {
    /// When.
    pub ts: i64,
    /// In hard-interrupt context (also one without `irq_handler_entry`: timer, IPI).
    pub in_hardirq: bool,
    /// The handler, when it has an entry event.
    pub irq: Option<IrqOrigin>,
}

/// A softirq run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    /// Vector.
    pub vec: u32,
    /// `softirq_entry`.
    pub start: i64,
    /// Thread that ran or was interrupted.
    pub pid: i32,
    /// First raise since the previous run of the vector began.
    pub raise: Option<Raise>,
    /// Polls ended in it.
    pub polls: u32,
    /// End of the last poll in it.
    pub last_poll: Option<i64>,
    /// ns of hard interrupts inside it.
    pub irq_ns: i64,
}

/// One CPU.
#[derive(Debug, Clone, Default)]
pub struct Cpu {
    irqs: Vec<IrqOrigin>,
    last_irq: Option<Name>,
    raises: [Option<Raise>; 16],
    /// Bit per vector: events were lost since its last run began, so a raise seen now need not be the first.
    unsure: u16,
    /// Current run.
    pub run: Option<Run>,
}

impl Cpu {
    /// `irq_handler_entry`.
    pub fn irq_entry(&mut self, e: &Event<'_>, name: &[u8]) {
        // An exit lost to a gap must not let the stack grow: interrupts nest a few deep at most.
        if self.irqs.len() >= 8 {
            self.irqs.clear();
        }
        self.irqs.push(IrqOrigin {
            name: Name::new(name),
            entry_ns: e.ts,
        });
    }
    /// `irq_handler_exit`.
    pub fn irq_exit(&mut self, e: &Event<'_>) {
        let Some(irq) = self.irqs.pop() else { return };
        self.last_irq = Some(irq.name);
        if let Some(run) = &mut self.run
            && self.irqs.is_empty()
        {
            run.irq_ns = run.irq_ns.saturating_add(e.ts - irq.entry_ns.max(run.start));
        }
    }
    /// The innermost hard interrupt whose handler runs.
    pub fn in_irq(&self) -> Option<IrqOrigin> {
        self.irqs.last().copied()
    }
    /// Name of the handler that returned last.
    pub fn last_irq(&self) -> Option<Name> {
        self.last_irq
    }
    /// Whether a raise of the vector has been seen that no run has answered.
    pub fn is_raised(&self, vec: u32) -> bool {
        matches!(self.raises.get(vec as usize), Some(Some(_)))
    }
    /// `softirq_raise`.
    pub fn raise(&mut self, e: &Event<'_>, vec: u32) {
        if let Some(slot @ None) = self.raises.get_mut(vec as usize) {
            let irq = if e.in_hardirq() {
                self.irqs.last().copied()
            } else {
                None
            };
            *slot = Some(Raise {
                ts: e.ts,
                in_hardirq: e.in_hardirq(),
                irq,
            });
        }
    }
    /// `softirq_entry`; returns a run whose exit was not seen.
    pub fn softirq_entry(&mut self, e: &Event<'_>, vec: u32) -> Option<Run> {
        let raise = self.raises.get_mut(vec as usize).and_then(Option::take);
        let bit = 1u16.checked_shl(vec).unwrap_or(0);
        let raise = raise.filter(|_| self.unsure & bit == 0);
        self.unsure &= !bit;
        self.run.replace(Run {
            vec,
            start: e.ts,
            pid: e.pid,
            raise,
            polls: 0,
            last_poll: None,
            irq_ns: 0,
        })
    }
    /// `softirq_exit`; returns the run when its entry was seen.
    pub fn softirq_exit(&mut self, vec: u32) -> Option<Run> {
        self.run.take().filter(|r| r.vec == vec)
    }
    /// `napi_poll`: (start, position) of the poll that just ended, when it lies in a seen run.
    pub fn poll_end(&mut self, e: &Event<'_>) -> Option<(i64, u32)> {
        let run = self.run.as_mut()?;
        let out = (run.last_poll.unwrap_or(run.start), run.polls);
        run.last_poll = Some(e.ts);
        run.polls = run.polls.saturating_add(1);
        Some(out)
    }
    /// Events of this CPU were lost.
    pub fn forget(&mut self) {
        *self = Cpu {
            unsure: u16::MAX,
            ..Cpu::default()
        };
    }
}

/// All CPUs.
#[derive(Debug, Default)]
pub struct Cpus(Vec<Cpu>);

impl Cpus {
    /// The state of a CPU.
    #[inline]
    pub fn at(&mut self, cpu: u16) -> &mut Cpu {
        let at = usize::from(cpu);
        if self.0.len() <= at {
            self.0.resize_with(at + 1, Cpu::default);
        }
        // The resize above made the place; clippy's indexing rule is for input-driven code, this is not.
        &mut self.0[at]
    }
    /// Whether the softirq run that a CPU is in began then.
    pub fn in_run(&self, cpu: u16, start: Option<i64>) -> bool {
        let now = self.0.get(usize::from(cpu)).and_then(|c| c.run).map(|r| r.start);
        start.is_some() && now == start
    }
}
