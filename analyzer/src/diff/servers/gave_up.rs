//! Requests that a program gives up by its own time-out on one side, where on the other it waited on: the time-out is another, and what it asks again is load for its servers.
//!
//! In: requests given up (`analyses::application::asked`), responses, what programs that serve ask of others. Out: a sentence. Not judged: that who waits has less of it is the
//! answers' own, and these are compared. Must not be said of hedged requests, of what nobody wants any more, of few, of waits of all lengths, of one stall of a server
//! (where nobody had waited as long before, they must lie in most of the time), or of who gave up as soon on the other side.
//!
//! ```text
//! with:    request ──── time-out ──── close      n of all, all waits alike
//! without: request ─────────┼──────── answer     it waited longer for these: the time-out is new
//!          request ── answer ┊                   no request took as long: whether it had one, nobody knows
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use super::answers::{LEAST, server};
use super::asks::{Asked as Counts, Asks};
use super::clients::server_of;
use crate::analyses::application::{Role, asked, sockets, unanswered};
use crate::analyses::verdict::{duration, hedged};
use crate::diff::sides::options::Recording;
use crate::diff::values::metrics::Which;
use crate::stat::{block_of, nearest_rank};

/// Fewest requests given up, by all servers together.
const FEWEST: usize = 20;
/// Fewer are enough where they lie in most of the time, and chance gives it so seldom: of all requests that took as long as the time-out, on one side none was waited for, and on the other none given up.
const FEW: usize = 5;
const BY_CHANCE: f64 = 0.001;
/// p10 and p90 of the waits are closer than this part of their median: one in so many.
const NARROW: i64 = 10;
/// Answers that took longer than the time-out, and this part of it, were waited for: one in so many.
const LONGER: i64 = 10;
/// Fewest of them that tell of another time-out.
const PATIENT: usize = 5;
/// Parts of a side's time, and in how many of them it must give up where nobody had waited as long.
const PARTS: (usize, usize) = (10, 6);
/// Another time-out is so many times as long.
const TIMES: i64 = 2;
/// By so much more is asked per answer, to be said, and so much of that must be those given up.
const MORE: f64 = 1.2;
const OF_MORE: f64 = 0.5;
/// Part of its requests to a server that must be given up for its answers' times to be no answer.
const TOLD_PART: f64 = 0.01;
/// Part of the answers of these servers that must be for one server for requests to be counted per answer of it.
const MOST: f64 = 0.9;
/// Servers named, sentences said.
const NAMED: usize = 3;
const SAID: usize = 2;

/// Requests of a program to one server.
#[derive(Debug, Clone, Default, PartialEq)]
struct To {
    /// Waits for those given up, ns.
    given: Vec<i64>,
    /// The same of whatever was closed without an answer, be it a few, or of other lengths.
    closed: Vec<i64>,
    /// Times of those answered, ns.
    answered: Vec<i64>,
    /// Of those given up: answered when nobody waited.
    later: u64,
    /// Parts of the time with any that was given up.
    parts: BTreeSet<usize>,
}

impl To {
    fn add(&mut self, other: &To) {
        self.given.extend(&other.given);
        self.closed.extend(&other.closed);
        self.answered.extend(&other.answered);
        self.later += other.later;
        self.parts.extend(&other.parts);
    }
    fn all(&self) -> usize {
        self.given.len().max(self.closed.len()) + self.answered.len()
    }
}

/// By program and server.
type Side = BTreeMap<String, BTreeMap<String, To>>;

