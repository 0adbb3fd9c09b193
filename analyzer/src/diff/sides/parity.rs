//! Are the two sides comparable? Quality of the recordings, what they recorded, traffic, load, kernel. What differs is said;
//! what makes an answer meaningless prevents it, or withholds the metrics concerned.

use std::collections::{BTreeMap, BTreeSet};

use super::options::{Recording, length_ns};
use super::{common, load, meanwhile, slices};
use crate::analyses::quality::BAD_LOSS_SHARE;
use crate::analyses::quality::short;
use crate::analyses::verdict::duration;
use crate::reconstruct::receive::tables::RxEnd;

/// Part of the traffic that may be of another kind before nothing is compared.
pub const OTHER_TRAFFIC: f64 = 0.5;
/// The same from which it is told.
pub const SOME_OTHER_TRAFFIC: f64 = 0.1;
/// Part of the units whose time may begin with another event before totals are withheld.
const OTHER_STARTS: f64 = 0.2;
/// Ratio of loads from which it is told.
pub(in crate::diff) const LOADS: f64 = 2.0;

/// How much a check matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Nothing can be compared.
    Prevents,
    /// To be kept in mind.
    Differs,
    /// Whether they differ nobody knows: it counts as no difference.
    Unknown,
    /// Alike.
    Same,
}

/// One thing looked at.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Check {
    /// What.
    pub what: &'static str,
    /// Before, for a person.
    pub before: String,
    /// After.
    pub after: String,
    /// How much it matters.
    pub level: Level,
    /// What it means; empty when alike.
    pub sentence: String,
}

pub(in crate::diff) fn check(what: &'static str, before: String, after: String, says: Option<(Level, &str)>) -> Check {
    Check {
        what,
        before,
        after,
        level: says.map_or(Level::Same, |s| s.0),
        sentence: says.map_or(String::new(), |s| s.1.to_owned()),
    }
}

/// All checks, in order.
pub(in crate::diff) fn checks(b: &[Recording<'_>], a: &[Recording<'_>]) -> Vec<Check> {
    let mut out = vec![
        quality(b, a),
        slices::sliced(b, a),
        loss(b, a),
        events(b, a),
        durations(b, a),
    ];
    let hidden = slices::redacted(b, a);
    out.extend(traffic(b, a));
    out.extend(load::checks(b, a));
    out.push(sizes(b, a));
    out.extend(common::nothing_in_common(b, a));
    out.extend(meanwhile::changed(b, a));
    let texts = |side: &[Recording<'_>], of: fn(&Recording<'_>) -> String| {
        let all: BTreeSet<String> = side.iter().map(of).collect();
        all.into_iter().collect::<Vec<_>>().join(", ")
    };
    let mut plain = |what, of: fn(&Recording<'_>) -> String, sentence| {
        let (x, y) = (texts(b, of), texts(a, of));
        let says = (x != y).then_some((Level::Differs, sentence));
        out.push(check(what, x, y, says));
    };
    plain(
        "kernel",
        |r| r.facts.capture.kernel_release.clone(),
        "The kernels differ: a change may be the kernel's, and stages may be cut where the other kernel has no event.",
    );
    plain(
        "CPUs",
        |r| r.facts.capture.cpus.to_string(),
        "The number of CPUs differs: what waits for a CPU waits otherwise.",
    );
    let machines = |side| {
        texts(side, |r| match r.facts.capture.part.redacted {
            true => format!("(redacted) {}", r.facts.capture.machine),
            false => format!("{} {}", r.facts.capture.hostname, r.facts.capture.machine),
        })
    };
    let of = |side| texts(side, |r| r.facts.capture.machine.clone());
    let (x, y) = (machines(b), machines(a));
    // Two pseudonyms are alike whoever they stand for; two architectures are two machines.
    let says = match (hidden && of(b) == of(a), x != y) {
        (true, _) => Some((
            Level::Unknown,
            "Whether it is the same machine is not known: the name of a host is redacted.",
        )),
        (false, true) => Some((
            Level::Differs,
            "They are recordings of different machines: a change may be the machine's.",
        )),
        (false, false) => None,
    };
    out.push(check("machine", x, y, says));
    out.push(slices::pseudonyms(b, a));
    out.sort_by_key(|c| c.level);
    out
}

