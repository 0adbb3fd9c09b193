//! Requests that their client gave up: it asked, nothing came, and it closed the connection itself, most likely to ask again on another.
//!
//! Needs `tcp_states`, `tx`, `rx`, `responses`, `connections`, `resets`. By client task and server. A narrow spread of the waits is a time-out
//! of the client. Must not take for one: a connection on which data came after its last request, one that the peer closed or reset first, one
//! closed right after its last send (a farewell), one whose last send is far smaller than requests that were answered (HTTP/2
//! WINDOW_UPDATE, COM_STMT_CLOSE), a half-closed one (FIN, and the program waits on), one on which nothing was sent, many that
//! close at one moment (a program ends), a group whose server never answers (one-way), or what events were lost of.
//!
//! ```text
//! client's socket: send ─── nothing comes, LEAST_NS or more ─── FIN_WAIT1 … FIN_WAIT2 ─ at most ORPHAN_NS ─ CLOSE  (close: no half-closed socket)
//!                                                         └──── CLOSE, with a RST of its own                     (SO_LINGER 0)
//!                                                         └──── FIN_WAIT1, its request never acknowledged        (nothing gets through)
//! server's answer after that: RST (TCP_ABORT_ON_DATA, TCP_TIMEWAIT_SOCKET)
//! ```
//! Source: net/ipv4/tcp.c `__tcp_close`, net/ipv4/tcp_input.c `tcp_rcv_state_process` (an orphan leaves FIN_WAIT2 at once for a timewait socket).

use std::collections::BTreeMap;
use std::net::SocketAddr;

use rustc_hash::FxHashMap;

use super::asked_bytes::asked_bytes;
use super::left::{One, left};
use super::patience::{Answers, Closed, Patience};
use super::{hedged, server};
use crate::facts::{ConnectionId, Facts};
use crate::name::Name;
use crate::reconstruct::dispatch::Lost;
use crate::reconstruct::opens::tables::End;
use crate::reconstruct::thread::ENDS_NS;
use crate::stat::{Distribution, nearest_rank};

/// Shortest wait: who closes sooner did not wait for an answer, ns.
pub const LEAST_NS: i64 = 5_000_000;
/// Fewest moments at which they were closed, so far apart, ns.
const MOMENTS: (usize, i64) = (3, 10_000_000);
/// What is so many times smaller than the smallest request that was answered is none.
const SMALLER: u64 = 4;
/// Waits whose p10 and p90 are closer than this part of their median are a time-out: one in so many.
const NARROW: i64 = 10;
/// Who waits less than this, ns, and for one in so many of its requests meanwhile longer than for any that it gave up, has no time-out: it wants the answer no
/// more, as what a user has typed since is asked in its place.
const HASTY: (i64, u64) = (100_000_000, 10);
/// Shortest time of which a rate is told, ns.
const RATE_NS: i64 = 500_000_000;
/// Groups kept: those with most.
const GROUPS: usize = 20;

/// Requests of a program to a server that it gave up.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct GivenUp {
    /// Task that asked.
    pub task: String,
    /// `address:port`, as its clients call it.
    pub server: String,
    /// Requests given up, each with its connection.
    pub requests: u64,
    /// All of this group from the first to the last of these: answered and given up.
    pub of: u64,
    /// From the request to the close.
    pub wait: Distribution,
    /// The waits are alike: a time-out of the client.
    pub timeout: bool,
    /// Others of their kind are waited for longer: long polls and the like, which their client left.
    #[serde(skip)]
    pub patience: Option<Patience>,
    /// It waited longer for others: it wanted the answer no more, and that is no time-out.
    pub hasty: bool,
    /// Those that the server answered later, when the connection was closed.
    pub later: u64,
    /// Those that were closed right when another server had answered the same program, which was asked later: hedged requests (inferred).
    pub hedged: u64,
    /// When the first of them was sent, ns since the start of the recording.
    pub first_ns: i64,
    /// When the last of them was closed.
    pub last_ns: i64,
    /// Requests that were answered meanwhile, after longer than any of these was waited for.
    pub longer: u64,
    /// RSTs that this host sent for what came on these connections then.
    pub rsts: u64,
    /// Of these, how many whose asking thread ended within a quarter of a second: an exit, a kill, or a tool that ends when it has given up; `None`: the recording does not tell.
    pub ended: Option<u64>,
    /// Connections opened a second by this group before the first of them; `None`: too short a time.
    pub opened_before: Option<f64>,
    /// And from the first to the last.
    pub opened_meanwhile: Option<f64>,
}

