//! Rows of the view `classes`.

use super::{ROOT, Shape};
use crate::table::{Cell, TableDef, col};

/// What a class counted since it was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Bytes sent, with link-layer headers.
    pub bytes: u64,
    /// Packets sent.
    pub packets: u64,
    /// Packets dropped.
    pub drops: u64,
    /// Times it had to wait for its rate.
    pub overlimits: u64,
    /// Bytes in its queue.
    pub backlog_bytes: u64,
    /// Packets in its queue.
    pub qlen: u64,
}

/// A class of a device's qdisc.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClassRow {
    /// Network namespace (inode).
    pub netns: u64,
    /// Device's index in it.
    pub ifindex: u64,
    /// Device; empty when no list of devices has it.
    pub dev: String,
    /// Kind of the qdisc.
    pub kind: String,
    /// Its number.
    pub class: u32,
    /// Number of the class above it; of the root see [`ROOT`].
    pub parent: u32,
    /// It has no classes below it: packets lie in its own queue.
    pub leaf: bool,
    /// What it may send.
    pub shape: Shape,
    /// Before the recording.
    pub start: Option<Counts>,
    /// After it.
    pub end: Option<Counts>,
}

impl ClassRow {
    /// By how much a counter rose; `None`: in one list only, or it fell.
    pub fn rise(&self, of: impl Fn(&Counts) -> u64) -> Option<u64> {
        let (start, end) = self.start.as_ref().zip(self.end.as_ref())?;
        of(end).checked_sub(of(start))
    }
}

/// `1:20`, as tc prints it.
pub fn number(class: u32) -> String {
    match class {
        ROOT => "root".into(),
        _ => format!("{:x}:{:x}", class >> 16, class & 0xffff),
    }
}

fn bits(bytes: Option<u64>) -> Option<u64> {
    bytes.map(|b| b.saturating_mul(8))
}

/// The view `classes`.
pub static CLASSES: TableDef<ClassRow> = TableDef {
    name: "classes",
    meaning: "one row per class of a qdisc (htb, hfsc and others): what it may send, and what it sent between the readings before and after the recording, as tc -s class shows it",
    columns: &[
        col!("netns", "id", U64, "network namespace", |r, _| Cell::U64(r.netns)),
        col!("dev", "", Str, "device", |r, _| Cell::str(r.dev.as_str())),
        col!("kind", "", Str, "qdisc", |r, _| Cell::str(r.kind.as_str())),
        col!("class", "", Str, "number of the class, as tc prints it", |r, _| {
            Cell::str(number(r.class))
        }),
        col!("parent", "", Str, "of the class above it, or root", |r, _| Cell::str(
            number(r.parent)
        )),
        col!(
            "leaf",
            "",
            Bool,
            "no class is below it: packets lie in its own queue",
            |r, _| Cell::Bool(r.leaf)
        ),
        col!("rate_bit_s", "", U64, "guaranteed; empty: not told", |r, _| bits(
            r.shape.rate
        )
        .into()),
        col!(
            "ceil_bit_s",
            "",
            U64,
            "at most, with what others leave; empty: not told",
            |r, _| bits(r.shape.ceil).into()
        ),
        col!("prio", "", U64, "lower goes first; empty: not told", |r, _| r
            .shape
            .prio
            .map(u64::from)
            .into()),
        col!(
            "bytes",
            "bytes",
            U64,
            "sent between the readings, with link-layer headers; empty: in one reading only",
            |r, _| r.rise(|c| c.bytes).into()
        ),
        col!("packets", "count", U64, "the same in packets", |r, _| r
            .rise(|c| c.packets)
            .into()),
        col!("drops", "count", U64, "dropped between the readings", |r, _| r
            .rise(|c| c.drops)
            .into()),
        col!(
            "overlimits",
            "count",
            U64,
            "times it had to wait for its rate between the readings",
            |r, _| r.rise(|c| c.overlimits).into()
        ),
        col!(
            "backlog_start_bytes",
            "bytes",
            U64,
            "in its queue at the first reading",
            |r, _| r.start.map(|c| c.backlog_bytes).into()
        ),
        col!("backlog_end_bytes", "bytes", U64, "and at the last", |r, _| r
            .end
            .map(|c| c.backlog_bytes)
            .into()),
    ],
};
