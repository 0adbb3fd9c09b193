//! Servers whose answers both sides have, one of them too few to be compared: what each side had. Not judged: a
//! rank test counts each answer as one chance, is of one question out of many, and calls nothing.
//!
//! In: the values of both sides, what was compared. Out: figures, and sentences.

use std::collections::BTreeSet;

use super::answers::{LEAST, LEDGER};
use crate::analyses::verdict::duration;
use crate::diff::judged::compare::Metric;
use crate::diff::sides::options::DiffOptions;
use crate::diff::values::metrics::{Table, Which};
use crate::stat::{nearest_rank, rank_test};

/// Servers told at most.
const MOST: usize = 2;
/// Chance below which they surely moved.
const SURELY: f64 = 0.001;
/// Chance of an order at most that says anything: of 2 and 1 even the most extreme order comes in two of three recordings of the same.
const BY_CHANCE: f64 = 0.1;
/// Part of the answers that must have waited for the opening of their connection for these times to be told.
const OPENED: f64 = 0.5;

/// Answers that were not compared.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Few {
    /// `app.response[10.9.2.2:7208]`.
    pub metric: String,
    /// Before.
    pub before: Handful,
    /// After.
    pub after: Handful,
    /// Exact rank test, two-sided, not adjusted for other tests; `None`: too many values.
    pub p: Option<f64>,
    #[serde(skip)]
    which: Which,
}

/// A few durations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Handful {
    /// How many.
    pub n: usize,
    /// Their median, ns.
    pub p50_ns: i64,
    /// The shortest.
    pub least_ns: i64,
    /// The longest.
    pub most_ns: i64,
}

impl Handful {
    fn of(values: &mut [i64]) -> Option<Handful> {
        Some(Handful {
            n: values.len(),
            p50_ns: nearest_rank(values, 50)?,
            least_ns: *values.iter().min()?,
            most_ns: *values.iter().max()?,
        })
    }
}

impl Few {
    /// Whether all of one side are longer than all of the other.
    fn apart(&self) -> bool {
        self.after.least_ns > self.before.most_ns || self.after.most_ns < self.before.least_ns
    }
    /// Whether chance alone gives it so often that it says nothing: all of one side are longer, and these are so few that it means nothing.
    /// Every answer of one side took longer than every one of the other, as chance hardly gives.
    pub(in crate::diff) fn surely_moved(&self, longer: bool) -> bool {
        let so = (self.after.p50_ns > self.before.p50_ns) == longer;
        so && self.apart() && self.p.is_some_and(|p| p < SURELY)
    }
    fn is_empty(&self) -> bool {
        self.apart() && self.p.is_some_and(|p| p > BY_CHANCE)
    }
    fn moved(&self, o: &DiffOptions) -> bool {
        // What chance gives as well heads nothing.
        if self.p.is_some_and(|p| p > BY_CHANCE) {
            return false;
        }
        let (b, a) = (self.before.p50_ns, self.after.p50_ns);
        let least = (b.unsigned_abs() as f64 * o.median_relative).max(o.median_ns as f64);
        a.abs_diff(b) as f64 >= least
    }
    fn sentence(&self) -> String {
        let server = self.which.service.as_deref().unwrap_or("all servers");
        let what = match self.which.stage {
            "call" => format!("Answers from {server}, with the opening of their connection,"),
            "turnaround" => format!("Turnarounds of {server}"),
            "connect" => format!("Openings of connections to {server}"),
            _ => format!("Answers from {server}"),
        };
        let (b, a) = (&self.before, &self.after);
        let range = |h: &Handful| format!("{} to {}", duration(h.least_ns), duration(h.most_ns));
        let p = self.p.map_or_else(String::new, |p| {
            let p = if p < 0.001 {
                "below 0.001".into()
            } else {
                format!("{p:.3}")
            };
            format!(" (exact rank test p {p}, not adjusted)")
        });
        let more = match (self.apart(), a.p50_ns > b.p50_ns) {
            (false, _) => format!(" (all: {} -> {})", range(b), range(a)),
            (true, true) => format!(", every one after longer than every one before{p}"),
            (true, false) => format!(", every one after shorter than every one before{p}"),
        };
        let (x, y) = (duration(b.p50_ns), duration(a.p50_ns));
        format!(
            "{what} are too few to judge ({} and {}): p50 {x} -> {y}{more}.",
            b.n, a.n
        )
    }
}

