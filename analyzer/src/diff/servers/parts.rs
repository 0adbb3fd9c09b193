//! What the answers of a server are made of: the way there and back, unread at the server, and in it from read to send (work, or waits of its own). Of answers whose turnaround
//! at the server is in the recording, too; so the three sum to the answer, and their means to its mean. And what its threads did meanwhile, where one thread read
//! and answered.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::answers::server;
use super::behind::Behind;
use crate::analyses::application::{Role, sockets};
use crate::analyses::verdict::duration;
use crate::diff::sides::options::Recording;
use crate::facts::ConnectionId;
use crate::name::Name;
use crate::reconstruct::application::tables::TurnaroundRow;

/// Part of the answers whose parts must be known.
const KNOWN: f64 = 0.5;

/// Part of the answers that one thread must have read and sent for what it did to be told.
const OWN: f64 = 0.9;
/// Part of the mean time of the longer side in which no event may tell what it did.
const NOT_KNOWN: f64 = 0.1;
/// Part of what their time grew by that one state, or the requests of others, must have grown by.
const MOSTLY: f64 = 0.5;

/// Sums over the answers of a server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::diff) struct Parts {
    /// Answers.
    pub n: u64,
    /// Request readable until read.
    pub unread_ns: i64,
    /// Read until the answer is sent.
    pub work_ns: i64,
    /// Send to readable, both ways.
    pub way_ns: i64,
    /// Of those that one thread read and answered.
    pub own: Own,
}

/// What threads did that read requests and answered them themselves, readable to send: sums.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::diff) struct Own {
    /// Answers.
    pub n: u64,
    /// Whole.
    pub total_ns: i64,
    /// On a CPU.
    pub running_ns: i64,
    /// Ready to run, their CPU had others.
    pub run_queue_ns: i64,
    /// Asleep.
    pub asleep_ns: i64,
    /// Not known.
    pub unknown_ns: i64,
    /// Of the time unread: at work on other requests.
    pub behind_ns: i64,
    /// Their name, where it is one.
    pub task: Option<Name>,
}

impl Own {
    fn add(&mut self, t: &TurnaroundRow, behind_ns: i64, named: bool) {
        let name = Some(t.sender).filter(|_| named);
        self.task = if self.n == 0 {
            name
        } else {
            self.task.filter(|n| name == Some(*n))
        };
        self.n += 1;
        let s = &t.split;
        for (sum, ns) in [
            (&mut self.total_ns, t.total_ns()),
            (&mut self.running_ns, s.running_ns),
            (&mut self.run_queue_ns, s.run_queue_ns),
            (&mut self.asleep_ns, s.asleep_ns),
            (&mut self.unknown_ns, s.unknown_ns),
            (&mut self.behind_ns, behind_ns),
        ] {
            *sum = sum.saturating_add(ns);
        }
    }
    fn mean(&self, ns: i64) -> i64 {
        mean(self.n, ns)
    }
    /// Whether enough is known of so many answers, of a difference where one side takes so long (mean, ns).
    fn known(&self, answers: u64, longer_ns: i64) -> bool {
        let told = self.mean(self.unknown_ns) as f64 <= NOT_KNOWN * longer_ns as f64;
        self.n > 0 && told && self.n as f64 >= OWN * answers as f64
    }
}

fn mean(n: u64, ns: i64) -> i64 {
    ns / i64::try_from(n.max(1)).unwrap_or(i64::MAX)
}

/// Of each server (the empty name: of all), and of each of its clients where these are compared by themselves, before and after.
pub(in crate::diff) fn of(before: &[Recording<'_>], after: &[Recording<'_>]) -> BTreeMap<String, [Parts; 2]> {
    let mut out: BTreeMap<String, [Parts; 2]> = BTreeMap::new();
    for (at, side) in [before, after].into_iter().enumerate() {
        for r in side {
            add(r, at, &mut out);
        }
    }
    out
}

fn add(r: &Recording<'_>, at: usize, out: &mut BTreeMap<String, [Parts; 2]>) {
    let here = r.connections();
    let all = sockets(r.facts);
    let behind = Behind::of(&all);
    let named = !r.facts.capture.part.redacted;
    // Turnarounds by their socket and begin.
    let mut lay: FxHashMap<(ConnectionId, i64), &TurnaroundRow> = FxHashMap::default();
    for t in all.iter().flat_map(|s| s.judged_turnarounds()) {
        if let Some(ready) = t.ready_ns {
            lay.insert((t.connection, ready), t);
        }
    }
    for s in all.iter().filter(|s| s.in_turns && s.role == Role::Client) {
        if here.as_ref().is_some_and(|h| !h.contains(&s.connection)) {
            continue;
        }
        let Some(server) = server(r, s.connection, s.role) else {
            continue;
        };
        // What is compared by client has its own.
        let name = r.apart.map(|a| a.name(r.facts, s.connection, &server));
        let client = name.filter(|name| *name != server);
        for (ns, row) in s.judged_responses() {
            let Some(peer) = row.peer.filter(|_| row.confidence.is_solid() && r.has(row.send_ns)) else {
                continue;
            };
            let key = (peer.connection, row.send_ns.wrapping_add(peer.there_ns));
            let Some(t) = lay.get(&key).filter(|t| t.total_ns() == peer.turnaround_ns) else {
                continue;
            };
            let (unread, whole) = (t.read_ns.wrapping_sub(t.start_ns()), t.total_ns());
            let others = behind.during(t);
            for server in [Some(server.as_str()), Some(""), client.as_deref()]
                .into_iter()
                .flatten()
            {
                if let Some(p) = out.entry(server.to_owned()).or_default().get_mut(at) {
                    p.n += 1;
                    p.unread_ns = p.unread_ns.saturating_add(unread);
                    p.work_ns = p.work_ns.saturating_add(whole.wrapping_sub(unread));
                    p.way_ns = p.way_ns.saturating_add(ns.wrapping_sub(whole));
                    if t.pid == t.sender_pid {
                        p.own.add(t, others, named);
                    }
                }
            }
        }
    }
}