fn side(of: &[Recording<'_>]) -> Side {
    let mut out = Side::new();
    for r in of {
        for s in sockets(r.facts).iter().filter(|s| s.in_turns && s.role == Role::Client) {
            let row = r.facts.connections.get(s.connection.0 as usize);
            let (Some(row), Some(server)) = (row, server(r, s.connection, s.role)) else {
                continue;
            };
            let to = out.entry(row.task.text().into_owned()).or_default();
            let to = to.entry(server).or_default();
            to.answered.extend(s.judged_responses().map(|(ns, _)| ns));
        }
        for (task, end, waited) in unanswered(r.facts) {
            let server = SocketAddr::new(end.0, end.1).to_string();
            let to = out
                .entry(task.text().into_owned())
                .or_default()
                .entry(server)
                .or_default();
            to.closed.push(waited);
        }
        for a in asked(r.facts) {
            // Nobody wants these, and that is no time-out.
            if a.told.hasty || hedged(&a.told) {
                continue;
            }
            let server = SocketAddr::new(a.end.0, a.end.1).to_string();
            let to = out.entry(a.told.task.clone()).or_default().entry(server).or_default();
            for (sent, (closed, later)) in a.requests.iter().filter_map(|(sent, given)| Some((*sent, (*given)?))) {
                to.given.push(closed.saturating_sub(sent));
                to.later += u64::from(later);
                to.parts
                    .insert(block_of(closed, r.from_ns, r.to_ns.saturating_sub(1), PARTS.0));
            }
        }
    }
    out
}

/// What a program does on one side alone.
#[derive(Debug, PartialEq)]
struct GaveUp {
    task: String,
    /// Those with most given up first.
    servers: Vec<String>,
    with: To,
    without: To,
    timeout_ns: i64,
    /// Answers of the other side that took longer.
    patient: usize,
    /// The same of this side: it is a time-out of some of its requests alone.
    patient_too: usize,
}

/// The median of waits that are all alike.
fn alike(waits: &[i64]) -> Option<i64> {
    let rank = |percent| nearest_rank(&mut waits.to_vec(), percent);
    let (low, middle, high) = (rank(10)?, rank(50)?, rank(90)?);
    (high.saturating_sub(low) <= middle / NARROW).then_some(middle)
}

fn one(task: &str, with: &BTreeMap<String, To>, without: &BTreeMap<String, To>) -> Option<GaveUp> {
    let mut servers: Vec<(&String, &To)> = with
        .iter()
        .filter(|(server, to)| !to.given.is_empty() && without.contains_key(*server))
        .collect();
    servers.sort_by_key(|(server, to)| (std::cmp::Reverse(to.given.len()), *server));
    let (mut w, mut o) = (To::default(), To::default());
    for (server, to) in &servers {
        w.add(to);
        o.add(without.get(*server)?);
    }
    let timeout_ns = alike(&w.given).filter(|_| w.given.len() >= FEW && o.answered.len() >= LEAST)?;
    // By a longer time-out it may have given up there, too.
    let soon = o.closed.iter().any(|ns| *ns < timeout_ns.saturating_mul(TIMES));
    let longer = timeout_ns.saturating_add(timeout_ns / LONGER);
    let waited = |of: &To| of.answered.iter().filter(|ns| **ns > longer).count();
    let (patient, patient_too) = (waited(&o), waited(&w));
    let another = patient >= PATIENT;
    let spread = another && w.parts.len() >= PARTS.1;
    let few = || spread && by_chance((w.given.len(), patient_too), patient) <= BY_CHANCE;
    (!soon && (w.given.len() >= FEWEST || few()) && (another || w.parts.len() >= PARTS.1)).then(|| GaveUp {
        task: task.to_owned(),
        servers: servers.iter().map(|(server, _)| (*server).clone()).collect(),
        timeout_ns,
        patient,
        patient_too,
        with: w,
        without: o,
    })
}

/// Chance that all requests given up are of one side, of those that took as long: given up and waited for there, waited for on the other (Fisher's exact test, one-sided).
fn by_chance((given, waited): (usize, usize), other: usize) -> f64 {
    let (own, all) = (given + waited, given + waited + other);
    (0..given).map(|n| (own - n) as f64 / (all - n) as f64).product()
}

/// What of one side the other has not.
fn only(with: &Side, without: &Side) -> Vec<GaveUp> {
    let both = with
        .iter()
        .filter_map(|(task, to)| Some((task, to, without.get(task)?)));
    let mut all: Vec<GaveUp> = both.filter_map(|(task, w, o)| one(task, w, o)).collect();
    all.sort_by_key(|g| std::cmp::Reverse(g.with.given.len()));
    all
}

impl GaveUp {
    /// How many requests these servers get for each answer from the one whose program asks them: with, without, and that server.
    fn per_answer<'a>(&self, asks: &'a [Asks], after: bool) -> Option<(f64, f64, &'a str)> {
        let own: Vec<&Asks> = asks.iter().filter(|x| self.servers.contains(&x.asked)).collect();
        let server = &own.first()?.server;
        let one = own.iter().all(|x| &x.server == server);
        let sides = |x: &Asks| {
            if after {
                (x.after, x.before)
            } else {
                (x.before, x.after)
            }
        };
        let count = |side: fn((Counts, Counts)) -> Counts, of: &To| {
            let answered: u64 = own.iter().map(|x| side(sides(x)).requests).sum();
            let answers = own.iter().map(|x| side(sides(x)).answers).max().unwrap_or(0);
            let most = answered as f64 >= MOST * of.answered.len() as f64;
            let given = of.given.len() as f64;
            (most && answers > 0).then(|| ((answered as f64 + given) / answers as f64, given / answers as f64))
        };
        let ((with, given), (without, _)) = (count(|s| s.0, &self.with)?, count(|s| s.1, &self.without)?);
        let more = with >= MORE * without && given >= OF_MORE * (with - without);
        (one && more).then_some((with, without, server.as_str()))
    }

    fn sentence(&self, asks: &[Asks], after: bool) -> String {
        let (when, other, gives_up, asks_again) = match after {
            true => ("After", "before", "gives up", "asks again"),
            false => ("Before", "after", "gave up", "asked again"),
        };
        let task = if self.task.is_empty() { "a client" } else { &self.task };
        let mut named: Vec<String> = self.servers.iter().take(NAMED).cloned().collect();
        match self.servers.len().saturating_sub(NAMED) {
            0 => {}
            1 => named.push("1 other".into()),
            n => named.push(format!("{n} others")),
        }
        let last = named.pop().unwrap_or_default();
        let named = match named.is_empty() {
            true => last,
            false => format!("{} and {last}", named.join(", ")),
        };
        let (w, o) = (&self.with, &self.without);
        let wait = duration(self.timeout_ns);
        let mut out = format!(
            "{when}, and not {other}, {task} {gives_up} requests to {named} after p50 {wait} without an answer (its own time-out, inferred: all alike), {} of {}",
            w.given.len(),
            w.all()
        );
        let gave_up = match (o.closed.len(), nearest_rank(&mut o.closed.clone(), 50)) {
            (n @ 1.., Some(ns)) => format!("gave up {n} of {}, after p50 {}", o.all(), duration(ns)),
            _ => format!("gave up none of {}", o.all()),
        };
        out += &match (self.patient, after) {
            (n, _) if n >= PATIENT && self.patient_too >= PATIENT => format!(
                "; {other} it {gave_up}, and waited longer than that for {n}; of its other requests it waits longer, too, for {}, so this is a time-out of some of them (inferred)",
                self.patient_too
            ),
            (0, _) if o.answered.iter().any(|ns| *ns > self.timeout_ns) => {
                format!("; {other} it {gave_up}, and none took much longer")
            }
            (0, _) => format!("; {other} it {gave_up}, and none took as long"),
            (n @ 1..PATIENT, _) => format!("; {other} it {gave_up}, and {n} took longer than that"),
            (n, after) => {
                let what = if after {
                    "new, or shorter than it was"
                } else {
                    "gone, or longer than that"
                };
                format!(
                    "; {other} it {gave_up}, and waited longer than that for {n}: the time-out is {what} (inferred)"
                )
            }
        };
        if let Some((with, without, server)) = self.per_answer(asks, after) {
            out += &format!(
                "; it {asks_again}: {with:.1} requests for each answer from {server}, {without:.1} {other} (given up ones counted, inferred), more work for the same answers"
            );
        }
        let again = self.per_answer(asks, after).is_some();
        if after && !again && self.patient >= PATIENT && self.patient_too == 0 {
            out += "; that answers take no longer than that now is the cut, and no improvement";
        }
        if w.later > 0 {
            out += &format!(
                "; at least {} of those given up were answered later, when nobody was still waiting",
                w.later
            );
        }
        out + "."
    }
}

