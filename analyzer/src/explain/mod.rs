//! The evidence chain: from an id that a report printed to its rows, from these to the events they are made of, and from an
//! event to its bytes in the file.
//!
//! In: the capture, its facts, an [`Id`]. Out: an [`Explanation`], plain data that `netmortem explain` prints. Which events
//! name which life is asked of `reconstruct::skb` again, over the same trace, so the ids are the same. Must not judge:
//! what it tells is in the tables and in the recording.
//!
//! ```text
//! "rx:45" -> Id -> row(s) of facts -> waits with their ends (stages) -> lineage
//!                                  -> skbs, boundaries, thread, samples -> one walk over the trace -> events with their place
//! ```

pub mod dialogue;
mod events;
pub mod fields;
mod id;
mod pins;
mod rows;
pub mod stages;
mod story;
#[cfg(test)]
mod tests;

use netmortem_formats::{Capture, EventFormat};
use rustc_hash::FxHashMap;

use self::dialogue::Dialogue;
use self::fields::FieldReader;
use crate::facts::Facts;
use crate::ingest::{Options, Trace};
use crate::reconstruct::skb::{self, Identity};

pub use events::{EventLine, Place, Why};
pub use id::{Id, Kind};
pub use rows::{NamedCell, Row, Value, row};
pub use stages::Step;

/// Events that an explanation lists unless more are asked for.
pub const EVENTS: usize = 500;
/// Edges of a lineage that are listed.
pub const LINKS: usize = 200;

/// What is behind an id.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Explanation {
    /// The id.
    pub id: String,
    /// One sentence.
    pub summary: String,
    /// Its rows, first those that it names.
    pub rows: Vec<Row>,
    /// The waits of its ledger rows.
    pub ledgers: Vec<Ledger>,
    /// What its skbs were made of or became part of.
    pub lineage: Vec<Link>,
    /// Edges besides these.
    pub lineage_left_out: u64,
    /// Of a connection: who said what.
    pub dialogue: Option<Dialogue>,
    /// Ids that lead on.
    pub related: Vec<String>,
    /// Its events in order of time.
    pub events: Vec<EventLine>,
    /// Events besides these.
    pub events_left_out: u64,
    /// What the recording does not tell.
    pub notes: Vec<String>,
}

/// Waits that sum to a total.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Ledger {
    /// `rx:45` or `tx:45`.
    pub id: String,
    /// Begin, trace clock.
    pub start_ns: i64,
    /// ns; the sum of `steps`.
    pub total_ns: i64,
    /// In the order of the path.
    pub steps: Vec<Step>,
    /// Confidence word.
    pub confidence: &'static str,
}

/// An edge of the lineage.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Link {
    /// `parent` or `child`: what the other skb is to this one.
    pub is: &'static str,
    /// The other, as `skb:12`.
    pub skb: String,
    /// How it came to be (column `kind` of `lineage`).
    pub kind: &'static str,
    /// What tells it (column `rule`).
    pub rule: &'static str,
    /// When, trace clock.
    pub time_ns: i64,
    /// Payload that moved along it, when known.
    pub bytes: Option<u32>,
    /// Whether the bytes add up: `yes`, `no`, `unknown`.
    pub conserved: &'static str,
    /// Why they are not compared, or do not add up (column `because`); empty when they add up.
    pub because: &'static str,
    /// Confidence word.
    pub confidence: &'static str,
}

/// No row has that id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoSuch {
    /// What is wrong.
    pub what: String,
    /// What to do next.
    pub next: String,
}

/// A capture read once, to explain any of its ids.
pub struct Explainer<'c> {
    capture: &'c Capture,
    trace: Trace<'c>,
    identity: Identity,
    readers: FxHashMap<u16, (&'c EventFormat, Vec<FieldReader>)>,
    /// Stream and chunk of every block that records name.
    chunks: Vec<(u32, u32)>,
}

impl<'c> Explainer<'c> {
    /// Reads the capture.
    pub fn new(capture: &'c Capture, options: &Options<'_>) -> Explainer<'c> {
        let trace = Trace::read(capture, options);
        let identity = skb::identify(&trace, capture);
        let mut readers = FxHashMap::default();
        for f in trace.schema.formats() {
            readers
                .entry(f.id)
                .or_insert_with(|| (f, FieldReader::all_of(f, trace.schema.endian)));
        }
        let mut chunks = vec![];
        for (s, stream) in capture.streams.iter().enumerate() {
            chunks.extend((0..stream.chunks.len()).map(|c| (s as u32, c as u32)));
        }
        Explainer {
            capture,
            trace,
            identity,
            readers,
            chunks,
        }
    }

    /// Explains an id with at most so many events; a dialogue has at most [`dialogue::LINES`], or as many, where more than [`EVENTS`] are asked for.
    pub fn explain(&self, facts: &Facts, id: Id, events: usize) -> Result<Explanation, NoSuch> {
        story::Story::of(self, facts, id)?.tell(events)
    }
}

/// Explains one id. Who asks for several keeps an [`Explainer`].
pub fn explain(capture: &Capture, facts: &Facts, id: Id) -> Result<Explanation, NoSuch> {
    Explainer::new(capture, &Options::default()).explain(facts, id, EVENTS)
}
