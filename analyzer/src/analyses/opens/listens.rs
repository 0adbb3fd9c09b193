//! What came of listening sockets that were closed: connections that were reset because another one took over, openings that nobody hears any more; and
//! sockets that connected to themselves, for nobody listened.
//!
//! Needs `listens`, `opens`, `resets`. A listening socket keeps the handshakes that it began and the connections that nobody accepted yet: with it they are gone,
//! and the segments of their clients come to the socket that took over, which knows nothing of them and answers by a RST (`TCP_FLAGS`: an ACK to a listener).
//! Source: net/ipv4/tcp_input.c `tcp_rcv_state_process` (TCP_LISTEN), net/ipv4/inet_connection_sock.c `inet_csk_listen_stop`.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::{IpAddr, SocketAddr};

use super::{end, task};
use crate::facts::{ConnectionId, Facts};
use crate::ingest::GapRow;
use crate::reconstruct::opens::tables::{End, LISTENS, ListenRow, OpenEnd, OpenRow, ResetRow};

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
    /// Connections of clients in this recording to which a RST came from there then; no more than RSTs.
    pub clients: u64,
    /// Longest time from such a close to a RST, ns.
    pub within_ns: i64,
    /// Why it is inferred; `None`: it is not.
    pub doubt: Option<&'static str>,
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
    /// Why it is inferred; `None`: it is not.
    pub doubt: Option<&'static str>,
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

/// Sockets of other namespaces may have the same end.
const WHICH_NETNS: &str = "which network namespace's socket that was is not known";
/// What would say otherwise may be among it.
const LOST: &str = "events were lost meanwhile";
/// Likewise.
const NOT_KEPT: &str = "more sockets began to listen than are kept";

/// Closes that are looked at for one RST, the last ones before it.
const CLOSES: usize = 64;

/// The end of which most connections were so reset.
pub(super) fn taken_over(facts: &Facts) -> Option<TakenOver> {
    let mut ends: BTreeMap<u16, BTreeMap<End, Vec<&ListenRow>>> = BTreeMap::new();
    for l in &facts.listens {
        ends.entry(l.at.1).or_default().entry(l.at).or_default().push(l);
    }
    // A listener's own ends are all that is known of one that it sent: another socket listened there.
    let mut resets: BTreeMap<u16, (Vec<&ResetRow>, Vec<&ResetRow>)> = BTreeMap::new();
    for r in &facts.resets {
        let reason = r.reason.is_empty() || r.reason.contains(NOT_OF_A_LISTENER);
        match (r.received, r.from, r.to) {
            (false, Some(from), None) if r.connection.is_none() && reason => {
                resets.entry(from.1).or_default().0.push(r)
            }
            (true, _, Some(to)) => resets.entry(to.1).or_default().1.push(r),
            _ => {}
        }
    }
    let own: BTreeSet<IpAddr> = facts.connections.iter().filter_map(|c| c.saddr).collect();
    let all = ends.iter().filter_map(|(port, ends)| {
        let (sent, came) = resets.get(port)?;
        let mut closes: Vec<Close> = ends.values().flat_map(|rows| closes(rows)).collect();
        closes.sort_by_key(|c| c.row.time_ns);
        of_port(facts, &closes, sent, (came, &own))
    });
    all.max_by_key(|t| (t.clients, t.resets))
}

/// Of a moment at which one was closed: the row, who was seen to listen there beside it, and when another began next.
struct Close<'a> {
    row: &'a ListenRow,
    beside: Option<&'a ListenRow>,
    next_ns: i64,
}

/// Of one end, by time.
fn closes<'a>(rows: &[&'a ListenRow]) -> Vec<Close<'a>> {
    // Sockets and rows by when they began.
    let mut began: BTreeMap<u64, i64> = BTreeMap::new();
    let mut open: BTreeMap<(i64, u64), &ListenRow> = BTreeMap::new();
    let mut out: Vec<Close<'a>> = vec![];
    for row in rows {
        let old = match row.opened {
            true => began.insert(row.sk, row.time_ns),
            false => began.remove(&row.sk),
        };
        if let Some(ns) = old {
            open.remove(&(ns, row.sk));
        }
        if row.opened {
            open.insert((row.time_ns, row.sk), row);
            for c in out.iter_mut().rev().take_while(|c| c.next_ns == i64::MAX) {
                c.next_ns = row.time_ns;
            }
            continue;
        }
        out.push(Close {
            row,
            beside: open.values().next_back().copied(),
            next_ns: i64::MAX,
        });
    }
    out
}

/// Whether a socket of one end may hear what comes to the other.
fn hears(listens: IpAddr, to: IpAddr) -> bool {
    listens.is_unspecified() || to.is_unspecified() || listens == to
}

