//! Offline reconstruction of skb lives, the receive path and TCP from a recording.
//!
//! ```text
//! Capture -> ingest (decode in parallel, merge) -> reconstruct (trackers) -> Facts (tables) -> analyses (answers)
//! ```

pub mod analyses;
pub mod announced;
pub mod classes;
pub mod clients;
pub mod confidence;
pub mod counters;
pub mod diff;
pub mod explain;
pub mod export;
pub mod facts;
pub mod fit;
pub mod fleet;
pub mod ingest;
pub mod links;
pub mod name;
pub mod names;
mod nearby;
pub mod reconstruct;
pub mod routes;
pub mod settings;
pub mod snapshots;
pub mod stat;
pub mod table;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
pub mod told;
pub mod words;

pub use confidence::Confidence;
pub use facts::{ConnectionId, Facts, Names, Reason, SkbId};
pub use name::Name;
pub use told::Told;

/// The whole analysis of one opened capture: decode, merge, reconstruct.
pub fn analyze(capture: &netmortem_formats::Capture, options: &ingest::Options<'_>) -> Facts {
    let trace = ingest::Trace::read(capture, options);
    reconstruct::reconstruct(trace, capture)
}
