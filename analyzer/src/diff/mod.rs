//! Is AFTER worse than BEFORE? Two recordings, or two groups of them, compared metric by metric.
//!
//! In: fact tables of both sides. Out: [`Diff`], plain data: the verdict, what makes the sides comparable or not, every metric
//! with its shift, interval, effect size and smallest change that would have been seen, rates, settings. Must not see events,
//! draw, or print.
//!
//! ```text
//! Facts of each side -> parity: comparable? what is withheld
//!                    -> metrics (durations)        -> quantiles: shift, block bootstrap, tail shares by clusters ─┐
//!                    -> rates (drops, retransmits, sizes, shares of time) by clusters ───────────────────────────┴-> Holm
//!                    -> breakdown (mean per unit by stage), settings and what they stand beside                  -> verdict
//! ```
//!
//! Folders, in the order of that way: `sides` (what is compared, and whether it can be), `values` (durations and counts of each side), `judged` (the tests, and what is no
//! difference of what it seems to be), `servers` (answers, and what else differs of those who give and ask for them), `said` (verdict and lines).
//!
//! The verdict begins with causes that have a name (`causes`), what users feel (`answers`, `speed`), then with counts that load does not explain. Where the units of a metric
//! are others (`mix`), shorter times are no improvement.
//!
//! A change is called when three things hold: its p value, adjusted for all tests of the comparison (Holm), is at or below
//! [`DiffOptions::level`]; it is at least the practical threshold of its kind; and (quantiles) the bootstrap interval of the
//! shift leaves 0 out. So the chance that two recordings of the same say anything is at most the level, as far as time inside
//! a recording shows how things vary. What varies only between recordings, one recording a side cannot tell: give groups.
//! Method and measured figures: docs/diff.md.

mod judged;
pub mod rules;
mod said;
mod servers;
mod sides;
#[cfg(test)]
mod tests;
mod values;

pub use judged::compare::{Metric, Shift};
pub use judged::rates::{Kind, Measured, Rate};
pub use rules::{RuleState, Rules, State};
pub use said::verdict::{ENOUGH, Outcome, Verdict};
pub use servers::asks::{Asked, Asks};
pub use servers::failing::Failing;
pub use servers::few::{Few, Handful};
pub use servers::stopped::{Asking, Stopped};
pub use sides::kernel::CounterChange;
pub use sides::options::{DiffOptions, Window, devices, empty_window};
pub use sides::parity::{Check, Level};
pub use sides::settings::SettingChange;
pub use values::breakdown::{Breakdown, Part};
pub use values::metrics::Which;

use std::collections::{BTreeMap, BTreeSet};

use crate::facts::Facts;
use crate::stat::weighted_holm;

/// What a comparison is made of, one recording.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Side {
    /// Path.
    pub source: String,
    /// Host name, empty when not recorded.
    pub hostname: String,
    /// Kernel release, empty when not recorded.
    pub kernel_release: String,
    /// Length of the part compared, ns.
    pub duration_ns: i64,
    /// Length of the whole recording, where a part of it is compared, ns: events are of the whole then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub whole_ns: Option<i64>,
    /// Events in the whole recording.
    pub events: u64,
    /// Events lost in the whole recording.
    pub lost_events: u64,
    /// Sentences: that it is a slice and of what, that it is redacted; empty for a recording as it was made.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub told: Vec<String>,
}

/// Something that was not compared.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Withheld {
    /// Metric, as in [`Metric::metric`] or [`Rate::metric`].
    pub metric: String,
    /// Why.
    pub because: String,
}

