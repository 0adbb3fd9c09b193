//! What came of listening sockets that were closed: connections that were reset because another one took over, openings that nobody hears any more; and
//! sockets that connected to themselves, for nobody listened.
//!
//! Needs `listens`, `opens`, `resets`. A listening socket keeps the handshakes that it began and the connections that nobody accepted yet: with it they are gone,
//! and the segments of their clients come to the socket that took over, which knows nothing of them and answers by a RST (`TCP_FLAGS`: an ACK to a listener).
//! Source: net/ipv4/tcp_input.c `tcp_rcv_state_process` (TCP_LISTEN), net/ipv4/inet_connection_sock.c `inet_csk_listen_stop`.

use std::collections::BTreeSet;

use super::{end, task};
use crate::facts::Facts;
use crate::reconstruct::opens::tables::{End, ListenRow, OpenEnd, OpenRow, ResetRow};

/// Longest time from the close of a listening socket to the RST that a segment gets which was under way to it, ns.
const AFTER_NS: i64 = 1_000_000_000;
/// Moments that are kept.
const MOMENTS: usize = 16;

/// Connections that were reset because the listening socket that they were with was closed while another one listened at the port.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct TakenOver {
    /// The listening end; of one that takes any address the one that clients asked for, else its port.
    pub at: String,
    /// Task that closed it, the first time.
    pub by: String,
    /// Task that began to listen there last before that, in this recording; empty: none did.
    pub taken_by: String,
    /// When sockets were closed after which there were such RSTs, ns since the start of the recording; the first of them.
    pub closed_ns: Vec<i64>,
    /// How often that was.
    pub times: u64,
    /// RSTs that a listening socket of the port sent then.
    pub resets: u64,
    /// Connections of clients in this recording to which a RST came from there then.
    pub clients: u64,
}

/// Nobody listens any more.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Unheard {
    /// `task/thread` that closed the listening socket, or ended.
    pub by: String,
    /// When, ns since the start of the recording.
    pub since_ns: i64,
}

/// A socket that connected to itself.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct ToItself {
    /// Both ends.
    pub at: String,
    /// `task/thread`.
    pub task: String,
    /// When it was established, ns since the start of the recording.
    pub since_ns: i64,
    /// Such sockets.
    pub sockets: u64,
}

/// Whether a socket that listens there hears what is sent to that end.
fn hears(at: End, to: End) -> bool {
    at.1 == to.1 && (at.0 == to.0 || at.0.is_unspecified())
}

fn since(facts: &Facts, ns: i64) -> i64 {
    ns.saturating_sub(facts.capture.start_ns.unwrap_or(0))
}

/// The port of which most connections were so reset.
pub(super) fn taken_over(facts: &Facts) -> Option<TakenOver> {
    let ends: BTreeSet<End> = facts.listens.iter().filter(|l| !l.opened).map(|l| l.at).collect();
    let all = ends.into_iter().filter_map(|at| of_end(facts, at));
    all.max_by_key(|t| (t.clients, t.resets))
}

fn of_end(facts: &Facts, at: End) -> Option<TakenOver> {
    let closes: Vec<&ListenRow> = facts.listens.iter().filter(|l| !l.opened && l.at == at).collect();
    // The last close before it, within reach.
    let close_of = |ns: i64| {
        let n = closes.partition_point(|l| l.time_ns <= ns);
        let close = closes.get(n.checked_sub(1)?)?;
        (ns.saturating_sub(close.time_ns) <= AFTER_NS).then_some(n)
    };
    // A listener's own ends are all that is known of one that it sent: another socket listened there.
    let by_listener = |r: &&ResetRow| !r.received && r.to.is_none() && r.connection.is_none();
    let by_listener = facts.resets.iter().filter(by_listener);
    let sent = by_listener.filter_map(|r| close_of(r.time_ns).filter(|_| r.from.is_some_and(|f| f.1 == at.1)));
    let (mut moments, mut resets) = (BTreeSet::new(), 0u64);
    for n in sent {
        moments.insert(n);
        resets += 1;
    }
    let came = facts
        .resets
        .iter()
        .filter(|r| r.received && r.to.is_some_and(|to| hears(at, to)));
    let came = came.filter(|r| close_of(r.time_ns).is_some_and(|n| moments.contains(&n)));
    let (mut clients, mut asked) = (BTreeSet::new(), BTreeSet::new());
    for r in came {
        clients.extend(r.connection);
        asked.extend(r.to);
    }
    let first = closes.get(moments.first()?.checked_sub(1)?)?;
    let opened = |l: &&ListenRow| l.opened && l.at == at && l.sk != first.sk && l.time_ns <= first.time_ns;
    let taken_by = facts.listens.iter().rfind(opened);
    let of = moments.iter().filter_map(|n| closes.get(n.checked_sub(1)?));
    Some(TakenOver {
        at: match (at.0.is_unspecified(), asked.len()) {
            (false, _) => end(Some(at)),
            (true, 1) => end(asked.first().copied()),
            (true, _) => format!("port {}", at.1),
        },
        by: first.task.text().into_owned(),
        taken_by: taken_by.map_or_else(String::new, |l| l.task.text().into_owned()),
        closed_ns: of.take(MOMENTS).map(|l| since(facts, l.time_ns)).collect(),
        times: moments.len() as u64,
        resets,
        clients: clients.len() as u64,
    })
}

/// Whose closing left nobody to hear attempts of that time, where none began to listen there until the last of them.
pub(super) fn unheard(facts: &Facts, to: Option<End>, (first_ns, last_ns): (i64, i64)) -> Option<Unheard> {
    let to = to?;
    let mut of = facts.listens.iter().filter(|l| hears(l.at, to));
    let last = of.clone().rfind(|l| l.time_ns <= first_ns).filter(|l| !l.opened)?;
    let again = of.any(|l| l.opened && (first_ns..=last_ns).contains(&l.time_ns));
    (!again).then(|| Unheard {
        by: match last.pid {
            0 => String::new(),
            pid => format!("{}/{pid}", last.task.text()),
        },
        since_ns: since(facts, last.time_ns),
    })
}

/// The first of sockets that connected to themselves.
pub(super) fn to_itself(facts: &Facts) -> Option<ToItself> {
    let own = |r: &&OpenRow| r.end == OpenEnd::Established && r.from.is_some() && r.from == r.to;
    let mut all = facts.opens.iter().filter(own);
    let first = all.next()?;
    Some(ToItself {
        at: end(first.from),
        task: task(first),
        since_ns: since(facts, first.end_ns),
        sockets: 1 + all.count() as u64,
    })
}
