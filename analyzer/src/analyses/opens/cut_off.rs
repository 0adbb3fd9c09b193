//! Transfers that a server ends itself in their midst, again and again, to a peer that comes back at once.
//!
//! Needs `tcp_states` with the thread of each change, `last_sends` (Linux 6.16 or later: what a send was to carry, and what was taken),
//! `connections`, `resets`.
//!
//! ```text
//! server   sends, sends, its last send taken in part: the socket is full | closes, with no send between
//! peer     reads all that was taken, then the end ........................| connects again at once
//! ```
//! What a finished transfer sends last is taken whole, be it in several sends; so is what a job sends that ends one transfer after the other.
//! Must not take for one: a peer that closed or reset first (it gave up a download), transfers beside each other, what is small, sends
//! near lost events. Why the server closes no event tells.

use std::collections::BTreeMap;
use std::net::IpAddr;

use rustc_hash::{FxHashMap, FxHashSet};

use super::end;
use crate::facts::{ConnectionId, Facts};
use crate::name::Name;
use crate::reconstruct::dispatch::Lost;
use crate::reconstruct::opens::tables::End;
use crate::reconstruct::tcp::role::Role;
use crate::reconstruct::tcp::states::{CLOSE, CLOSE_WAIT, CLOSING, ESTABLISHED, FIN_WAIT1, LAST_ACK, SYN_RECV};
use crate::reconstruct::tcp::tables::{ConnectionRow, RetransmitClass};
use crate::stat::nearest_rank;

/// Fewest connections cut off, one after the other.
const FEWEST: usize = 3;
/// Fewest bytes that each had sent: more than one answer that is only large.
const BYTES: u64 = 256 * 1024;
/// Longest time from the end of one to the begin of the next, ns.
const AGAIN_NS: i64 = 1_000_000_000;

/// Who cuts whom off.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CutOff {
    /// The server's end.
    pub at: String,
    /// Its task; empty: several, or not known.
    pub task: String,
    /// The peer's address.
    pub peer: String,
    /// Connections.
    pub connections: u64,
    /// What was sent on each, median, bytes.
    pub bytes: i64,
    /// From close to close, median, ns.
    pub every_ns: i64,
    /// From the end of one to the begin of the next, the longest, ns.
    pub again_ns: i64,
    /// Each of these next ones asked by as many bytes as the one before: it is not another of that host's programs.
    pub same: bool,
    /// Of the last one: what its last send was to carry, and what was taken of it, bytes.
    pub last_send: (u32, u32),
    /// What the peer sent on each that began in the recording, where that is the same of all, bytes.
    pub asked: Option<u64>,
}

/// One that was.
struct Cut<'f> {
    row: &'f ConnectionRow,
    close_ns: i64,
    last_send: (u32, u32),
}

/// The peer ended it, or its end had come.
const ENDED: [i32; 4] = [CLOSE_WAIT, CLOSING, LAST_ACK, CLOSE];

/// When a thread of this end closed each connection that the other end had not ended before.
fn closes(facts: &Facts) -> FxHashMap<ConnectionId, i64> {
    let came = facts.resets.iter().filter(|r| r.received);
    let reset: FxHashSet<ConnectionId> = came.filter_map(|r| r.connection).collect();
    let mut closes = FxHashMap::default();
    let mut ended: FxHashSet<ConnectionId> = reset;
    for s in facts.tcp_states.iter().filter(|s| s.kind == "sock") {
        // A close with data unread, or with no time to linger, is a RST at once.
        if s.in_task && [FIN_WAIT1, CLOSE].contains(&s.state) && !ended.contains(&s.connection) {
            closes.entry(s.connection).or_insert(s.time_ns);
        }
        if s.state == FIN_WAIT1 || ENDED.contains(&s.state) {
            ended.insert(s.connection);
        }
    }
    closes
}

fn sent(row: &ConnectionRow) -> u64 {
    row.bytes_written.unwrap_or(0).max(row.bytes_out)
}

/// What was cut off between two, and all connections of theirs.
type Pair<'f> = (Vec<Cut<'f>>, Vec<&'f ConnectionRow>);

/// Connections whose retransmission timer ran out: what they sent may never have come, and their server gave up.
fn timers(facts: &Facts) -> FxHashSet<ConnectionId> {
    let rto = facts.retransmits.iter().filter(|r| r.class == RetransmitClass::Rto);
    rto.filter_map(|r| r.connection).collect()
}

