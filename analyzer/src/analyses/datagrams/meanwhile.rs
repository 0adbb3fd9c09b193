//! What a process did not do while threads of it waited for answers by UDP in vain: it opened no connections, as where their names wait for the very threads that resolve them.
//!
//! Needs `opens`, the threads of processes (a list of tasks).

use super::TurnRow;
use crate::facts::Facts;
use crate::name::Name;

/// Fewest openings of the process, shortest pause that is told, ns, and how many times the usual one it is.
const OPENINGS: usize = 20;
const LEAST_NS: i64 = 500_000_000;
const TIMES: i64 = 10;
/// Share of the pause in which its threads waited.
const MOSTLY: f64 = 0.8;

/// A pause between openings.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Pause {
    /// How long.
    pub ns: i64,
    /// How long they are otherwise, median.
    pub usual_ns: i64,
}

/// The longest pause of the process, where its threads waited in these turns then.
pub(super) fn pause(facts: &Facts, turns: &[&TurnRow]) -> Option<Pause> {
    let first = turns.first()?;
    let of = |pid: i32| facts.processes.get(&pid).map(|p| p.0);
    let process = of(first.pid);
    let own = |pid: i32, task: Name| match process {
        Some(process) => of(pid) == Some(process),
        None => pid != 0 && task == first.task,
    };
    let opens = facts.opens.iter().filter(|o| own(o.pid, o.task));
    let starts: Vec<i64> = opens.map(|o| o.start_ns).collect();
    if starts.len() < OPENINGS || !starts.is_sorted() {
        return None;
    }
    let mut pauses: Vec<(i64, i64)> = starts
        .windows(2)
        .filter_map(|w| Some((w.get(1)? - w.first()?, *w.first()?)))
        .collect();
    pauses.sort_unstable();
    let (usual_ns, _) = *pauses.get(pauses.len() / 2)?;
    let (ns, from) = *pauses.last()?;
    let to = from.saturating_add(ns);
    let mut waits: Vec<(i64, i64)> = turns.iter().map(|t| (t.start_ns.max(from), t.end_ns.min(to))).collect();
    waits.sort_unstable();
    // Each moment once.
    let (mut waited, mut at) = (0i64, from);
    for (begin, end) in waits {
        waited = waited.saturating_add(end.saturating_sub(begin.max(at)).max(0));
        at = at.max(end);
    }
    let long = ns >= LEAST_NS && ns / TIMES >= usual_ns;
    (long && waited as f64 >= MOSTLY * ns as f64).then_some(Pause { ns, usual_ns })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reconstruct::opens::tables::OpenRow;

    const MS: i64 = 1_000_000;

    /// A connection each 40 ms by thread 1, none from 400 ms to 4.4 s; thread 2 of its process waits from 390 ms on.
    #[test]
    fn a_process_that_opens_nothing_while_its_thread_waits_pauses() {
        let said = |wait: (i64, i64), processes: &[(i32, i32)], n: i64| {
            let mut f = Facts::empty();
            f.processes = processes.iter().map(|(t, p)| (*t, (*p, Name::new(b"node")))).collect();
            let starts = (0..n).map(|i| if i <= 10 { i * 40 } else { 4_000 + i * 40 });
            f.opens = starts.map(|ms| open(ms * MS)).collect();
            let mut t = TurnRow::begin(0, 2, 0);
            t.task = Name::new(b"node");
            (t.start_ns, t.end_ns) = (wait.0 * MS, wait.1 * MS);
            pause(&f, &[&t]).map(|p| (p.ns / MS, p.usual_ns / MS))
        };
        let own = [(1, 1), (2, 1)];
        assert_eq!(said((390, 4_400), &own, 40), Some((4_040, 40)));
        // It waited for a part of it only; another process; too few.
        assert_eq!(said((390, 2_400), &own, 40), None);
        assert_eq!(said((390, 4_400), &[(1, 1), (2, 2)], 40), None);
        assert_eq!(said((390, 4_400), &own, 19), None);
    }

    fn open(start_ns: i64) -> OpenRow {
        OpenRow {
            connection: None,
            from: None,
            to: None,
            pid: 1,
            task: Name::new(b"node"),
            start_ns,
            end_ns: start_ns,
            end: crate::reconstruct::opens::tables::OpenEnd::Established,
            error: None,
            message: false,
            syns_again: None,
            confidence: crate::Confidence::Certain,
        }
    }
}