/// The last close before a RST, within reach, at which another one listened: seen to, or none began since. Of each end the last one tells.
fn close_of(closes: &[Close<'_>], ns: i64, from: End) -> Option<usize> {
    let before = closes.partition_point(|c| c.row.time_ns <= ns);
    let mut seen: Vec<End> = vec![];
    let near = (0..before).rev().take(CLOSES).map(|n| (n, &closes[n]));
    for (n, c) in near.take_while(|(_, c)| ns.saturating_sub(c.row.time_ns) <= AFTER_NS) {
        if seen.contains(&c.row.at) || !hears(c.row.at.0, from.0) {
            continue;
        }
        if c.beside.is_some() || ns < c.next_ns {
            return Some(n);
        }
        seen.push(c.row.at);
    }
    None
}

/// What is found of one end.
#[derive(Default)]
struct Found<'a> {
    /// Of the closes.
    moments: BTreeSet<usize>,
    /// RSTs that were sent.
    resets: u64,
    within_ns: i64,
    /// Those that no client is known to have had, by time.
    free: VecDeque<&'a ResetRow>,
    clients: BTreeSet<ConnectionId>,
    /// Ends that these asked.
    asked: BTreeSet<End>,
}

fn of_port(
    facts: &Facts,
    closes: &[Close<'_>],
    sent: &[&ResetRow],
    (came, own): (&[&ResetRow], &BTreeSet<IpAddr>),
) -> Option<TakenOver> {
    let mut found: BTreeMap<End, Found<'_>> = BTreeMap::new();
    for r in sent {
        let Some((n, c)) = r.from.and_then(|from| {
            let n = close_of(closes, r.time_ns, from)?;
            Some((n, closes.get(n)?))
        }) else {
            continue;
        };
        let of = found.entry(c.row.at).or_default();
        of.moments.insert(n);
        of.resets += 1;
        of.within_ns = of.within_ns.max(r.time_ns.saturating_sub(c.row.time_ns));
        of.free.push_back(r);
    }
    let (at, of) = found.into_iter().max_by_key(|(_, of)| of.resets)?;
    let of = with_clients(of, at, came, own);
    let close = |n: &usize| closes.get(*n);
    let first = of.moments.first().and_then(close)?;
    // At an address that several have, or at any: whose it was only lists of sockets tell.
    let several = facts.spaces.several_listen(at.1);
    let unsure = several != Some(false) && at.0.is_unspecified();
    if unsure && several == Some(true) && of.resets < 2 {
        return None;
    }
    Some(TakenOver {
        at: match (at.0.is_unspecified(), of.asked.len()) {
            (false, _) => end(Some(at)),
            (true, 1) => end(of.asked.first().copied()),
            (true, _) => format!("port {}", at.1),
        },
        by: first.row.task.text().into_owned(),
        taken_by: first.beside.map_or_else(String::new, |l| l.task.text().into_owned()),
        closed_ns: of
            .moments
            .iter()
            .take(MOMENTS)
            .filter_map(close)
            .map(|c| since(facts, c.row.time_ns))
            .collect(),
        times: of.moments.len() as u64,
        resets: of.resets,
        clients: of.clients.len() as u64,
        within_ns: of.within_ns,
        doubt: unsure.then_some(WHICH_NETNS),
    })
}

/// Who had the RSTs: each that came is one that was sent before it, by an address of this recording.
fn with_clients<'a>(mut of: Found<'a>, at: End, came: &[&ResetRow], own: &BTreeSet<IpAddr>) -> Found<'a> {
    for r in came {
        let Some(to) =
            r.to.filter(|to| hears(at.0, to.0) && (at.0 == to.0 || own.contains(&to.0)))
        else {
            continue;
        };
        let late = |s: &&ResetRow| r.time_ns.saturating_sub(s.time_ns) > AFTER_NS;
        while of.free.front().is_some_and(late) {
            of.free.pop_front();
        }
        if of.free.front().is_some_and(|s| s.time_ns <= r.time_ns) {
            of.free.pop_front();
            of.clients.extend(r.connection);
            of.asked.insert(to);
        }
    }
    of
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
    // One that takes any address takes those of its own host, and of its own namespace.
    let own = to.0.is_loopback() || facts.connections.iter().any(|c| c.saddr == Some(to.0));
    let asked = facts.spaces.of_address(to.0);
    let several = facts.spaces.several();
    let here = |l: &ListenRow| match (facts.spaces.of_listener(SocketAddr::from(l.at), l.pid), asked) {
        (Some(a), Some(b)) => a == b,
        _ => several != Some(true) || (l.at.0 == to.0 && !to.0.is_loopback()),
    };
    let hears = |l: &&ListenRow| l.at.1 == to.1 && (l.at.0 == to.0 || l.at.0.is_unspecified() && own) && here(l);
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
    let lost = |g: &GapRow| g.start_ns.is_none_or(|ns| ns <= last_ns) && g.end_ns.is_none_or(|ns| ns >= last.time_ns);
    let doubt = match () {
        () if facts.gaps.iter().any(lost) => Some(LOST),
        () if facts.listens.len() >= LISTENS => Some(NOT_KEPT),
        () if several.is_none() && last.at.0.is_unspecified() => Some(WHICH_NETNS),
        () => None,
    };
    again.is_none_or(|ns| ns > last_ns).then(|| Unheard {
        by: match last.pid {
            0 => String::new(),
            pid => format!("{}/{pid}", last.task.text()),
        },
        since_ns: since(facts, last.time_ns),
        until_ns: again.map(|ns| since(facts, ns)),
        doubt,
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