/// What is said of one.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::diff) struct Told {
    pub sentence: String,
    servers: Vec<String>,
    /// It is so after, not before.
    pub after: bool,
    /// Enough of them that what is left are other answers.
    many: bool,
    /// More is asked for the same answers: it asks again.
    again: bool,
    /// It waited longer for some on the other side: else nothing shows that the time-out is another.
    waited: bool,
}

impl Told {
    /// Whether it is harm by itself: requests end without an answer that were waited for before. Of who asks again its own answers tell; where none took as long before, it is a cause and no verdict.
    pub(in crate::diff) fn is_worse(&self) -> bool {
        self.after && !self.again && self.waited
    }
}

/// A sentence for each; what is asked of these servers is marked.
pub(in crate::diff) fn told(before: &[Recording<'_>], after: &[Recording<'_>], asks: &mut [Asks]) -> Vec<Told> {
    // Of what was lost nobody knows whether it was given up.
    if before.iter().chain(after).any(|r| !r.facts.gaps.is_empty()) {
        return vec![];
    }
    let (b, a) = (side(before), side(after));
    let now = only(&a, &b).into_iter().map(|g| (g, true));
    let then = only(&b, &a).into_iter().map(|g| (g, false));
    let mut out = vec![];
    for (g, after) in now.chain(then).take(SAID) {
        let sentence = g.sentence(asks, after);
        let again = g.per_answer(asks, after).is_some();
        for x in asks.iter_mut().filter(|x| g.servers.contains(&x.asked)) {
            x.divided = true;
        }
        let many = g.with.given.len() as f64 >= TOLD_PART * g.with.all() as f64;
        let waited = g.patient > 0;
        let servers = g.servers;
        out.push(Told {
            sentence,
            servers,
            after,
            many,
            again,
            waited,
        });
    }
    out
}

/// Why times of answers are no answer: without those given up they end at the time-out, so that side is only the quicker for it. `worse`: they are called so.
pub(in crate::diff) fn why(told: &[Told], which: &Which, worse: bool) -> Option<String> {
    let answers = which.is_wait();
    let server = which.service.as_deref().filter(|_| answers).map(server_of)?;
    // What is longer though its longest are left out is longer; what is shorter though the other's are, is shorter.
    let hides = |t: &Told| t.after != worse && t.many && t.servers.iter().any(|s| s == server);
    told.iter().any(hides).then(|| {
        "on one side alone its client gives up those that take longer, which are none of these answers".to_owned()
    })
}
