//! When the kernel's counters rose: the recorder's readings of every second (`seconds/` of a bundle), each subtracted from the one before.
//!
//! In: the snapshot before the recording, the readings, the snapshot after it. Out: rows of the view `counters_over_time`, of those that
//! changed. Must not say what a rise means. What is damaged, of another time, or would be too much is left out, counted, and told; a counter
//! that fell has no rise there. Format: docs/bundle.md, "Seconds".
//!
//! ```text
//! start --- second 1 --- second 2 --- ... --- end       a text that one reading lacks: the next row reaches over it, unless the reading says
//!                                                       that it tells only what changed (`chain`)
//!   |- row ---|- row ------|-                            too many rows: two readings become one, then four ... (sums stay)
//! ```

use std::sync::Arc;

use netmortem_formats::bundle::{NOTICES, seconds};
use netmortem_formats::capture::SnapshotWhen;
use netmortem_formats::{Capture, ClockPair};
use rustc_hash::FxHashMap;

use super::read::{self, Names};
use super::tables::{is_gauge, wrapped};
use super::{Key, MOST, is_flight, read_late};
use crate::facts::Reason;
use crate::ingest::TraceClock;

mod chain;
pub mod sockets;
pub mod tables;
#[cfg(test)]
mod tests;

use chain::Chains;
use tables::RiseRow;

/// Rows above this: readings are joined.
const MOST_ROWS: usize = 400_000;
/// A day of recording has 2,740 readings, some 100 KiB each; more than this is not read.
const MOST_READINGS: usize = 50_000;
const MOST_BYTES: usize = 2 << 30;
/// After so many that cannot be read no more are tried.
const MOST_DAMAGED: u64 = 100;
/// A counter of 32 bits that began anew rose by less than this in a second or a few; by more, it was set back.
const LARGEST_WRAP: u64 = 1 << 31;

/// When counters rose.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OverTime {
    /// View `counters_over_time`, in the order of the readings.
    pub rows: Vec<RiseRow>,
    /// When the readings were made, on the trace clock; ascending.
    pub readings: Vec<i64>,
    /// How many readings a row joins at most; 1: none was joined.
    pub joined: u64,
    /// View `sockets_over_time`.
    pub sockets: Vec<sockets::SocketRow>,
    /// What could not be read.
    pub unknown: Vec<Reason>,
}

/// Reads all of them; nothing where there are none.
pub fn of(capture: &Capture) -> OverTime {
    of_at_most(capture, MOST_ROWS)
}

/// Of no more rows than so many.
pub(crate) fn of_at_most(capture: &Capture, most_rows: usize) -> OverTime {
    let mut walk = Walk::new(Names::of(capture), most_rows);
    let clock = TraceClock::of(capture);
    let all = members(capture).count();
    if all == 0 {
        return OverTime::default();
    }
    let flight = capture.manifest.as_ref().is_some_and(is_flight);
    for s in capture.snapshots.iter().filter(|s| s.when == SnapshotWhen::Start) {
        if !(flight && read_late(&s.what)) {
            walk.text(&s.what, &s.text);
        }
    }
    walk.close(None);
    let (from, to) = bounds(capture);
    let (mut damaged, mut strange, mut bytes, mut unread) = (0u64, 0u64, 0usize, 0usize);
    // Each is decoded when it is asked for: those that are left are not.
    for (nth, second) in seconds(capture).enumerate() {
        if nth >= MOST_READINGS || bytes > MOST_BYTES || damaged > MOST_DAMAGED {
            unread = all.saturating_sub(nth);
            break;
        }
        let Ok(second) = second else {
            damaged += 1;
            continue;
        };
        // What was heard since the last reading: nothing was read then.
        if second.texts.iter().all(|(what, _)| what == NOTICES) && !second.texts.is_empty() {
            continue;
        }
        let inside = from.is_none_or(|from| second.clock.monotonic_ns >= from)
            && to.is_none_or(|to| second.clock.monotonic_ns <= to);
        let Some(at) = clock.of_pair(&second.clock) else {
            return OverTime {
                unknown: vec![reason(format!(
                    "the trace clock {} and the clocks of the readings of every second cannot be compared",
                    clock.name
                ))],
                ..OverTime::default()
            };
        };
        if !inside || walk.readings.last().is_some_and(|last| *last >= at) {
            strange += 1;
            continue;
        }
        for (what, text) in &second.texts {
            if what == "sockets" {
                walk.sockets.read(&String::from_utf8_lossy(text));
            }
            bytes = bytes.saturating_add(text.len());
            walk.text(what, text);
        }
        walk.close(Some(at));
    }
    for s in capture.snapshots.iter().filter(|s| s.when == SnapshotWhen::End) {
        walk.text(&s.what, &s.text);
    }
    walk.close(None);
    let missing = missing(capture);
    let mut out = walk.finish();
    for (n, what) in [
        (damaged, "cannot be read"),
        (strange, "are not of the time of the recording, or not in order"),
        (missing, "are missing"),
        (unread as u64, "were not read: they are more than any recorder writes"),
    ] {
        if n > 0 {
            out.unknown.push(reason(format!(
                "{n} of the recorder's readings of the counters every second {what}: rises there are told over a longer time"
            )));
        }
    }
    out
}