/// The comparison.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Diff {
    /// How it was done.
    pub options: DiffOptions,
    /// Recordings of the one side.
    pub before: Vec<Side>,
    /// Recordings of the other.
    pub after: Vec<Side>,
    /// The answer.
    pub verdict: Verdict,
    /// What makes the sides comparable, or not.
    pub parity: Vec<Check>,
    /// Durations, changed ones first.
    pub metrics: Vec<Metric>,
    /// Events and bytes per unit and shares of time, changed ones first.
    pub rates: Vec<Rate>,
    /// Mean time per unit by stage, of each ledger.
    pub breakdowns: Vec<Breakdown>,
    /// What was not compared.
    pub withheld: Vec<Withheld>,
    /// Servers that answer on one side alone.
    pub stopped: Vec<Stopped>,
    /// Servers to which openings of connections fail on one side.
    pub failing: Vec<Failing>,
    /// Answers of servers that were too few to be compared, and are not judged.
    pub few: Vec<Few>,
    /// What programs that serve ask of other servers, per answer of their own; not judged.
    pub asks: Vec<Asks>,
    /// Counters of the kernel that rose on one side only, and are not judged.
    pub counters: Vec<CounterChange>,
    /// Settings that differ.
    pub settings: Vec<SettingChange>,
    /// Settings that only the recordings of one side tell, before and after: its recorder, or its kernel, has more.
    pub settings_of_one_side: (usize, usize),
    /// Tests made: what the p values are adjusted for.
    pub tests: usize,
    /// Reasons of drops that the kernels list; empty: not known of one.
    #[serde(skip)]
    drop_reasons: BTreeSet<String>,
    /// Counts of events that were not recorded on a side, by name, and which event it is.
    #[serde(skip)]
    not_recorded: BTreeMap<String, String>,
}

