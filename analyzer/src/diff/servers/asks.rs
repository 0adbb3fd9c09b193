//! How often a program that serves asks another server, per answer of its own: load does not explain that this becomes many times as much.
//!
//! In: turnarounds of servers' sockets, responses of clients' sockets, questions by UDP. A request counts for a server where a thread that reads or answers requests of it
//! sent it between the read of one of these and its answer (by any of its threads: in some programs another one answers); of several such
//! servers for the one whose request was read last. A question by UDP counts as well where another thread of such a thread's process sent it (a pool that resolves names); a pool of threads that only ask by TCP is not seen. Out: figures, and sentences. Not judged by a test: said where it is
//! [`DiffOptions::counts`] times as much, or as little.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::{FxHashMap, FxHashSet};

use super::answers::{LEAST, LEDGER, server};
use super::at_once::{self, Placed, Times};
use super::clients::server_of;
use super::questions::Question;
use crate::analyses::application::{Role, Spans, sockets};
use crate::analyses::verdict::duration;
use crate::diff::sides::options::{DiffOptions, Recording};
use crate::diff::values::metrics::Which;
use crate::reconstruct::application::tables::ResponseRow;
use crate::stat::nearest_rank;

/// Requests that the side with more per answer must have, and that the other one would have, did it ask as often.
const REQUESTS: f64 = 20.0;
/// Part of the requests that must lie in one turnaround each for the answers that asked at all to be told.
const PLACED: f64 = 0.9;
/// Part of what a side asked of a server that may lie in no order, for requests to be counted.
const UNTOLD: f64 = 0.05;
/// Part of all requests to a server for which its answers are others when these are.
const MOSTLY: f64 = 0.5;
/// Who asks, and whom.
type Pair = (String, String);

/// One server that asks another.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Asks {
    /// `address:port` of the server whose program asks.
    pub server: String,
    /// `address:port` of the one that it asks; `dnsmasq by UDP`: the program whose socket got its datagrams.
    pub asked: String,
    /// Before.
    pub before: Asked,
    /// After.
    pub after: Asked,
    /// Many times as many per answer, or as few, on one side.
    pub differs: bool,
    /// That is told as another division over servers of one port, or with requests given up, which are none of these.
    #[serde(skip)]
    pub(in crate::diff) divided: bool,
    /// What there is more of on one side may be turns of handshakes.
    #[serde(skip)]
    pub(in crate::diff) handshakes: bool,
    /// These are most of the requests to `asked` on the side that has more.
    #[serde(skip)]
    most: bool,
}

/// Of one side.
#[derive(Debug, Clone, Copy, Default, PartialEq, serde::Serialize)]
pub struct Asked {
    /// Answers of the server.
    pub answers: u64,
    /// Requests of its program to the other one.
    pub requests: u64,
    /// These by those.
    pub per_answer: f64,
    /// Answers during which it asked at all; `None`: not known, as its threads have several under way.
    pub asking: Option<u64>,
    /// Median time until such a request was answered, ns.
    pub p50_ns: Option<i64>,
}

#[derive(Debug, Default)]
struct Sum {
    requests: u64,
    placed: u64,
    asking: u64,
    ns: Vec<i64>,
}

/// One side.
#[derive(Debug, Default)]
struct Side {
    answers: BTreeMap<String, u64>,
    /// What was asked for single answers.
    times: BTreeMap<String, Times>,
    pairs: BTreeMap<Pair, Sum>,
    /// All requests to a server.
    all: BTreeMap<String, u64>,
    /// What was sent to a server and answered in any order, as in a pipeline: how many requests that were is not known.
    untold: BTreeMap<String, u64>,
}

/// When a server of this host was at work.
#[derive(Default)]
struct Serving {
    threads: FxHashSet<i32>,
    spans: Vec<(i64, i64)>,
    /// By thread, ascending: read, answer.
    own: FxHashMap<i32, Vec<(i64, i64)>>,
}

