//! Counters read while recording, every second at first.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use netmortem_formats::bundle::Second;

use super::qdisc;
use crate::clock::clock_pair;
use crate::tracefs::read_file;

/// Files below /proc, of the recorder's own network namespace.
const FILES: [&str; 10] = [
    "net/snmp",
    "net/netstat",
    "net/snmp6",
    "net/softnet_stat",
    "net/dev",
    "net/sockstat",
    "net/sockstat6",
    "softirqs",
    "interrupts",
    "stat",
];
/// A longer text is left out: a second must not cost more than the events. `interrupts` of 256 CPUs and 500 interrupts
/// has 1.4 MiB. Together they stay below what a reader takes (16 MiB).
pub const MOST_BYTES: usize = 2 << 20;
/// Of a flight, which keeps up to 120 of them in memory.
pub const MOST_BYTES_KEPT: usize = 128 << 10;

/// Texts that were too long at least once.
#[derive(Debug, Default)]
pub struct LeftOut(BTreeMap<String, usize>);

impl LeftOut {
    /// What a person should know about it.
    pub fn sentence(&self, most: usize) -> Option<String> {
        let names: Vec<String> = self
            .0
            .iter()
            .map(|(what, n)| format!("{what} ({} KiB)", n >> 10))
            .collect();
        (!names.is_empty()).then(|| {
            format!(
                "counters of each second: left out as longer than {} KiB: {}",
                most >> 10,
                names.join(", ")
            )
        })
    }
}

/// Reads them; none that is longer than `most`.
pub fn take(most: usize, left_out: &mut LeftOut) -> Second {
    let mut out = Second {
        clock: clock_pair(),
        texts: Vec::new(),
    };
    let mut put = |what: &str, text: Vec<u8>| {
        if text.len() > most {
            let longest = left_out.0.entry(what.to_owned()).or_default();
            *longest = text.len().max(*longest);
        } else if !text.is_empty() {
            out.texts.push((what.to_owned(), text));
        }
    };
    for what in FILES {
        put(what, read_file(&Path::new("/proc").join(what)).unwrap_or_default());
    }
    let own = super::netns::own_inode().unwrap_or(0);
    let mut text = String::new();
    // What fails here failed at the start, too, and was said there.
    if qdisc::qdiscs(own, &mut text).is_ok() {
        put("qdiscs", text.into_bytes());
    }
    out
}

/// When the next is due: every second for ten minutes, then half as often, and half again after every further 300, so
/// that a day takes 2,740 of them.
#[derive(Debug)]
pub struct Pace {
    due: Instant,
    taken: u32,
}

/// So many at a second's distance, and so many at each longer distance.
const FIRST: u32 = 600;
const EACH: u32 = 300;

impl Pace {
    /// The first is due a second after `started`.
    pub fn new(started: Instant) -> Pace {
        Pace {
            due: started + interval(0),
            taken: 0,
        }
    }

    /// Whether one is due; then the next is planned. A late loop skips, it never catches up.
    pub fn is_due(&mut self, now: Instant) -> bool {
        if now < self.due {
            return false;
        }
        self.taken = self.taken.saturating_add(1);
        let next = self.due + interval(self.taken);
        self.due = if next > now { next } else { now + interval(self.taken) };
        true
    }
}

/// Distance between number `taken` and the next.
pub fn interval(taken: u32) -> Duration {
    let halvings = match taken.checked_sub(FIRST) {
        None => 0,
        Some(more) => 1 + more / EACH,
    };
    Duration::from_secs(1u64 << halvings.min(20))
}
