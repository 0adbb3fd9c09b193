//! Rows of the view `counters_over_time`.

use std::sync::Arc;

use super::Key;
use crate::table::{Cell, TableDef, col};

/// A counter that changed between two readings, one after the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RiseRow {
    /// The reading before, on the trace clock; `None`: the one before the recording.
    pub from_ns: Option<i64>,
    /// The reading, on the trace clock; `None`: the one after the recording.
    pub to_ns: Option<i64>,
    /// Which counter.
    pub counter: Arc<Key>,
    /// By how much it rose; `None` when it fell and nothing of it is known.
    pub rise: Option<u64>,
    /// False: it fell (set back with its device or namespace), so it rose by `rise` at least.
    pub whole: bool,
}

/// The view.
pub static COUNTERS_OVER_TIME: TableDef<RiseRow> = TableDef {
    name: "counters_over_time",
    meaning: "one row per counter and reading that changed since the reading before (every second at first; of other namespaces, cards and classes \
              as long as it cost little); rises of a counter sum to that of counters (of classes), but for what fell. The texts are read within ms after the time that is said",
    columns: &[
        col!(
            "from_ns",
            "ns",
            I64,
            "the reading before, trace clock; empty: before the recording",
            |r, _| r.from_ns.into()
        ),
        col!(
            "to_ns",
            "ns",
            I64,
            "the reading, trace clock; empty: after the recording",
            |r, _| r.to_ns.into()
        ),
        col!(
            "source",
            "",
            Str,
            "text it is from: snmp, netstat, snmp6, softnet, dev, qdisc, class, nic",
            |r, _| Cell::str(r.counter.source)
        ),
        col!(
            "netns",
            "id",
            U64,
            "network namespace (inode); empty when it is of the whole host or not known",
            |r, _| r.counter.netns.into()
        ),
        col!(
            "of",
            "",
            Str,
            "device, CPU or qdisc; empty when it is of the whole namespace",
            |r, _| Cell::str(r.counter.of.as_str())
        ),
        col!("name", "", Str, "as in counters", |r, _| Cell::str(
            r.counter.name.as_str()
        )),
        col!(
            "rise",
            "count",
            U64,
            "by how much it rose from one to the other; empty when it fell and nothing is known",
            |r, _| r.rise.into()
        ),
        col!(
            "whole",
            "",
            Bool,
            "false: it fell meanwhile (set back with its device or namespace), and rose by so much at least",
            |r, _| Cell::Bool(r.whole)
        ),
    ],
};
