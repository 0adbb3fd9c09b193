//! The dialogue of a TCP connection: who sent, when it came to the other end, how long it lay there, what the threads did until they answered.
//!
//! In: the rows of a connection and of its peer's socket, where that is in the recording, and the events of its sends. Out: lines in order of
//! time, at most so many. Must not judge. A send is told by `sock_send_length` and the call around it; where that event was not recorded by the
//! segments in `tx`, whose bytes are those of the call that wrote the first of them (inferred, and said).
//!
//! ```text
//! opens, sock_send_length ─┐
//! tx: sent again, unacked ─┤  of both sockets    alike ones in a row       longest waits and
//! rx: came, lay, read by  ─┼─> by time ────────> are one line ───────────> both edges
//! turnarounds, responses  ─┤
//! tcp_states, resets ──────┘
//! ```

mod lines;
mod sends;
#[cfg(test)]
mod tests;

use super::Explainer;
use crate::facts::{ConnectionId, Facts};

/// Lines that are told unless more are asked for.
pub const LINES: usize = 60;
/// So many of them are the first, and as many the last.
pub const EDGE: usize = 10;
/// Lines in which somebody waited so long are not put together with others, ns.
const LONG_NS: i64 = 10_000_000;

/// A line.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Line {
    /// Trace clock.
    pub time_ns: i64,
    /// Since the first line, or the first event of the connection.
    pub since_ns: i64,
    /// `client` or `server`: whose socket.
    pub side: &'static str,
    /// That socket, as in the view `connections`.
    pub connection: u32,
    /// `sends`, `gets`, `again` (sends again), `connects`, `state`, `reset`.
    pub does: &'static str,
    /// How many of these, one behind the other, the line is.
    pub times: u64,
    /// Payload; `None`: not known, or none.
    pub bytes: Option<u64>,
    /// `task/thread` that sent or read; empty: none, or not known.
    pub task: String,
    /// System call of a send; empty: none, or not recorded.
    pub call: String,
    /// What else is known.
    pub said: Vec<String>,
    /// Longest wait that it ends or begins: unread, of a client for what came next (by order its answer), of a server from request to answer, ns.
    pub waited_ns: Option<i64>,
    /// Ids that lead on.
    pub ids: Vec<String>,
    /// Lines before it that are left out.
    pub left_out: u64,
}

/// Lines of a dialogue.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct Dialogue {
    /// In order of time.
    pub lines: Vec<Line>,
    /// How many more there are.
    pub left_out: u64,
    /// Lines left out behind the last one.
    pub left_out_behind: u64,
    /// The peer's socket is in the recording.
    pub both: bool,
    /// Sends are told by their segments alone.
    pub sends_inferred: bool,
}

/// Of a connection, at most so many lines.
pub(super) fn dialogue(explainer: &Explainer<'_>, facts: &Facts, of: ConnectionId, limit: usize) -> Option<Dialogue> {
    let row = facts.connections.get(of.0 as usize)?;
    let peer = row.peer.and_then(|p| facts.connections.get(p.0 as usize));
    let sockets: Vec<_> = std::iter::once(row).chain(peer).collect();
    let sends = sends::sends(explainer, facts, &sockets);
    let mut lines: Vec<Line> = sockets.iter().flat_map(|s| lines::of(facts, s, &sends)).collect();
    lines.sort_by_key(|l| l.time_ns);
    // A call begins before its first event.
    let first = lines.first().map_or(row.first_ns, |l| l.time_ns.min(row.first_ns));
    for l in &mut lines {
        l.since_ns = l.time_ns.wrapping_sub(first);
    }
    let lines = chosen(together(lines), limit);
    Some(Dialogue {
        both: peer.is_some(),
        sends_inferred: sends.inferred,
        ..lines
    })
}

/// Alike ones in a row are one.
fn together(lines: Vec<Line>) -> Vec<Line> {
    let mut out: Vec<Line> = vec![];
    let short = |l: &Line| l.waited_ns.is_none_or(|ns| ns < LONG_NS);
    for l in lines {
        let same = out.last_mut().filter(|o| {
            let alike = (o.side, o.does, &o.task, &o.call) == (l.side, l.does, &l.task, &l.call);
            // What leads on stays alone, but for arrivals, of which the longest leads.
            let plain = o.does == "gets" || o.ids.is_empty() && l.ids.is_empty();
            let same_end = o.waited_ns.is_some() == l.waited_ns.is_some() && o.said.get(1..) == l.said.get(1..);
            let joined = ["sends", "gets"].contains(&l.does) && same_end;
            alike && plain && joined && short(o) && short(&l)
        });
        let Some(o) = same else {
            out.push(l);
            continue;
        };
        o.times += l.times;
        o.bytes = o.bytes.zip(l.bytes).map(|(a, b)| a.saturating_add(b));
        if l.waited_ns > o.waited_ns {
            (o.waited_ns, o.said, o.ids) = (l.waited_ns, l.said, l.ids);
        }
    }
    out
}

/// All, or the first and the last, and of those between them the ones around the longest waits.
fn chosen(lines: Vec<Line>, limit: usize) -> Dialogue {
    let n = lines.len();
    let mut keep = vec![n <= limit; n];
    if n > limit {
        let edge = EDGE.min(limit / 2);
        let mut kept = 2 * edge;
        for (at, k) in keep.iter_mut().enumerate() {
            *k = at < edge || at >= n - edge;
        }
        let mut waits: Vec<(i64, usize)> = lines
            .iter()
            .enumerate()
            .filter_map(|(at, l)| Some((l.waited_ns?, at)))
            .collect();
        waits.sort_by_key(|(ns, at)| (std::cmp::Reverse(*ns), *at));
        // Beside each the one before it and the one behind it.
        for at in waits.iter().flat_map(|(_, at)| [*at, at.saturating_sub(1), at + 1]) {
            if let Some(k) = keep.get_mut(at).filter(|k| !**k && kept < limit) {
                *k = true;
                kept += 1;
            }
        }
        // Where nobody waited the first ones.
        for k in keep.iter_mut().filter(|k| !**k).take(limit.saturating_sub(kept)) {
            *k = true;
        }
    }
    let (mut out, mut skipped) = (Dialogue::default(), 0u64);
    for (mut line, keep) in lines.into_iter().zip(keep) {
        if !keep {
            skipped += 1;
            out.left_out += 1;
            continue;
        }
        line.left_out = std::mem::take(&mut skipped);
        out.lines.push(line);
    }
    out.left_out_behind = skipped;
    out
}
