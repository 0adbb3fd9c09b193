//! Several trackers in one walk: an event's memory is fetched once for all of them, where the walks of one each would fetch
//! it again. They stay strangers: none sees what another does.

use super::{Gaps, Routes, Tracker};
use crate::ingest::{Event, Payloads, Trace};

/// A tracker in a walk.
pub trait Party {
    /// Whether it has a handler for events of an id.
    fn wants(&self, kind: u16) -> bool;
    /// The next events, in order; it takes those that it wants.
    fn take(&mut self, trace: &Trace<'_>, events: &[Event<'_>]);
    /// No event follows.
    fn over(&mut self);
}

/// A tracker ready for a walk, and what comes of it.
pub trait Walk: Party {
    /// What comes of it.
    type Out;
    /// After the walk.
    fn finish(self) -> Self::Out;
}

struct Ready<'t, T, F> {
    routes: Routes<T>,
    tracker: T,
    gaps: Option<Gaps<'t>>,
    finish: F,
}

/// A tracker and its routes, ready for a walk; `finish` gets it back with what its routes miss.
pub fn ready<T: Tracker, Out>(
    trace: &Trace<'_>,
    routes: Routes<T>,
    tracker: T,
    finish: impl FnOnce(T, Vec<String>) -> Out,
) -> impl Walk<Out = Out> {
    Ready {
        routes,
        tracker,
        gaps: Some(Gaps::of(trace.gaps.iter().collect())),
        finish,
    }
}

impl<T: Tracker, F> Party for Ready<'_, T, F> {
    fn wants(&self, kind: u16) -> bool {
        self.routes.wants(kind)
    }
    fn take(&mut self, trace: &Trace<'_>, events: &[Event<'_>]) {
        let tracker = &mut self.tracker;
        for e in events.iter().filter(|e| self.routes.wants(e.kind)) {
            if let Some(gaps) = &mut self.gaps {
                gaps.until(e.ts, |g| tracker.gap(g));
            }
            self.routes.feed(trace, tracker, e);
        }
    }
    fn over(&mut self) {
        if let Some(gaps) = self.gaps.take() {
            gaps.rest(|g| self.tracker.gap(g));
        }
    }
}

impl<T: Tracker, Out, F: FnOnce(T, Vec<String>) -> Out> Walk for Ready<'_, T, F> {
    type Out = Out;
    fn finish(self) -> Out {
        (self.finish)(self.tracker, self.routes.missing)
    }
}

/// Walks the trace once for all parties, the last to read the payloads.
pub fn together<'c>(trace: &Trace<'c>, payloads: Payloads<'c>, parties: &mut [&mut dyn Party]) {
    let wanted: Vec<bool> = (0..=u16::MAX).map(|k| parties.iter().any(|p| p.wants(k))).collect();
    trace.some_at_last(
        payloads,
        |kind| wanted.get(usize::from(kind)).copied().unwrap_or(false),
        |events| parties.iter_mut().for_each(|p| p.take(trace, events)),
    );
    parties.iter_mut().for_each(|p| p.over());
}