/// `; mostly unread at the server: mean 250.0 µs -> 41.10 ms (in the server, from read to send 20.31 ms -> 20.52 ms, the way 70.1 µs -> 71.3 µs)`;
/// `None`: too few of the answers have parts, or none moved as the whole did.
pub(in crate::diff) fn said(before: (&Parts, u64), after: (&Parts, u64), longer: bool) -> Option<String> {
    let known = |(p, n): (&Parts, u64)| p.n > 0 && p.n as f64 >= KNOWN * n as f64;
    if !known(before) || !known(after) {
        return None;
    }
    let mean = |p: &Parts, ns: i64| mean(p.n, ns);
    let (b, a) = (before.0, after.0);
    let mut all = [
        (UNREAD, b.unread_ns, a.unread_ns),
        ("in the server, from read to send", b.work_ns, a.work_ns),
        (WAY, b.way_ns, a.way_ns),
    ]
    .map(|(name, x, y)| (name, mean(b, x), mean(a, y)));
    let moved = |(_, x, y): &(&str, i64, i64)| if longer { y - x } else { x - y };
    all.sort_by_key(|p| std::cmp::Reverse(moved(p)));
    let [most, others @ ..] = &all;
    let text = |(name, x, y): &(&str, i64, i64)| format!("{name} {} -> {}", duration(*x), duration(*y));
    let others: Vec<String> = others.iter().map(text).collect();
    (moved(most) > 0).then(|| {
        let (name, x, y) = most;
        let (x, y) = (duration(*x), duration(*y));
        let whole: i64 = all.iter().map(moved).sum();
        let mostly = if moved(most).saturating_mul(2) >= whole {
            "mostly "
        } else {
            ""
        };
        let mut out = format!("; {mostly}{name}: mean {x} -> {y} ({})", others.join(", "));
        if longer && *name != WAY {
            out += &did(b, a, *name == UNREAD);
        }
        out
    })
}

/// By how much the way takes longer, where it is what takes longer most: mean, ns.
pub(in crate::diff) fn way_longer(b: &Parts, a: &Parts) -> Option<i64> {
    let by = |of: fn(&Parts) -> i64| mean(a.n, of(a)).saturating_sub(mean(b.n, of(b)));
    let way = by(|p| p.way_ns);
    (way > by(|p| p.unread_ns).max(by(|p| p.work_ns))).then_some(way)
}

/// Names of parts.
const UNREAD: &str = "unread at the server";
const WAY: &str = "the way there and back";

/// `; while they lay unread, the thread that then read them was at work on other requests: mean 69.8 µs -> 5.04 ms; of the time from readable to send (mean
/// 338.7 µs -> 7.70 ms) its threads (nginx) ran on a CPU 240.3 µs -> 6.85 ms`: the states that together are most of what is more, the one that grew most first.
/// Empty where that is not known.
fn did(b: &Parts, a: &Parts, unread: bool) -> String {
    let (x, y) = (&b.own, &a.own);
    let grown = |of: fn(&Own) -> i64| (x.mean(of(x)), y.mean(of(y)));
    let (before, after) = grown(|o| o.total_ns);
    if !x.known(b.n, before.max(after)) || !y.known(a.n, before.max(after)) {
        return String::new();
    }
    let by = |(x, y): (i64, i64)| y.saturating_sub(x);
    let text = |(x, y): (i64, i64)| format!("{} -> {}", duration(x), duration(y));
    let whole = grown(|o| o.total_ns);
    let mostly = |of: (i64, i64), whole: i64| by(of) > 0 && by(of) as f64 >= MOSTLY * whole as f64;
    let mut out = String::new();
    let behind = grown(|o| o.behind_ns);
    let lay = mean(a.n, a.unread_ns).saturating_sub(mean(b.n, b.unread_ns));
    if unread && mostly(behind, lay) {
        out += &format!(
            "; while they lay unread, the thread that then read them was at work on other requests: mean {}",
            text(behind)
        );
    }
    let mut states = [
        ("ran on a CPU", grown(|o| o.running_ns)),
        ("waited for a CPU", grown(|o| o.run_queue_ns)),
        ("slept", grown(|o| o.asleep_ns)),
    ];
    states.sort_by_key(|s| std::cmp::Reverse(by(s.1)));
    let (mut sum, mut told) = (0i64, vec![]);
    for (what, ns) in states.into_iter().filter(|s| by(s.1) > 0) {
        if (sum as f64) < MOSTLY * by(whole) as f64 {
            sum = sum.saturating_add(by(ns));
            told.push(format!("{what} {}", text(ns)));
        }
    }
    if !told.is_empty() && sum as f64 >= MOSTLY * by(whole) as f64 {
        let who = x.task.filter(|n| y.task == Some(*n) && !n.is_empty());
        let who = who.map_or_else(String::new, |n| format!(" ({})", n.text()));
        out += &format!(
            "; of the time from readable to send (mean {}) its threads{who} {}",
            text(whole),
            told.join(", ")
        );
    }
    out
}
