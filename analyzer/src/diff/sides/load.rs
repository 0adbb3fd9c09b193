//! How much was going on: bytes, units, sockets and frames by device. Twofold and more is said, and never alike.

use std::collections::{BTreeMap, BTreeSet};

use super::options::{self, Recording};
use super::parity::{Check, LOADS, Level, check};
use super::slices;
use crate::reconstruct::tcp::role::RoleBy;

/// Units or frames that the side with more of them must have for their number to be compared.
const LEAST: f64 = 100.0;
/// The same of sockets.
const LEAST_SOCKETS: f64 = 10.0;
/// Bytes of both sides are alike within so many times.
const ALIKE: f64 = 1.25;
/// Share of the CPUs' time that is stolen more on one side, worth a word; and the same of time at work, where it is twice as much, too.
const STOLEN: f64 = 0.05;
const BUSY: f64 = 0.25;
/// Devices named.
const DEVICES: usize = 6;

/// All of these.
pub(in crate::diff) fn checks(b: &[Recording<'_>], a: &[Recording<'_>]) -> Vec<Check> {
    let mut out = vec![load(b, a)];
    // What was cut, and pseudonyms, cannot be counted by device.
    let cut = slices::lacks_others(b, a).or_else(|| slices::unmatched(b, a));
    out.extend(cut.is_none().then(|| frames(b, a)));
    out.extend(cpu_time(b, a));
    out
}

/// How busy the CPUs of whole recordings were, and for how much of their time the hypervisor did not run them.
fn cpu_time(b: &[Recording<'_>], a: &[Recording<'_>]) -> Option<Check> {
    let of = |side: &[Recording<'_>]| {
        let (mut busy, mut stolen, mut ns) = (0.0, 0.0, 0.0);
        for r in side {
            let whole = r.duration_ns() == r.facts.capture.duration_ns;
            let answer = whole.then(|| crate::analyses::cpus::answer(r.facts))?;
            let (all, length) = (answer.findings()?.all, r.duration_ns() as f64);
            busy += all.busy() * length;
            stolen += all.steal * length;
            ns += length;
        }
        (ns > 0.0).then(|| (busy / ns, stolen / ns))
    };
    let ((busy_b, stolen_b), (busy_a, stolen_a)) = of(b).zip(of(a))?;
    let text = |busy: f64, stolen: f64| format!("busy {:.0} %, stolen {:.1} %", busy * 100.0, stolen * 100.0);
    let sentence = if (stolen_b - stolen_a).abs() >= STOLEN {
        "The hypervisor did not run the CPUs for another share of their time (steal): any wait may be longer or shorter for that."
    } else if differ(busy_b, busy_a) && (busy_b - busy_a).abs() >= BUSY {
        "The CPUs were busier on one side, which makes waits for them longer: it may be the cause of a change, or its effect."
    } else {
        ""
    };
    let says = (!sentence.is_empty()).then_some((Level::Differs, sentence));
    Some(check("CPU time", text(busy_b, stolen_b), text(busy_a, stolen_a), says))
}

