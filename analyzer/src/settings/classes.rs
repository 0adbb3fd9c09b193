//! Classes of qdiscs (htb, hfsc): what each may send, in the words of tc.
//!
//! In: the snapshot `classes` of the start. Out: of each device that has some one setting, a value for each class. It must not say of a recorder that reads none that there are none: [`MARKER`] is there where it does.

use netmortem_formats::Capture;

use super::Collected;
use crate::classes::Shape;
use crate::classes::tables::{ClassRow, number};

/// A setting of ours: there where the recorder read them.
pub const MARKER: &str = "classes";
/// How the names end; a device stands before that.
pub const CLASSES: &str = " qdisc classes";

/// `9Mbit`, as tc prints it.
fn rate(bytes_a_second: u64) -> String {
    let bits = bytes_a_second.saturating_mul(8);
    let units = [(1_000_000_000, "Gbit"), (1_000_000, "Mbit"), (1_000, "Kbit")];
    match units
        .into_iter()
        .find(|(of, _)| bits >= *of && bits.is_multiple_of(*of))
    {
        Some((of, unit)) => format!("{}{unit}", bits / of),
        None => format!("{bits}bit"),
    }
}

/// ` rate 3Mbit ceil 12Mbit prio 5`.
fn words(s: Shape) -> String {
    let mut out = String::new();
    for (name, value) in [("rate", s.rate), ("ceil", s.ceil)] {
        if let Some(bytes) = value {
            out += &format!(" {name} {}", rate(bytes));
        }
    }
    if let Some(prio) = s.prio.filter(|p| *p > 0) {
        out += &format!(" prio {prio}");
    }
    out
}

pub(super) fn put(capture: &Capture, into: &mut Collected) {
    // A recorder that read qdiscs read classes, too; a host without any has no such text.
    if !capture
        .snapshots
        .iter()
        .any(|s| s.what == "classes" || s.what == "qdiscs")
    {
        return;
    }
    into.put(MARKER, "read");
    let all = crate::classes::of(capture);
    // Those of fq_codel, mq and others come and go by themselves, and may send what they can.
    let limited = |s: Shape| s.rate.is_some() || s.ceil.is_some();
    let set = |row: &&ClassRow| row.start.is_some() && limited(row.shape) && !row.dev.is_empty();
    for row in all.iter().filter(set) {
        let value = format!("{} {}{}", row.kind, number(row.class), words(row.shape));
        into.put(&format!("{}{CLASSES}", row.dev), &value);
    }
}