/// Compares two groups of recordings; usually one of each.
pub fn compare(before: &[&Facts], after: &[&Facts], options: &DiffOptions) -> Diff {
    let mut sides = (
        sides::options::Recording::all(before, &options.devices, options.before_window),
        sides::options::Recording::all(after, &options.devices, options.after_window),
    );
    let hidden = sides::slices::hidden(&sides.0, &sides.1);
    for r in sides.0.iter_mut().chain(&mut sides.1) {
        r.by_port = hidden;
    }
    let mut parity = sides::parity::checks(&sides.0, &sides.1);
    let left_out = sides::common::left_out(&sides.0, &sides.1);
    parity.extend(left_out.as_ref().map(|l| l.check.clone()));
    let left_of = |at: usize, nth: usize| left_out.as_ref()?.of.get(at)?.get(nth);
    for (nth, r) in sides.0.iter_mut().enumerate() {
        r.left_out = left_of(0, nth);
    }
    for (nth, r) in sides.1.iter_mut().enumerate() {
        r.left_out = left_of(1, nth);
    }
    let apart = match hidden {
        true => servers::clients::Apart::default(),
        false => servers::clients::Apart::of(&sides.0, &sides.1),
    };
    for r in sides.0.iter_mut().chain(&mut sides.1) {
        r.apart = Some(&apart);
    }
    let usual = values::usual::Usual::of(&sides.0, &sides.1);
    for r in sides.0.iter_mut().chain(&mut sides.1) {
        r.usual = Some(&usual);
    }
    let (b, a) = (&sides.0[..], &sides.1[..]);
    let mut withheld = vec![];
    let (mut metrics, mut rates) = (vec![], vec![]);
    let mut servers = servers::Servers::default();
    let mut resent = said::resent::Told::default();
    // Answers of a server that both sides have are the same whatever else there is.
    let by_traffic = said::prevented::by_traffic_alone(&parity);
    if by_traffic && parity.iter().any(|c| c.level == Level::Prevents) {
        let mut others = vec![];
        (metrics, servers) = judged::compare::metrics(b, a, options, judged::compare::Of::AnswersByServer, &mut others);
        match metrics.is_empty() {
            true => {
                servers = servers::Servers::default();
                servers::stopped::fill(&mut servers, b, a, &mut withheld);
            }
            false => {
                servers = said::prevented::answers_alone(servers);
                withheld = others;
                said::prevented::in_part(&mut parity);
            }
        }
        rates = judged::rates::of_requests(b, a, options, &mut withheld);
    }
    let in_part = !metrics.is_empty();
    let prevented = parity.iter().find(|c| c.level == Level::Prevents);
    match prevented {
        Some(check) => withheld.push(Withheld {
            metric: "all".into(),
            because: check.sentence.clone(),
        }),
        None if in_part => withheld.push(Withheld {
            metric: "all but answers and openings by server".into(),
            because: said::prevented::IN_PART.into(),
        }),
        None => {
            (metrics, servers) = judged::compare::metrics(b, a, options, judged::compare::Of::All, &mut withheld);
            let again;
            (rates, again) = judged::rates::rates(b, a, options, &mut withheld);
            resent = said::resent::Told::of(again, b, a);
        }
    }
    let mut breakdowns = match prevented {
        None if !in_part => values::breakdown::breakdowns(b, a),
        _ => vec![],
    };
    breakdowns.retain(|l| judged::compare::withheld_total(l.ledger, &withheld).is_none());
    let (tests, weights) = adjust(&mut metrics, &mut rates);
    for m in &mut metrics {
        m.judge(options, weights);
    }
    judged::recurs::judge(&mut metrics, options);
    for r in &mut rates {
        r.adds(&breakdowns);
        r.judge(options, weights);
    }
    servers::failing::unrated(&mut servers.failing, &rates, b.len().max(a.len()) > 1);
    judged::moved::moderate(&mut rates, &servers.stopped);
    judged::nobody::moderate(&mut rates, [b, a]);
    judged::seen_only::moderate(&mut rates, [b, a]);
    let changed = metrics.iter_mut().filter(|m| m.outcome != Outcome::Same);
    let mixes = judged::mix::Mixes::of(b, a);
    servers::reopened::mark(&mut servers.asks, &rates, options);
    let windows = options.before_window.is_some() || options.after_window.is_some();
    if prevented.is_none() && !windows && !hidden && !in_part {
        servers.gave_up = servers::gave_up::told(b, a, &mut servers.asks);
        if options.devices.is_empty() {
            servers.detours = servers::detours::of(b, a);
        }
    }
    for m in changed {
        let worse = m.outcome == Outcome::Worse;
        if let Some(why) = servers::gave_up::why(&servers.gave_up, &m.which, worse) {
            if worse {
                m.becomes_changed(Outcome::Worse);
            }
            m.withdraw(why);
            continue;
        }
        let mix = mixes.why(&m.which).map(str::to_owned);
        if let Some(mix) = mix.or_else(|| Asks::why(&servers.asks, &m.which)) {
            m.withdraw(mix);
        }
    }
    servers.kinds = judged::kinds::moderate(&mut metrics, &servers.moves, options);
    let of_clients = judged::apart::moderate(&mut metrics);
    judged::unread::moderate(&mut metrics, &servers.moves, options);
    servers.moves = <_>::default();
    judged::mixture::moderate(&mut metrics, b, a, &servers.asks, &servers.kinds, options);
    judged::fewer::moderate(
        &mut metrics,
        &mut rates,
        &servers.asks,
        judged::fewer::refused_more(b, a),
    );
    judged::fewer::in_part(&mut metrics);
    judged::fewer::in_no_stage(&mut metrics, &rates);
    if !in_part {
        let upstream = judged::upstream::moderate(&mut metrics, &mut servers.large, [b, a], options);
        let known = judged::unfelt::Known {
            asks: &servers.asks,
            upstream,
            mixed: judged::kinds::mixed(&servers.kinds, &metrics)
                .chain(of_clients)
                .collect(),
            large: &servers.large,
            few: &servers.few,
            devices: &servers.devices,
        };
        judged::unfelt::moderate(&mut metrics, &mut rates, &known, [b, a], options);
    }
    metrics.sort_by_cached_key(|m| m.rank(&breakdowns));
    rates.sort_by_key(|r| (r.outcome, r.metric.clone()));
    let (mut settings, settings_of_one_side) = sides::settings::changes(before, after);
    let whole = options.before_window.is_none() && options.after_window.is_none() && options.devices.is_empty();
    if whole {
        servers.held = servers::held::of(b, a);
    }
    if prevented.is_none() && !in_part {
        servers.ceilings = servers::pools::ceilings([b, a], &metrics, &servers.asks, options);
    }
    servers.left_out = left_out.as_ref().map(|l| l.transfers.clone()).unwrap_or_default();
    servers.transfers = judged::beside::left_by([b, a], &settings);
    stand_beside(&mut settings, &metrics, &rates, &servers);
    let counters = sides::kernel::differ(b, a, options);
    let parts = options.before_window.is_some() || options.after_window.is_some();
    if hidden && prevented.is_none() {
        withheld.push(Withheld {
            metric: "tcp.speed".into(),
            because: "addresses are pseudonyms (redacted): services cannot be matched".into(),
        });
    }
    let (causes, speeds) = match prevented {
        // Services are told by their addresses.
        None if !parts && !hidden && !in_part => (said::causes::said(b, a, &servers), values::speed::Speeds::of(b, a)),
        _ => <_>::default(),
    };
    let reports = match prevented {
        None if whole && !in_part => said::reports::Reports::of(before, after),
        _ => <_>::default(),
    };
    let verdict = said::verdict::Judged {
        reports: &reports,
        causes: &causes,
        speeds: &speeds,
        resent: &resent,
        parity: &parity,
        metrics: &metrics,
        rates: &rates,
        breakdowns: &breakdowns,
        settings: &settings,
        settings_of_one_side,
        servers: &servers,
        counters: &counters,
        recordings: (b.len(), a.len()),
        options,
    }
    .verdict();
    Diff {
        options: options.clone(),
        before: b.iter().map(sides::options::Recording::side).collect(),
        after: a.iter().map(sides::options::Recording::side).collect(),
        verdict,
        parity,
        metrics,
        rates,
        breakdowns,
        withheld,
        stopped: servers.stopped,
        failing: servers.failing,
        few: servers.few,
        asks: servers.asks,
        counters,
        settings,
        settings_of_one_side,
        tests,
        drop_reasons: sides::settings::drop_reasons(before, after),
        not_recorded: rules::not_recorded(b, a),
    }
}