fn seconds(side: &[Recording<'_>]) -> f64 {
    options::seconds(side).max(1e-9)
}

fn differ(b: f64, a: f64) -> bool {
    b.max(a) > LOADS * b.min(a)
}

struct Load {
    bytes: f64,
    units: f64,
    /// Opened or accepted meanwhile.
    opened: f64,
    /// Older ones.
    stood: f64,
    seconds: f64,
}

fn measured(side: &[Recording<'_>]) -> Load {
    let (mut bytes, mut units, mut opened, mut stood) = (0u64, 0u64, 0u64, 0u64);
    for r in side {
        let here = r.facts.rx.iter().filter(|x| r.sees(x.start_ns, x.dev)).map(|x| x.bytes);
        let tx = r.facts.tx.iter().filter(|x| r.sees(x.start_ns, x.dev)).map(|x| x.bytes);
        for n in here.chain(tx) {
            bytes = bytes.saturating_add(n.unwrap_or(0).into());
            units += 1;
        }
        let on = r.connections();
        let lived = r.facts.connections.iter().filter(|c| {
            c.last_ns >= r.from_ns && c.first_ns < r.to_ns && on.as_ref().is_none_or(|on| on.contains(&c.connection))
        });
        for c in lived {
            let seen = c.role().1 == RoleBy::Handshake;
            match seen && r.has(c.first_ns) {
                true => opened += 1,
                false => stood += 1,
            }
        }
    }
    Load {
        bytes: bytes as f64,
        units: units as f64,
        opened: opened as f64,
        stood: stood as f64,
        seconds: seconds(side),
    }
}

fn load(b: &[Recording<'_>], a: &[Recording<'_>]) -> Check {
    let (x, y) = (measured(b), measured(a));
    let text = |l: &Load| {
        format!(
            "{:.3} MB/s, {:.0} units/s, {} sockets, {:.1} a second of them opened",
            l.bytes / l.seconds / 1e6,
            l.units / l.seconds,
            l.opened + l.stood,
            l.opened / l.seconds
        )
    };
    let opened = x.opened.max(y.opened) >= LEAST_SOCKETS && differ(x.opened / x.seconds, y.opened / y.seconds);
    // Of older ones that speak now and then a longer recording sees more: twice as many in the time, too.
    let stood = x.stood.max(y.stood) >= LEAST_SOCKETS
        && differ(x.stood / b.len() as f64, y.stood / a.len() as f64)
        && differ(x.stood / x.seconds, y.stood / y.seconds);
    let twofold = [
        ("bytes", differ(x.bytes / x.seconds, y.bytes / y.seconds)),
        (
            "units",
            x.units.max(y.units) >= LEAST && differ(x.units / x.seconds, y.units / y.seconds),
        ),
        ("sockets", opened || stood),
    ];
    let names: Vec<&str> = twofold.iter().filter(|t| t.1).map(|t| t.0).collect();
    let (least, most) = (x.bytes / x.seconds, y.bytes / y.seconds);
    let (least, most) = (least.min(most), least.max(most));
    let names_of = names.join(" and ");
    let sentence = match twofold[0].1 {
        true => "The load differs more than twofold: it may be the cause of a change, or its effect.".to_owned(),
        false if most <= ALIKE * least => format!(
            "The bytes are alike, but {names_of} differ more than twofold: the same load comes in another shape."
        ),
        false => format!(
            "The load differs, {names_of} more than twofold and bytes by {:.0} %: it may be the cause of a change, or its effect.",
            100.0 * (most / least.max(1e-9) - 1.0)
        ),
    };
    let says = (!names.is_empty()).then_some((Level::Differs, sentence.as_str()));
    check("load", text(&x), text(&y), says)
}

/// Frames given to the driver of each device.
fn frames(b: &[Recording<'_>], a: &[Recording<'_>]) -> Check {
    let count = |side: &[Recording<'_>]| {
        let mut out: BTreeMap<String, f64> = BTreeMap::new();
        for r in side {
            let of = r.facts.xmits.iter().filter(|p| p.started_ns.is_some());
            for p in of.filter(|p| r.sees(p.first_ns(), p.dev)) {
                *out.entry(p.dev.text().into_owned()).or_default() += 1.0;
            }
        }
        out
    };
    let (x, y) = (count(b), count(a));
    let (sb, sa) = (seconds(b), seconds(a));
    let at = |of: &BTreeMap<String, f64>, dev: &str| of.get(dev).copied().unwrap_or(0.0);
    let devices: BTreeSet<&String> = x.keys().chain(y.keys()).collect();
    let factor = |dev: &str| {
        let (b, a) = (at(&x, dev), at(&y, dev));
        (b.max(a) >= LEAST && differ(b / sb, a / sa)).then(|| (a / sa) / (b / sb))
    };
    let mut named: Vec<&String> = devices.into_iter().collect();
    let most = |dev: &str| at(&x, dev).max(at(&y, dev));
    named.sort_by(|p, q| {
        let key = |d: &str| (factor(d).is_none(), -(most(d) as i64));
        key(p).cmp(&key(q)).then(p.cmp(q))
    });
    let text = |of: &BTreeMap<String, f64>| {
        let each = named.iter().take(DEVICES).map(|d| format!("{d} {}", at(of, d)));
        match named.is_empty() {
            true => "none".to_owned(),
            false => each.collect::<Vec<_>>().join(", "),
        }
    };
    let told: Vec<String> = named
        .iter()
        .take(DEVICES)
        .filter_map(|d| {
            let by = factor(d)?;
            Some(match by.is_finite() {
                true => format!("{d} {by:.3} times"),
                false => format!("{d} only after"),
            })
        })
        .collect();
    let sentence = format!(
        "Frames per second differ more than twofold (after to before): {}.",
        told.join(", ")
    );
    let says = (!told.is_empty()).then_some((Level::Differs, sentence.as_str()));
    check("frames by device", text(&x), text(&y), says)
}
