//! Connections that pile up in accept queues: the kernel has completed them, what they ask lies unread, and their program takes none or too few of them.
//!
//! Needs lists of sockets from before and after the recording: `rqueue` of a listening socket is what its accept queue holds (net/ipv4/tcp_diag.c
//! `tcp_diag_get_info`: `sk_ack_backlog`). Said where it held many both times, and so many that at the rate at which connections were taken meanwhile the last one
//! waits for [`WAIT_NS`] (Little's law): a burst that is just being taken is there once, and who takes ten thousand a second always has some. Where it was short before,
//! those that wait are asked: a connection that nobody has taken has no inode (`sk_socket` is set by accept), and its cookie tells since when it is there. It needs no drop: a
//! queue that is long enough never overflows, and no counter of the kernel rises. Not of flights, whose lists from before were read at the trigger.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use rustc_hash::FxHashMap;

use crate::analyses::application::task as named;
use crate::facts::Facts;
use crate::reconstruct::tcp::states::{ESTABLISHED, SYN_RECV};
use crate::snapshots::{field, hex, number};

/// Connections that a queue held both times, at least.
const MANY: u64 = 10;
/// For how long the last of them waits, at least, ns.
const WAIT_NS: f64 = 100_000_000.0;
/// Where the queue was short before: for how long the first has waited, at least, and the one in the middle, ns.
const FIRST_NS: i64 = 1_000_000_000;
const MIDDLE_NS: i64 = 100_000_000;
/// Sockets that are kept.
const KEPT: usize = 1_000;
/// The event that says when a connection began.
const STATES: &str = "sock:inet_sock_set_state";

/// A listening socket.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Piled {
    /// `address:port`; with the address at which it was called, where one alone is known.
    pub at: String,
    /// `task/process` that listens; empty: not known.
    pub task: String,
    /// Connections in its queue when the recording began, and when it ended.
    pub before: u64,
    /// As said.
    pub after: u64,
    /// So many it holds at most; `None`: not known.
    pub limit: Option<u64>,
    /// For how long the first of them has waited when the recording ended, ns; `None`: not known.
    pub waits_ns: Option<i64>,
    /// How many of them their clients had closed by then.
    pub closed: u64,
    /// Connections to that socket that its program held then; `None`: not known.
    pub holds: Option<u64>,
}

/// What the list at the end says of a port's connections.
#[derive(Debug, Default)]
struct AtPort {
    /// Cookies of those that nobody has taken.
    waiting: Vec<u64>,
    closed: u64,
    /// Taken, by process.
    held: FxHashMap<i32, u64>,
}

/// By namespace and port.
fn at_ports(facts: &Facts) -> FxHashMap<(u64, u16), AtPort> {
    let mut by: FxHashMap<(u64, u16), AtPort> = FxHashMap::default();
    let tcp = facts.snapshots.iter().filter(|r| r.what == "sockets" && r.end);
    for r in tcp.filter(|r| field(&r.line, "proto") == Some("tcp")) {
        let state = field(&r.line, "state").unwrap_or_default();
        let src = field(&r.line, "src").and_then(|s| s.rsplit(':').next()?.parse::<u16>().ok());
        let (Some(port), Some(netns)) = (src, number(&r.line, "netns")) else {
            continue;
        };
        if !["established", "close_wait"].contains(&state) {
            continue;
        }
        let of = by.entry((netns, port)).or_default();
        match number(&r.line, "inode") {
            Some(0) => {
                of.waiting.extend(hex(&r.line, "cookie"));
                of.closed += u64::from(state == "close_wait");
            }
            Some(_) if state == "established" => {
                if let Some(pid) = first_pid(&r.line) {
                    *of.held.entry(pid).or_default() += 1;
                }
            }
            _ => {}
        }
    }
    by
}

/// For how long those with these cookies are there, where half of so many are known, longest first.
fn waits(facts: &Facts, began: &FxHashMap<u64, i64>, of: &AtPort, queue: u64) -> Option<Vec<i64>> {
    let end = facts.capture.end_ns?;
    let known = of.waiting.iter().filter_map(|c| began.get(c));
    let mut all: Vec<i64> = known.map(|t| end.saturating_sub(*t)).collect();
    all.sort_unstable_by_key(|ns| std::cmp::Reverse(*ns));
    ((all.len() as u64).saturating_mul(2) >= queue && !all.is_empty()).then_some(all)
}

/// What a list says of a socket: how many its queue held, and its line.
type Held<'l> = Option<(u64, &'l str)>;

