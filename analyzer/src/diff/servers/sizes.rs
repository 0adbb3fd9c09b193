//! How much each answer, or each request, has: payload bytes from one request of a connection to the next.
//!
//! In: `responses`, `rx` and `tx` of clients' sockets; where a server's client is not in the recording, `turnarounds` of its own. Out: servers of which
//! the middle answer (or request) has [`FACTOR`] times as much on one side, with all clients or with one: a line, and where the answers take longer too, why. Not
//! judged: more bytes are no harm by themselves. Left out, as not all of its bytes are known: what lost events touch, what may be another connection's, the last turn of a
//! connection that was not closed, and what came before the first request that is seen (`moves`).

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use super::Servers;
use super::answers::{LEDGER, QUEUE};
use super::clients::{client_of, server_of};
use super::exchanges::Exchanges;
use crate::analyses::verdict::size;
use crate::diff::judged::compare::Metric;
use crate::diff::said::verdict::Outcome;
use crate::diff::values::moves::Moves;

/// So many times as much.
const FACTOR: f64 = 1.5;
/// Answers, or requests, that each side must have.
const LEAST: usize = 10;
/// Ranks from the median to the end of its interval (99 %): so many times the root of their number, 2.58 standard deviations of a half.
const RANKS: f64 = 1.29;
/// Part of the sizes that clients which both sides have must hold for all to be told together.
const MOST: f64 = 0.9;
/// Nine in ten are as close to their median as this part of it where "each" has so much.
const NEAR: f64 = 0.1;

/// Answers, or requests, that have more, or less.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::diff) struct Sizes {
    /// `address:port`.
    pub server: String,
    /// Requests; else answers.
    pub requests: bool,
    /// Whose, where not all have more.
    client: Option<IpAddr>,
    before: Middle,
    after: Middle,
}

/// Of sizes, bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Middle {
    n: usize,
    p50: i64,
    /// Where the median is (99 %).
    low: i64,
    high: i64,
    mean: f64,
    /// Nine in ten have as much.
    alike: bool,
}

/// (server, requests) -> client -> sizes.
type Side = BTreeMap<(String, bool), BTreeMap<IpAddr, Vec<i64>>>;

fn side(all: &[Moves]) -> Side {
    let mut out = Side::new();
    for m in all {
        for (requests, bytes) in [(true, m.request), (false, m.answer)] {
            if let Some(bytes) = bytes {
                let of = out.entry((m.server.clone(), requests)).or_default();
                of.entry(m.client).or_default().push(bytes);
            }
        }
    }
    out
}

impl Middle {
    fn of(mut sizes: Vec<i64>) -> Option<Middle> {
        let n = sizes.len();
        if n < LEAST {
            return None;
        }
        sizes.sort_unstable();
        let (mid, far) = (n / 2, (RANKS * (n as f64).sqrt()).ceil() as usize);
        let at = |rank: usize| sizes.get(rank.min(n.saturating_sub(1))).copied();
        let p50 = at(mid)?;
        let close = |v: i64| (v - p50).abs() as f64 <= NEAR * p50 as f64;
        Some(Middle {
            n,
            p50,
            low: at(mid.saturating_sub(far))?,
            high: at(mid.saturating_add(far))?,
            mean: sizes.iter().map(|v| *v as f64).sum::<f64>() / n as f64,
            alike: close(at(n / 20)?) && close(at(n - 1 - n / 20)?),
        })
    }

    /// Whether it has so many times as much as another, the median and the mean, and the medians' intervals are apart.
    fn exceeds(&self, less: &Middle) -> bool {
        let times = self.p50 as f64 >= FACTOR * less.p50 as f64 && self.mean >= FACTOR * less.mean;
        times && self.low > less.high
    }
}

fn differ(b: &Middle, a: &Middle) -> bool {
    a.exceeds(b) || b.exceeds(a)
}

/// Those that differ, most bytes first.
pub(in crate::diff) fn of([before, after]: &[Vec<Moves>; 2]) -> Vec<Sizes> {
    let (b, a) = (side(before), side(after));
    let mut out: Vec<Sizes> = vec![];
    for (key, before) in &b {
        let Some(after) = a.get(key) else { continue };
        let middle = |of: &BTreeMap<IpAddr, Vec<i64>>, c: Option<IpAddr>| match c {
            Some(c) => Middle::of(of.get(&c)?.clone()),
            None => Middle::of(of.values().flatten().copied().collect()),
        };
        let one = |client: Option<IpAddr>| {
            Some(Sizes {
                server: key.0.clone(),
                requests: key.1,
                client,
                before: middle(before, client)?,
                after: middle(after, client)?,
            })
        };
        // Of clients by themselves, where some have more and others not.
        let both: BTreeSet<IpAddr> = before.keys().filter(|c| after.contains_key(c)).copied().collect();
        let each: Vec<Sizes> = both.into_iter().filter_map(|c| one(Some(c))).collect();
        // Of all together only where these are nearly all.
        let whole = |of: &BTreeMap<IpAddr, Vec<i64>>, own: usize| {
            own as f64 >= MOST * of.values().map(Vec::len).sum::<usize>() as f64
        };
        let nearly =
            whole(before, each.iter().map(|s| s.before.n).sum()) && whole(after, each.iter().map(|s| s.after.n).sum());
        let all = one(None).filter(Sizes::differs);
        let most = each.iter().filter(|s| s.differs()).max_by_key(|s| s.bytes());
        match (all, most) {
            (Some(all), _) if nearly && each.iter().all(|s| s.alike(&all)) => out.push(all),
            (_, Some(most)) => out.push(most.clone()),
            // Other clients: who has more is not the same.
            _ => {}
        }
    }
    out.sort_by(|x, y| {
        y.bytes()
            .cmp(&x.bytes())
            .then_with(|| (&x.server, x.requests).cmp(&(&y.server, y.requests)))
    });
    out
}