fn reason(because: String) -> Reason {
    Reason {
        subject: "counters_over_time",
        because,
    }
}

/// First and last moment of the recording, CLOCK_MONOTONIC, where its manifest and its end say them.
fn bounds(capture: &Capture) -> (Option<i64>, Option<i64>) {
    let at = |of: &Option<serde_json::Value>, place: &str| -> Option<i64> {
        let pair = of.as_ref()?.pointer(place)?;
        let pair: ClockPair = serde_json::from_value(pair.clone()).ok()?;
        Some(pair.monotonic_ns)
    };
    (at(&capture.manifest, "/clocks/start"), at(&capture.end, "/clock"))
}

/// Numbers of the readings in the file.
fn members(capture: &Capture) -> impl Iterator<Item = u64> {
    let number = |name: &str| name.strip_prefix("seconds/")?.strip_suffix(".zst")?.parse().ok();
    capture.members.iter().filter_map(move |m| number(&m.name))
}

/// They are numbered from 1: how many are not there.
fn missing(capture: &Capture) -> u64 {
    let last = members(capture).max().unwrap_or(0);
    let mut there: Vec<u64> = members(capture).collect();
    there.sort_unstable();
    there.dedup();
    // A number as large as it likes is no sign of so many.
    match last <= MOST_READINGS as u64 {
        true => last.saturating_sub(there.len() as u64),
        false => 0,
    }
}

/// A reading's moment, and which one it is.
#[derive(Debug, Clone, Copy)]
struct When {
    ns: Option<i64>,
    nth: u64,
}

/// What is known of a counter on the way.
struct Counter {
    key: Arc<Key>,
    before: Option<(When, u64)>,
    now: Option<u64>,
    /// Whether a reading of a second had it.
    timed: bool,
    /// Its last row.
    row: Option<usize>,
}

struct Walk {
    names: Names,
    most_rows: usize,
    counters: Vec<Counter>,
    places: FxHashMap<Key, usize>,
    touched: Vec<usize>,
    /// Rows, of which counter they are, and of which reading.
    rows: Vec<(RiseRow, usize, u64)>,
    readings: Vec<i64>,
    nth: u64,
    joined: u64,
    chains: Chains,
    sockets: sockets::Sockets,
    /// What the reading that is under way says it holds.
    holds: Option<String>,
}

impl Walk {
    fn new(names: Names, most_rows: usize) -> Walk {
        Walk {
            names,
            most_rows,
            counters: vec![],
            places: FxHashMap::default(),
            touched: vec![],
            rows: vec![],
            readings: vec![],
            nth: 0,
            joined: 1,
            chains: Chains::default(),
            sockets: sockets::Sockets::default(),
            holds: None,
        }
    }

