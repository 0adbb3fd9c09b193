//! The one table, and the figures it must reach.

use std::fmt::Write;

use super::cases::us;
use super::invariants::BYTES;
use super::links::READ_BYTES;
use super::{CaseResult, Oracle, Report};

/// Share of cases whose top wait must be named.
pub const NAMED: f64 = 0.95;
/// Wrong links among all that were checked.
pub const WRONG_LINKS: f64 = 0.001;
/// Unexplained bytes among all expected.
pub const UNEXPLAINED: f64 = 0.005;

/// Totals over all rigs.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Figures {
    /// Cases the ledger has a stage for.
    pub cases: usize,
    /// Cases whose stage the ledger does not have yet.
    pub later: usize,
    /// Cases whose own stamps say that the plant failed.
    pub void: usize,
    /// Cases that this kernel cannot tell, and that the ledger answers with no other confident wait.
    pub weaker: usize,
    /// Cases for which another wait is claimed with confidence.
    pub misled: usize,
    /// Named right.
    pub named: usize,
    /// Cases whose size is asked.
    pub sizable: usize,
    /// Of these sized right.
    pub sized: usize,
    /// Links compared with an independent truth.
    pub links: u64,
    /// Wrong ones that were claimed certain or strong.
    pub wrong_links: u64,
    /// Wrong ones whose label told the doubt.
    pub doubtful: u64,
    /// Bytes that the balances expect.
    pub bytes: u64,
    /// Bytes they do not explain.
    pub unexplained: u64,
    /// What must hold always, and did not.
    pub broken: Vec<String>,
}

/// Oracles that count links.
pub const LINKS: &str = "link";

impl Figures {
    /// Of all reports.
    pub fn of(reports: &[Report]) -> Figures {
        let mut f = Figures::default();
        for r in reports {
            for c in &r.cases {
                if !c.case.void.is_empty() {
                    f.void += 1;
                    continue;
                }
                if !c.answerable {
                    f.later += 1;
                    continue;
                }
                if c.excused() {
                    f.weaker += 1;
                    continue;
                }
                f.cases += 1;
                f.misled += usize::from(c.misled());
                f.named += usize::from(c.named());
                f.sizable += usize::from(c.case.rough.is_empty());
                f.sized += usize::from(c.case.rough.is_empty() && c.sized());
            }
            for o in &r.oracles {
                if o.name == BYTES || o.name == READ_BYTES {
                    (f.bytes, f.unexplained) = (f.bytes + o.checked, f.unexplained + o.wrong);
                } else if o.name.starts_with(LINKS) {
                    (f.links, f.wrong_links) = (f.links + o.checked, f.wrong_links + o.wrong);
                    f.doubtful += o.doubtful;
                } else if o.wrong > 0 {
                    let (rig, name) = (&r.rig, o.name);
                    f.broken
                        .push(format!("{rig}: {name}: {} of {} ({})", o.wrong, o.checked, o.note));
                }
            }
        }
        f
    }
    /// Why the figures say nothing, where they do not: most plants failed by their own stamps, or most sizes are not known.
    pub fn inconclusive(&self) -> Option<String> {
        let (void, cases, sizable) = (self.void, self.cases, self.sizable);
        if void > cases {
            return Some(format!(
                "{void} plants failed by their own stamps, more than the {cases} that did not"
            ));
        }
        (sizable * 2 < cases).then(|| format!("the size of only {sizable} of {cases} plants is known"))
    }
    /// Shares of links and bytes that are missed.
    fn astray(&self) -> Vec<String> {
        let links = (self.wrong_links as f64, self.links as f64);
        let bytes = (self.unexplained as f64, self.bytes as f64);
        let all = [
            ("links are wrong", links, WRONG_LINKS),
            ("bytes are unexplained", bytes, UNEXPLAINED),
        ];
        let missed = all.into_iter().filter_map(|(what, (part, of), limit)| {
            let found = share(part, of);
            (found >= limit).then(|| format!("{:.3} % of the {what}, not below {} %", 100.0 * found, 100.0 * limit))
        });
        missed.collect()
    }
    /// What of the plants misses its figure, in sentences.
    fn unnamed(&self) -> Vec<String> {
        let mut out = vec![];
        let (named, sized) = (
            share(self.named as f64, self.cases as f64),
            share(self.sized as f64, self.sizable as f64),
        );
        if named < NAMED {
            out.push(format!(
                "{:.1} % of the top waits are named right, not {} %",
                100.0 * named,
                100.0 * NAMED
            ));
        }
        if sized < NAMED {
            out.push(format!(
                "{:.1} % of the sizes are right, not {} %",
                100.0 * sized,
                100.0 * NAMED
            ));
        }
        out
    }
    /// All that misses its figure, in sentences; empty when all is reached.
    pub fn misses(&self) -> Vec<String> {
        [self.broken.clone(), self.unnamed(), self.astray()].concat()
    }
    /// What must hold always is judged first: too few plants excuse no row that does not sum.
    pub fn verdict(&self) -> Verdict {
        let holds = self.broken.is_empty() && self.astray().is_empty();
        match (holds, self.inconclusive(), self.unnamed().is_empty()) {
            (false, ..) | (true, None, false) => Verdict::Missed,
            (true, Some(_), _) => Verdict::Inconclusive,
            (true, None, true) => Verdict::Kept,
        }
    }
}

