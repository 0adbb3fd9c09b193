//! Truth rigs: real traffic in network namespaces with a planted cause of known size, recorded, and what the ledger says
//! of it compared with the truth.
//!
//! In: a recorder, root, tracefs, iproute2, ethtool. Out: per rig a folder with `bundle.nmb` and `truth.json`; one table.
//! Must not: leave a namespace or a process behind; state a nominal size (sizes are stamped by the planting program with
//! CLOCK_MONOTONIC, which is the clock of the recording); know the analyzer's insides (tables by column name only).
//!
//! ```text
//! run: parent ── one child per rig (time limit, cleans up after it) ── rig: namespaces, recorder, actors -> truth.json
//! evaluate: bundle.nmb -> analyzer -> tables ─┐
//!           truth.json, kmem.txt, pcap.csv ───┴-> named right? sized right? sums, links, counters -> table, exit code
//! ```
//!
//! A rig is one file in `rigs/` and one line in `rigs/mod.rs`. Its actors are threads of one process, each in its own
//! namespace, on its own CPU and with its own priority.

pub mod actors;
pub mod burner;
pub mod counters;
pub mod evaluate;
pub mod events;
pub mod incidents;
pub mod independent;
pub mod net;
pub mod pairs;
pub mod recording;
pub mod rigs;
pub mod runner;
pub mod sender;
pub mod sys;
pub mod truth;
pub mod wire;