/// The peer to which most was cut off.
pub(super) fn cut_off(facts: &Facts) -> Option<CutOff> {
    // Most recordings have no such send.
    let in_part = facts.last_sends.iter().filter(|l| l.1.in_part()).count();
    if in_part < FEWEST {
        return None;
    }
    let (closes, lost, timers) = (closes(facts), Lost::of(&facts.gaps), timers(facts));
    let key = |row: &ConnectionRow| {
        let serves = row.role().0 == Role::Server;
        Some(((row.local()?.ip(), row.sport), row.remote()?.ip())).filter(|_| serves)
    };
    let mut pairs: BTreeMap<(End, IpAddr), Pair<'_>> = BTreeMap::new();
    for row in &facts.connections {
        if let Some(key) = key(row) {
            let of = pairs.entry(key).or_default();
            of.1.push(row);
            of.0.extend(cut(row, (facts, &closes, &lost)).filter(|_| !timers.contains(&row.connection)));
        }
    }
    let told = pairs.into_iter().filter_map(|(key, (cuts, all))| told(key, cuts, &all));
    told.max_by_key(|c| c.connections)
}

fn cut<'f>(
    row: &'f ConnectionRow,
    (facts, closes, lost): (&Facts, &FxHashMap<ConnectionId, i64>, &Lost),
) -> Option<Cut<'f>> {
    let close_ns = *closes.get(&row.connection)?;
    let last = facts.last_sends.get(&row.connection).filter(|l| l.in_part())?;
    let much = sent(row) >= BYTES && last.at_ns <= close_ns && !lost.within(last.at_ns, close_ns);
    much.then_some(Cut {
        row,
        close_ns,
        last_send: (last.asked, last.taken),
    })
}

fn told((at, peer): (End, IpAddr), mut cuts: Vec<Cut<'_>>, all: &[&ConnectionRow]) -> Option<CutOff> {
    cuts.sort_by_key(|c| c.close_ns);
    let beside = cuts.windows(2).any(|w| {
        w.last()
            .zip(w.first())
            .is_some_and(|(b, a)| b.row.first_ns < a.close_ns)
    });
    if cuts.len() < FEWEST || beside {
        return None;
    }
    // The next of this peer, whatever becomes of it; of the last one the recording may end before.
    let next = |c: &Cut<'_>| {
        let after = all.iter().filter(|r| r.first_ns >= c.close_ns);
        let after = after.min_by_key(|r| (r.first_ns, r.connection))?;
        let ns = after.first_ns.saturating_sub(c.row.last_ns).max(0);
        (ns <= AGAIN_NS).then_some((ns, after.bytes_in == c.row.bytes_in))
    };
    let again: Vec<Option<(i64, bool)>> = cuts.iter().map(next).collect();
    let (_, but_last) = again.split_last()?;
    if but_last.iter().any(Option::is_none) {
        return None;
    }
    let begun: FxHashSet<u64> = cuts
        .iter()
        .filter(|c| c.row.born.is_some_and(|s| [SYN_RECV, ESTABLISHED].contains(&s)))
        .map(|c| c.row.bytes_in)
        .collect();
    let tasks: FxHashSet<Name> = cuts.iter().map(|c| c.row.task).filter(|t| !t.is_empty()).collect();
    let mut bytes: Vec<i64> = cuts
        .iter()
        .map(|c| i64::try_from(sent(c.row)).unwrap_or(i64::MAX))
        .collect();
    let mut every: Vec<i64> = cuts
        .windows(2)
        .filter_map(|w| Some(w.last()?.close_ns.saturating_sub(w.first()?.close_ns)))
        .collect();
    Some(CutOff {
        at: end(Some(at)),
        task: match (tasks.iter().next(), tasks.len()) {
            (Some(task), 1) => task.text().into_owned(),
            _ => String::new(),
        },
        peer: peer.to_string(),
        connections: cuts.len() as u64,
        bytes: nearest_rank(&mut bytes, 50)?,
        every_ns: nearest_rank(&mut every, 50)?,
        again_ns: again.iter().flatten().map(|a| a.0).max()?,
        same: again.iter().flatten().all(|a| a.1),
        last_send: cuts.last()?.last_send,
        asked: begun.iter().next().copied().filter(|n| begun.len() == 1 && *n > 0),
    })
}
