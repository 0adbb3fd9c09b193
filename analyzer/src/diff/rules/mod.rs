//! `--fail-on`: what a build should fail for, as words.
//!
//! ```text
//! RULES = RULE {, RULE}       RULE = worse | changed | incomparable | METRIC[.pNN][>N%|>TIME]
//! worse                any metric is worse (the default)
//! changed              anything differs, for better or worse
//! incomparable         the two sides cannot be compared
//! rx.total             this metric is worse (`rx`: all of the receive ledger; `drops`: any reason)
//! rx.total.p50>50%     median of a metric of the ledger is worse, and by more than this
//! tx.qdisc.p50>200us   in time
//! ```
//! A size in a rule stands in for the practical threshold. A rule never makes a change out of noise: what is not significant
//! fails nothing. A rule of which nothing was compared fails: it watches nothing.
//!
//! ```text
//! text -> parse (names: what metrics there are; a word mistyped is refused) -> Rules
//! Rules, Diff -> state: failed | held | not compared, each with a sentence
//! ```

mod absent;
mod family;
mod names;
mod parse;
mod small;
mod state;
#[cfg(test)]
mod tests;

pub(in crate::diff) use names::not_recorded;
pub use state::{RuleState, State};

use super::Diff;

/// Parsed rules.
#[derive(Debug, Clone, PartialEq)]
pub struct Rules(Vec<Rule>);

#[derive(Debug, Clone, PartialEq)]
enum Rule {
    Worse,
    Changed,
    Incomparable,
    Of(Named),
}

/// A rule of metrics.
#[derive(Debug, Clone, PartialEq)]
struct Named {
    /// As it was written.
    text: String,
    /// `rx`, `rx.total`, `device.qdisc[eth0]`.
    metric: String,
    /// 50, 90, 99; `None`: any.
    percent: Option<u64>,
    least: Option<Least>,
}

/// The size that a change must exceed.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Least {
    /// A part of what was before.
    Relative(f64),
    Ns(i64),
}

impl Default for Rules {
    fn default() -> Self {
        Rules(vec![Rule::Worse])
    }
}

impl std::str::FromStr for Rules {
    type Err = String;
    fn from_str(text: &str) -> Result<Rules, String> {
        let rules: Vec<Rule> = parse::split(text).map(parse::rule).collect::<Result<_, _>>()?;
        match rules.is_empty() {
            true => Err("no rule; for example: worse, or rx.p99,drops".into()),
            false => Ok(Rules(rules)),
        }
    }
}

impl Rules {
    /// What each rule says of a comparison, in their order.
    pub fn states(&self, diff: &Diff) -> Vec<RuleState> {
        let family = family::Family::of(&self.0, diff);
        self.0.iter().map(|r| state::state(r, diff, &family)).collect()
    }
    /// What fails, a line for each rule that is met or of which nothing was compared; empty: nothing.
    pub fn broken(&self, diff: &Diff) -> Vec<String> {
        let all = self.states(diff).into_iter();
        all.filter(|s| s.state != State::Held).map(|s| s.line()).collect()
    }
    /// What is to be said of sizes that recordings of the same exceed, too, where one recording a side is compared.
    pub fn too_small(&self, diff: &Diff) -> Option<String> {
        let groups = diff.before.len() > 1 && diff.after.len() > 1;
        small::said(&self.0).filter(|_| !groups)
    }
    /// Whether any rule names metrics: what it says is worth telling where it held, too.
    pub fn name_metrics(&self) -> bool {
        self.0.iter().any(|r| matches!(r, Rule::Of(_)))
    }
}

/// `rx` is every metric of rx; `rx.total` also `rx.total[eth0]`.
fn named(metric: &str, rule: &str) -> bool {
    metric
        .strip_prefix(rule)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}