/// Bytes of the last send of each request that was answered: the fewest by group.
fn least_asked<K: Ord>(
    facts: &Facts,
    all: &FxHashMap<ConnectionId, One>,
    key: impl Fn(ConnectionId) -> Option<K>,
) -> BTreeMap<K, u64> {
    let answered = facts.responses.iter();
    let answered = answered.filter(|r| !r.overlap && all.contains_key(&r.connection));
    let sends = asked_bytes(facts, answered.map(|r| (r.connection, r.send_ns)));
    let mut least = BTreeMap::new();
    for ((c, _), bytes) in sends {
        if let Some(key) = key(c) {
            let of = least.entry(key).or_insert(bytes);
            *of = bytes.min(*of);
        }
    }
    least
}

/// A request: when it was sent; of one given up its close, and whether it was answered later.
pub(crate) type Request = (i64, Option<(i64, bool)>);

/// All requests of a program to a server, of which it gave up some.
pub(crate) struct Asked {
    pub end: End,
    pub requests: Vec<Request>,
    /// What is told of them.
    pub told: GivenUp,
}

#[derive(Default)]
struct Group {
    requests: Vec<Request>,
    opened: Vec<i64>,
    /// Begin and time.
    answered: Vec<(i64, i64)>,
    rsts: u64,
    /// When those were closed whose asking thread ended then.
    ended: Vec<i64>,
    /// Those given up, with the bytes of their last send.
    closed: Vec<Closed>,
    /// Some answer is known.
    answers: bool,
}

/// All of them, most first.
pub(super) fn given_up(facts: &Facts) -> Vec<GivenUp> {
    let mut found = asked(facts);
    found.truncate(GROUPS);
    found.into_iter().map(|a| a.told).collect()
}

/// Every request that was closed without an answer, whatever it was: task, server, and for how long it was waited for.
pub(crate) fn unanswered(facts: &Facts) -> Vec<(Name, End, i64)> {
    let all = left(facts);
    let each = all.iter().filter_map(|(c, one)| {
        let row = facts.connections.get(c.0 as usize)?;
        let (sent, left) = one.given_up()?;
        Some((
            row.task,
            (row.daddr?.to_canonical(), row.dport),
            left.saturating_sub(sent),
        ))
    });
    let mut out: Vec<_> = each.collect();
    out.sort_unstable();
    out
}

/// The same, with every request of these programs to these servers.
pub(crate) fn asked(facts: &Facts) -> Vec<Asked> {
    if !facts.capture.recorded("skb:skb_copy_datagram_iovec") && facts.responses.is_empty() {
        return vec![];
    }
    let all = left(facts);
    let lost = Lost::of(&facts.gaps);
    let key = |c: ConnectionId| {
        let row = facts.connections.get(c.0 as usize)?;
        Some((row.task, (row.daddr?.to_canonical(), row.dport)))
    };
    let least = least_asked(facts, &all, key);
    let mut groups: BTreeMap<_, Group> = BTreeMap::new();
    let mut of: BTreeMap<_, ConnectionId> = BTreeMap::new();
    for (c, one) in &all {
        let given = one.given_up().filter(|(sent, left)| !lost.within(*sent, *left));
        let (Some(key), Some((sent, left))) = (key(*c), given) else {
            continue;
        };
        let bytes = one.sent.map_or(0, |s| s.1);
        // What was answered, if later, was a request.
        if !one.later && least.get(&key).is_some_and(|least| bytes < least / SMALLER) {
            continue;
        }
        of.entry(key)
            .and_modify(|first| *first = (*first).min(*c))
            .or_insert(*c);
        let group = groups.entry(key).or_default();
        group.requests.push((sent, Some((left, one.later))));
        group.closed.push((sent, left, bytes));
        group.answers |= one.later;
        group.rsts += one.rsts;
        let asker = facts.connections.get(c.0 as usize).map_or(0, |row| row.pid);
        if facts.ended.within(asker, left, left.saturating_add(ENDS_NS)) == Some(true) {
            group.ended.push(left);
        }
    }
    // What else these groups did.
    for (c, one) in &all {
        if let Some(group) = key(*c).and_then(|k| groups.get_mut(&k)) {
            group.opened.extend(one.opened);
        }
    }
    for r in facts.responses.iter().filter(|r| !r.overlap) {
        let group = key(r.connection).filter(|_| all.contains_key(&r.connection));
        if let Some(group) = group.and_then(|k| groups.get_mut(&k)) {
            group.requests.push((r.send_ns, None));
            group.answered.push((r.send_ns, r.read_ns.saturating_sub(r.send_ns)));
            group.answers = true;
        }
    }
    let others = hedged::Answers::of(facts, groups.keys().map(|k| k.0));
    let answers = (!groups.is_empty()).then(|| Answers::of(facts));
    let mut found: Vec<Asked> = (groups.into_iter())
        .filter(|(_, g)| g.answers)
        .filter_map(|(key, mut g)| {
            let name = of
                .get(&key)
                .map_or_else(|| SocketAddr::new(key.1.0, key.1.1).to_string(), |c| server(facts, *c));
            let mut told = judged(facts, key, name, &mut g, &others)?;
            let patience = answers.as_ref().filter(|_| facts.gaps.is_empty());
            told.patience = patience.and_then(|a| a.patience(key.0, key.1, &g.closed));
            Some(Asked {
                end: key.1,
                requests: g.requests,
                told,
            })
        })
        .collect();
    found.sort_by(|x, y| {
        let (a, b) = (&x.told, &y.told);
        (b.requests, &a.task, &a.server).cmp(&(a.requests, &b.task, &b.server))
    });
    found
}