/// What figures come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// All is reached.
    Kept,
    /// A figure is missed.
    Missed,
    /// Too few plants succeeded to say, and what must hold always holds.
    Inconclusive,
}

fn share(n: f64, of: f64) -> f64 {
    if of > 0.0 { n / of } else { 0.0 }
}

/// Whether a case counts.
fn asked(c: &CaseResult) -> bool {
    c.answerable && c.case.void.is_empty() && !c.excused()
}

fn worst(cases: &[CaseResult]) -> String {
    let by_share = |c: &&CaseResult| c.deviation_ns().map_or(0, |d| d.abs() * 1000 / c.case.ns.max(1));
    let Some(c) = cases.iter().filter(|c| asked(c)).max_by_key(by_share) else {
        return "-".into();
    };
    let Some(d) = c.deviation_ns() else { return "-".into() };
    format!("{}{} of {}", if d < 0 { "" } else { "+" }, us(d), us(c.case.ns))
}

/// The table, the totals, and what misses its figure. With `verbose` every wrong case with its row.
pub fn print(reports: &[Report], verbose: bool) -> String {
    let mut out = String::new();
    let _ = writeln!(
        out,
        "{:<18} {:>5} {:>6} {:>6}  {:<28} oracles",
        "rig", "cases", "named", "sized", "worst size"
    );
    for r in reports {
        let answerable: Vec<&CaseResult> = r.cases.iter().filter(|c| asked(c)).collect();
        let count = |f: &dyn Fn(&CaseResult) -> bool| answerable.iter().filter(|c| f(c)).count();
        let (named, sizable) = (count(&CaseResult::named), count(&|c| c.case.rough.is_empty()));
        let sized = count(&|c| c.case.rough.is_empty() && c.sized());
        let sized = if sizable == answerable.len() {
            sized.to_string()
        } else {
            format!("{sized}/{sizable}")
        };
        let later = r
            .cases
            .iter()
            .filter(|c| c.case.void.is_empty() && !c.answerable)
            .count();
        let cases = if later > 0 {
            format!("{}+{later}", answerable.len())
        } else {
            answerable.len().to_string()
        };
        let oracles: Vec<String> = r.oracles.iter().filter(|o| o.wrong > 0).map(oracle).collect();
        let oracles = if oracles.is_empty() {
            format!("{} right", r.oracles.len())
        } else {
            oracles.join("; ")
        };
        let _ = writeln!(
            out,
            "{:<18} {cases:>5} {named:>6} {sized:>6}  {:<28} {oracles}",
            r.rig,
            worst(&r.cases)
        );
        for c in answerable
            .iter()
            .filter(|c| verbose && !(c.named() && (c.sized() || !c.case.rough.is_empty())))
        {
            let top = c.top.map_or("nothing".into(), |t| format!("{} {}", t.stage, us(t.ns)));
            let (stage, ns) = (&c.case.stage, us(c.case.ns));
            let _ = writeln!(
                out,
                "    planted {stage} {ns}, found {top} in {} rows: {}",
                c.rows, c.worst
            );
        }
    }
    for r in reports.iter().filter(|_| verbose) {
        for o in r.oracles.iter().filter(|o| o.name.starts_with(LINKS)) {
            let (name, wrong, checked, doubtful) = (o.name, o.wrong, o.checked, o.doubtful);
            let _ = writeln!(
                out,
                "{:<18} {name}: {wrong} of {checked} wrong, {doubtful} more labelled",
                r.rig
            );
        }
    }
    let f = Figures::of(reports);
    let _ = writeln!(
        out,
        "total: {} cases ({} more whose stage is not there yet, {} more whose plant failed by its own stamps, {} more that this kernel cannot tell), {} named right, {} of {} sized right, {} another wait claimed with confidence; {} of {} links wrong and not labelled so ({} more wrong and labelled); {} of {} bytes unexplained",
        f.cases,
        f.later,
        f.void,
        f.weaker,
        f.named,
        f.sized,
        f.sizable,
        f.misled,
        f.wrong_links,
        f.links,
        f.doubtful,
        f.unexplained,
        f.bytes
    );
    for m in f.misses() {
        let _ = writeln!(out, "misses: {m}");
    }
    if let Some(why) = f.inconclusive() {
        let _ = writeln!(out, "inconclusive: {why}");
    }
    out
}

fn oracle(o: &Oracle) -> String {
    format!("{}: {} of {} wrong ({})", o.name, o.wrong, o.checked, o.note)
}
