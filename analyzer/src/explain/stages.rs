//! Where on the time line the waits of a ledger's row lie. The rows keep durations; their ends are put back here.
//!
//! A row is cut where its own columns and events say (`netif_receive_skb`, readable, the read; queued, the last sending, the
//! ACK). Waits between two cuts that come one after the other and fill the whole piece have exact ends. Waits that take
//! turns (a reader that slept and ran, windows that filled and opened), and waits of a piece in which some time is in no
//! stage, are told with the piece they lie in: `exact` is false then, and `ns` is still exact.

use crate::reconstruct::application::tables::TurnaroundRow;
use crate::reconstruct::receive::tables::{RxEnd, RxRow, Stage as Rx};
use crate::reconstruct::transmit::Stage as Tx;
use crate::reconstruct::transmit::tables::{TxEnd, TxRow};
use crate::reconstruct::xmits::Pass;

/// A wait of a row.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Step {
    /// Stage name, or `unattributed`.
    pub stage: &'static str,
    /// What passes in it.
    pub meaning: &'static str,
    /// ns.
    pub ns: i64,
    /// Begin, trace clock.
    pub from_ns: i64,
    /// End, trace clock.
    pub to_ns: i64,
    /// True: it is all of the time from `from_ns` to `to_ns`. False: it lies between them, in one piece or several.
    pub exact: bool,
}

/// A piece of a row: from, to, whether its stages come one after the other, and these.
struct Piece {
    from: i64,
    to: i64,
    ordered: bool,
    stages: Vec<(&'static str, &'static str, i64)>,
}

const REST: &str = "unexplained: no event covers it";

impl Piece {
    fn sum(&self) -> i64 {
        self.stages.iter().fold(0i64, |sum, s| sum.wrapping_add(s.2))
    }
    fn fits(&self) -> bool {
        let room = self.to.checked_sub(self.from).filter(|r| *r >= 0);
        self.stages.iter().all(|s| s.2 >= 0) && room.is_some_and(|r| self.sum() <= r)
    }
    fn steps(self, out: &mut Vec<Step>) {
        let rest = self.to.wrapping_sub(self.from).wrapping_sub(self.sum());
        let told = self.stages.iter().filter(|s| s.2 != 0).count();
        let whole = rest == 0 && (self.ordered || told <= 1);
        let mut at = self.from;
        for (stage, meaning, ns) in self.stages {
            let (from_ns, to_ns) = match whole {
                true => (at, at.wrapping_add(ns)),
                false => (self.from, self.to),
            };
            at = at.wrapping_add(ns);
            out.push(Step {
                stage,
                meaning,
                ns,
                from_ns,
                to_ns,
                exact: whole,
            });
        }
        if rest != 0 {
            out.push(Step {
                stage: "unattributed",
                meaning: REST,
                ns: rest,
                from_ns: self.from,
                to_ns: self.to,
                exact: told == 0,
            });
        }
    }
}

/// Steps of the pieces; when one does not hold its stages (clock error, damage), of the whole row in one.
fn lay(pieces: Vec<Piece>, (start, end): (i64, i64)) -> Vec<Step> {
    let mut out = vec![];
    if pieces.iter().all(Piece::fits) {
        pieces.into_iter().for_each(|p| p.steps(&mut out));
    } else {
        let stages = pieces.into_iter().flat_map(|p| p.stages).collect();
        let one = Piece {
            from: start,
            to: end,
            ordered: false,
            stages,
        };
        one.steps(&mut out);
    }
    out
}