fn quality(b: &[Recording<'_>], a: &[Recording<'_>]) -> Check {
    let bad = |r: &Recording<'_>| {
        let c = &r.facts.capture;
        match (c.total_events, c.clock_is_ns, c.complete) {
            (0, _, _) => Some("no events"),
            (_, false, _) => Some("clock without time"),
            (_, _, false) => Some("cut or damaged"),
            _ => None,
        }
    };
    let of = |side: &[Recording<'_>]| side.iter().find_map(bad);
    let fatal = |w: Option<&str>| w.is_some_and(|w| w != "cut or damaged");
    let (x, y) = (of(b), of(a));
    let says = match (x.or(y), fatal(x) || fatal(y)) {
        (None, _) => None,
        (_, true) => Some((
            Level::Prevents,
            "A recording has no events, or its clock does not measure time.",
        )),
        _ => Some((
            Level::Differs,
            "A recording is cut or damaged: what it lacks may be what differs.",
        )),
    };
    let text = |w: Option<&str>| w.unwrap_or("whole").to_owned();
    check("recordings", text(x), text(y), says)
}

fn loss(b: &[Recording<'_>], a: &[Recording<'_>]) -> Check {
    let of = |side: &[Recording<'_>]| {
        let c = side.iter().map(|r| &r.facts.capture);
        let lost = c.clone().fold(0u64, |sum, c| sum.saturating_add(c.lost_events));
        // Of the recording that lost most: in a group another one does not make up for it.
        let share = |l: u64, n: u64| l as f64 / (l as f64 + n as f64).max(1.0);
        let shares = c.map(|c| share(c.lost_events, c.total_events));
        (lost, shares.fold(0.0, f64::max))
    };
    let unplaced = |side: &[Recording<'_>]| {
        let each = side.iter().map(|r| r.facts.capture.lost_at_unknown_time);
        each.fold(0u64, u64::saturating_add)
    };
    let (x, y) = (of(b), of(a));
    // A CPU that was not recorded from the trigger on is not one that idled.
    let short = b
        .iter()
        .chain(a)
        .filter_map(|r| short::told(&r.facts.capture))
        .map(|(bad, _)| bad)
        .max();
    let says = match x.1.max(y.1) {
        _ if short == Some(true) => Some((
            Level::Prevents,
            "The ring of a CPU has nothing from before the trigger of its flight: what was overwritten may be what changed. Record again with larger buffers.",
        )),
        s if s >= BAD_LOSS_SHARE => Some((
            Level::Prevents,
            "More than one event in a hundred was lost: what was lost may be what changed. Record again with larger buffers.",
        )),
        s if s > 0.0 => Some((
            Level::Differs,
            "Some events were lost; packets near a loss are left out.",
        )),
        _ if short.is_some() => Some((
            Level::Differs,
            "The rings of a flight do not reach back as far as was asked for; what was older was overwritten.",
        )),
        _ if unplaced(b) > 0 || unplaced(a) > 0 => Some((
            Level::Differs,
            "Whether a slice lost events is not known: the kernel counted some that its original does not have, and nothing tells when they were.",
        )),
        _ => None,
    };
    let text = |of: &[Recording<'_>], v: (u64, f64)| {
        let known = match of.len() {
            1 => format!("{} lost ({:.3} %)", v.0, v.1 * 100.0),
            _ => format!("{} lost (at most {:.3} % of a recording)", v.0, v.1 * 100.0),
        };
        // When those were that are not in the part compared, nothing tells.
        let known = match of.iter().any(|r| r.whole_ns().is_some()) {
            true => format!("{known} in the whole recording"),
            false => known,
        };
        match (unplaced(of), v.0) {
            (0, _) => known,
            (n, 0) => format!("not known: {n} lost at a time that nothing tells"),
            (n, _) => format!("{known}, and {n} at a time that nothing tells"),
        }
    };
    check("events lost", text(b, x), text(a, y), says)
}