impl Serving {
    /// The last one read before a moment.
    fn read_before(&self, at: i64) -> Option<i64> {
        let n = self.spans.partition_point(|s| s.0 <= at);
        Some(self.spans.get(n.checked_sub(1)?)?.0)
    }
    /// The one request that the thread itself had under way at a moment.
    fn placed(&self, pid: i32, at: i64) -> Option<(i64, i64)> {
        let own = self.own.get(&pid)?;
        let n = own.partition_point(|s| s.0 <= at);
        let last = *own.get(n.checked_sub(1)?)?;
        let before = n.checked_sub(2).and_then(|i| own.get(i));
        (last.1 >= at && before.is_none_or(|b| b.1 <= last.0)).then_some(last)
    }
}

fn add(r: &Recording<'_>, out: &mut Side) {
    let here = r.connections();
    let all = sockets(r.facts);
    for s in all.iter().filter(|s| s.role == Role::Client) {
        if here.as_ref().is_some_and(|h| !h.contains(&s.connection)) {
            continue;
        }
        let rows = s.responses.iter().filter(|row| r.has(row.send_ns));
        let untold = rows.filter(|row| row.overlap || !s.in_turns).count() as u64;
        if let Some(to) = server(r, s.connection, s.role).filter(|_| untold > 0) {
            *out.untold.entry(to).or_default() += untold;
        }
    }
    let all = all.iter().filter(|s| s.in_turns);
    let all: Vec<_> = all
        .filter(|s| here.as_ref().is_none_or(|h| h.contains(&s.connection)))
        .filter_map(|s| Some((s, server(r, s.connection, s.role)?)))
        .collect();
    let mut serving: BTreeMap<&str, Serving> = BTreeMap::new();
    for (s, name) in all.iter().filter(|(s, _)| s.role == Role::Server) {
        for t in s.judged_turnarounds() {
            *out.answers.entry(name.clone()).or_default() += u64::from(r.has(t.send_ns));
            let of = serving.entry(name).or_default();
            of.threads.extend([t.pid, t.sender_pid]);
            of.spans.push((t.read_ns, t.send_ns));
            if t.pid == t.sender_pid {
                of.own.entry(t.pid).or_default().push((t.read_ns, t.send_ns));
            }
        }
    }
    let mut busy: BTreeMap<&str, Spans> = BTreeMap::new();
    for (name, of) in &mut serving {
        of.spans.sort_unstable();
        of.own.values_mut().for_each(|own| own.sort_unstable());
        busy.insert(name, Spans::of(of.spans.clone()));
    }
    let mut by_thread: FxHashMap<i32, Vec<(&str, &Serving)>> = FxHashMap::default();
    for (name, of) in &serving {
        for pid in &of.threads {
            by_thread.entry(*pid).or_default().push((name, of));
        }
    }
    let mut by_process: FxHashMap<i32, Vec<(&str, &Serving)>> = FxHashMap::default();
    for (name, of) in &serving {
        let processes: BTreeSet<i32> = of.threads.iter().map(|tid| r.facts.process(*tid)).collect();
        for pid in processes {
            by_process.entry(pid).or_default().push((name, of));
        }
    }
    let under_way = |name: &str, at: i64| busy.get(name).is_some_and(|b| b.within(at, at.saturating_add(1)) > 0);
    let clients = all.iter().filter(|(s, _)| s.role == Role::Client);
    let by_tcp = clients.flat_map(|(s, to)| {
        let one = |(ns, row): (i64, &ResponseRow)| Question {
            to: to.clone(),
            n: 1,
            pid: row.pid,
            at: row.send_ns,
            ns: Some(ns),
            by_udp: false,
        };
        s.judged_responses().map(one).collect::<Vec<_>>()
    });
    let by_udp = if here.is_none() { Question::by_udp(r) } else { vec![] };
    let mut asked: BTreeMap<Pair, FxHashSet<(i32, i64)>> = BTreeMap::new();
    let mut placed = Placed::default();
    for q in by_tcp.chain(by_udp).filter(|q| r.has(q.at)) {
        *out.all.entry(q.to.clone()).or_default() += q.n;
        // A pool of threads of the same process asks for it.
        let own = by_thread.get(&q.pid);
        let pool = || by_process.get(&r.facts.process(q.pid)).filter(|_| q.by_udp);
        let for_it = own.or_else(pool).into_iter().flatten();
        let for_it = for_it.filter(|(name, _)| *name != q.to && under_way(name, q.at));
        let Some((name, of)) = for_it.max_by_key(|(_, of)| of.read_before(q.at)) else {
            continue;
        };
        let pair = ((*name).to_owned(), q.to);
        let sum = out.pairs.entry(pair.clone()).or_default();
        sum.requests += q.n;
        sum.ns.extend(q.ns);
        if let Some((from, _)) = of.placed(q.pid, q.at) {
            if let Some(ns) = q.ns {
                placed.add((name, q.pid, from), q.at, ns);
            }
            sum.placed += q.n;
            sum.asking += u64::from(asked.entry(pair).or_default().insert((q.pid, from)));
        }
    }
    placed.add_to(&mut out.times);
}

