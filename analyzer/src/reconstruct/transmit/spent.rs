//! Each moment of a socket's sending, once, under what held it then: shares of a connection's time that sum to at most all of it.
//!
//! In: pieces in which the write queue was held (they do not overlap), waits of its writers for room, and its rows. Out: [`Spent`].
//! Where several hold at a time the first of this order has the moment, and the rest is the network's and the peer's:
//!
//! ```text
//! pacing (windows open) > recovery > rwnd, cwnd, nagle, tsq > sndbuf (nothing of these) > ring, bql, qdisc > under way
//! ```
//! Recovery is before the windows, for it is what fills them. Writers that wait while the write queue is held are held by what
//! holds the queue; as in the kernel (`tcp_cwnd_validate`) the send buffer is to blame only when nothing was left to send.

use super::held::Piece;
use super::stages::{STAGES, Stage};
use super::tables::TxRow;

/// Waits of a device, before it has the packet.
const DEVICE: [Stage; 3] = [Stage::Ring, Stage::Bql, Stage::Qdisc];
/// Waits of a write queue besides pacing.
const QUEUE: [Stage; 5] = [Stage::Refused, Stage::Rwnd, Stage::Cwnd, Stage::Nagle, Stage::Tsq];

/// ns by what held a socket, each moment once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Spent {
    by: [i64; STAGES],
    /// Something waited or was not acknowledged, ns.
    pub busy_ns: i64,
}

impl Spent {
    /// These waits, and the time in which the socket was busy, ns.
    pub fn told(waits: &[(Stage, i64)], busy_ns: i64) -> Spent {
        let mut out = Spent {
            busy_ns,
            ..Spent::default()
        };
        for (stage, ns) in waits {
            if let Some(slot) = out.by.get_mut(usize::from(*stage)) {
                *slot = slot.saturating_add(*ns);
            }
        }
        out
    }
    /// ns held by a wait; that of late pacing timers is in `pacing`.
    pub fn of(&self, stage: Stage) -> i64 {
        self.by.get(usize::from(stage)).copied().unwrap_or(0)
    }
    /// ns held.
    pub fn held_ns(&self) -> i64 {
        self.by.iter().fold(0i64, |a, b| a.saturating_add(*b))
    }
    /// Waits that held at all, the longest first; shares of the time in which it was busy.
    pub fn shares(&self) -> Vec<(&'static str, f64)> {
        let of = Stage::ALL
            .into_iter()
            .map(|s| (s.name(), self.of(s)))
            .filter(|s| s.1 > 0);
        let mut of: Vec<(&str, i64)> = of.collect();
        of.sort_by_key(|s| std::cmp::Reverse(s.1));
        let whole = self.busy_ns.max(1) as f64;
        of.into_iter().map(|(s, ns)| (s, ns as f64 / whole)).collect()
    }
}

/// Intervals that do not overlap, in order.
#[derive(Debug, Default)]
struct Cover {
    of: Vec<(i64, i64)>,
    ns: i64,
}

impl Cover {
    /// Adds intervals; ns that were not covered before.
    fn add(&mut self, mut more: Vec<(i64, i64)>) -> i64 {
        more.retain(|(from, to)| to > from);
        if more.is_empty() {
            return 0;
        }
        more.append(&mut self.of);
        more.sort_unstable();
        let before = self.ns;
        self.ns = 0;
        for (from, to) in more {
            match self.of.last_mut().filter(|last| from <= last.1) {
                Some(last) => {
                    self.ns = self.ns.saturating_add(to.saturating_sub(last.1).max(0));
                    last.1 = last.1.max(to);
                }
                None => {
                    self.ns = self.ns.saturating_add(to.saturating_sub(from));
                    self.of.push((from, to));
                }
            }
        }
        self.ns.saturating_sub(before)
    }
}

/// Sums of a socket.
pub(super) fn spent<'r>(
    pieces: &[Piece],
    rooms: &[(i64, i64)],
    rows: impl Iterator<Item = &'r TxRow> + Clone,
) -> Spent {
    let (mut out, mut cover) = (Spent::default(), Cover::default());
    let held = |is: &dyn Fn(Stage) -> bool| -> Vec<(i64, i64)> {
        let of = pieces.iter().filter(|p| is(p.stage));
        of.map(|p| (p.from, p.to)).collect()
    };
    let mut put = |out: &mut Spent, stage: Stage, of: Vec<(i64, i64)>| {
        if let Some(slot) = out.by.get_mut(usize::from(stage)) {
            *slot = slot.saturating_add(cover.add(of));
        }
    };
    let pacing = |s| matches!(s, Stage::Pacing | Stage::PacingSlip);
    put(&mut out, Stage::Pacing, held(&pacing));
    let after = |from: i64, ns: i64| (from, from.saturating_add(ns));
    let recovery = rows
        .clone()
        .filter_map(|r| Some(after(r.t_sched_ns, r.stage(Stage::Recovery)?)));
    put(&mut out, Stage::Recovery, recovery.collect());
    for stage in QUEUE {
        put(&mut out, stage, held(&|s| s == stage));
    }
    // Asleep in the call, and before it.
    let calls = rows
        .clone()
        .filter_map(|r| Some(after(r.start_ns, r.stage(Stage::Sndbuf)?)));
    put(&mut out, Stage::Sndbuf, calls.chain(rooms.iter().copied()).collect());
    for stage in DEVICE {
        let largest = |r: &&TxRow| DEVICE.into_iter().max_by_key(|s| r.stage(*s)) == Some(stage);
        let of = rows
            .clone()
            .filter(|r| r.stage(stage).is_some_and(|ns| ns > 0))
            .filter(largest);
        put(
            &mut out,
            stage,
            of.filter_map(|r| Some((r.t_sched_ns, r.t_snd_ns?))).collect(),
        );
    }
    let to = |r: &TxRow| r.t_ack_ns.unwrap_or(r.start_ns.saturating_add(r.total_ns));
    cover.add(rows.map(|r| (r.start_ns, to(r))).collect());
    out.busy_ns = cover.ns;
    out
}

#[cfg(test)]
mod tests;
