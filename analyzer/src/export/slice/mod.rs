//! Which events of a recording are proven to be of other flows or devices than those asked for.
//!
//! In: a capture, its facts, a [`Subject`]. Out: a [`Cut`], which `export::bundle` leaves out when it writes the bundle anew.
//! What is not proven to be another's is kept. Must not touch what tells waits: interrupts, softirqs, polls, the scheduler,
//! timers and system calls name no flow and stay, all of them.
//!
//! ```text
//! rx, tx rows ─ connection ─┐                          ┌─ kept: the subject's, or not known whose
//! drops ─ socket, ports ────┤                          │
//! hops ─ device ────────────┼─ lives of skbs ─ lineage ┼─ kept: another's in a softirq run or poll with the subject's, by a
//!                           │  (owners)     (families) │        thread of it, on its way to a driver, or next at its address
//! connections ─ 4-tuple ────┴─ events of sockets       └─ cut: whole lives, and events of other sockets
//! ```
//! Of another's packets those stay that a packet of the subject waited behind, because its waits are told by them. So rows of
//! the subject are the same in the slice, but for ids and for what recording cost, which is estimated from all events. This is
//! not believed but tried: where rows are others, less is cut. Where they are others still, the slice with the fewest is made,
//! and its notes say how many they are. What is left of others is not whole: nothing is to be concluded of them.
//! That another's packet was dropped is left out also where the packet stays; drops of which nothing tells whose they are stay,
//! and the notes count them by reason and place.

mod compare;
mod drops;
mod families;
mod nothing;
mod owners;
mod subject;
#[cfg(test)]
mod tests;
mod walk;

use std::collections::BTreeMap;

use netmortem_formats::{Bytes, Capture, open_bytes};

pub use self::compare::{Compared, compare};
pub use self::nothing::nothing;
pub use self::subject::{Ends, Flow, Subject};
use super::bundle::{Change, RewriteError, rewrite};
use crate::facts::{Facts, SkbId};
use crate::ingest::{Options, Trace};
use crate::reconstruct::comms::Comms;
use crate::reconstruct::{skb, tcp};

/// Events to be left out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cut {
    /// What was asked for, in words.
    pub of: String,
    /// Offsets of their payloads in the decoded bytes, ascending, by stream and chunk.
    dropped: BTreeMap<(usize, usize), Vec<u32>>,
    /// How many of them, by `system:name`.
    pub events: BTreeMap<String, u64>,
    /// Lives of skbs that are the subject's.
    pub own: u64,
    /// These lives.
    pub lives: Vec<SkbId>,
    /// Lives that are another's and stay, because the subject's waits are told by them.
    pub context: u64,
    /// Lives of which nothing tells whose they are: they stay.
    pub unknown: u64,
    /// Lives of others that are left out.
    pub others: u64,
    /// Whose the drops are.
    pub drops: Drops,
    /// Whether the subject's rows are the same without these events, where that was tried.
    pub compared: Option<Compared>,
}

/// Whose the drops of a recording are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Drops {
    /// Rows of `drops` that are the subject's, ascending.
    pub own: Vec<usize>,
    /// Drops of which nothing tells whose they are: they stay.
    pub unknown: u64,
    /// The same by reason and place.
    pub unknown_by: BTreeMap<String, u64>,
    /// Drops of others that are left out.
    pub others: u64,
    /// Drops of others that stay, because without them the subject's rows would be others.
    pub others_kept: u64,
}

impl Cut {
    /// Whether the record at that offset of that chunk of that stream is left out.
    pub fn drops(&self, stream: usize, chunk: usize, offset: u32) -> bool {
        let of = self.dropped.get(&(stream, chunk));
        of.is_some_and(|o| o.binary_search(&offset).is_ok())
    }

    /// How many events are left out of the whole recording.
    pub fn total(&self) -> u64 {
        self.events.values().sum()
    }
}

/// How much is left out of a slice, most first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Care {
    /// All that is proven to be of others.
    Everything,
    /// Not their `tcp_probe`: the analysis learns from those of all sockets how long headers are.
    ButSamples,
    /// Not their packets either, but that they were dropped.
    ButPackets,
    /// Not their drops either.
    ButDrops,
}

/// Why there is no slice.
#[derive(Debug, thiserror::Error)]
pub enum SliceError {
    /// Nothing of the recording is of the subject.
    #[error("{0}")]
    Nothing(String),
    /// The recording cannot be written anew.
    #[error(transparent)]
    Rewrite(#[from] RewriteError),
}

/// The largest cut after which the rows of the subject are the same: each is written to memory, read and compared. Where none
/// is, that with the fewest other rows, and how many these are.
pub fn cut(capture: &Capture, facts: &Facts, subject: &Subject) -> Result<(Cut, Compared), SliceError> {
    let ends = subject.ends(facts).map_err(SliceError::Nothing)?;
    subject.check(facts, &ends).map_err(SliceError::Nothing)?;
    let trace = Trace::read(capture, &Options::default());
    let identity = skb::identify(&trace, capture);
    let tcp = tcp::run(&trace, &Comms::read(&trace, capture));
    let mut owners = owners::Owners::of((&trace, &identity, &tcp), facts, subject, &ends);
    let walk = walk::Walk::new(capture, &trace, &identity, &tcp, facts);
    let mut best: Option<(Cut, Compared)> = None;
    for care in [Care::Everything, Care::ButSamples, Care::ButPackets, Care::ButDrops] {
        let mut cut = walk.run(&mut owners, care);
        cut.of = subject.to_string();
        let compared = tried(capture, facts, subject, &mut cut)?;
        cut.compared = Some(compared);
        let less = best.as_ref().is_none_or(|(_, b)| compared.different < b.different);
        if less {
            best = Some((cut, compared));
        }
        if compared.different == 0 {
            break;
        }
    }
    best.ok_or_else(|| SliceError::Nothing("nothing was tried".into()))
}

/// Writes the slice to memory, reads it, and compares.
fn tried(capture: &Capture, facts: &Facts, subject: &Subject, cut: &mut Cut) -> Result<Compared, SliceError> {
    let change = Change {
        cut: Some(std::mem::take(cut)),
        ..Change::default()
    };
    let (bytes, _) = rewrite(capture, &change, vec![])?;
    *cut = change.cut.unwrap_or_default();
    let slice = open_bytes("slice.nmb", Bytes::Owned(bytes)).map_err(|e| SliceError::Nothing(e.to_string()))?;
    let after = crate::analyze(&slice, &Options::default());
    let mut compared = compare(facts, &after, subject).map_err(SliceError::Nothing)?;
    compared.drops = cut.drops.own.len();
    compared.different += compare::different_drops(facts, &after, &cut.drops.own);
    Ok(compared)
}
