//! Rows of the view `observer`.

use crate::table::{Cell, TableDef, col};

/// Share from which on a stage's time is marked as the recording's own.
pub const MARKED_SHARE: f64 = 0.2;

/// A stage of a ledger and what recording added to it.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct ObserverRow {
    /// `rx` or `tx`.
    pub ledger: &'static str,
    /// Stage.
    pub stage: &'static str,
    /// Rows of the ledger whose stage could be placed in time.
    pub rows: u64,
    /// Their time in it.
    pub ns: i64,
    /// Events recorded in that time, where it was spent.
    pub events: u64,
    /// What these cost.
    pub observer_ns: i64,
    /// `observer_ns / ns`: above 1 where the estimate is more than the time.
    pub share: Option<f64>,
}

impl ObserverRow {
    /// Whether so much of the stage is the recording's own that its size says little.
    pub fn marked(&self) -> bool {
        self.share.is_some_and(|s| s > MARKED_SHARE)
    }
}

/// The view `observer`.
pub static OBSERVER: TableDef<ObserverRow> = TableDef {
    name: "observer",
    meaning: "one row per stage of a ledger: how much of its time the recording itself cost, as an estimate",
    columns: &[
        col!("ledger", "", Str, "rx or tx", |r, _| Cell::str(r.ledger)),
        col!("stage", "", Str, "stage, as in its ledger", |r, _| Cell::str(r.stage)),
        col!(
            "rows",
            "count",
            U64,
            "rows of the ledger whose stage could be placed in time",
            |r, _| Cell::U64(r.rows)
        ),
        col!("stage_ns", "ns", I64, "their time in the stage", |r, _| Cell::I64(r.ns)),
        col!(
            "events",
            "count",
            U64,
            "events recorded in it, on its CPU or of its thread",
            |r, _| { Cell::U64(r.events) }
        ),
        col!(
            "observer_ns",
            "ns",
            I64,
            "what these cost, estimated",
            |r, _| Cell::I64(r.observer_ns)
        ),
        col!("share", "", F64, "observer_ns / stage_ns", |r, _| r
            .share
            .map_or(Cell::Null, Cell::F64)),
        col!(
            "marked",
            "",
            Bool,
            "share above 20 %: without recording the stage would be that much shorter",
            |r, _| Cell::Bool(r.marked())
        ),
    ],
};
