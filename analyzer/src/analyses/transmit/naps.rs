//! A program that sleeps for a time of its own when its socket takes no more, in place of waiting until it does.
//!
//! ```text
//! send: EAGAIN | clock_nanosleep, 500 ms ................................... | send: taken
//! its bytes    | .... the last one acknowledged after 40 ms ...|  nothing under way
//! ```
//! Needs sends that were refused (`sock_send_length`) while the next one was taken, `tx`. Told where all that the socket had taken was acknowledged in less than half of that time, so that nothing but the sleep held it. Must not take for one: a sleep in poll or
//! epoll, which ends when there is room; a peer or a path that is slower than the sleep.

use rustc_hash::FxHashMap;

use crate::analyses::tcp::label;
use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::transmit::RefusedSend;
use crate::reconstruct::transmit::tables::{TxKind, TxRow};
use crate::stat::nearest_rank;

/// Calls that end when their time is over.
const CALLS: [&str; 2] = ["clock_nanosleep", "nanosleep"];
/// Fewest such sleeps, and least time in them with nothing under way, ns.
const FEWEST: usize = 3;
const IDLE_NS: i64 = 300_000_000;

/// The connection with most such time.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Naps {
    /// `task/thread`.
    pub task: String,
    /// As in the view `connections`.
    pub connection: u32,
    /// `saddr:sport > daddr:dport`.
    pub label: String,
    /// The call that it slept in.
    pub call: String,
    /// Sleeps.
    pub times: u64,
    /// Asleep in one, median, ns.
    pub p50_ns: i64,
    /// From the refusal until all that had been sent was acknowledged, median, ns.
    pub acked_p50_ns: i64,
    /// Time in them with nothing under way, all in all, ns.
    pub idle_ns: i64,
    /// From the first to the end of the last, ns since the start of the recording.
    pub within_ns: (i64, i64),
}

/// The connection with most time of that.
pub(super) fn naps(facts: &Facts) -> Option<Naps> {
    let of_its_own = |r: &&RefusedSend| {
        let long = r.slept.1 >= r.next_ns.saturating_sub(r.at_ns) / 2;
        long && CALLS.contains(&r.slept.0.text().as_ref())
    };
    let mut by: FxHashMap<ConnectionId, Vec<&RefusedSend>> = FxHashMap::default();
    for r in facts.refused_sends.iter().filter(of_its_own) {
        by.entry(r.connection).or_default().push(r);
    }
    by.retain(|_, of| of.len() >= FEWEST);
    if by.is_empty() || !facts.gaps.is_empty() {
        return None;
    }
    // Begin and ACK of what each sent; of what may be without payload, or may not, none.
    let mut sent: FxHashMap<ConnectionId, Vec<(i64, i64)>> = FxHashMap::default();
    let data = |r: &&TxRow| matches!(r.kind, TxKind::Tcp | TxKind::TcpUnknown);
    for r in facts.tx.iter().filter(data) {
        if let Some(c) = r.connection.filter(|c| by.contains_key(c)) {
            let acked = r.t_ack_ns.unwrap_or(i64::MAX);
            sent.entry(c).or_default().push((r.start_ns, acked));
        }
    }
    let start = facts.capture.start_ns.unwrap_or(0);
    let one = |(c, of): (&ConnectionId, &Vec<&RefusedSend>)| {
        let mut sent = sent.get(c)?.clone();
        sent.sort_unstable();
        let (mut at, mut last) = (0usize, i64::MIN);
        let (mut took, mut acked, mut idle) = (vec![], vec![], 0i64);
        for r in of {
            while let Some((_, ack)) = sent.get(at).filter(|s| s.0 <= r.at_ns) {
                (at, last) = (at + 1, last.max(*ack));
            }
            // Nothing of it was ever seen to leave: no room, as far as is known.
            let last = if last == i64::MIN { i64::MAX } else { last };
            took.push(r.slept.1);
            acked.push(last.clamp(r.at_ns, r.next_ns).saturating_sub(r.at_ns));
            idle = idle.saturating_add(r.next_ns.saturating_sub(last.clamp(r.at_ns, r.next_ns)));
        }
        let (p50, acked) = (nearest_rank(&mut took, 50)?, nearest_rank(&mut acked, 50)?);
        let (first, end) = (of.first()?, of.last()?);
        let row = facts.connections.get(c.0 as usize)?;
        (idle >= IDLE_NS && acked <= p50 / 2).then(|| Naps {
            task: crate::analyses::application::task(&row.task, first.pid),
            connection: c.0,
            label: label(row),
            call: first.slept.0.text().into_owned(),
            times: of.len() as u64,
            p50_ns: p50,
            acked_p50_ns: acked,
            idle_ns: idle,
            within_ns: (first.at_ns.saturating_sub(start), end.next_ns.saturating_sub(start)),
        })
    };
    by.iter()
        .filter_map(one)
        .max_by_key(|n| (n.idle_ns, std::cmp::Reverse(n.connection)))
}
