//! On whose silence threads of a server slept: in a read of another connection, on which nothing came, while they owed these answers.
//!
//! Needs `turnarounds` (`asleep_on`), `connections`, `tcp_states`, `rx`, `opens`. A thread that serves one connection after the other, or that accepts
//! them and reads of each first (a TLS handshake), is blocked by who connects and says nothing. Must not take for one: a thread in `epoll_wait` or
//! `poll`, which no one connection blocks; a read of the request's own connection. Which connection the read was of is told by its
//! return, not inferred.
//!
//! ```text
//! the silent one   opened | ............ nothing, silent_ns ............ | FIN
//! its thread              | asleep in read .............................. | woken; read returns: of the silent one
//! these requests                    readable | ........ unread .................... | read, answer
//! ```

use std::net::SocketAddr;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::analyses::tcp::as_opened;
use crate::facts::{ConnectionId, Facts};
use crate::name::Name;
use crate::reconstruct::application::tables::{AsleepOn, TurnaroundRow};
use crate::reconstruct::tcp::role::Role;
use crate::reconstruct::tcp::states::{CLOSE, CLOSE_WAIT, ESTABLISHED};
use crate::reconstruct::tcp::tables::ConnectionRow;
use crate::stat::nearest_rank;

/// From what came to the waking, ns.
const NEAR_NS: i64 = 1_000_000;

/// The connections that threads slept in a read of.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct Silent {
    /// Sleeps.
    pub sleeps: u64,
    /// Connections.
    pub connections: u64,
    /// The first of them, as who opened it writes it: `10.0.0.3:40000 > 10.0.0.1:443`.
    pub first: String,
    /// Who opened them, where all were one's: `lb-check at 10.0.0.3`, or the address alone; empty: several did.
    pub client: String,
    /// How long nothing came, median, ns.
    pub silent_ns: i64,
    /// That is from their opening, and nothing had come before; else from when their thread slept.
    pub since_opened: bool,
    /// What ended all of that: `closed` (the peer's FIN), `ended` (a RST, or the kernel gave it up), `data`; empty: none of these, not one alone, or not known.
    pub end: &'static str,
    /// Most of these sleeps were over when the requests were read.
    pub unread: bool,
}

