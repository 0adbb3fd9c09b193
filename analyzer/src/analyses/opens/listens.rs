//! What came of listening sockets that were closed: connections that were reset because another one took over, openings that nobody hears any more; and
//! sockets that connected to themselves, for nobody listened.
//!
//! Needs `listens`, `opens`, `resets`. A listening socket keeps the handshakes that it began and the connections that nobody accepted yet: with it they are gone,
//! and the segments of their clients come to the socket that took over, which knows nothing of them and answers by a RST (`TCP_FLAGS`: an ACK to a listener).
//! Source: net/ipv4/tcp_input.c `tcp_rcv_state_process` (TCP_LISTEN), net/ipv4/inet_connection_sock.c `inet_csk_listen_stop`.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

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
    /// Task of the one that listened beside it then; empty: it began before the recording.
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
    /// When a socket listened there again; `None`: none did.
    pub until_ns: Option<i64>,
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

fn since(facts: &Facts, ns: i64) -> i64 {
    ns.saturating_sub(facts.capture.start_ns.unwrap_or(0))
}

/// What a listener that knows nothing of a segment says of it, where the kernel gives a reason.
const NOT_OF_A_LISTENER: &str = "TCP_FLAGS";

/// The end of which most connections were so reset.
pub(super) fn taken_over(facts: &Facts) -> Option<TakenOver> {
    let mut of: BTreeMap<End, Vec<&ListenRow>> = BTreeMap::new();
    for l in &facts.listens {
        of.entry(l.at).or_default().push(l);
    }
    // A listener's own ends are all that is known of one that it sent: another socket listened there.
    let mut sent: BTreeMap<u16, Vec<&ResetRow>> = BTreeMap::new();
    let mut came: BTreeMap<u16, Vec<&ResetRow>> = BTreeMap::new();
    for r in &facts.resets {
        let reason = r.reason.is_empty() || r.reason.contains(NOT_OF_A_LISTENER);
        match (r.received, r.from, r.to) {
            (false, Some(from), None) if r.connection.is_none() && reason => sent.entry(from.1).or_default().push(r),
            (true, _, Some(to)) => came.entry(to.1).or_default().push(r),
            _ => {}
        }
    }
    let all = of.iter().filter_map(|(at, rows)| {
        let sent = sent.get(&at.1)?;
        of_end(facts, *at, rows, sent, came.get(&at.1).map_or(&[], Vec::as_slice))
    });
    all.max_by_key(|t| (t.clients, t.resets))
}

/// Of a moment at which one was closed: the row, who was seen to listen there beside it, and when another began next.
struct Close<'a> {
    row: &'a ListenRow,
    beside: Option<&'a ListenRow>,
    next_ns: i64,
}

fn closes<'a>(rows: &[&'a ListenRow]) -> Vec<Close<'a>> {
    let mut open: BTreeMap<u64, &ListenRow> = BTreeMap::new();
    let mut out: Vec<Close<'a>> = vec![];
    for row in rows {
        if row.opened {
            open.insert(row.sk, row);
            for c in out.iter_mut().rev().take_while(|c| c.next_ns == i64::MAX) {
                c.next_ns = row.time_ns;
            }
            continue;
        }
        open.remove(&row.sk);
        out.push(Close {
            row,
            beside: open.values().max_by_key(|l| l.time_ns).copied(),
            next_ns: i64::MAX,
        });
    }
    out
}

fn of_end(facts: &Facts, at: End, rows: &[&ListenRow], sent: &[&ResetRow], came: &[&ResetRow]) -> Option<TakenOver> {
    let closes = closes(rows);
    // The last close before it, within reach, at which another one listened: seen to, or none began since.
    let close_of = |ns: i64| {
        let n = closes.partition_point(|c| c.row.time_ns <= ns).checked_sub(1)?;
        let c = closes.get(n)?;
        let soon = ns.saturating_sub(c.row.time_ns) <= AFTER_NS;
        (soon && (c.beside.is_some() || ns < c.next_ns)).then_some(n)
    };
    let hears = |from: End| at.0.is_unspecified() || from.0.is_unspecified() || at.0 == from.0;
    let sent = sent.iter().filter(|r| r.from.is_some_and(hears));
    let (mut moments, mut resets) = (BTreeSet::new(), 0u64);
    for n in sent.filter_map(|r| close_of(r.time_ns)) {
        moments.insert(n);
        resets += 1;
    }
    let came = came.iter().filter(|r| r.to.is_some_and(hears));
    let (mut clients, mut asked) = (BTreeSet::new(), BTreeSet::new());
    for r in came.filter(|r| close_of(r.time_ns).is_some_and(|n| moments.contains(&n))) {
        clients.extend(r.connection);
        asked.extend(r.to);
    }
    let of = || moments.iter().filter_map(|n| closes.get(*n));
    let first = of().next()?;
    Some(TakenOver {
        at: match (at.0.is_unspecified(), asked.len()) {
            (false, _) => end(Some(at)),
            (true, 1) => end(asked.first().copied()),
            (true, _) => format!("port {}", at.1),
        },
        by: first.row.task.text().into_owned(),
        taken_by: first.beside.map_or_else(String::new, |l| l.task.text().into_owned()),
        closed_ns: of().take(MOMENTS).map(|c| since(facts, c.row.time_ns)).collect(),
        times: moments.len() as u64,
        resets,
        clients: clients.len() as u64,
    })
}

/// Whose closing left nobody to hear attempts that were refused there, at an address of this recording.
pub(super) fn unheard(facts: &Facts, to: &str) -> Option<Unheard> {
    let to: SocketAddr = to.parse().ok()?;
    let to: End = (to.ip(), to.port());
    let of = facts
        .opens
        .iter()
        .filter(|r| r.end == OpenEnd::Refused && r.to == Some(to));
    let of = of.map(|r| (r.start_ns, r.end_ns));
    let (first_ns, last_ns) = of.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))?;
    // One that takes any address takes those of its own host.
    let own = to.0.is_loopback() || facts.connections.iter().any(|c| c.saddr == Some(to.0));
    let hears = |l: &&ListenRow| l.at.1 == to.1 && (l.at.0 == to.0 || l.at.0.is_unspecified() && own);
    let rows: Vec<&ListenRow> = facts.listens.iter().filter(hears).collect();
    let mut open = BTreeSet::new();
    let mut closed = None;
    for l in rows.iter().take_while(|l| l.time_ns <= first_ns) {
        match l.opened {
            true => _ = open.insert(l.sk),
            false => _ = open.remove(&l.sk),
        }
        closed = (!l.opened).then_some(l);
    }
    let last = closed.filter(|_| open.is_empty())?;
    let again = rows
        .iter()
        .find(|l| l.opened && l.time_ns > first_ns)
        .map(|l| l.time_ns);
    again.is_none_or(|ns| ns > last_ns).then(|| Unheard {
        by: match last.pid {
            0 => String::new(),
            pid => format!("{}/{pid}", last.task.text()),
        },
        since_ns: since(facts, last.time_ns),
        until_ns: again.map(|ns| since(facts, ns)),
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
