//! Lives of sk_buffs against the slab allocator: none holds the birth or the death of another one, and none is told as several.
//!
//! ```text
//! object of a pair: alloc ───────────────────────────── free      the allocator tells every one
//!   its original    ├─────────────── one life ──────────┤          two in here: one was cut in two
//!   its clones       ├── life ──┤  ├── life ──┤                    any number, one after the other
//! ```
//! Objects with one sk_buff may be used again without the allocator: of them only what is inside of a life is asked.

use std::collections::HashMap;
use std::path::Path;

use netmortem_analyzer::{Confidence, Facts};

use super::Oracle;
use super::rows::{confidence, number, table, text};
use crate::independent::kmem::{Slab, Slabs};
use crate::truth::Truth;

/// A life of an skb address, as the view `skbs` tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Life {
    /// Its number.
    pub id: i64,
    /// Its address.
    pub address: u64,
    /// First event.
    pub birth_ns: i64,
    /// Last event.
    pub last_ns: i64,
    /// Label.
    pub confidence: Confidence,
    /// Whether the ledger takes it for one of TCP's write queue.
    pub original: bool,
}

fn lives(facts: &Facts) -> Option<Vec<Life>> {
    let t = table(facts, "skbs")?;
    let columns = t.columns();
    let at = |name: &str| columns.iter().position(|c| c.name == name).unwrap_or(usize::MAX);
    let [id, address, birth, last, label, class] =
        ["skb_id", "skbaddr", "birth_ns", "last_ns", "confidence", "class"].map(at);
    let life = |row: usize| {
        let num = |c: usize| number(t.cell(row, c)).unwrap_or(0);
        let hex = text(t.cell(row, address));
        Some(Life {
            id: num(id),
            address: u64::from_str_radix(hex.trim_start_matches("0x"), 16).ok()?,
            birth_ns: num(birth),
            last_ns: num(last),
            confidence: confidence(&text(t.cell(row, label))),
            original: text(t.cell(row, class)) == "tx_original",
        })
    };
    Some((0..t.len()).filter_map(life).collect())
}

/// Lives of the recording against `kmem.txt`; nothing when the allocator was not recorded.
pub fn by_allocator(dir: &Path, truth: &Truth, facts: &Facts) -> Vec<Oracle> {
    let Some((lives, slabs)) = lives(facts).zip(Slabs::load(&dir.join("kmem.txt")).ok()) else {
        return vec![];
    };
    let read: u64 = truth.reads.iter().map(|r| r.bytes).sum();
    let received: u64 = truth.sockets.iter().map(|s| s.bytes_received).sum();
    let mut all = compared(&lives, &slabs).to_vec();
    if read + received > 0 || truth.counters.contains_key("TcpOutSegs") {
        all.extend(seen(&lives, &slabs, &all));
    }
    all.retain(|o| o.checked > 0);
    all
}

/// What rounding to µs leaves out, ns.
const HALF_NS: i64 = 500;

impl Slab {
    /// Whether it happened for certain before an instant: its time is rounded to µs.
    fn before(&self, ns: i64) -> bool {
        self.us * 1_000 + HALF_NS < ns
    }
    fn after(&self, ns: i64) -> bool {
        self.us * 1_000 - HALF_NS > ns
    }
}

/// Name of what tells that originals are compared at all.
pub const SEEN: &str = "originals are known to the slab allocator";

/// Names: lives of originals, clones and other skbs that hold another one's birth or death; originals told as several.
pub const NAMES: [&str; 4] = [
    "links of originals by the slab allocator",
    "links of clones by the slab allocator",
    "links of other skbs by the slab allocator",
    "links that cut an original in two by the slab allocator",
];

/// Compares; one check per life, and one per original of the allocator that the ledger knows. What an address is (the first
/// or the second of a pair, or alone), the allocator says, not the ledger. Lives whose address it never named are left out.
pub fn compared(lives: &[Life], slabs: &Slabs) -> [Oracle; 4] {
    let mut of: HashMap<u64, Vec<&Slab>> = HashMap::new();
    for s in &slabs.events {
        of.entry(s.address).or_default().push(s);
    }
    let mut all = NAMES.map(|name| Oracle {
        name,
        ..Oracle::default()
    });
    let [originals, clones, others, cut] = &mut all;
    let mut at: HashMap<u64, Vec<&Life>> = HashMap::new();
    for life in lives {
        let (oracle, events) = match of.get(&life.address) {
            Some(events) if events.iter().any(|s| s.pair) => {
                at.entry(life.address).or_default().push(life);
                (&mut *originals, events)
            }
            Some(events) => (&mut *others, events),
            None => {
                let first = life.address.wrapping_sub(slabs.sk_buff);
                match of.get(&first).filter(|e| e.iter().any(|s| s.pair)) {
                    Some(events) => (&mut *clones, events),
                    None => continue,
                }
            }
        };
        // The printed time is rounded to µs: only what is surely inside counts.
        let inside = events.iter().find(|s| s.after(life.birth_ns) && s.before(life.last_ns));
        oracle.link(inside.is_none(), life.confidence, || {
            format!("{life:?} has {inside:?} inside")
        });
    }
    for (address, mut lives) in at {
        lives.sort_by_key(|l| l.birth_ns);
        let events = of.get(&address).map_or(&[][..], |e| e);
        for span in events.windows(2) {
            let [from, to] = span else { continue };
            if !(from.alloc && !to.alloc && from.pair && to.pair) {
                continue;
            }
            let within = lives.iter().filter(|l| from.before(l.birth_ns) && to.after(l.birth_ns));
            let within: Vec<&&Life> = within.collect();
            // Where one ends or begins is a link of either: the lesser label tells the doubt.
            let label = within.iter().map(|l| l.confidence).min();
            let Some(label) = label else { continue };
            cut.link(within.len() < 2, label, || {
                format!("{within:?} between {from:?} and {to:?}")
            });
        }
    }
    all
}

/// Where TCP sent data, originals were compared: at least one, and most of those that the ledger knows. Where its events
/// name none, clones were: an allocator that names no pair is blind.
pub fn seen(lives: &[Life], slabs: &Slabs, compared: &[Oracle]) -> Option<Oracle> {
    let [originals, clones, ..] = compared else { return None };
    let pairs = slabs.events.iter().filter(|s| s.pair).map(|s| s.address);
    let pairs: std::collections::HashSet<u64> = pairs.collect();
    let claimed = lives.iter().filter(|l| l.original);
    let (all, known) = (
        claimed.clone().count(),
        claimed.filter(|l| pairs.contains(&l.address)).count(),
    );
    let mut oracle = Oracle {
        name: SEEN,
        ..Oracle::default()
    };
    let right = if all > 0 {
        originals.checked > 0 && known * 2 > all
    } else {
        clones.checked > 0
    };
    oracle.check(right, || {
        let (o, c) = (originals.checked, clones.checked);
        format!("{o} lives of originals and {c} of clones compared, {known} of {all} have an event")
    });
    Some(oracle)
}
