//! How events reach trackers: a tracker names the tracepoints it wants, each is bound once from the capture's formats,
//! and the merged sequence is walked once per tracker, or once for several that need nothing of each other. There is no place where all events meet.
//!
//! ```text
//! Routes::on::<NapiPoll>(handler) ... run(trace, tracker): for each event in order -> handlers[kind](tracker, event, struct)
//!                                 ... ready(trace, routes, tracker) -> together(trace, [several]) -> finish()
//! ```

use std::sync::atomic::Ordering;

use netmortem_formats::tracepoints::Tracepoint;
use netmortem_formats::tracepoints::inet_sock_set_state::InetSockSetState;
use netmortem_formats::tracepoints::tcp_set_state::TcpSetState;

use crate::ingest::{Event, GapRow, Schema, Trace};

mod gaps;
mod lost;
mod on_cpu;
#[cfg(test)]
mod tests;
mod together;

pub use gaps::Gaps;
pub use lost::Lost;
pub use on_cpu::{Machine, Routed, on_cpu};
pub use together::{Party, Walk, ready, together};

/// A state machine fed by events in time order.
pub trait Tracker {
    /// Events of a CPU were lost: whatever it was waiting for may have happened.
    fn gap(&mut self, gap: &GapRow) {
        let _ = gap;
    }
}

/// False: the payload is shorter than the event's format says.
type Handler<T> = Box<dyn Fn(&mut T, &Event<'_>) -> bool + Send + Sync>;

/// Handlers by event id, and what could not be bound.
pub struct Routes<T> {
    by_kind: Vec<Option<Handler<T>>>,
    /// Why tracepoints asked for are not there: one sentence each.
    pub missing: Vec<String>,
    /// Whose routes these are.
    pub name: &'static str,
}

impl<T: Tracker> Routes<T> {
    /// No routes.
    pub fn new(name: &'static str) -> Routes<T> {
        Routes {
            by_kind: Vec::new(),
            missing: Vec::new(),
            name,
        }
    }
    /// Sends events of tracepoint `P` to `f`. False (and a sentence in `missing`) when the capture cannot provide it.
    pub fn on<P: Tracepoint>(
        &mut self,
        schema: &Schema<'_>,
        f: impl for<'e> Fn(&mut T, &Event<'e>, P::Event<'e>) + Send + Sync + 'static,
    ) -> bool {
        match schema.bind::<P>() {
            Ok((id, bound)) => {
                let read = move |t: &mut T, e: &Event<'_>| match P::read(&bound, e.payload) {
                    Some(p) => {
                        f(t, e, p);
                        true
                    }
                    None => false,
                };
                self.route(id, Box::new(read));
                true
            }
            Err(why) => {
                self.missing.push(why);
                false
            }
        }
    }
    /// Sends changes of TCP states to `f`, as `sock:inet_sock_set_state` or, before Linux 4.16, `tcp:tcp_set_state` tells them.
    pub fn on_states(
        &mut self,
        schema: &Schema<'_>,
        f: impl for<'e> Fn(&mut T, &Event<'e>, InetSockSetState<'e>) + Send + Sync + 'static,
    ) -> bool {
        // What is missing is the event that kernels of today have.
        match schema.format("tcp", TcpSetState::NAME) {
            Some(_) => self.on::<TcpSetState<'static>>(schema, move |t, e, p| f(t, e, p.into())),
            None => self.on::<InetSockSetState<'static>>(schema, f),
        }
    }
    /// Sends events of an id to `f` undecoded.
    pub fn raw(&mut self, id: u16, f: impl Fn(&mut T, &Event<'_>) + Send + Sync + 'static) {
        let all = move |t: &mut T, e: &Event<'_>| {
            f(t, e);
            true
        };
        self.route(id, Box::new(all));
    }
    fn route(&mut self, id: u16, handler: Handler<T>) {
        let at = usize::from(id);
        if self.by_kind.len() <= at {
            self.by_kind.resize_with(at + 1, || None);
        }
        if let Some(slot) = self.by_kind.get_mut(at) {
            *slot = Some(handler);
        }
    }
    /// Whether no tracepoint could be bound.
    pub fn is_empty(&self) -> bool {
        self.by_kind.iter().all(Option::is_none)
    }
    /// Walks the trace. A gap is told twice: where it begins (what was known may have changed unseen) and where it ends
    /// (so may have what other CPUs did meanwhile).
    pub fn run(&self, trace: &Trace<'_>, tracker: &mut T) {
        let mut gaps = Gaps::of(trace.gaps.iter().collect());
        let wanted = |kind| self.wants(kind);
        trace.some_at_once(wanted, |events| {
            for e in events {
                gaps.until(e.ts, |g| tracker.gap(g));
                self.feed(trace, tracker, e);
            }
        });
        gaps.rest(|g| tracker.gap(g));
    }
    /// Whether events of an id have a handler.
    #[inline]
    pub fn wants(&self, kind: u16) -> bool {
        self.by_kind.get(usize::from(kind)).is_some_and(Option::is_some)
    }
    /// Hands over one event, for walks other than [`Routes::run`].
    #[inline]
    pub fn feed(&self, trace: &Trace<'_>, tracker: &mut T, e: &Event<'_>) {
        if let Some(Some(h)) = self.by_kind.get(usize::from(e.kind))
            && !h(tracker, e)
        {
            trace.short_payloads.fetch_add(1, Ordering::Relaxed);
        }
    }
}
