//! The view `bundles` of a dataset: one row per recording, to join the other tables with.

use super::summary::Summary;
use crate::analyses::verdict::Tone;
use crate::facts::Names;
use crate::table::{Cell, Column, ColumnInfo, FactTable, col};

/// One row: the recording. `None`: no row, only what there is to know of its columns.
pub struct SummaryTable<'s>(pub Option<&'s Summary>);

static COLUMNS: [Column<Summary>; 14] = [
    col!(
        "hostname",
        "",
        Str,
        "host it was made on; empty: it does not say",
        |s, _| text(&s.hostname)
    ),
    col!("kernel", "", Str, "kernel release", |s, _| text(&s.kernel)),
    col!("format", "", Str, "format it was read from", |s, _| text(&s.format)),
    col!(
        "began_realtime_ns",
        "ns",
        I64,
        "begin, since 1970; empty without a clock pair",
        |s, _| s.began_realtime_ns.into()
    ),
    col!("duration_ns", "ns", I64, "first to last event", |s, _| Cell::I64(
        s.duration_ns
    )),
    col!("events", "count", U64, "events decoded", |s, _| Cell::U64(s.events)),
    col!("lost_share", "", F64, "share of events lost", |s, _| Cell::F64(
        s.lost_share
    )),
    col!(
        "short_rings",
        "count",
        U64,
        "rings of a flight that do not reach back to its begin: what was lost of them is in no share",
        |s, _| Cell::U64(s.short_rings)
    ),
    col!(
        "lines_bad",
        "count",
        U64,
        "lines of the verdict that say bad",
        |s, _| count(s, Tone::Bad)
    ),
    col!(
        "lines_notice",
        "count",
        U64,
        "lines of the verdict that are worth a look",
        |s, _| count(s, Tone::Notice)
    ),
    col!(
        "lines_unknown",
        "count",
        U64,
        "lines of the verdict without an answer",
        |s, _| count(s, Tone::Unknown)
    ),
    col!(
        "lost_packets",
        "packets",
        U64,
        "drops that are not ordinary; empty: drops were not recorded",
        |s, _| s.lost_packets().into()
    ),
    col!(
        "retransmits",
        "count",
        U64,
        "calls that sent TCP segments again, each one or more; empty: not recorded",
        |s, _| s.retransmits.into()
    ),
    col!(
        "retransmit_segments",
        "packets",
        U64,
        "segments that these calls sent; empty: not recorded, or not known of all calls",
        |s, _| s.retransmit_segments.into()
    ),
];

fn text(s: &str) -> Cell<'_> {
    if s.is_empty() { Cell::Null } else { Cell::str(s) }
}

fn count(s: &Summary, tone: Tone) -> Cell<'_> {
    Cell::U64(s.count(tone) as u64)
}

impl FactTable for SummaryTable<'_> {
    fn name(&self) -> &'static str {
        "bundles"
    }
    fn meaning(&self) -> &'static str {
        "one row per recording of a batch: only in its dataset, where every table has the column bundle, the recording's name"
    }
    fn columns(&self) -> Vec<ColumnInfo> {
        COLUMNS.iter().map(|c| c.info).collect()
    }
    fn len(&self) -> usize {
        usize::from(self.0.is_some())
    }
    fn cell(&self, row: usize, column: usize) -> Cell<'_> {
        static NO_NAMES: std::sync::LazyLock<Names> = std::sync::LazyLock::new(Names::default);
        match (row, self.0, COLUMNS.get(column)) {
            (0, Some(summary), Some(c)) => (c.get)(summary, &NO_NAMES),
            _ => Cell::Null,
        }
    }
}
