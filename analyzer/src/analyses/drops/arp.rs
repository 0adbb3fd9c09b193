//! Dropped ARP frames, and the neighbours that were not resolved meanwhile though they answer at other times.
//!
//! ```text
//! drops of a group:        ────── ARP ARP ARP ARP ARP ARP ──────
//! entry (device, address): stale, probe │ failed, incomplete, failed │ reachable        a silence; one that never answers is nobody's address
//! ```
//! Needs `drops` with their protocols, `neighbours`. That the silence is for these frames is inferred from the time. Of an entry that is made while another of its device's name and address lives, which is another namespace's, only how many packets had to wait for such.

use std::collections::BTreeMap;
use std::net::IpAddr;

use crate::analyses::left_behind;
use crate::facts::Facts;
use crate::name::Name;
use crate::reconstruct::ETH_P_ARP;
use crate::reconstruct::drops::tables::DropRow;
use crate::reconstruct::neighbours::tables::NeighbourRow;

/// NUD_INCOMPLETE and NUD_FAILED (include/net/neighbour.h).
const UNRESOLVED: u8 = 0x01 | 0x20;
/// A packet is to be sent to it.
const ASKED: &str = "event_send_done";
/// NUD_FAILED.
const FAILED: u8 = 0x20;
/// An entry fails so long behind the first question that is lost at most: three of each kind, a second apart, by default.
const FAILS_NS: i64 = 6_000_000_000;
/// The first of the dropped frames may not be of this group.
const BEFORE_NS: i64 = 1_000_000_000;

/// ARP frames of a group.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct Arp {
    /// How many.
    pub frames: u64,
    /// Of neighbours that were without an answer though they have one at other times: the one that most packets waited for.
    pub silent: Option<Silent>,
    /// Where there is none: the neighbour of several entries of one device's name (in several network namespaces) that most packets had to wait for meanwhile.
    pub several: Option<Several>,
    /// Others like it.
    pub others: u64,
    /// Addresses whose entries failed meanwhile and that never answered.
    pub nobody: u64,
    /// Addresses that only sockets ask for that nobody has ([`left_behind`]).
    #[serde(skip)]
    pub left_behind: u64,
}

/// A neighbour that was not resolved for a time.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Silent {
    /// Its address.
    pub address: String,
    /// The device of its entry.
    pub dev: String,
    /// From then on, ns since the start of the recording.
    pub from_ns: i64,
    /// Until then; empty: until the end.
    pub to_ns: Option<i64>,
}

/// A neighbour of which several entries of one device's name were not resolved.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Several {
    /// Its address.
    pub address: String,
    /// The device of its entries.
    pub dev: String,
    /// Packets that had to wait for it.
    pub packets: u64,
}

/// Packets that had to wait for entries that are one of several of their device's name and address.
fn several(facts: &Facts, entries: &BTreeMap<(IpAddr, Name), Entry>, (from, to): (i64, i64)) -> Option<Several> {
    let mut waited: BTreeMap<(IpAddr, Name), u64> = BTreeMap::new();
    for r in facts
        .neighbours
        .iter()
        .filter(|r| r.event == ASKED && (from..=to).contains(&r.time_ns))
    {
        let unresolved = r
            .after
            .or(r.before)
            .is_some_and(|h| h.valid().is_none() && h.state & UNRESOLVED != 0);
        let key = (r.address, r.dev);
        if unresolved && entries.get(&key).is_some_and(|e| e.twice) {
            *waited.entry(key).or_default() += 1;
        }
    }
    let ((address, dev), packets) = waited.into_iter().max_by_key(|(k, n)| (*n, std::cmp::Reverse(*k)))?;
    Some(Several {
        address: address.to_string(),
        dev: dev.text().into_owned(),
        packets,
    })
}

/// What the rows of an entry tell.
#[derive(Default)]
struct Entry {
    /// It was made and not released yet; and again meanwhile: another namespace has one of its device's name and address.
    alive: bool,
    twice: bool,
    answered: bool,
    /// Unresolved since, whether it failed in that time, and packets that had to wait.
    since: Option<(i64, bool, u64)>,
    spells: Vec<Spell>,
}

