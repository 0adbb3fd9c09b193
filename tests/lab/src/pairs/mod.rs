//! Pairs of recordings for `netmortem diff`: the same traffic twice, the second time with a planted change of known kind, or
//! without one. What the comparison says of them is the table of docs/diff.md.
//!
//! In: a recorder, root, tracefs, iproute2, ethtool, nft. Out: `DIR/<plant>/<n>-before/bundle.nmb` and `…-after/…`, and a table.
//! Must not: sit on one side only of the machine's moods (before and after are recorded in turns); look into a bundle but
//! through `analyzer::diff`.
//!
//! ```text
//! Plant (scene + change + metrics that may name it) -> record() before, after, before, … -> judge(): A/B pairs, A/A pairs
//! ```

mod judge;
mod plants;
mod scenes;

use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::recording::Recorder;

pub use judge::{Table, between, judge};
pub use plants::{ALL, LARGE};

/// A planted change.
#[derive(Debug, Clone, Copy)]
pub struct Plant {
    /// Name, also of its folder.
    pub name: &'static str,
    /// What is done to the second recording, in a sentence.
    pub what: &'static str,
    /// Metrics of which one must be called worse or changed.
    pub names: &'static [&'static str],
    /// Records the scene into a folder, with the change or without.
    pub play: fn(&Path, bool, &Recorder) -> anyhow::Result<()>,
}

/// Where one recording of a plant lies.
pub fn bundle(out: &Path, plant: &Plant, n: usize, side: &str) -> PathBuf {
    out.join(plant.name).join(format!("{n}-{side}")).join("bundle.nmb")
}

/// Records `pairs` pairs in all, these plants in turns; what is there already stays. A line for each is told.
pub fn record(
    plants: &[Plant],
    out: &Path,
    pairs: usize,
    recorder: &Recorder,
    tell: &mut dyn FnMut(&str),
) -> anyhow::Result<()> {
    for (at, plant) in plants.iter().cycle().take(pairs).enumerate() {
        let n = at / plants.len();
        for (side, planted) in [("before", false), ("after", true)] {
            let path = bundle(out, plant, n, side);
            if path.exists() {
                continue;
            }
            let dir = path.parent().context("a folder")?;
            std::fs::create_dir_all(dir)?;
            // Actors run ahead of everything: those of two recordings would be in each other's way.
            let lock = std::fs::File::create(std::env::temp_dir().join("netmortem-lab.lock"))?;
            rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive)?;
            let played = (plant.play)(dir, planted, recorder);
            drop(lock);
            // A pair without one side is no pair: it is left out and told.
            if let Err(e) = played {
                tell(&format!("{} {n} {side}: not recorded: {e:#}", plant.name));
                let _ = std::fs::remove_file(&path);
            }
        }
        tell(&format!("{} {n}: recorded", plant.name));
    }
    Ok(())
}
