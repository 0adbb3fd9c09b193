//! Whether something happened that is waited for, and what it rests on.

use std::time::{Duration, Instant};

use netmortem_formats::bundle::{CommandEnd, Trigger};

use super::counters::Counters;
use super::drop_watch::DropWatch;
use super::namespaces::Namespaces;
use super::{Flying, On, OnKind, Rate, reasons};
use crate::error::RecordError;
use crate::snapshot::second;
use crate::{clock, signals};

const SECOND: Duration = Duration::from_secs(1);

impl Flying<'_> {
    /// Looks at everything that is waited for; what is seen first counts.
    pub(super) fn look(&mut self) -> Result<Option<Trigger>, RecordError> {
        let mut seen = None;
        self.gather();
        // Always: whoever sends it means it.
        if signals::take_triggers() > 0 {
            seen = Some(trigger("signal".to_owned(), "SIGUSR1 came".to_owned()));
        }
        let lines = self
            .drops
            .as_mut()
            .map(DropWatch::fired)
            .transpose()?
            .unwrap_or_default();
        if let Some(line) = lines.first() {
            let dropped = reasons(self.flight);
            let mine = dropped.iter().find(|(_, r)| line.ends_with(&format!("reason: {r}")));
            let (spec, reason) = mine.copied().unwrap_or(("drop", "?"));
            let mut t = trigger(spec.to_owned(), format!("a packet was dropped: {reason}"));
            t.evidence = lines;
            seen = seen.or(Some(t));
        }
        if Instant::now() >= self.due {
            let before = self.second();
            let read = self.others.as_mut().is_some_and(Namespaces::read);
            seen = seen.or_else(|| self.flight.on.iter().find_map(|on| self.rate(on, &before, read)));
            if let Some(d) = self.delays.as_mut().filter(|_| seen.is_none()) {
                seen = d.fired(&self.flight.on);
            }
        }
        Ok(seen)
    }

    /// Reads the counters; returns those of the last time.
    pub(super) fn second(&mut self) -> Counters {
        let now = Instant::now();
        // A late loop skips, it never catches up.
        self.due = (self.due + SECOND).max(now + SECOND / 2);
        let taken = second::take(second::MOST_BYTES_KEPT, &mut self.left_out);
        let before = std::mem::replace(&mut self.counters, Counters::of(&taken));
        if self.history.push(taken) {
            self.ask();
        }
        // Older than the window of a bundle that begins now.
        let start = self.history.start().map(|c| c.monotonic_ns);
        self.notices.forget(start.unwrap_or(i64::MIN));
        before
    }

    /// Asks for what is read beside the counters of the newest moment. While the last is still read, this one has none.
    pub(super) fn ask(&mut self) {
        if let Some(newest) = self.history.newest() {
            self.beside.ask(newest.second.clock.monotonic_ns);
        }
    }

    /// Takes what has come of that.
    pub(super) fn gather(&mut self) {
        if let Some(reading) = self.beside.take() {
            self.history.attach(reading);
        }
    }

    /// Of the recorder's own network namespace, or of all others together where they were read now.
    fn rate(&self, on: &On, before: &Counters, others: bool) -> Option<Trigger> {
        let OnKind::Rate { of, per_s, own } = &on.kind else {
            return None;
        };
        let apart = self.counters.at_ns.saturating_sub(before.at_ns);
        let mine = exceeds(on, of, *per_s, (self.counters.growth(before, of), apart));
        let others = self.others.as_ref().filter(|_| others && !own);
        mine.or_else(|| exceeds(on, of, *per_s, others?.growth(of)))
    }

    /// The end of the command, when that is waited for.
    pub(super) fn exit_trigger(&self, end: &CommandEnd) -> Option<Trigger> {
        let status = end.exit_code.or(end.signal.map(|s| s.saturating_add(128)))?;
        let mine = |on: &&On| match on.kind {
            OnKind::Exit { code: Some(code) } => code == status,
            OnKind::Exit { code: None } => status != 0,
            _ => false,
        };
        let on = self.flight.on.iter().find(mine)?;
        let mut t = trigger(on.spec.clone(), format!("the command ended with status {status}"));
        t.exit_status = Some(status);
        Some(t)
    }
}

/// Counters that are told of a trigger, those that grew most.
const EVIDENCE: usize = 16;

/// A rate above its limit: what grew, and in how many ns.
fn exceeds(on: &On, of: &Rate, per_s: u64, (mut growth, apart_ns): (Vec<(&str, u64)>, i64)) -> Option<Trigger> {
    let count = growth.iter().fold(0u64, |sum, (_, n)| sum.saturating_add(*n));
    let interval_ns = u64::try_from(apart_ns).unwrap_or(0);
    let limit = u128::from(per_s) * u128::from(interval_ns);
    if interval_ns == 0 || u128::from(count) * 1_000_000_000 <= limit {
        return None;
    }
    let seconds = interval_ns as f64 / 1e9;
    let more = match per_s {
        0 => String::new(),
        n => format!(", {:.1} per second, more than {n}", count as f64 / seconds),
    };
    let mut t = trigger(on.spec.clone(), format!("{count} {of} in {seconds:.2} s{more}"));
    (t.count, t.interval_ns, t.threshold_per_s) = (Some(count), Some(interval_ns), Some(per_s));
    growth.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
    let told = growth.iter().take(EVIDENCE);
    t.evidence = told.map(|(name, n)| format!("{name} +{n}")).collect();
    let left = growth.len().saturating_sub(EVIDENCE);
    t.evidence.extend((left > 0).then(|| format!("and {left} more")));
    Some(t)
}

/// One that was noticed now.
pub(super) fn trigger(on: String, sentence: String) -> Trigger {
    Trigger {
        on,
        clock: clock::clock_pair(),
        sentence,
        ..Default::default()
    }
}