fn events(b: &[Recording<'_>], a: &[Recording<'_>]) -> Check {
    let of = |side: &[Recording<'_>]| {
        let each = side.iter().map(|r| {
            let c = &r.facts.capture;
            let known = c.enabled_events.iter().flatten().cloned();
            known.chain(c.events.keys().cloned()).collect::<BTreeSet<String>>()
        });
        each.reduce(|x, y| &x & &y).unwrap_or_default()
    };
    let (x, y) = (of(b), of(a));
    let only = |p: &BTreeSet<String>, q: &BTreeSet<String>| {
        let names: Vec<&str> = p.difference(q).map(String::as_str).collect();
        let more = names.len().saturating_sub(6);
        let list = names.iter().take(6).copied().collect::<Vec<_>>().join(", ");
        match (names.len(), more) {
            (0, _) => format!("{} kinds", p.len()),
            (_, 0) => format!("{} kinds, only here: {list}", p.len()),
            _ => format!("{} kinds, only here: {list} and {more} more", p.len()),
        }
    };
    let says = (x != y).then_some((
        Level::Differs,
        "Not the same events were recorded: recording costs time, and the metrics that need them are withheld.",
    ));
    check("events recorded", only(&x, &y), only(&y, &x), says)
}

fn durations(b: &[Recording<'_>], a: &[Recording<'_>]) -> Check {
    let (x, y) = (length_ns(b), length_ns(a));
    let each = (x as f64 / b.len().max(1) as f64, y as f64 / a.len().max(1) as f64);
    let says = match (x.min(y) < 100_000_000, each.0.max(each.1) > LOADS * each.0.min(each.1)) {
        (true, _) => Some((
            Level::Differs,
            "Less than a tenth of a second was compared: how things vary shows only in longer recordings.",
        )),
        (false, true) => Some((
            Level::Differs,
            "One side's recordings are more than twice as long as the other's: what is rare, and what takes long, shows in them alone.",
        )),
        _ => None,
    };
    check("time compared", duration(x), duration(y), says)
}

type Mix = BTreeMap<String, f64>;

