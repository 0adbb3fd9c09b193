//! What the kernel itself counted while the recording ran: the snapshots before and after it, read and subtracted; and when it did
//! (`over_time`).
//!
//! In: the texts that the recorder saved (`net/snmp`, `netns/<inode>/net/netstat`, `qdiscs` …). Out: rows of the view `counters`.
//! It must not say what a rise means (`analyses/counters` does) and not guess: a counter that is in one snapshot only, or fell, has no rise.
//! Sources: proc_net(5), Documentation/networking/{snmp_counter,statistics}.rst, net/core/net-procfs.c (softnet_stat), rtnetlink(7).
//!
//! ```text
//! Snapshot at the start, at the end -> read (one reader for each kind of text) -> (source, namespace, of what, name) -> value
//!                                   -> pairs of both -> CounterRow
//! ```

use netmortem_formats::Capture;
use netmortem_formats::capture::SnapshotWhen;
use rustc_hash::FxHashMap;

pub mod over_time;
mod read;
pub mod tables;
#[cfg(test)]
mod tests;

pub use read::Key;
use read::Names;
pub(crate) use read::{FLOWS_PLIMIT, HORIZON_DROPS};
use tables::CounterRow;

/// Most counters kept: a hostile file may hold any number.
const MOST: usize = 200_000;

/// Whether a manifest is of a flight recorder's bundle.
pub fn is_flight(manifest: &serde_json::Value) -> bool {
    manifest.get("flight").is_some_and(|f| !f.is_null())
}

/// What a flight reads for the first time after its trigger: its `start` lies inside the recording.
fn read_late(what: &str) -> bool {
    what.starts_with("netns/") || what.starts_with("net/stat/") || ["qdiscs", "classes", "nics"].contains(&what)
}

/// The counters of a capture, and how many were too many to be kept; in the order in which the texts name them; those that are 0 in both snapshots are left out.
pub fn of(capture: &Capture) -> (Vec<CounterRow>, u64) {
    let names = Names::of(capture);
    let mut found: Vec<(Key, [Option<u64>; 2])> = vec![];
    let mut places: FxHashMap<Key, usize> = FxHashMap::default();
    let flight = capture.manifest.as_ref().is_some_and(is_flight);
    let mut too_many = 0u64;
    for s in &capture.snapshots {
        if flight && s.when == SnapshotWhen::Start && read_late(&s.what) {
            continue;
        }
        let at = match s.when {
            SnapshotWhen::Start => 0,
            SnapshotWhen::End => 1,
        };
        let text = String::from_utf8_lossy(&s.text);
        read::text(&s.what, &text, &names, &mut |key, value| {
            // The view `classes` has those.
            if key.source == "class" {
                return;
            }
            let place = match places.get(&key) {
                Some(place) => *place,
                None if found.len() < MOST => {
                    places.insert(key.clone(), found.len());
                    found.push((key, [None; 2]));
                    found.len() - 1
                }
                None => {
                    too_many = too_many.saturating_add(1);
                    return;
                }
            };
            // Two of one name add up, as the queues of a card do.
            if let Some((_, of)) = found.get_mut(place) {
                of[at] = Some(of[at].unwrap_or(0).saturating_add(value));
            }
        });
    }
    let row = |(key, [start, end]): (Key, [Option<u64>; 2])| CounterRow {
        source: key.source,
        netns: key.netns,
        of: key.of,
        name: key.name,
        start,
        end,
    };
    let told = |r: &CounterRow| r.start.unwrap_or(0) != 0 || r.end.unwrap_or(0) != 0;
    (found.into_iter().map(row).filter(told).collect(), too_many)
}
