//! The answer in a sentence from a fixed list, and what it rests on.

use super::alike::{answers_alike, is_total, seen};
use super::lead::{Lead, Leading};
use super::prevented::incomparable;
use super::reports::Reports;
use super::resent::Told;
use super::weigh;
use crate::analyses::verdict::{capital, counted, duration};
use crate::diff::SettingChange;
use crate::diff::judged::{compare::Metric, rates::Rate, tails};
use crate::diff::servers::{
    Servers,
    answers::{LEDGER, PAUSED_RATE},
    failing, few,
    paths::Way,
    pauses::Pauses,
    stopped,
};
use crate::diff::sides::{
    kernel::{self, CounterChange},
    options::DiffOptions,
    parity::{Check, Level},
};
use crate::diff::values::{breakdown::Breakdown, speed::Speeds};

/// What is said of a metric, or of the whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Longer, or more often.
    Worse,
    /// Shorter, or less often.
    Better,
    /// Different, and by itself neither better nor worse.
    Changed,
    /// No difference found.
    Same,
    /// The sides cannot be compared; of a metric: what was shorter was measured of other units.
    NotComparable,
}

impl Outcome {
    /// The word in tables.
    pub fn word(self) -> &'static str {
        match self {
            Outcome::Worse => "worse",
            Outcome::Better => "better",
            Outcome::Changed => "changed",
            Outcome::Same => "no difference found",
            Outcome::NotComparable => "not comparable",
        }
    }
    /// The same; of what is not called a change, whether it is too small to matter or not known.
    pub(in crate::diff) fn word_of(self, significant: bool, uncertain: bool) -> &'static str {
        match (self, significant, uncertain) {
            (Outcome::Same, _, true) => "not certain",
            (Outcome::Same, true, _) => "below the threshold",
            _ => self.word(),
        }
    }
}

/// The answer.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Verdict {
    /// In a word.
    pub outcome: Outcome,
    /// In a sentence.
    pub sentence: String,
    /// No difference found or better, and yet no good news: too few recordings a side, answers too few to be compared, no total,
    /// totals of which it is not certain, or drops or retransmissions several times as frequent that chance alone may explain.
    pub reserved: bool,
    /// What it rests on: a line for each change, the largest first.
    pub lines: Vec<(Outcome, String)>,
}

/// Recordings a side below which groups show only large changes (docs/diff.md).
pub const ENOUGH: usize = 6;
/// Rates that a verdict of no difference names.
pub(in crate::diff) const NAMED: [&str; 2] = ["tcp.retransmits", "drops."];
/// Of these at most.
pub(in crate::diff) const NAMED_MOST: usize = 4;

/// What there is to judge.
pub(in crate::diff) struct Judged<'d> {
    pub causes: &'d [String],
    /// What the report of each side says.
    pub reports: &'d Reports,
    pub speeds: &'d Speeds,
    pub resent: &'d Told,
    pub parity: &'d [Check],
    pub metrics: &'d [Metric],
    pub rates: &'d [Rate],
    pub breakdowns: &'d [Breakdown],
    pub settings: &'d [SettingChange],
    /// Told by one side alone, before and after.
    pub settings_of_one_side: (usize, usize),
    pub servers: &'d Servers,
    pub counters: &'d [CounterChange],
    /// Recordings before and after.
    pub recordings: (usize, usize),
    pub options: &'d DiffOptions,
}