impl Side {
    fn of(side: &[Recording<'_>]) -> Side {
        let mut out = Side::default();
        for r in side {
            add(r, &mut out);
        }
        out
    }
    fn asked(&self, pair: &Pair) -> Asked {
        let answers = self.answers.get(&pair.0).copied().unwrap_or(0);
        let none = Sum::default();
        let sum = self.pairs.get(pair).unwrap_or(&none);
        let known = sum.requests > 0 && sum.placed as f64 >= PLACED * sum.requests as f64;
        Asked {
            answers,
            requests: sum.requests,
            per_answer: sum.requests as f64 / answers.max(1) as f64,
            asking: known.then_some(sum.asking),
            p50_ns: nearest_rank(&mut sum.ns.clone(), 50),
        }
    }
    /// Nearly all that was asked of a server is counted.
    fn told(&self, server: &str) -> bool {
        let untold = self.untold.get(server).copied().unwrap_or(0) as f64;
        let all = self.all.get(server).copied().unwrap_or(0) as f64;
        untold <= UNTOLD * (all + untold)
    }
}

/// All pairs, those that differ most first. Where servers have the names of their ports, none of a server that asks others of its own port.
/// With what is said of whether they are asked at the same time, by who asks.
pub(in crate::diff) fn of(
    before: &[Recording<'_>],
    after: &[Recording<'_>],
    o: &DiffOptions,
) -> (Vec<Asks>, BTreeMap<String, String>) {
    let (b, a) = (Side::of(before), Side::of(after));
    let both = b
        .times
        .iter()
        .filter_map(|(server, b)| Some((server, b, a.times.get(server)?)));
    let at_once = both.filter_map(|(server, b, a)| Some((server.clone(), at_once::said(server, *b, *a)?)));
    let at_once = at_once.collect();
    let pairs: BTreeSet<&Pair> = b.pairs.keys().chain(a.pairs.keys()).filter(|p| p.0 != p.1).collect();
    let one = |pair: &&Pair| {
        let (before, after) = (b.asked(pair), a.asked(pair));
        let enough = before.answers.min(after.answers) >= LEAST as u64;
        let more = if after.per_answer > before.per_answer {
            (&a, after)
        } else {
            (&b, before)
        };
        let all = more.0.all.get(&pair.1).copied().unwrap_or(0);
        let told = b.told(&pair.1) && a.told(&pair.1);
        (enough && told).then(|| Asks {
            server: pair.0.clone(),
            asked: pair.1.clone(),
            differs: differ(&before, &after, o),
            divided: false,
            handshakes: false,
            most: more.1.requests as f64 >= MOSTLY * all as f64,
            before,
            after,
        })
    };
    let mut out: Vec<Asks> = pairs.iter().filter_map(one).collect();
    let moved = |x: &Asks| (x.after.per_answer - x.before.per_answer).abs();
    out.sort_by(|x, y| {
        (y.differs.cmp(&x.differs))
            .then(moved(y).total_cmp(&moved(x)))
            .then_with(|| (&x.server, &x.asked).cmp(&(&y.server, &y.asked)))
    });
    (out, at_once)
}

fn differ(before: &Asked, after: &Asked, o: &DiffOptions) -> bool {
    let (less, more) = match before.per_answer < after.per_answer {
        true => (before, after),
        false => (after, before),
    };
    let would = less.answers as f64 * more.per_answer;
    more.per_answer >= o.counts * less.per_answer && (more.requests as f64).min(would) >= REQUESTS
}

fn times(n: f64) -> String {
    match n {
        0.0 => "0".into(),
        n if n >= 10.0 => format!("{n:.0}"),
        n => format!("{n:.1}"),
    }
}

impl Asks {
    /// Whether the requests themselves are others.
    pub(in crate::diff) fn is_other(&self) -> bool {
        self.differs && !self.divided
    }

    /// Whether more is asked, or less.
    pub(in crate::diff) fn is_said(&self) -> bool {
        // At other ports it may be more requests as well.
        let tls = super::exchanges::TLS.iter().any(|port| self.asked.ends_with(port));
        self.is_other() && !(self.handshakes && tls)
    }

    /// Whether these are most of the requests to the server that is asked.
    pub(in crate::diff) fn is_most(&self) -> bool {
        self.most
    }

    fn ratio(&self) -> String {
        let figure = |n: f64| {
            if n > 0.0 && n < 0.1 {
                format!("{n:.3}")
            } else {
                times(n)
            }
        };
        let (b, a) = (figure(self.before.per_answer), figure(self.after.per_answer));
        format!("{b} -> {a}")
    }

    /// A sentence, without its end.
    pub(in crate::diff) fn sentence(&self) -> String {
        let (b, a) = (&self.before, &self.after);
        let mut out = format!(
            "Per answer of {} its program asks {} {} times ({} -> {} requests for {} -> {} answers",
            self.server,
            self.asked,
            self.ratio(),
            b.requests,
            a.requests,
            b.answers,
            a.answers
        );
        let each = |of: &Asked| of.asking.filter(|n| *n > 0).map(|n| of.requests as f64 / n as f64);
        let few = |of: &Asked| of.asking.is_none_or(|n| n < of.answers);
        if let (Some(x), Some(y)) = (each(b), each(a))
            && (few(b) || few(a))
        {
            out += &format!(", {} -> {} for each for which it asks at all", times(x), times(y));
        }
        out += ")";
        let p50 = |of: &Asked| of.p50_ns.map_or_else(|| "-".into(), duration);
        out + &format!("; a request there takes p50 {} -> {}", p50(b), p50(a))
    }

    /// Most requests to that server are others than on the other side.
    pub(in crate::diff) fn asks_otherwise(&self) -> bool {
        self.is_other() && self.most
    }

    /// What a metric's units have of it: the requests to a server are others.
    pub(in crate::diff) fn why(all: &[Asks], which: &Which) -> Option<String> {
        let service = which.service.as_ref().filter(|_| which.ledger == LEDGER)?;
        let own = |x: &&Asks| x.asks_otherwise() && x.asked == server_of(service);
        let x = all.iter().find(own)?;
        if x.handshakes {
            return Some(format!(
                "turns of handshakes (TLS, logins) are among its requests, as connections are opened for each on one side alone ({} -> {}; inferred)",
                x.before.requests, x.after.requests
            ));
        }
        Some(format!(
            "its requests are others: per answer of {} there were {} of them ({} -> {})",
            x.server,
            x.ratio(),
            x.before.requests,
            x.after.requests
        ))
    }
}
