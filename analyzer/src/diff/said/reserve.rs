//! What keeps "no difference found" or "better" from being good news: small groups, what came more often and may be chance, and totals of which it is not certain.

use super::alike::{is_answer, is_total};
use super::lines::rate_line;
use super::verdict::{ENOUGH, Judged, NAMED, NAMED_MOST, Outcome, signed};
use crate::diff::judged::{compare::Metric, rates::Rate};
use crate::diff::servers::answers::LEDGER;

/// A rate is named as not judged from so many events and so many times the frequency on.
const UNJUDGED_EVENTS: f64 = 20.0;
const UNJUDGED_TIMES: f64 = 2.0;
/// The same of openings and messages in vain: these are rare where all is well.
pub(in crate::diff) const IN_VAIN: [&str; 2] = ["app.failed_opens", "app.unanswered"];
const IN_VAIN_EVENTS: f64 = 10.0;
const IN_VAIN_TIMES: f64 = 10.0;

impl Judged<'_> {
    /// What small groups cannot show.
    pub(in crate::diff) fn few(&self) -> String {
        let side = match self.recordings {
            (b, a) if !self.groups() || b.min(a) >= ENOUGH => return String::new(),
            (b, a) if b == a => b.to_string(),
            (b, a) => format!("{b} and {a}"),
        };
        format!(
            "{side} a side show only large changes; what is not found here may show in pairs or in {ENOUGH} a side."
        )
    }

    /// What became several times as frequent, and comes in such bursts that chance may have done it.
    pub(in crate::diff) fn unjudged(&self) -> String {
        let least = |r: &Rate| {
            let of = |names: &[&str]| names.iter().any(|n| r.metric.starts_with(n));
            match (of(&NAMED), of(&IN_VAIN)) {
                (true, _) => Some((UNJUDGED_EVENTS, UNJUDGED_TIMES)),
                (_, true) => Some((IN_VAIN_EVENTS, IN_VAIN_TIMES)),
                _ => None,
            }
        };
        let more = |r: &&Rate| {
            let many = |(n, times): (f64, f64)| r.after.of >= n && r.after.value >= times * r.before.value;
            r.outcome == Outcome::Same && !r.significant && r.is_worse_when_more() && least(r).is_some_and(many)
        };
        let all: Vec<String> = self.rates.iter().filter(more).take(NAMED_MOST).map(rate_line).collect();
        match all.is_empty() {
            true => String::new(),
            false => {
                let why = match self.groups() {
                    true => "so few recordings cannot tell that from what varies between them",
                    false => "one recording a side cannot tell that from chance",
                };
                format!(
                    "Not judged, though much more frequent: {}; these come in bursts, and {why}.",
                    all.join(", ")
                )
            }
        }
    }

    /// What differs beneath answers that do not.
    pub(in crate::diff) fn unfelt(&self) -> String {
        let line = |m: &Metric| Some(format!("{} {}", m.metric, super::lead::moved(m.telling()?)));
        // Of a server behind the answers differ as well.
        let late = |m: &Metric| m.which.is_unread() && m.mix.is_some() && m.telling().is_some_and(|s| s.shift > 0);
        let unread = self
            .metrics
            .iter()
            .filter(|m| m.unfelt && late(m))
            .filter_map(line)
            .collect();
        let of = |answers: bool| {
            let of = self
                .metrics
                .iter()
                .filter(move |m| m.unfelt && (m.which.ledger == LEDGER) == answers && !late(m));
            of.filter_map(line).collect::<Vec<String>>()
        };
        let rates = self
            .rates
            .iter()
            .filter(|r| r.unfelt && r.nobodys.is_none())
            .map(rate_line);
        let (behind, beneath) = (of(true), of(false).into_iter().chain(rates).collect());
        let said = |words: &str, all: Vec<String>| {
            let more = match all.len().saturating_sub(NAMED_MOST) {
                0 => String::new(),
                n => format!(" and {n} more"),
            };
            let named = all.iter().take(NAMED_MOST).cloned().collect::<Vec<_>>().join(", ");
            (!all.is_empty()).then(|| format!("{words}: {named}{more}."))
        };
        let all = [
            said(
                "Requests lie unread longer, and who waits is answered as quickly as before, like compared with like",
                unread,
            ),
            said(
                "Servers behind answer otherwise, and those that users ask do not for it",
                behind,
            ),
            said("What differs beneath the answers is not felt in them", beneath),
        ];
        let nobodys = |r: &Rate| Some((r.nobodys.clone()?, rate_line(r)));
        let mut places: Vec<(String, Vec<String>)> = vec![];
        for (to, line) in self.rates.iter().filter_map(nobodys) {
            match places.iter_mut().find(|p| p.0 == to) {
                Some(p) => p.1.push(line),
                None => places.push((to, vec![line])),
            }
        }
        let dropped = places.into_iter().filter_map(|(to, lines)| {
            let words = format!("Dropped on the way to {to}, where nobody was served before, nor is after");
            said(&words, lines)
        });
        all.into_iter().flatten().chain(dropped).collect::<Vec<_>>().join(" ")
    }

    /// Totals that moved by more than chance seemed to allow, and yet not certainly.
    pub(in crate::diff) fn uncertain(&self) -> String {
        let totals = self.metrics.iter().filter(|m| is_answer(m) || is_total(m));
        let of = |m: &Metric| {
            let s = m.shifts.iter().find(|s| s.minimum_detectable.is_none())?;
            Some(format!("{} p{} {}", m.metric, s.percent, signed(s.shift)))
        };
        let all: Vec<String> = totals.filter_map(of).collect();
        match all.is_empty() {
            true => String::new(),
            false => format!("Not certain: {}.", all.join(", ")),
        }
    }
}