    /// Takes a text of the reading that is under way.
    fn text(&mut self, what: &str, text: &[u8]) {
        let text = String::from_utf8_lossy(text);
        if what == "readings" {
            self.holds = Some(text.into_owned());
            return;
        }
        let Walk {
            names,
            counters,
            places,
            touched,
            ..
        } = self;
        read::text(what, &text, names, &mut |key, value| {
            if is_gauge(key.source, &key.name) {
                return;
            }
            let place = match places.get(&key) {
                Some(place) => *place,
                // What is above it is told for the view `counters`.
                None if counters.len() >= MOST => return,
                None => {
                    places.insert(key.clone(), counters.len());
                    counters.push(Counter {
                        key: Arc::new(key),
                        before: None,
                        now: None,
                        timed: false,
                        row: None,
                    });
                    counters.len() - 1
                }
            };
            let Some(counter) = counters.get_mut(place) else { return };
            if counter.now.is_none() {
                touched.push(place);
            }
            // Two of one name add up, as the queues of a card do.
            counter.now = Some(counter.now.unwrap_or(0).saturating_add(value));
        });
    }

    /// Ends the reading: compares its counters with those of the one before that had them.
    fn close(&mut self, ns: Option<i64>) {
        let when = When { ns, nth: self.nth };
        self.nth += 1;
        self.readings.extend(ns);
        self.sockets.close(ns);
        for place in std::mem::take(&mut self.touched) {
            let Some(counter) = self.counters.get_mut(place) else {
                continue;
            };
            let Some(now) = counter.now.take() else { continue };
            counter.timed |= ns.is_some();
            let before = counter.before.replace((when, now));
            // Of what no second had nothing is known but what `counters` says.
            let Some((from, then)) = before.filter(|(_, then)| counter.timed && *then != now) else {
                continue;
            };
            let from = self.chains.held(&counter.key, self.names.own, from);
            let rise = rise(&counter.key, then, now);
            let row = RiseRow {
                from_ns: from.ns,
                to_ns: ns,
                counter: counter.key.clone(),
                rise,
                whole: rise.is_some(),
            };
            self.put(row, place, when.nth);
            if self.rows.len() > self.most_rows {
                self.coarser();
            }
        }
        // Only now: what was read in this reading does not hold from before it.
        if let Some(holds) = self.holds.take() {
            self.chains.read(&holds, when);
        }
    }

    /// Adds a row; where the counter's last one is of the same part of time, to that.
    fn put(&mut self, row: RiseRow, place: usize, nth: u64) {
        let Some(counter) = self.counters.get_mut(place) else {
            return;
        };
        // No row is of the first reading: parts begin with the second.
        let part = |nth: u64| nth.saturating_sub(1) / self.joined;
        let last = counter.row.and_then(|at| self.rows.get_mut(at));
        match last.filter(|(_, _, of)| part(*of) == part(nth)) {
            Some((last, ..)) => {
                last.to_ns = row.to_ns;
                last.whole &= row.whole;
                last.rise = match (last.rise, row.rise) {
                    (Some(a), Some(b)) => Some(a.saturating_add(b)),
                    (a, b) => a.or(b),
                };
            }
            None => {
                counter.row = Some(self.rows.len());
                self.rows.push((row, place, nth));
            }
        }
    }

    /// Joins twice as many readings as before.
    fn coarser(&mut self) {
        self.joined = self.joined.saturating_mul(2);
        for counter in &mut self.counters {
            counter.row = None;
        }
        for (row, place, nth) in std::mem::take(&mut self.rows) {
            self.put(row, place, nth);
        }
    }

    fn finish(self) -> OverTime {
        let (sockets, left_out) = self.sockets.finish();
        let too_many = format!(
            "{left_out} lines of sockets in the readings of every second are left out of sockets_over_time: they are too many"
        );
        OverTime {
            rows: self.rows.into_iter().map(|(row, ..)| row).collect(),
            readings: self.readings,
            joined: self.joined,
            sockets,
            unknown: (left_out > 0).then(|| reason(too_many)).into_iter().collect(),
        }
    }
}

fn rise(key: &Key, then: u64, now: u64) -> Option<u64> {
    match wrapped(key.source, &key.of, then, now) {
        true => now
            .checked_add(1 << 32)?
            .checked_sub(then)
            .filter(|rise| *rise < LARGEST_WRAP),
        false => now.checked_sub(then),
    }
}
