//! Are the units of a metric of the same kind on both sides? Where they differ at least twofold (their size, the sockets that they
//! are spread over, how lives end, packets per poll), shorter times are no improvement: other units were measured.
//!
//! In: rows of both sides. Out: for each metric, a clause that says what differs, or nothing.

use std::collections::{BTreeMap, BTreeSet};

use crate::diff::sides::options::{COUNTS, Recording};
use crate::diff::values::metrics::{Which, rx_counts, tx_counts};
use crate::facts::ConnectionId;
use crate::reconstruct::skb::tables::DeathKind;

/// Units that a side must have for their size to be compared.
const LEAST: usize = 30;
/// Sockets that the side with more of them must have.
const LEAST_SOCKETS: usize = 10;
/// Part of the lives of a class that must end otherwise.
const OTHER_ENDS: f64 = 0.5;

/// What differs, by ledger (or class, or device).
#[derive(Debug, Clone, Default)]
pub(in crate::diff) struct Mixes {
    ledgers: BTreeMap<&'static str, String>,
    lifetimes: BTreeMap<&'static str, String>,
    devices: BTreeMap<String, String>,
}

#[derive(Default)]
struct Units {
    n: usize,
    sized: usize,
    bytes: u64,
    sockets: BTreeSet<(usize, ConnectionId)>,
    ends: BTreeMap<&'static str, usize>,
}

impl Units {
    fn add(&mut self, bytes: Option<u32>, socket: Option<(usize, ConnectionId)>) {
        self.n += 1;
        if let Some(bytes) = bytes {
            self.sized += 1;
            self.bytes = self.bytes.saturating_add(bytes.into());
        }
        self.sockets.extend(socket);
    }
    fn mean(&self) -> Option<f64> {
        (self.sized >= LEAST).then(|| self.bytes as f64 / self.sized as f64)
    }
}

fn twofold(b: f64, a: f64) -> bool {
    b.max(a) >= COUNTS * b.min(a)
}

/// Sizes, sockets and ends that differ.
fn differ(what: &str, b: &Units, a: &Units) -> Option<String> {
    if b.n < LEAST || a.n < LEAST {
        return None;
    }
    if let (Some(x), Some(y)) = (b.mean(), a.mean())
        && twofold(x, y)
    {
        return Some(format!("{what} had {x:.0} bytes before and {y:.0} after"));
    }
    let (x, y) = (b.sockets.len(), a.sockets.len());
    let (per_b, per_a) = (x as f64 / b.n as f64, y as f64 / a.n as f64);
    // In a recording twice as long, as many sockets have twice the units.
    if x.max(y) >= LEAST_SOCKETS && twofold(x as f64, y as f64) && twofold(per_b, per_a) {
        return Some(format!(
            "its {} units were of {x} sockets before, {} of {y} after",
            b.n, a.n
        ));
    }
    let ends: BTreeSet<&&str> = b.ends.keys().chain(a.ends.keys()).collect();
    let part = |u: &Units, end: &str| u.ends.get(end).map_or(0.0, |n| *n as f64 / u.n as f64);
    let moved = ends.iter().map(|e| (part(a, e) - part(b, e), **e));
    let apart: f64 = moved.clone().map(|(by, _)| by.abs()).sum::<f64>() / 2.0;
    let more = moved
        .max_by(|x, y| x.0.total_cmp(&y.0))
        .filter(|_| apart >= OTHER_ENDS)?
        .1;
    let percent = |u| part(u, more) * 100.0;
    Some(format!(
        "{:.0} % of them ended {more} before and {:.0} % after",
        percent(b),
        percent(a)
    ))
}