impl Servers {
    /// Of one that takes longer what has more bytes, of one that takes less long what has fewer; and their places. Of a client by itself its own.
    pub(in crate::diff) fn sizes_of(
        &self,
        server: Option<&str>,
        longer: bool,
    ) -> impl Iterator<Item = (usize, &Sizes)> {
        let client: Option<IpAddr> = server.and_then(client_of).and_then(|c| c.parse().ok());
        let server = server.map(server_of);
        let theirs = move |s: &Sizes| client.is_none() || s.client.is_none() || s.client == client;
        let own =
            move |s: &&(usize, &Sizes)| Some(s.1.server.as_str()) == server && s.1.grown() == longer && theirs(s.1);
        let all: Vec<(usize, &Sizes)> = self.sizes.iter().enumerate().collect();
        all.into_iter().filter(move |s| own(&s))
    }

    /// Whose larger answers passed the same queue, where those of this one are not larger themselves.
    pub(in crate::diff) fn behind(&self, metrics: &[Metric], of: &Metric) -> String {
        let larger = |m: &Metric| self.larger(m.which.service.as_deref());
        let passed = |m: &&Metric| {
            (m.which.ledger, m.which.stage, &m.which.dev) == (LEDGER, QUEUE, &of.which.dev)
                && m.outcome == Outcome::Worse
                && m.which.service != of.which.service
                && larger(m)
        };
        let alone = of.outcome == Outcome::Worse && !larger(of);
        let first = metrics.iter().filter(|_| alone).find(passed);
        let server = first.and_then(|m| m.which.service.as_deref());
        server.map_or_else(String::new, |s| {
            format!(", behind the larger answers from {s} (inferred)")
        })
    }

    /// The same of how many exchanges its connections have.
    pub(in crate::diff) fn exchanges_of(
        &self,
        server: Option<&str>,
        longer: bool,
    ) -> impl Iterator<Item = (usize, &Exchanges)> {
        let server = server.map(server_of);
        let all: Vec<(usize, &Exchanges)> = self.exchanges.iter().enumerate().collect();
        all.into_iter()
            .filter(move |(_, e)| Some(e.server.as_str()) == server && e.grown() == longer)
    }

    /// Whether its answers have more bytes.
    pub(in crate::diff) fn larger(&self, server: Option<&str>) -> bool {
        self.sizes_of(server, true).any(|(_, s)| !s.requests)
    }
}

impl Sizes {
    fn differs(&self) -> bool {
        differ(&self.before, &self.after)
    }

    /// Whether it has more after.
    pub(in crate::diff) fn grown(&self) -> bool {
        self.after.p50 > self.before.p50
    }

    fn alike(&self, other: &Sizes) -> bool {
        self.differs() && self.grown() == other.grown()
    }

    /// By how much the whole differs, bytes.
    fn bytes(&self) -> i64 {
        let whole = |m: &Middle| (m.mean * m.n as f64) as i64;
        whole(&self.after)
            .abs_diff(whole(&self.before))
            .try_into()
            .unwrap_or(i64::MAX)
    }

    /// `each answer to 10.0.0.3 has 110.2 kB where it had 25.4 kB (4.3 times as much, n 108 -> 108)`; `of` names the server.
    pub(in crate::diff) fn words(&self, of: bool) -> String {
        let (b, a) = (&self.before, &self.after);
        let what = if self.requests { "request" } else { "answer" };
        let server = match (of, self.requests) {
            (false, _) => String::new(),
            (true, true) => format!(" to {}", self.server),
            (true, false) => format!(" from {}", self.server),
        };
        let client = self.client.map_or_else(String::new, |c| match self.requests {
            true => format!(" of {c}"),
            false => format!(" to {c}"),
        });
        let times = match self.grown() {
            true => format!("{:.1} times as much", a.p50 as f64 / b.p50.max(1) as f64),
            false => format!("{:.0} % of that", 100.0 * a.p50 as f64 / b.p50.max(1) as f64),
        };
        let n = format!("n {} -> {}", b.n, a.n);
        match b.alike && a.alike {
            true => format!(
                "each {what}{server}{client} has {} where it had {} ({times}, {n})",
                size(a.p50),
                size(b.p50)
            ),
            false => format!(
                "{what}s{server}{client} have p50 {} where they had {} ({times}, {n})",
                size(a.p50),
                size(b.p50)
            ),
        }
    }
}
