//! Many recordings together: what one of them contributes, their order by severity, and the distributions of all.
//!
//! In: [`Facts`] and [`Answers`] of one recording at a time. Out: a [`Summary`] of a few kB that outlives them (it goes to a file, so
//! that a batch can stop, go on, and be put together from several machines), and the [`Fleet`] of any number of them. It must not need
//! the rows of more than one recording at once.
//!
//! ```text
//! Facts, Answers -> summary::of() -> Summary (a JSON file each) -> fleet::of(summaries) -> Fleet (ranked; histograms added up)
//! ```
//! Distributions are merged by adding the counts of equal bins (`stat::Distribution`: four bins an octave), so a quantile of the fleet is
//! the upper edge of its bin: at most 25 % above the value itself. Only certain and strong links, and only units that are whole, count.

mod merged;
mod summary;
mod table;
#[cfg(test)]
mod tests;

pub use merged::{Fleet, FleetDrop, FleetStage, of};
pub use summary::{Bins, Changed, DropGroup, HostChanges, Line, MAX_CHANGES, SPARK_BINS, Stage, Summary, VERSION};
pub use table::SummaryTable;

use crate::Facts;
use crate::analyses::Answers;

/// What one recording contributes. `name` is what it is called in the batch.
pub fn summarize(name: &str, facts: &Facts, answers: &Answers) -> Summary {
    summary::of(name, facts, answers)
}
