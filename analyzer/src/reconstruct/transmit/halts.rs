//! When a socket could not send on: the peer's receive window was full, its segments were lost, or its send buffer was full.
//!
//! In: pieces in which the write queue was held, waits of its writers for room, its rows. Out: [`Halt`]s of a socket, ascending, those of one cause
//! apart from each other. Kept of a cause that had [`LEAST_NS`] in all: who asks here asks what held up others.

use super::held::Piece;
use super::stages::Stage;
use super::tables::TxRow;

/// Least time of a cause, ns.
pub(super) const LEAST_NS: i64 = 50_000_000;

/// A time in which a socket could not send on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Halt {
    /// [`Stage::Rwnd`], [`Stage::Recovery`] or [`Stage::Sndbuf`].
    pub by: Stage,
    /// Begin.
    pub from: i64,
    /// End.
    pub to: i64,
}

/// Those of a socket.
pub(super) fn halts<'r>(
    pieces: &[Piece],
    rooms: &[(i64, i64)],
    rows: impl Iterator<Item = &'r TxRow> + Clone,
) -> Vec<Halt> {
    let after = |from: i64, ns: i64| (from, from.saturating_add(ns));
    let lost = rows
        .clone()
        .filter_map(|r| Some(after(r.t_sched_ns, r.stage(Stage::Recovery)?)));
    let full = rows.filter_map(|r| Some(after(r.start_ns, r.stage(Stage::Sndbuf)?)));
    let window = pieces.iter().filter(|p| p.stage == Stage::Rwnd).map(|p| (p.from, p.to));
    let mut out = merged(Stage::Rwnd, window.collect());
    out.extend(merged(Stage::Recovery, lost.collect()));
    out.extend(merged(Stage::Sndbuf, full.chain(rooms.iter().copied()).collect()));
    out
}

fn merged(by: Stage, mut all: Vec<(i64, i64)>) -> Vec<Halt> {
    all.retain(|(from, to)| to > from);
    all.sort_unstable();
    let mut out: Vec<Halt> = vec![];
    for (from, to) in all {
        match out.last_mut().filter(|last| from <= last.to) {
            Some(last) => last.to = last.to.max(to),
            None => out.push(Halt { by, from, to }),
        }
    }
    let ns = out
        .iter()
        .fold(0i64, |sum, h| sum.saturating_add(h.to.saturating_sub(h.from)));
    match ns >= LEAST_NS {
        true => out,
        false => vec![],
    }
}

#[cfg(test)]
mod tests;
