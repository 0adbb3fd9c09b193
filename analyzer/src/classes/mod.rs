//! Classes of qdiscs (htb, hfsc and others) as the kernel's lists of them before and after a recording say: what each may send, and
//! what it sent meanwhile.
//!
//! In: `classes` and `links` snapshots. Out: rows of the view `classes`. Must not guess: which packet went into which class no event
//! tells; a class that is in one list only, or whose counters fell, has no rise.
//!
//! ```text
//! RTM_NEWTCLASS at the start, at the end -> options (rate, ceil, priority), statistics -> pairs of both -> ClassRow
//! ```
//! Sources: net/sched/sch_api.c `tc_fill_tclass`, include/uapi/linux/pkt_sched.h (TCA_HTB_*, TCA_HFSC_*, struct tc_htb_opt).

use std::collections::BTreeMap;

use netmortem_formats::capture::SnapshotWhen;
use netmortem_formats::{Capture, Endian};

mod options;
pub mod tables;
#[cfg(test)]
mod tests;

use crate::snapshots::{field, hex, number};
pub use options::Shape;
pub(crate) use options::shape;
use tables::{ClassRow, Counts};

/// Most classes kept: a hostile file may hold any number.
const MOST: usize = 100_000;
/// Parent of a class at the root of its device's qdisc.
pub const ROOT: u32 = 0xffff_ffff;

/// (namespace, index) -> device.
fn devices(capture: &Capture) -> BTreeMap<(u64, u64), String> {
    let mut out = BTreeMap::new();
    for s in capture.snapshots.iter().filter(|s| s.what == "links") {
        for line in String::from_utf8_lossy(&s.text).lines() {
            let key = number(line, "netns").zip(number(line, "ifindex"));
            if let (Some(key), Some(dev)) = (key, field(line, "name")) {
                out.insert(key, dev.to_owned());
            }
        }
    }
    out
}

fn row(line: &str, devices: &BTreeMap<(u64, u64), String>, endian: Endian) -> Option<(ClassRow, Counts)> {
    let (netns, ifindex) = (number(line, "netns")?, number(line, "ifindex")?);
    let kind = field(line, "kind")?;
    let of = |name| number(line, name).unwrap_or(0);
    let handle = |name| u32::try_from(hex(line, name)?).ok();
    let counts = Counts {
        bytes: number(line, "bytes")?,
        packets: of("packets"),
        drops: of("drops"),
        overlimits: of("overlimits"),
        backlog_bytes: of("backlog_bytes"),
        qlen: of("qlen"),
    };
    let shape = field(line, "options").map_or_else(Shape::default, |o| options::shape(kind, o, endian));
    let row = ClassRow {
        netns,
        ifindex,
        dev: devices.get(&(netns, ifindex)).cloned().unwrap_or_default(),
        kind: kind.to_owned(),
        class: handle("handle")?,
        parent: handle("parent")?,
        leaf: true,
        shape,
        start: None,
        end: None,
    };
    Some((row, counts))
}

/// Of a recording whose counters are those of its own time; of another one none.
pub fn where_counted(capture: &Capture, counted: bool) -> Vec<ClassRow> {
    match counted {
        true => of(capture),
        false => vec![],
    }
}

/// The classes of a capture, by namespace, device and number.
pub fn of(capture: &Capture) -> Vec<ClassRow> {
    let devices = devices(capture);
    let flight = capture.manifest.as_ref().is_some_and(crate::counters::is_flight);
    let mut found: BTreeMap<(u64, u64, u32), ClassRow> = BTreeMap::new();
    for s in capture.snapshots.iter().filter(|s| s.what == "classes") {
        // A flight reads them for the first time after its trigger.
        if flight && s.when == SnapshotWhen::Start {
            continue;
        }
        for line in String::from_utf8_lossy(&s.text).lines() {
            let Some((row, counts)) = row(line, &devices, capture.endian) else {
                continue;
            };
            let key = (row.netns, row.ifindex, row.class);
            if found.len() >= MOST && !found.contains_key(&key) {
                continue;
            }
            let of = found.entry(key).or_insert(row);
            match s.when {
                SnapshotWhen::Start => of.start = Some(counts),
                SnapshotWhen::End => of.end = Some(counts),
            }
        }
    }
    let parents: std::collections::BTreeSet<(u64, u64, u32)> =
        found.values().map(|r| (r.netns, r.ifindex, r.parent)).collect();
    for (key, row) in &mut found {
        row.leaf = !parents.contains(key);
    }
    found.into_values().collect()
}