/// Servers with answers on both sides that are not compared, and on one side too few for it: those that are surely apart first, then those with most answers.
pub(in crate::diff) fn of(before: &[Table], after: &[Table], compared: &[Metric]) -> Vec<Few> {
    let answers = |m: &&Metric| m.which.is_answer();
    let told: BTreeSet<Option<&String>> = compared
        .iter()
        .filter(answers)
        .map(|m| m.which.service.as_ref())
        .collect();
    // All were compared together.
    if told.contains(&None) {
        return vec![];
    }
    let tables = before.iter().chain(after);
    let names = tables.flat_map(|t| t.keys()).filter(|w| w.ledger == LEDGER);
    let servers: BTreeSet<Option<&String>> = names.filter_map(|w| w.service.as_ref()).map(Some).collect();
    let one = |service: &Option<&String>| {
        let of = |stage| {
            let which = Which::new(LEDGER, stage);
            let which = match service {
                Some(s) => which.of_service(s),
                None => which,
            };
            let values = |side: &[Table]| -> Vec<i64> {
                let all = side.iter().filter_map(|t| t.get(&which));
                all.flat_map(|v| v.at.iter().map(|at| at.value)).collect()
            };
            let (b, a) = (values(before), values(after));
            (!b.is_empty() && !a.is_empty()).then_some((which, b, a))
        };
        let response = of("response");
        // How many of one side waited for their connection.
        let longer = |of: &[i64], than: &[i64]| {
            let n = of.iter().zip(than).filter(|(c, r)| c > r).count();
            n as f64 >= OPENED * of.len().max(1) as f64
        };
        let call = of("call").filter(|(_, b, a)| {
            let plain = response.as_ref();
            plain.is_some_and(|(_, pb, pa)| longer(b, pb) || longer(a, pa))
        });
        let (which, mut b, mut a) = call
            .or(response)
            .or_else(|| of("turnaround"))
            .or_else(|| of("connect"))?;
        let p = rank_test(&b, &a);
        Some(Few {
            metric: which.name(),
            before: Handful::of(&mut b)?,
            after: Handful::of(&mut a)?,
            p,
            which,
        })
    };
    let left = servers.iter().filter(|s| !told.contains(*s));
    let few = |f: &Few| f.before.n.min(f.after.n) < LEAST;
    let mut out: Vec<Few> = left.filter_map(one).filter(few).collect();
    out.sort_by_key(|f| {
        (
            !f.apart(),
            std::cmp::Reverse(f.before.n.min(f.after.n)),
            f.metric.clone(),
        )
    });
    out
}

/// Sentences: of those that moved as far as a median must to be called and whose order is not chance's, and of the others; none of those of which nothing can be said.
pub(in crate::diff) fn said(few: &[Few], o: &DiffOptions) -> (Vec<String>, Vec<String>) {
    let mut all: Vec<&Few> = few.iter().filter(|f| !f.is_empty()).collect();
    all.sort_by_key(|f| !f.moved(o));
    let left = all.len().saturating_sub(MOST);
    all.truncate(MOST);
    let (moved, others): (Vec<&Few>, Vec<&Few>) = all.into_iter().partition(|f| f.moved(o));
    let sentences = |of: Vec<&Few>| -> Vec<String> { of.into_iter().map(Few::sentence).collect() };
    let mut others = sentences(others);
    match left {
        0 => {}
        1 => others.push("Those of 1 more server are too few, too.".into()),
        n => others.push(format!("Those of {n} more servers are too few, too.")),
    }
    (sentences(moved), others)
}