/// From when until when an entry that failed was unresolved, and packets that had to wait for it.
type Spell = (i64, Option<i64>, u64);

impl Entry {
    fn row(&mut self, r: &NeighbourRow) {
        self.twice |= r.event == "create" && self.alive;
        self.alive = r.event != "cleanup_and_release";
        let Some(held) = r.after.or(r.before) else { return };
        if held.valid().is_some() {
            self.answered = true;
            if let Some((since, true, waited)) = self.since.take() {
                self.spells.push((since, Some(r.time_ns), waited));
            }
        } else if held.state & UNRESOLVED != 0 {
            let (_, failed, waited) = self.since.get_or_insert((r.time_ns, false, 0));
            *failed |= held.state & FAILED != 0;
            *waited += u64::from(r.event == ASKED);
        }
    }
}

/// Of a group's rows.
pub(super) fn arp(facts: &Facts, rows: &[&DropRow]) -> Option<Arp> {
    let frames = rows.iter().filter(|r| r.protocol == ETH_P_ARP);
    let mut times: Vec<i64> = frames.map(|r| r.time_ns).collect();
    times.sort_unstable();
    let (first, last) = (*times.first()?, *times.last()?);
    let mut entries: BTreeMap<(IpAddr, Name), Entry> = BTreeMap::new();
    for r in facts.neighbours.iter().filter(|r| r.address.is_ipv4()) {
        entries.entry((r.address, r.dev)).or_default().row(r);
    }
    let of_several = several(
        facts,
        &entries,
        (first.saturating_sub(BEFORE_NS), last.saturating_add(BEFORE_NS)),
    );
    let start = facts.capture.start_ns.unwrap_or(0);
    let meanwhile = |(from, to, _): &Spell| {
        let until = to.unwrap_or(i64::MAX);
        let begins = *from >= first.saturating_sub(BEFORE_NS) && *from <= last.saturating_add(FAILS_NS);
        // Of questions that came through all the time none was among these.
        let within =
            times.partition_point(|t| *t < from.saturating_sub(FAILS_NS)) < times.partition_point(|t| *t <= until);
        begins && within
    };
    let mut silent: Vec<(u64, Silent)> = vec![];
    // Of all devices, and of those by which the frames went.
    let (mut nobody, mut nobody_there, mut left) = (0, 0, 0);
    let nobodys = left_behind::neighbours(facts);
    for ((address, dev), mut entry) in entries.into_iter().filter(|(_, e)| !e.twice) {
        if nobodys.contains(&(address, dev)) {
            left += u64::from(rows.iter().any(|r| r.dev == dev));
            continue;
        }
        if let Some((since, true, waited)) = entry.since.take() {
            entry.spells.push((since, None, waited));
        }
        let mut of = entry.spells.into_iter().filter(meanwhile);
        match entry.answered {
            false => {
                let one = u64::from(of.next().is_some());
                nobody += one;
                nobody_there += one * u64::from(rows.iter().any(|r| r.dev == dev));
            }
            true => {
                // Nobody waited for what is only probed.
                let Some(most) = of.max_by_key(|s| s.2).filter(|s| s.2 > 0) else {
                    continue;
                };
                let told = Silent {
                    address: address.to_string(),
                    dev: dev.text().into_owned(),
                    from_ns: most.0.saturating_sub(start),
                    to_ns: most.1.map(|to| to.saturating_sub(start)),
                };
                silent.push((most.2, told));
            }
        }
    }
    // What asks by this very device in vain is known.
    if left > 0 {
        silent.retain(|(_, s)| rows.iter().any(|r| r.dev.text() == s.dev));
        nobody = nobody_there;
    }
    let others = (silent.len() as u64).saturating_sub(1);
    silent.sort_by_key(|s| std::cmp::Reverse(s.0));
    let silent = silent.into_iter().next().map(|s| s.1);
    Some(Arp {
        frames: times.len() as u64,
        several: of_several.filter(|_| silent.is_none()),
        silent,
        others,
        nobody,
        left_behind: left,
    })
}