/// Bytes by direction and protocol, or by device.
fn mix(side: &[Recording<'_>], by_dev: bool) -> Mix {
    let mut out = Mix::new();
    for r in side {
        let f = r.facts;
        let rx =
            f.rx.iter()
                .filter(|x| r.sees(x.start_ns, x.dev) && x.end != RxEnd::Protocol)
                .map(|x| {
                    let kind = if x.connection.is_some() { "tcp" } else { "other" };
                    ("received", kind, x.dev, x.bytes)
                });
        let tx =
            f.tx.iter()
                .filter(|x| r.sees(x.start_ns, x.dev))
                .map(|x| ("sent", x.kind.word(), x.dev, x.bytes));
        for (way, kind, dev, bytes) in rx.chain(tx) {
            let key = if by_dev {
                format!("{way} on {}", dev.text())
            } else {
                format!("{way} {kind}")
            };
            *out.entry(key).or_insert(0.0) += f64::from(bytes.unwrap_or(0).max(1));
        }
    }
    let all: f64 = out.values().sum();
    out.values_mut().for_each(|v| *v /= all.max(1.0));
    out
}

/// Total variation distance: the part that would have to be of another kind.
fn distance(x: &Mix, y: &Mix) -> f64 {
    let keys: BTreeSet<&String> = x.keys().chain(y.keys()).collect();
    let at = |m: &Mix, k: &String| m.get(k).copied().unwrap_or(0.0);
    keys.into_iter().map(|k| (at(x, k) - at(y, k)).abs()).sum::<f64>() / 2.0
}

fn largest(m: &Mix) -> String {
    let mut all: Vec<(&String, &f64)> = m.iter().collect();
    all.sort_by(|p, q| q.1.total_cmp(p.1).then(p.0.cmp(q.0)));
    let text = |(k, v): &(&String, &f64)| format!("{k} {:.0} %", **v * 100.0);
    match all.is_empty() {
        true => "none".into(),
        false => all.iter().take(4).map(text).collect::<Vec<_>>().join(", "),
    }
}

/// The check of what is sent and received.
pub(in crate::diff) const TRAFFIC: &str = "kinds of traffic, by bytes";

fn traffic(b: &[Recording<'_>], a: &[Recording<'_>]) -> Vec<Check> {
    let (x, y) = (mix(b, false), mix(a, false));
    let says = match distance(&x, &y) {
        _ if x.is_empty() || y.is_empty() => Some((Level::Prevents, "One side has no traffic.")),
        d if d > OTHER_TRAFFIC => Some((
            Level::Prevents,
            "Most of the traffic is of another kind: a difference would be the traffic's.",
        )),
        d if d > SOME_OTHER_TRAFFIC => Some((
            Level::Differs,
            "More than a tenth of the bytes are of another kind of traffic: totals may differ because of that.",
        )),
        _ => None,
    };
    let (p, q) = (mix(b, true), mix(a, true));
    let hidden = slices::hidden(b, a);
    let other = (distance(&p, &q) > SOME_OTHER_TRAFFIC).then_some(match hidden {
        true => (
            Level::Unknown,
            "Devices have other names, some of them pseudonyms: whether they are others is not known.",
        ),
        false => (
            Level::Differs,
            "More than a tenth of the bytes went over other devices.",
        ),
    });
    vec![
        check(TRAFFIC, largest(&x), largest(&y), says),
        check("devices, by bytes", largest(&p), largest(&q), other),
    ]
}

fn sizes(b: &[Recording<'_>], a: &[Recording<'_>]) -> Check {
    let of = |side: &[Recording<'_>]| {
        let mut all: Vec<u32> = vec![];
        for r in side {
            let tx = r.facts.tx.iter().filter(|x| r.sees(x.start_ns, x.dev));
            all.extend(tx.filter_map(|x| x.bytes).filter(|n| *n > 0));
        }
        all.sort_unstable();
        all.get(all.len() / 2).copied()
    };
    let (x, y) = (of(b), of(a));
    let ratio = match (x, y) {
        (Some(x), Some(y)) => f64::from(x.max(y)) / f64::from(x.min(y).max(1)),
        _ => 1.0,
    };
    let says = (ratio > LOADS).then_some((
        Level::Differs,
        "What is sent differs more than twofold in size: other messages, or another segmentation.",
    ));
    let text = |v: Option<u32>| v.map_or("not known".to_owned(), |v| format!("median {v} bytes"));
    check("size of what is sent", text(x), text(y), says)
}

/// Ledgers whose units begin with other events on the two sides, and why their totals cannot be compared.
pub(in crate::diff) fn other_starts(b: &[Recording<'_>], a: &[Recording<'_>]) -> Vec<(&'static str, String)> {
    let rx = |side: &[Recording<'_>]| starts(side.iter().flat_map(|r| r.facts.rx.iter().map(|x| x.start.word())));
    let tx = |side: &[Recording<'_>], kind: &str| {
        let of = |r: &Recording<'_>| -> Vec<&'static str> {
            let rows = r.facts.tx.iter().filter(|x| x.kind.word() == kind);
            rows.map(|x| x.start.word()).collect()
        };
        starts(side.iter().flat_map(of))
    };
    let all = [
        ("rx", rx(b), rx(a)),
        ("tx", tx(b, "tcp"), tx(a, "tcp")),
        ("tx_udp", tx(b, "udp"), tx(a, "udp")),
    ];
    let differs = all.into_iter().filter(|(_, x, y)| distance(x, y) > OTHER_STARTS);
    let text = |(ledger, x, y): (&'static str, Mix, Mix)| {
        let why = format!(
            "its units begin with other events (before: {}; after: {})",
            largest(&x),
            largest(&y)
        );
        (ledger, why)
    };
    differs.map(text).collect()
}

fn starts(words: impl Iterator<Item = &'static str>) -> Mix {
    let mut out = Mix::new();
    for w in words {
        *out.entry(w.to_owned()).or_insert(0.0) += 1.0;
    }
    let all: f64 = out.values().sum();
    out.values_mut().for_each(|v| *v /= all.max(1.0));
    out
}