/// Steps of a received unit. `received`: its `netif_receive_skb`, when seen. They sum to `total_ns`.
pub fn receive(r: &RxRow, received: Option<i64>) -> Vec<Step> {
    let end = r.start_ns.wrapping_add(r.total_ns);
    let of = |all: &[Rx]| {
        let known = all.iter().filter_map(|s| Some((s.name(), s.meaning(), r.stage(*s)?)));
        known.collect::<Vec<_>>()
    };
    let piece = |from, to, ordered, all: &[Rx]| Piece {
        from,
        to,
        ordered,
        stages: of(all),
    };
    let arrival = [Rx::Irq, Rx::SoftirqWait, Rx::Rps, Rx::PollWait, Rx::Gro];
    let protocol = [Rx::BatchWait, Rx::Protocol, Rx::Backlog, Rx::OutOfOrder, Rx::Ready];
    let reader = [
        Rx::ReaderAsleep,
        Rx::Wakeup,
        Rx::IdleExit,
        Rx::RunQueue,
        Rx::ReaderRunning,
    ];
    let known = |s: Rx| r.stage(s).unwrap_or(0);
    let read = r.end == RxEnd::Read;
    let taken = match read {
        true => end.wrapping_sub(known(Rx::Copy)).wrapping_sub(known(Rx::Return)),
        false => end,
    };
    let queued = match (read, r.rcvq_ns) {
        (true, Some(ns)) => taken.wrapping_sub(ns),
        _ => taken,
    };
    let mut pieces = vec![];
    // Steered packets pass GRO before they wait; theirs is not the order of the columns.
    let ordered = r.stage(Rx::Rps).is_none() || r.stage(Rx::Gro).is_none();
    // A backlogged packet waits for the softirq and then for the poll; GRO of loopback comes in neither.
    match received.filter(|t| (r.start_ns..=queued).contains(t)) {
        Some(t) => {
            let mut before = piece(r.start_ns, t, ordered, &arrival);
            let mut behind = piece(t, queued, true, &protocol);
            if let Some(ns) = r.stage(Rx::Preempted) {
                // Of either: as much of it lay before as the stages there leave open.
                let open = before
                    .stages
                    .iter()
                    .fold(t.wrapping_sub(r.start_ns), |ns, s| ns.wrapping_sub(s.2));
                let first = ns.min(open.max(0));
                for (of, ns) in [(&mut before, first), (&mut behind, ns.wrapping_sub(first))] {
                    if ns != 0 {
                        of.stages.push((Rx::Preempted.name(), Rx::Preempted.meaning(), ns));
                    }
                }
            }
            pieces.push(before);
            pieces.push(behind);
        }
        None => {
            let both = arrival.into_iter().chain([Rx::Preempted]).chain(protocol);
            pieces.push(piece(r.start_ns, queued, ordered, &both.collect::<Vec<Rx>>()));
        }
    }
    if read {
        pieces.push(piece(queued, taken, false, &reader));
        pieces.push(piece(taken, end, true, &[Rx::Copy, Rx::Return]));
    }
    lay(pieces, (r.start_ns, end))
}

/// Steps of a sent segment; they sum to `total_ns`.
pub fn transmit(r: &TxRow) -> Vec<Step> {
    let end = r.start_ns.wrapping_add(r.total_ns);
    let sender = [
        Tx::Sndbuf,
        Tx::Send,
        Tx::Rwnd,
        Tx::Cwnd,
        Tx::Nagle,
        Tx::Tsq,
        Tx::Refused,
        Tx::Neighbour,
    ];
    let pacing = [Tx::Pacing, Tx::PacingSlip];
    let device = [Tx::Qdisc, Tx::Bql, Tx::Ring, Tx::Driver];
    let of = |all: &[Tx]| {
        let known = all.iter().filter_map(|s| Some((s.name(), s.meaning(), r.stage(*s)?)));
        known.collect::<Vec<_>>()
    };
    let known = |s: Tx| r.stage(s).unwrap_or(0);
    let last_queue = r.t_sched_ns.wrapping_add(known(Tx::Recovery));
    let done = match r.end {
        TxEnd::Acked | TxEnd::Completed => end.wrapping_sub(known(Tx::Network)).wrapping_sub(known(Tx::Completion)),
        _ => end,
    };
    let arrange = |before: bool| {
        let (mut first, mut then) = (of(&sender), of(&device));
        let paced = of(&pacing);
        // Pacing is TCP's, in the write queue, or that of fq, in the qdisc.
        if before {
            first.extend(paced);
        } else {
            then.splice(0..0, paced);
        }
        let piece = |from, to, ordered, stages| Piece {
            from,
            to,
            ordered,
            stages,
        };
        vec![
            piece(r.start_ns, r.t_sched_ns, false, first),
            piece(r.t_sched_ns, last_queue, true, of(&[Tx::Recovery])),
            // A queue that was stopped and went on takes turns with the qdisc.
            piece(
                last_queue,
                done,
                r.stage(Tx::Bql).or(r.stage(Tx::Ring)).is_none() && before,
                then,
            ),
            piece(done, end, true, of(&[Tx::Completion, Tx::Network])),
        ]
    };
    let pieces = arrange(true);
    let pieces = match pieces.iter().all(Piece::fits) {
        true => pieces,
        false => arrange(false),
    };
    lay(pieces, (r.start_ns, end))
}