fn each<K: Ord + Clone>(
    before: &[Recording<'_>],
    after: &[Recording<'_>],
    what: &str,
    of: impl Fn(&Recording<'_>, usize, &mut BTreeMap<K, Units>),
) -> BTreeMap<K, String> {
    let all = |side: &[Recording<'_>]| {
        let mut out = BTreeMap::new();
        for (at, r) in side.iter().enumerate() {
            of(r, at, &mut out);
        }
        out
    };
    let (b, a) = (all(before), all(after));
    let both = b.iter().filter_map(|(k, b)| Some((k, b, a.get(k)?)));
    both.filter_map(|(k, b, a)| Some((k.clone(), differ(what, b, a)?)))
        .collect()
}

fn ledgers(r: &Recording<'_>, at: usize, out: &mut BTreeMap<&'static str, Units>) {
    for x in r
        .facts
        .rx
        .iter()
        .filter(|x| rx_counts(x) && r.has(x.start_ns) && r.takes(x.dev, x.connection))
    {
        out.entry("rx").or_default().add(x.bytes, x.connection.map(|c| (at, c)));
    }
    for x in r
        .facts
        .tx
        .iter()
        .filter(|x| r.has(x.start_ns) && r.takes(x.dev, x.connection))
    {
        if let Some(ledger) = tx_counts(x) {
            out.entry(ledger)
                .or_default()
                .add(x.bytes, x.connection.map(|c| (at, c)));
        }
    }
    // A unit of NET_RX's time is a poll, and what it has are packets.
    for p in r.facts.polls.iter().filter(|p| r.on(p.dev) && r.has(p.end_ns)) {
        out.entry("poll")
            .or_default()
            .add(p.work.and_then(|n| u32::try_from(n).ok()), None);
    }
}

fn lives(r: &Recording<'_>, out: &mut BTreeMap<&'static str, Units>) {
    for s in r
        .facts
        .skbs
        .iter()
        .filter(|s| s.confidence.is_solid() && r.sees(s.birth_ns, s.dev))
        .filter(|s| !r.left_out.is_some_and(|l| l.skbs.contains(&s.skb_id)))
    {
        let end = match s.death_kind {
            _ if s.life_ns().is_none() => continue,
            DeathKind::Segmented => "cut into segments",
            DeathKind::GroMerged => "merged by GRO",
            DeathKind::Dropped => "dropped",
            _ => "another way",
        };
        let of = out.entry(s.class.word()).or_default();
        of.add(s.bytes, None);
        *of.ends.entry(end).or_default() += 1;
    }
}

fn frames(r: &Recording<'_>, out: &mut BTreeMap<String, Units>) {
    let of = r.facts.xmits.iter().filter(|p| p.started_ns.is_some());
    for p in of.filter(|p| r.sees(p.first_ns(), p.dev)) {
        out.entry(p.dev.text().into_owned()).or_default().add(p.bytes, None);
    }
}

impl Mixes {
    pub fn of(before: &[Recording<'_>], after: &[Recording<'_>]) -> Mixes {
        let mut out = Mixes {
            ledgers: each(before, after, "a unit", ledgers),
            lifetimes: each(before, after, "one", |r, _, out| lives(r, out)),
            devices: each(before, after, "a frame", |r, _, out| frames(r, out)),
        };
        if let Some(polls) = out.ledgers.get_mut("poll") {
            *polls = polls
                .replace("a unit had", "a poll had")
                .replace(" bytes ", " packets ");
        }
        out
    }
    /// What differs of this metric's units.
    pub fn why(&self, which: &Which) -> Option<&str> {
        let of = match (which.ledger, which.stage, &which.dev) {
            ("rx" | "tx" | "tx_udp", ..) => self.ledgers.get(which.ledger),
            ("poll", ..) | ("softirq", "run", _) => self.ledgers.get("poll"),
            ("tcp", "srtt", _) => self.ledgers.get("tx"),
            // Of originals no event tells the length: their segments do.
            ("lifetime", class, _) => {
                let ledger = if class.starts_with("rx") { "rx" } else { "tx" };
                self.lifetimes.get(class).or_else(|| self.ledgers.get(ledger))
            }
            ("device", _, Some(dev)) => self.devices.get(dev),
            _ => None,
        };
        of.map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many units on so many sockets.
    fn units(n: u32, sockets: u32) -> Units {
        let mut out = Units::default();
        for at in 0..n {
            out.add(Some(1_000), Some((0, ConnectionId(at % sockets))));
        }
        out
    }

    #[test]
    fn sockets_are_others_in_number_and_per_unit() {
        assert_eq!(differ("a unit", &units(100, 20), &units(300, 20)), None);
        assert_eq!(differ("a unit", &units(100, 20), &units(300, 60)), None);
        let told = "its 100 units were of 20 sockets before, 100 of 40 after";
        assert_eq!(
            differ("a unit", &units(100, 20), &units(100, 40)).as_deref(),
            Some(told)
        );
    }
}
