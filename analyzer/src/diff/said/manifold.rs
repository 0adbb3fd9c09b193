//! What the verdict says first of openings of connections, those that failed and those for each answer, and of frames.

use super::lead::{Lead, Leading, MOST};
use super::verdict::Outcome;
use crate::diff::judged::{beside, rates::Rate};
use crate::diff::servers::{
    answers::{LEDGER, OPENED_RATE},
    reopened,
    stopped::Stopped,
};
use crate::diff::values::{asking::UNANSWERED_RATE, attempts::FAILED_RATE};

impl Leading<'_> {
    /// Openings of connections that fail, and messages without an answer, or no longer so. Of a server that answers on one side alone that is told with it.
    pub(in crate::diff) fn failed(&self, out: &mut Lead) {
        for (rate, what, how) in [
            (FAILED_RATE, "Openings of connections", "that failed"),
            (
                UNANSWERED_RATE,
                "Messages",
                "that got no answer, and were given up or closed upon",
            ),
        ] {
            self.in_vain(out, rate, what, how);
        }
    }

    fn in_vain(&self, out: &mut Lead, rate: &str, what: &str, how: &str) {
        let server = |r: &Rate| {
            let of = r.metric.split_once('[').map(|(_, s)| s.trim_end_matches(']'));
            of.map(str::to_owned)
        };
        let of = |r: &&Rate| {
            let name = r.metric.strip_prefix(LEDGER).and_then(|m| m.strip_prefix('.'));
            let told = |s: &Stopped| Some(&s.server) == server(r).as_ref();
            let told = self.servers.stopped.iter().any(told);
            name.is_some_and(|m| m.starts_with(rate)) && r.outcome != Outcome::Same && !told
        };
        let mut all: Vec<&Rate> = self.rates.iter().filter(of).collect();
        all.sort_by_key(|r| r.outcome);
        for r in all.into_iter().take(MOST) {
            let sentence = format!(
                "{what}{} {how}: {} of {} -> {} of {}",
                server(r).map_or_else(String::new, |s| format!(" to {s}")),
                r.before.of,
                r.before.out_of,
                r.after.of,
                r.after.out_of
            );
            self.say(out, sentence, vec![]);
            out.worse |= r.outcome == Outcome::Worse;
        }
    }

    pub(in crate::diff) fn opened(&self, out: &mut Lead) {
        let of = |r: &&Rate| {
            let name = r.metric.strip_prefix(LEDGER).and_then(|m| m.strip_prefix('.'));
            name.is_some_and(|m| m.starts_with(OPENED_RATE)) && r.is_manifold(self.options)
        };
        let all: Vec<&Rate> = self.rates.iter().filter(of).collect();
        let left = all.into_iter().filter(|r| !out.opened.contains(&r.metric));
        for r in left.take(MOST).collect::<Vec<_>>() {
            let server = r.metric.split_once('[').map(|(_, s)| s.trim_end_matches(']'));
            let kept = reopened::lost(r, self.options);
            let sentence = format!(
                "Connections opened by clients{}: {}{}{}",
                server.map_or_else(String::new, |s| format!(" of {s}")),
                reopened::figures(r),
                kept.map_or_else(String::new, |lost| format!(": {}", reopened::words(lost))),
                self.opening(server)
            );
            self.say(out, sentence, vec![]);
        }
    }

    pub(in crate::diff) fn frames(&self, out: &mut Lead) {
        let of = |r: &&Rate| r.metric.starts_with("device.frame_bytes[") && r.is_manifold(self.options);
        let mut all: Vec<(&Rate, Vec<usize>)> = self
            .rates
            .iter()
            .filter(of)
            .map(|r| (r, beside::of_rate(self.settings, &r.metric, self.servers)))
            .collect();
        let dev = |r: &Rate| {
            let name = r.metric.split_once('[').map_or("", |(_, d)| d);
            name.trim_end_matches(']').to_owned()
        };
        // First the device whose own settings differ.
        let own = |r: &Rate, at: &[usize]| {
            let first = at.first().and_then(|at| self.settings.get(*at));
            first.is_some_and(|s| s.name.starts_with(&format!("{} ", dev(r))))
        };
        all.sort_by_key(|(r, at)| (!own(r, at), r.metric.clone()));
        // Devices that passed on the same frames together.
        let mut told: Vec<(Vec<String>, String)> = vec![];
        for (r, _) in &all {
            let amounts = r.amounts().unwrap_or_default();
            match told.iter_mut().find(|(_, t)| *t == amounts) {
                Some((devices, _)) => devices.push(dev(r)),
                None => told.push((vec![dev(r)], amounts)),
            }
        }
        if told.is_empty() {
            return;
        }
        let left: usize = told.iter().skip(MOST).map(|(devices, _)| devices.len()).sum();
        let more = match left {
            0 => String::new(),
            n => format!("; and of {n} more devices"),
        };
        let text = told
            .iter()
            .take(MOST)
            .map(|(devices, t)| format!("of {}: {t}", devices.join(" and ")));
        let text: Vec<String> = text.collect();
        let beside = all.into_iter().take(1).flat_map(|(_, at)| at).collect();
        self.say(out, format!("Frames {}{more}", text.join("; ")), beside);
    }
}
