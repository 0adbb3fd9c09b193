//! Who ran the work that a unit of the receive path met.

use super::tables::PollRow;
use crate::nearby::Nearby;
use crate::reconstruct::context::RunBy;
use crate::reconstruct::softirq::tables::SoftirqRow;

/// Softirq runs and polls, to be asked by CPU and time.
#[derive(Debug)]
pub struct Ran<'f> {
    /// By (start, CPU).
    softirqs: Nearby<'f, SoftirqRow>,
    polls: &'f [PollRow],
    /// Positions in `polls` by CPU, in order of end.
    of_cpu: Vec<Vec<u32>>,
}

impl<'f> Ran<'f> {
    /// Of rows as the trackers return them.
    pub fn new(softirqs: &'f [SoftirqRow], polls: &'f [PollRow]) -> Ran<'f> {
        let mut of_cpu: Vec<Vec<u32>> = Vec::new();
        for (i, p) in polls.iter().enumerate() {
            let cpu = usize::from(p.cpu);
            if of_cpu.len() <= cpu {
                of_cpu.resize_with(cpu + 1, Vec::new);
            }
            if let (Some(of), Ok(i)) = (of_cpu.get_mut(cpu), u32::try_from(i)) {
                of.push(i);
            }
        }
        Ran {
            softirqs: Nearby::of(softirqs),
            polls,
            of_cpu,
        }
    }
    /// The softirq run of a CPU that began at `start_ns`: its `run_by`, and its `blame` for the wait before it.
    pub fn softirq(&self, cpu: u16, start_ns: i64) -> Option<&'f SoftirqRow> {
        let run = self.softirqs.row(|r| (r.start_ns, r.cpu) < (start_ns, cpu));
        run.filter(|r| (r.start_ns, r.cpu) == (start_ns, cpu))
    }
    /// The poll in which a packet came up on a CPU at `ts`: the first to end behind it, or the one before when that had not
    /// flushed yet. `None` when no poll is known to have run then.
    pub fn poll(&self, cpu: u16, ts: i64) -> Option<&'f PollRow> {
        let of = self.of_cpu.get(usize::from(cpu))?;
        let row = |i: &u32| self.polls.get(*i as usize);
        let at = of.partition_point(|i| row(i).is_some_and(|p| p.end_ns < ts));
        let flushed = |p: &&PollRow| p.flush_end_ns.is_some_and(|end| ts <= end);
        let before = at.checked_sub(1).and_then(|i| row(of.get(i)?)).filter(flushed);
        before.or_else(|| row(of.get(at)?).filter(|p| p.start_ns.is_none_or(|s| s <= ts)))
    }
    /// Who ran a packet's reception: by its softirq run, else by the poll of a task.
    pub fn run_by(&self, cpu: u16, softirq: Option<i64>, ts: i64) -> RunBy {
        match softirq {
            Some(start) => self.softirq(cpu, start).map_or(RunBy::Unknown, |r| r.run_by),
            None => self
                .poll(cpu, ts)
                .filter(|p| p.start_ns.is_none())
                .map_or(RunBy::Unknown, |p| p.run_by),
        }
    }
}