/// Adjusts all p values together; how many there are, and the sum of their weights.
fn adjust(metrics: &mut [Metric], rates: &mut [Rate]) -> (usize, usize) {
    let shifts = metrics.iter().flat_map(|m| &m.shifts).map(|s| (s.p, s.weight));
    let p: Vec<(f64, f64)> = shifts.chain(rates.iter().map(|r| (r.p, 1.0))).collect();
    let mut adjusted = weighted_holm(&p).into_iter();
    let of_metrics = metrics
        .iter_mut()
        .flat_map(|m| &mut m.shifts)
        .map(|s| &mut s.p_adjusted);
    for slot in of_metrics.chain(rates.iter_mut().map(|r| &mut r.p_adjusted)) {
        *slot = adjusted.next().unwrap_or(1.0);
    }
    (p.len(), p.iter().map(|p| p.1).sum::<f64>().ceil() as usize)
}

/// Names at each setting what changed and it may have to do with; those that have such come first.
fn stand_beside(settings: &mut [SettingChange], metrics: &[Metric], rates: &[Rate], servers: &servers::Servers) {
    let mut of: Vec<(usize, &String)> = vec![];
    for m in metrics.iter().filter(|m| m.outcome != Outcome::Same) {
        let at = judged::beside::of_metric(settings, &m.which, servers);
        of.extend(at.into_iter().map(|at| (at, &m.metric)));
    }
    for r in rates.iter().filter(|r| r.outcome != Outcome::Same) {
        let at = judged::beside::of_rate(settings, &r.metric, servers);
        of.extend(at.into_iter().map(|at| (at, &r.metric)));
    }
    for (at, name) in of {
        if let Some(s) = settings.get_mut(at) {
            s.beside.push(name.clone());
        }
    }
    settings.sort_by_key(|s| (s.name == sides::settings::ADDRESSES, s.beside.is_empty()));
}