fn judged(
    facts: &Facts,
    (task, end): (Name, End),
    server: String,
    group: &mut Group,
    others: &hedged::Answers,
) -> Option<GivenUp> {
    group.requests.sort_unstable();
    group.opened.sort_unstable();
    let spell = spell(&group.requests)?;
    let given = || spell.iter().filter_map(|(sent, given)| Some((*sent, (*given)?)));
    let mut closes: Vec<i64> = given().map(|(_, (left, _))| left).collect();
    closes.sort_unstable();
    let far = |w: &&[i64]| matches!(w, [a, b] if b.saturating_sub(*a) > MOMENTS.1);
    if closes.windows(2).filter(far).count() + 1 < MOMENTS.0 {
        return None;
    }
    let mut waits: Vec<i64> = given().map(|(sent, (left, _))| left.saturating_sub(sent)).collect();
    let wait = Distribution::of(waits.clone(), 0);
    let spread = wait.p90_ns?.saturating_sub(nearest_rank(&mut waits, 10)?);
    let timeout = spread <= wait.p50_ns? / NARROW;
    let later = given().filter(|(_, (_, later))| *later).count() as u64;
    // Waits of all lengths without a late answer: most likely nothing was waited for.
    if !timeout && later == 0 {
        return None;
    }
    let start = facts.capture.start_ns.unwrap_or(0);
    let (first, last) = (given().next()?.0, *closes.last()?);
    let rate = |from: i64, to: i64| {
        let long = to.saturating_sub(from);
        let before = |t: i64| group.opened.partition_point(|at| *at < t);
        let n = before(to).saturating_sub(before(from));
        (long >= RATE_NS).then(|| n as f64 / (long as f64 / 1e9))
    };
    let patient = |a: &&(i64, i64)| (first..=last).contains(&a.0) && Some(a.1) > wait.max_ns;
    let longer = group.answered.iter().filter(patient).count() as u64;
    let of = spell.len() as u64;
    let hasty = wait.p50_ns? < HASTY.0 && longer.saturating_mul(HASTY.1) >= of;
    Some(GivenUp {
        longer,
        hasty,
        hedged: others.explain(task, end, given().map(|(sent, (left, _))| (sent, left))),
        task: task.text().into_owned(),
        server,
        requests: waits.len() as u64,
        of,
        wait,
        timeout: timeout && !hasty,
        patience: None,
        later,
        rsts: group.rsts,
        ended: facts.ended.is_told().then(|| {
            let ours = |t: &&i64| closes.binary_search(t).is_ok();
            group.ended.iter().filter(ours).count() as u64
        }),
        first_ns: first.saturating_sub(start),
        last_ns: last.saturating_sub(start),
        opened_before: facts.capture.start_ns.and_then(|start| rate(start, first)),
        opened_meanwhile: rate(first, last),
    })
}

/// The run of requests, in order, in which those given up outnumber the others most; where that has less than half of them, all
/// from the first to the last.
fn spell(requests: &[Request]) -> Option<&[Request]> {
    let (mut sum, mut from, mut best) = (0i64, 0usize, (0i64, 0usize, 0usize));
    for (n, (_, given)) in requests.iter().enumerate() {
        if sum <= 0 {
            (sum, from) = (0, n);
        }
        sum += if given.is_some() { 1 } else { -1 };
        if sum > best.0 {
            best = (sum, from, n + 1);
        }
    }
    let count = |of: &[Request]| of.iter().filter(|r| r.1.is_some()).count();
    let run = requests.get(best.1..best.2)?;
    if count(run).saturating_mul(2) >= count(requests) {
        return Some(run);
    }
    let first = requests.iter().position(|r| r.1.is_some())?;
    let last = requests.iter().rposition(|r| r.1.is_some())?;
    requests.get(first..=last)
}
