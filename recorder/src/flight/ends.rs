//! Why a flight ends, and whether its rings reach back.

use super::Flying;
use crate::error::RecordError;
use crate::record::stats;
use crate::signals::Signals;
use crate::watch::{Stopped, over, over_cpu};

impl Flying<'_> {
    /// Once, when `before` has passed: whether the rings still hold all of it.
    pub(super) fn reach(&mut self) -> Result<Option<String>, RecordError> {
        let before = self.flight.before;
        if self.reach_told || self.started.elapsed() < before {
            return Ok(None);
        }
        self.reach_told = true;
        // A bundle says it of itself.
        if self.bundles > 0 {
            return Ok(None);
        }
        let all = stats(self.instance, &[])?;
        let wrapped: Vec<String> = all
            .iter()
            .filter(|s| s.overrun > 0)
            .map(|s| s.cpu.to_string())
            .collect();
        Ok((!wrapped.is_empty()).then(|| {
            format!(
                "at this rate the rings hold less than the {} s of --before (CPU {}); a larger -b or a smaller --profile reaches \
                 further back",
                before.as_secs_f64(),
                wrapped.join(", ")
            )
        }))
    }

    /// That it wrote as many bundles as it may.
    fn wrote_all(&self) -> Stopped {
        let n = self.flight.max_bundles;
        let bundles = if n == 1 { "bundle" } else { "bundles" };
        let by_default = self.flight.max_bundles_is_default;
        Stopped {
            sentence: by_default
                .then(|| format!("stopped after {n} {bundles}, the limit when no --max-bundles is given")),
            spares: by_default,
            ..Stopped::because("max_bundles")
        }
    }

    /// A reason to end the flight.
    pub(super) fn stopped(&mut self, signals: &Signals) -> Option<Stopped> {
        if let Some(name) = signals.received() {
            return Some(Stopped::because(name));
        }
        if self.bundles.saturating_add(self.cut) >= self.flight.max_bundles {
            return Some(self.wrote_all().of_command(self.command.is_some()));
        }
        let (limits, elapsed) = (&self.limits, self.started.elapsed());
        let stopped = over(limits, elapsed, self.bytes).or_else(|| over_cpu(limits, &mut self.cpu));
        stopped.map(|s| s.of_command(self.command.is_some()))
    }
}