/// Steps of a turnaround: what threads did, by turns; they sum to its whole.
pub fn states(r: &TurnaroundRow) -> Vec<Step> {
    let s = &r.split;
    let all = [
        ("running", "on a CPU", s.running_ns),
        ("run_queue", "runnable, the CPU running something else", s.run_queue_ns),
        (
            "wakeup",
            "woken, not runnable yet, or the CPU leaving idle",
            s.waking_ns.wrapping_add(s.idle_exit_ns),
        ),
        ("asleep", "asleep, or stopped by a signal or a tracer", s.asleep_ns),
        ("unknown", "what the thread did no event tells", s.unknown_ns),
    ];
    let piece = Piece {
        from: r.start_ns(),
        to: r.send_ns,
        ordered: false,
        stages: all.into_iter().filter(|s| s.2 != 0).collect(),
    };
    lay(vec![piece], (r.start_ns(), r.send_ns))
}

/// Steps of a pass over a device; they sum to its `total_ns`.
pub fn pass(p: &Pass) -> Vec<Step> {
    let first = p.queued_ns.or(p.started_ns).or(p.ended_ns).unwrap_or_default();
    let end = first.wrapping_add(p.total_ns);
    let piece = |from, to, all: &[(&'static str, &'static str, Option<i64>)]| Piece {
        from,
        to,
        ordered: true,
        stages: all
            .iter()
            .filter_map(|s| Some((s.0, s.1, s.2.filter(|ns| *ns != 0)?)))
            .collect(),
    };
    let queue = [
        ("qdisc", "in the qdisc while its queue was not stopped", p.qdisc_ns),
        (
            "bql",
            "in the qdisc while byte queue limits stopped the queue",
            p.bql_ns,
        ),
        ("ring", "in the qdisc while the driver's ring was full", p.ring_ns),
    ];
    let driver = [
        ("driver", "in the driver's transmit function", p.driver_ns),
        (
            "nested",
            "inside that, not its own: interrupts, other passes",
            p.nested_ns,
        ),
    ];
    let done = [(
        "completion",
        "the driver's return to its free of the skb",
        p.completion_ns,
    )];
    let started = p.started_ns.unwrap_or(end);
    let left = p.left_ns().unwrap_or(started).min(end).max(started);
    // Stops take turns with the queue, and what nests with the driver.
    let turns = |mut piece: Piece| {
        piece.ordered = false;
        piece
    };
    let pieces = vec![
        turns(piece(first, started, &queue)),
        turns(piece(started, left, &driver)),
        piece(left, end, &done),
    ];
    lay(pieces, (first, end))
}

/// Steps one behind the other: name, meaning, when each is over.
pub fn chain(start: i64, all: &[(&'static str, &'static str, i64)]) -> Vec<Step> {
    let mut from_ns = start;
    let step = |(stage, meaning, to_ns): &(&'static str, &'static str, i64)| {
        let from = std::mem::replace(&mut from_ns, *to_ns);
        Step {
            stage,
            meaning,
            ns: to_ns.wrapping_sub(from),
            from_ns: from,
            to_ns: *to_ns,
            exact: true,
        }
    };
    all.iter().map(step).collect()
}
