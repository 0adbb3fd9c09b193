//! What is said where the traffic is of another kind: a server that is gone makes it so, as SYNs and RSTs are no data of any connection. Whether servers answer, and openings and messages get
//! through, is looked for all the same.
//!
//! In: checks, servers that answer on one side alone, rates of what was asked in vain. Out: worse where these are; else not comparable, with what they say.

use super::lead::Lead;
use super::lines::rate_line;
use super::reserve::IN_VAIN;
use super::verdict::{Judged, Outcome, Verdict};
use crate::diff::judged::rates::Rate;
use crate::diff::servers::{Servers, failing, stopped};
use crate::diff::sides::parity::{Check, Level, TRAFFIC};

/// Whether it is that alone.
pub(in crate::diff) fn by_traffic_alone(parity: &[Check]) -> bool {
    let mut preventing = parity.iter().filter(|c| c.level == Level::Prevents);
    preventing.all(|c| c.what == TRAFFIC)
}

/// What is said where answers are compared all the same.
pub(in crate::diff) const IN_PART: &str = "Most of the traffic is of another kind: compared are only answers of servers that both sides have, and whether servers answer and openings get through; another load may be why they differ.";

/// Answers are compared all the same.
pub(in crate::diff) fn in_part(parity: &mut [Check]) {
    for c in parity.iter_mut().filter(|c| c.level == Level::Prevents) {
        (c.level, c.sentence) = (Level::Differs, IN_PART.into());
    }
}

/// Of servers where answers alone are compared: nothing that is called without a test, of what else there is.
pub(in crate::diff) fn answers_alone(servers: Servers) -> Servers {
    Servers {
        devices: servers.devices,
        programs: servers.programs,
        opened: servers.opened,
        parts: servers.parts,
        stopped: servers.stopped,
        not_looked_for: servers.not_looked_for,
        failing: servers.failing,
        few: servers.few,
        asks: servers.asks,
        divided: servers.divided,
        exchanges: servers.exchanges,
        ..Servers::default()
    }
}

/// Nothing can be compared.
pub(in crate::diff) fn incomparable(why: &str) -> Verdict {
    Verdict {
        outcome: Outcome::NotComparable,
        sentence: format!("Not comparable. {why}"),
        reserved: false,
        lines: vec![],
    }
}

impl Judged<'_> {
    /// The verdict where this check prevents a comparison.
    pub(in crate::diff) fn prevented(&self, why: &Check) -> Verdict {
        let (in_vain, asked_no_more) = stopped::said(&self.servers.stopped);
        let failing = failing::said(&self.servers.failing);
        let mut lead = Lead::default();
        self.leading().failed(&mut lead);
        let rated = self.rates.iter().filter(|r| r.outcome == Outcome::Worse).count();
        let worse = self.stops(true) + rated;
        let said = |parts: Vec<Vec<String>>| parts.concat().join(" ");
        if worse == 0 {
            let not_looked_for = self.not_looked_for();
            let why = vec![why.sentence.clone()];
            let parts = vec![why, in_vain, failing, lead.sentences, asked_no_more, not_looked_for];
            return incomparable(&said(parts));
        }
        let first = format!(
            "Worse in {worse} of what was measured. Nothing else is comparable: {}",
            lower(&why.sentence)
        );
        let alarm = if rated > 0 { self.false_alarm() } else { String::new() };
        let parts = vec![in_vain, failing, lead.sentences, vec![first], asked_no_more];
        let changed = self.rates.iter().filter(|r| r.outcome != Outcome::Same);
        Verdict {
            outcome: Outcome::Worse,
            sentence: said(parts) + if alarm.is_empty() { "" } else { " " } + &alarm,
            reserved: false,
            lines: changed.map(|r| (r.outcome, rate_line(r))).collect(),
        }
    }

    /// Servers that answer no more, or to which openings fail, so that it is worse (or better) without a test. What a rate counts already counts once.
    pub(in crate::diff) fn stops(&self, worse: bool) -> usize {
        let outcome = if worse { Outcome::Worse } else { Outcome::Better };
        let rated = |server: &str| {
            let of_it = |r: &Rate| {
                r.metric
                    .split_once('[')
                    .is_some_and(|(_, s)| s.trim_end_matches(']') == server)
            };
            let of = |r: &&Rate| IN_VAIN.iter().any(|n| r.metric.starts_with(n)) && r.outcome == outcome;
            self.rates.iter().filter(of).any(of_it)
        };
        let stopped = self.servers.stopped.iter();
        let stopped = stopped.filter(|s| s.worse() == Some(worse) && !rated(&s.server));
        let failing = self.servers.failing.iter().filter(|f| f.worse == Some(worse));
        stopped.count() + failing.count()
    }

    /// That answers alone are compared, and why.
    pub(in crate::diff) fn in_part(&self) -> String {
        let told = self.parity.iter().find(|c| c.sentence == IN_PART);
        told.map_or_else(String::new, |c| c.sentence.clone())
    }

    /// That servers which answer no more were not looked for, and why.
    pub(in crate::diff) fn not_looked_for(&self) -> Vec<String> {
        let why = self.servers.not_looked_for.iter();
        why.map(|why| format!("Servers that answer on one side alone were not looked for: {why}."))
            .collect()
    }
}

fn lower(sentence: &str) -> String {
    let mut all = sentence.chars();
    all.next()
        .map_or_else(String::new, |first| first.to_lowercase().chain(all).collect())
}