/// The fullest first.
pub(super) fn piled(facts: &Facts) -> Vec<Piled> {
    if facts.capture.flight.is_some() || !facts.gaps.is_empty() || !facts.capture.recorded(STATES) {
        return vec![];
    }
    let came = came(facts);
    let listens = facts.snapshots.iter().filter(|r| r.what == "sockets");
    let listens =
        listens.filter(|r| field(&r.line, "state") == Some("listen") && field(&r.line, "proto") == Some("tcp"));
    let key = |l: &str| number(l, "netns").zip(hex(l, "cookie"));
    let mut by: BTreeMap<(u64, u64), [Held<'_>; 2]> = BTreeMap::new();
    for r in listens {
        if let (Some(key), Some(n)) = (key(&r.line), number(&r.line, "rqueue")) {
            let of = by.entry(key).or_default();
            for (at, there) in of.iter_mut().zip([r.start, r.end]) {
                if there {
                    *at = Some((n, r.line.as_str()));
                }
            }
        }
    }
    let ports = at_ports(facts);
    let mut listeners: FxHashMap<(u64, u16), u64> = FxHashMap::default();
    for ((netns, _), of) in &by {
        let src = of
            .iter()
            .flatten()
            .find_map(|(_, line)| field(line, "src")?.rsplit(':').next()?.parse().ok());
        if let Some(port) = src {
            *listeners.entry((*netns, port)).or_default() += 1;
        }
    }
    let with_cookies = facts.connections.iter().filter_map(|c| Some((c.cookie?, c.first_ns)));
    let began: FxHashMap<u64, i64> = with_cookies.collect();
    let mut all: Vec<Piled> = by
        .into_iter()
        .filter_map(|((netns, _), of)| {
            let [Some((before, _)), Some((after, line))] = of else {
                return None;
            };
            let src = field(line, "src").unwrap_or_default();
            let port = src.rsplit(':').next().and_then(|p| p.parse::<u16>().ok())?;
            // Of all that listen at that port: more than this one took.
            let taken = came.get(&port).copied().unwrap_or(0);
            let taken = taken.saturating_add(before).saturating_sub(after);
            let each = facts.capture.duration_ns.max(0) as f64 / taken.max(1) as f64;
            let long = before.min(after) >= MANY && before.min(after) as f64 * each >= WAIT_NS;
            // Of several that listen at a port it is not known whose queue a connection is in.
            let there = ports
                .get(&(netns, port))
                .filter(|_| listeners.get(&(netns, port)) == Some(&1));
            let waits = there.and_then(|p| waits(facts, &began, p, after)).unwrap_or_default();
            let first = waits.first().copied();
            let since = first >= Some(FIRST_NS) && waits.get(waits.len() / 2).copied() >= Some(MIDDLE_NS);
            let holds = first_pid(line).and_then(|pid| there?.held.get(&pid).copied());
            (long || after >= MANY && since).then(|| Piled {
                at: at(facts, netns, src),
                task: task(facts, line),
                before,
                after,
                limit: number(line, "wqueue").filter(|n| *n > 0),
                waits_ns: first,
                closed: there.map_or(0, |p| p.closed),
                holds,
            })
        })
        .collect();
    all.sort_by(|a, b| (b.after, &a.at, &a.task).cmp(&(a.after, &b.at, &b.task)));
    all.truncate(KEPT);
    all
}

/// Connections that were accepted, or wait for it, by port: those that began in the recording.
fn came(facts: &Facts) -> FxHashMap<u16, u64> {
    let mut came: FxHashMap<u16, u64> = FxHashMap::default();
    let begins = [ESTABLISHED, SYN_RECV].map(Some);
    let begun = facts.connections.iter().filter(|c| begins.contains(&c.born));
    for c in begun {
        *came.entry(c.sport).or_default() += 1;
    }
    came
}

/// A socket that listens on all addresses is called at those of its namespace.
fn at(facts: &Facts, netns: u64, local: &str) -> String {
    let Ok(own) = local.parse::<SocketAddr>() else {
        return local.to_owned();
    };
    if !own.ip().is_unspecified() {
        return local.to_owned();
    }
    let called = facts.connections.iter().filter(|c| c.sport == own.port());
    let called = called.filter_map(|c| c.saddr.map(|a| a.to_canonical()));
    let mut called: Vec<_> = called.filter(|a| facts.spaces.of_address(*a) == Some(netns)).collect();
    called.sort_unstable();
    called.dedup();
    match called.as_slice() {
        [one] => SocketAddr::new(*one, own.port()).to_string(),
        _ => local.to_owned(),
    }
}

fn first_pid(line: &str) -> Option<i32> {
    field(line, "pids").and_then(|p| p.split(',').next()?.parse().ok())
}

/// Of several that share it the first.
fn task(facts: &Facts, line: &str) -> String {
    first_pid(line).map_or_else(String::new, |pid| {
        let name = facts.processes.get(&pid).map(|p| p.1).unwrap_or_default();
        named(&name, pid)
    })
}
