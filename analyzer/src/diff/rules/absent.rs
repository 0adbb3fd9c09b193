//! A rule of which nothing was compared: whether there is simply none of what it counts, or why not.

use super::{Named, named, names};
use crate::diff::Diff;
use crate::diff::judged::compare::PERCENTS;

/// Names told of several.
const TOLD: usize = 4;

/// Whether what a rule counts is there on neither side, of what was looked at.
pub(super) fn is_none(rule: &Named, diff: &Diff) -> bool {
    let (base, of) = match rule.metric.split_once('[') {
        Some((base, of)) => (base, Some(of)),
        None => (rule.metric.as_str(), None),
    };
    let seen = not_recorded(base, diff).is_none() && withheld(rule, diff).is_none();
    if !names::counts_events(base) || rule.percent.is_some() || !seen {
        return false;
    }
    let reason = base
        .strip_prefix("drops.")
        .map(|r| r.strip_prefix("background.").unwrap_or(r));
    let known = |reason: &str| {
        reason == "background" || diff.drop_reasons.is_empty() || diff.drop_reasons.iter().any(|r| r == reason)
    };
    // Of a server, or a service: it must be in what was compared.
    let there = |of: &str| {
        let metrics = diff.metrics.iter().map(|m| &m.metric);
        let mut all = metrics.chain(diff.rates.iter().map(|r| &r.metric));
        all.any(|m| m.split_once('[').is_some_and(|(_, theirs)| theirs == of))
    };
    let any = !diff.metrics.is_empty() || !diff.rates.is_empty();
    any && reason.is_none_or(known) && of.is_none_or(there)
}

/// That the events which it counts were not recorded: none of them is no news then.
fn not_recorded<'d>(base: &str, diff: &'d Diff) -> Option<&'d String> {
    let name = base.split_once('.').filter(|(first, _)| *first == "drops");
    diff.not_recorded.get(name.map_or(base, |(drops, _)| drops))
}

/// Why what a rule names was withheld.
fn withheld(rule: &Named, diff: &Diff) -> Option<String> {
    let ledger = rule.metric.split(['.', '[']).next().unwrap_or("");
    let whole = |w: &str| w == "all" || w.starts_with("all but ");
    let own = diff.withheld.iter().find(|w| named(&w.metric, &rule.metric));
    let of_ledger = || {
        let of = diff.withheld.iter();
        let base = rule.metric.split('[').next().unwrap_or("");
        // `app[10.0.0.1:80]` is all that is told of a server.
        let mut of = of.filter(|w| {
            w.metric
                .split_once('[')
                .is_some_and(|(first, _)| first == ledger || first == base)
        });
        of.next()
    };
    let all = || diff.withheld.iter().find(|w| whole(&w.metric));
    let found = own.or_else(all).or_else(of_ledger)?;
    match found.metric == rule.metric || whole(&found.metric) {
        true => Some(found.because.clone()),
        false => Some(format!("{}: {}", found.metric, found.because)),
    }
}

/// Why nothing of what a rule names was compared.
pub(super) fn why(rule: &Named, diff: &Diff) -> String {
    let mut there = diff.metrics.iter().filter(|m| named(&m.metric, &rule.metric));
    if let (Some(percent), Some(m)) = (rule.percent, there.next()) {
        let need = PERCENTS.iter().find(|p| p.0 == percent).map_or(0, |p| p.1);
        return format!(
            "p{percent} needs {need} values a side; {} has {} before and {} after",
            m.metric, m.before.n, m.after.n
        );
    }
    let base = rule.metric.split('[').next().unwrap_or("");
    if let Some(because) = not_recorded(base, diff) {
        return because.clone();
    }
    if let Some(reason) = base.strip_prefix("drops.")
        && !diff.drop_reasons.is_empty()
        && !diff.drop_reasons.iter().any(|r| r == reason)
    {
        let mut near: Vec<&String> = diff.drop_reasons.iter().collect();
        near.sort_by_key(|r| names::distance(r, reason));
        let near: Vec<&str> = near.into_iter().take(TOLD).map(String::as_str).collect();
        return format!(
            "neither kernel lists this reason, nor was a packet dropped for it; the nearest it lists: {}",
            near.join(", ")
        );
    }
    let alike = |m: &&str| m.split('[').next() == Some(base) && rule.metric.contains('[');
    let metrics = diff.metrics.iter().map(|m| m.metric.as_str());
    let all = metrics.chain(diff.rates.iter().map(|r| r.metric.as_str()));
    let others: Vec<&str> = all.filter(alike).collect();
    if !others.is_empty() {
        let more = match others.len().saturating_sub(TOLD) {
            0 => String::new(),
            n => format!(" and {n} more"),
        };
        let list = others.iter().take(TOLD).copied().collect::<Vec<_>>().join(", ");
        return format!("compared were {list}{more}");
    }
    withheld(rule, diff).unwrap_or_else(|| "neither side has values of it".to_owned())
}