impl Judged<'_> {
    /// Judges.
    pub fn verdict(&self) -> Verdict {
        if let Some(c) = self.parity.iter().find(|c| c.level == Level::Prevents) {
            return self.prevented(c);
        }
        let (mut in_vain, asked_no_more) = stopped::said(&self.servers.stopped);
        in_vain.extend(failing::said(&self.servers.failing));
        let (in_vain, asked_no_more) = (in_vain, [asked_no_more, self.not_looked_for()].concat());
        let stops = self.stops(true) + self.stops(false) > 0;
        if self.metrics.is_empty() && self.rates.is_empty() && !stops {
            let (moved, others) = few::said(&self.servers.few, self.options);
            let why = ["No metric has enough values on both sides.".to_owned()];
            let why = [why.to_vec(), in_vain, asked_no_more, moved, others].concat().join(" ");
            return incomparable(&why);
        }
        // What nobody feels is said, and is no verdict.
        let of_rates = self.rates.iter().filter(|r| !r.unfelt).map(|r| r.outcome);
        let of_metrics = self.metrics.iter().filter(|m| !m.unfelt).map(|m| m.outcome);
        let all: Vec<Outcome> = of_rates.chain(of_metrics).collect();
        let changed = all.iter().any(|o| *o != Outcome::Same);
        let only = match self.metrics.len() {
            0 => format!(
                "Only {} could be compared, no duration.",
                counted(self.rates.len() as u64, "rate", "rates")
            ),
            _ => String::new(),
        };
        if !changed && self.metrics.is_empty() && !stops {
            return incomparable(&[vec![only], in_vain, asked_no_more].concat().join(" "));
        }
        let count = |o: Outcome| all.iter().filter(|of| **of == o).count();
        let (mut worse, mut better, mut changed) =
            (count(Outcome::Worse), count(Outcome::Better), count(Outcome::Changed));
        // What a rate counts already counts once.
        let rated = |p: &Pauses| {
            let of_it =
                |r: &Rate| r.outcome != Outcome::Same && r.metric == format!("{LEDGER}.{PAUSED_RATE}[{}]", p.server);
            self.rates.iter().any(of_it)
        };
        let paused = |worse: bool| {
            let of = self.servers.paused.iter().filter(|p| p.worse == worse);
            of.filter(|p| !rated(p)).count()
        };
        let streams = |worse: bool| self.servers.streams.iter().filter(|s| s.worse == worse).count();
        let gave_up = self.servers.gave_up.iter().filter(|g| g.is_worse()).count();
        let detours = |worse: bool| self.servers.detours.iter().filter(|d| d.worse == worse).count();
        let large = |worse: bool| self.servers.large.iter().filter(|l| l.worse == worse).count();
        (worse, better) = (
            worse + paused(true) + streams(true) + large(true) + self.stops(true) + gave_up + detours(true),
            better + paused(false) + streams(false) + large(false) + self.stops(false) + detours(false),
        );
        // Inner times alone that are shorter are no improvement that anyone has.
        let inner = |m: &&Metric| m.outcome == Outcome::Better && (m.follows() || weigh::small_part(m, self.metrics));
        let inner = self.metrics.iter().filter(inner).count();
        if inner == better && worse == 0 {
            (better, changed) = (0, changed + inner);
        }
        let (moved, unmoved) = few::said(&self.servers.few, self.options);
        let looked_for = self.servers.not_looked_for.is_none() && self.servers.failing.is_empty();
        let in_part = self.in_part();
        let answers_compared =
            self.servers.few.is_empty() && self.servers.stopped.is_empty() && looked_for && in_part.is_empty();
        let (outcome, first) = match (worse, better, changed) {
            (0, 0, 0) => (Outcome::Same, self.none(answers_compared)),
            (0, 0, n) => (
                Outcome::Changed,
                format!("Changed in {n} of what was measured, neither better nor worse by itself."),
            ),
            (0, n, _) => (
                Outcome::Better,
                format!("Better in {n} of what was measured, worse in none."),
            ),
            (n, 0, _) => (
                Outcome::Worse,
                format!("Worse in {n} of what was measured, better in none."),
            ),
            (n, m, _) if self.users_gain() => (
                Outcome::Better,
                format!(
                    "Better in {m} of what was measured, and worse in {n}, each by less than a tenth of what users gain."
                ),
            ),
            (n, m, _) => (
                Outcome::Worse,
                format!("Worse in {n} of what was measured, better in {m}."),
            ),
        };
        let lead = match outcome {
            Outcome::Same => Lead::default(),
            _ => self.leading().lead(),
        };
        let mut named = lead.settings;
        let mut lines = self.lines(&mut named);
        if outcome == Outcome::Same {
            let divided = self.servers.divided.iter().take(NAMED_MOST);
            lines.extend(divided.map(|d| (Outcome::Changed, d.sentence.clone())));
        }
        let asks = self.servers.asks.iter().enumerate();
        let asks = asks
            .filter(|(at, x)| x.is_said() && !lead.asks.contains(at))
            .take(NAMED_MOST);
        lines.extend(asks.map(|(_, x)| (Outcome::Changed, x.sentence())));
        let sizes = self.servers.sizes.iter().enumerate();
        let sizes = sizes.filter(|(at, _)| !lead.sizes.contains(at)).take(NAMED_MOST);
        lines.extend(sizes.map(|(_, s)| (Outcome::Changed, capital(&s.words(true)))));
        let exchanges = self.servers.exchanges.iter().enumerate();
        let exchanges = exchanges
            .filter(|(at, _)| !lead.exchanges.contains(at))
            .take(NAMED_MOST);
        lines.extend(exchanges.map(|(_, e)| (Outcome::Changed, capital(&e.words()))));
        let told = |w: &&Way| !lead.sentences.iter().any(|s| s.starts_with(&w.sentence));
        let ways = self.servers.ways.iter().filter(told).take(NAMED_MOST);
        lines.extend(ways.map(|w| (Outcome::Changed, w.sentence.clone())));
        lines.extend(kernel::said(self.counters).map(|line| (Outcome::Changed, line)));
        // Pauses, streams, servers that stop and what comes again and again are called without a test.
        let untested = self
            .metrics
            .iter()
            .filter(|m| !m.unfelt && m.recurs && m.outcome != Outcome::Same);
        let untested = untested
            .filter(|m| outcome != Outcome::Worse || m.outcome == outcome)
            .count();
        let called = match outcome {
            Outcome::Worse => count(Outcome::Worse),
            _ => all.iter().filter(|o| **o != Outcome::Same).count(),
        };
        let tested = called > untested;
        let (few, uncertain, unjudged) = (self.few(), self.uncertain(), self.unjudged());
        let (others, settings) = (self.others(), self.settings_left(&named, outcome == Outcome::Same));
        let left_out = self.servers.left_out.join(" ");
        let rest = match outcome {
            Outcome::Same => vec![
                in_part,
                left_out.clone(),
                answers_alike(self.metrics),
                self.unfelt(),
                self.differ().0,
                few.clone(),
                seen(self.metrics, self.rates),
                uncertain.clone(),
                unjudged.clone(),
                others.clone(),
                settings,
            ],
            Outcome::Worse | Outcome::Better | Outcome::Changed | Outcome::NotComparable => vec![
                in_part,
                left_out,
                self.unfelt(),
                unjudged.clone(),
                others.clone(),
                only,
                self.mind(),
                settings,
                if tested { self.false_alarm() } else { String::new() },
            ],
        };
        // What did not move heads nothing.
        let (causes, tails) = (self.causes.iter().cloned(), tails::said(self.metrics));
        let no_tails = tails.is_empty();
        // What is judged worse, before what is not judged.
        let (tails_first, tails_behind) = match lead.worse {
            true => (vec![], tails),
            false => (tails, vec![]),
        };
        // Where nothing differs one report's words are a caution, else a cause.
        let wrong = self.reports.wrong.clone();
        let slow = self.reports.of_slow(self.metrics);
        let (wrong_first, wrong_behind) = match outcome {
            Outcome::Same => (vec![], wrong),
            _ => (wrong, vec![]),
        };
        let said = (in_vain.into_iter())
            .chain(causes)
            .chain(tails_first)
            .chain(lead.sentences)
            .chain(tails_behind)
            .chain(tails::gone(self.metrics))
            .chain(slow)
            .chain(wrong_first)
            .chain(moved)
            .chain([first])
            .chain(wrong_behind)
            .chain(lead.unmoved)
            .chain(unmoved)
            .chain(asked_no_more)
            .chain(rest);
        let sentence = said.filter(|t| !t.is_empty()).collect::<Vec<_>>().join(" ");
        Verdict {
            outcome,
            sentence,
            reserved: match outcome {
                Outcome::Same => {
                    !(few.is_empty()
                        && uncertain.is_empty()
                        && unjudged.is_empty()
                        && others.is_empty()
                        && answers_compared
                        && self.causes.is_empty()
                        && self.reports.wrong.is_empty()
                        && no_tails
                        && self.metrics.iter().any(is_total))
                }
                Outcome::Better => {
                    let quiet = self.causes.is_empty() && self.reports.wrong.is_empty();
                    !(unjudged.is_empty() && answers_compared && quiet && no_tails)
                }
                _ => false,
            },
            lines,
        }
    }

    /// No difference.
    fn none(&self, answers_compared: bool) -> String {
        let other = if self.causes.is_empty() { "" } else { "other " };
        let unfelt = self.metrics.iter().any(|m| m.unfelt) || self.rates.iter().any(|r| r.unfelt);
        let what = match (answers_compared, unfelt) {
            (true, true) => " in answers",
            (true, false) => "",
            (false, true) => " in answers that could be compared",
            (false, false) => " in what could be compared",
        };
        format!("No {other}difference found{what}.")
    }

    pub(in crate::diff) fn leading(&self) -> Leading<'_> {
        Leading {
            metrics: self.metrics,
            rates: self.rates,
            settings: self.settings,
            servers: self.servers,
            speeds: self.speeds,
            resent: self.resent,
            options: self.options,
        }
    }

    pub(in crate::diff) fn groups(&self) -> bool {
        self.recordings.0 > 1 && self.recordings.1 > 1
    }

    /// What else differs between the sides and may be the cause.
    fn mind(&self) -> String {
        let (differ, amiss) = self.differ();
        let said = [differ].into_iter().chain(amiss.iter().map(|c| c.sentence.clone()));
        said.filter(|s| !s.is_empty()).collect::<Vec<_>>().join(" ")
    }

    /// How the sides differ, and what else is amiss.
    fn differ(&self) -> (String, Vec<&Check>) {
        let notices = self.parity.iter().filter(|c| c.level == Level::Differs);
        // These say that something is amiss, not that the sides differ.
        let (amiss, differ): (Vec<&Check>, Vec<&Check>) = notices.partition(|c| {
            matches!(
                c.what,
                "recordings" | "slices" | "pseudonyms" | "events lost" | "time compared"
            )
        });
        let names: Vec<&str> = differ
            .iter()
            .map(|c| c.what.split(',').next().unwrap_or(c.what))
            .collect();
        let one = matches!(names.as_slice(), [name] if !name.ends_with('s'));
        let differ = if one { "differs" } else { "differ" };
        let said = match names.is_empty() {
            true => String::new(),
            false => format!("Mind: {} {differ}.", names.join(", ")),
        };
        (said, amiss)
    }

    pub(in crate::diff) fn false_alarm(&self) -> String {
        let varies = match self.groups() {
            true => "varies between recordings of a side",
            false => "varies inside a recording",
        };
        let percent = self.options.level * 100.0;
        format!("Chance of a false alarm: at most {percent:.0} % for what {varies}.")
    }
}

/// With its sign.
pub(in crate::diff) fn signed(ns: i64) -> String {
    let size = duration(i64::try_from(ns.unsigned_abs()).unwrap_or(i64::MAX));
    format!("{}{size}", if ns < 0 { "\u{2212}" } else { "+" })
}