/// What is known of connections that threads slept for.
#[derive(Default)]
struct Known {
    opened_ns: Option<i64>,
    closed: Option<(i64, &'static str)>,
    /// When data came, ascending.
    data: Vec<i64>,
    opener: Name,
}

/// The time in such reads, where that is `least_ns` or more, and of whom they were.
pub(super) fn silent(facts: &Facts, rows: &[&TurnaroundRow], least_ns: i64) -> Option<(i64, Silent)> {
    let slept = |r: &TurnaroundRow| r.asleep_on.filter(|a| a.connection != r.connection);
    let of: Vec<(&TurnaroundRow, AsleepOn)> = rows.iter().filter_map(|r| Some((*r, slept(r)?))).collect();
    let ns = of.iter().fold(0i64, |sum, (_, a)| sum.saturating_add(a.ns));
    if ns < least_ns {
        return None;
    }
    let mut spans: Vec<(i64, i64, ConnectionId)> =
        (of.iter().map(|(_, a)| (a.from_ns, a.to_ns, a.connection))).collect();
    spans.sort_unstable();
    spans.dedup();
    let row = |c: ConnectionId| facts.connections.get(c.0 as usize);
    let (_, _, first) = spans.first().copied()?;
    let first = row(first)?;
    let mut connections: Vec<ConnectionId> = spans.iter().map(|s| s.2).collect();
    connections.sort_unstable();
    connections.dedup();
    let known = known(facts, &connections);
    let mut clients: Vec<Option<String>> = (connections.iter())
        .map(|c| client(facts, row(*c)?, known.get(c)?))
        .collect();
    clients.dedup();
    let client = match clients.as_slice() {
        [Some(one)] => one.clone(),
        _ => String::new(),
    };
    let ends: FxHashSet<&str> = spans.iter().map(|s| ended(known.get(&s.2), s.1)).collect();
    // Of each that was opened in the recording and on which nothing had come.
    let opened: Option<Vec<i64>> = (spans.iter())
        .map(|(_, to, c)| {
            let none = row(*c).is_some_and(|r| r.bytes_read == Some(0) && r.bytes_in == 0);
            let opened = known.get(c)?.opened_ns.filter(|at| none && at < to)?;
            Some(to.saturating_sub(opened))
        })
        .collect();
    let since_opened = opened.is_some();
    let mut times = opened.unwrap_or_else(|| spans.iter().map(|s| s.1.saturating_sub(s.0)).collect());
    let unread = of.iter().filter(|(r, a)| a.to_ns <= r.read_ns).count();
    Some((
        ns,
        Silent {
            sleeps: spans.len() as u64,
            connections: connections.len() as u64,
            first: as_opened(first),
            client,
            silent_ns: nearest_rank(&mut times, 50)?,
            since_opened,
            end: match ends.len() {
                1 => ends.into_iter().next().unwrap_or_default(),
                _ => "",
            },
            unread: unread.saturating_mul(2) > of.len(),
        },
    ))
}

/// Who opened one that this host accepted.
fn client(facts: &Facts, row: &ConnectionRow, known: &Known) -> Option<String> {
    if row.role().0 == Role::Client {
        return None;
    }
    let peer = row.peer.and_then(|p| facts.connections.get(p.0 as usize));
    let task = peer.map(|p| p.task).filter(|t| !t.is_empty()).unwrap_or(known.opener);
    let address = SocketAddr::new(row.daddr?.to_canonical(), 0).ip();
    Some(match task.is_empty() {
        true => address.to_string(),
        false => format!("{} at {address}", task.text()),
    })
}

/// What came just before it was woken.
fn ended(known: Option<&Known>, to: i64) -> &'static str {
    let near = |at: i64| (0..=NEAR_NS).contains(&to.saturating_sub(at));
    let Some(k) = known else { return "" };
    if let Some((_, how)) = k.closed.filter(|(at, _)| near(*at)) {
        return how;
    }
    let last = k.data.partition_point(|at| *at <= to).checked_sub(1);
    match last.and_then(|n| k.data.get(n)).is_some_and(|at| near(*at)) {
        true => "data",
        false => "",
    }
}

fn known(facts: &Facts, of: &[ConnectionId]) -> FxHashMap<ConnectionId, Known> {
    let mut known: FxHashMap<ConnectionId, Known> = of.iter().map(|c| (*c, Known::default())).collect();
    // Of those opened in the recording: of an older one the first state that is seen is a later one.
    for s in facts.tcp_states.iter().filter(|s| s.kind == "sock") {
        let Some(k) = known.get_mut(&s.connection) else {
            continue;
        };
        match s.state {
            ESTABLISHED => k.opened_ns = k.opened_ns.or(Some(s.time_ns)),
            CLOSE_WAIT => k.closed = k.closed.or(Some((s.time_ns, "closed"))),
            CLOSE => k.closed = k.closed.or(Some((s.time_ns, "ended"))),
            _ => {}
        }
    }
    for r in facts.rx.iter().filter(|r| r.bytes.is_some_and(|b| b > 0)) {
        if let Some(k) = r.connection.and_then(|c| known.get_mut(&c)) {
            k.data.push(r.start_ns);
        }
    }
    known.values_mut().for_each(|k| k.data.sort_unstable());
    let openers: FxHashMap<ConnectionId, ConnectionId> = (of.iter())
        .filter_map(|c| Some((facts.connections.get(c.0 as usize)?.peer?, *c)))
        .collect();
    for o in &facts.opens {
        let here = o.connection.and_then(|c| openers.get(&c));
        if let Some(k) = here.and_then(|c| known.get_mut(c)) {
            k.opener = o.task;
        }
    }
    known
}
