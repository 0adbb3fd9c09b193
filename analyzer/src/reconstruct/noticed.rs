//! Rows of the view `stats`: what was noticed while the tables were made, and what it may mean.

use crate::ingest::{Severity, StatRow, Trace};

/// What was noticed on the way.
pub(super) struct Noticed {
    pub(super) of_skbs: Vec<StatRow>,
    pub(super) unclaimed: u64,
    pub(super) counters_left_out: u64,
    /// 1: none was.
    pub(super) counter_readings_joined: u64,
    pub(super) snapshot_lines_left_out: u64,
    pub(super) unseen_switches: u64,
}

impl Noticed {
    /// A row each.
    pub(super) fn rows(self, trace: &Trace<'_>) -> Vec<StatRow> {
        let mut stats = self.of_skbs;
        stats.extend([
            StatRow {
                name: "time_inversions",
                value: trace.inversions,
                severity: Severity::Info,
                advice: "records older than their predecessor on the same CPU; order on the CPU is kept",
            },
            StatRow {
                name: "short_payloads",
                value: trace.short_payloads.load(std::sync::atomic::Ordering::Relaxed),
                severity: Severity::Warning,
                advice: "events shorter than their format says (counted once for each tracker that asked): they are left out",
            },
            StatRow {
                name: "rx_unclaimed",
                value: self.unclaimed,
                severity: Severity::Warning,
                advice: "received packets long enough to carry payload that no socket's event named and no free ended: they are in no row of rx",
            },
        ]);
        if self.counters_left_out > 0 {
            stats.push(StatRow {
                name: "counters_left_out",
                value: self.counters_left_out,
                severity: Severity::Warning,
                advice: "counters of the kernel that are in no row: the recording has more than any host",
            });
        }
        if self.counter_readings_joined > 1 {
            stats.push(StatRow {
                name: "counter_readings_joined",
                value: self.counter_readings_joined,
                severity: Severity::Info,
                advice: "so many readings of the counters are one row of counters_over_time at most: each alone would be too many rows",
            });
        }
        if self.snapshot_lines_left_out > 0 {
            stats.push(StatRow {
                name: "snapshot_lines_left_out",
                value: self.snapshot_lines_left_out,
                severity: Severity::Warning,
                advice: "lines of what the recorder read of the host that are in no row of snapshots",
            });
        }
        stats.push(StatRow {
            name: "unseen_switches",
            value: self.unseen_switches,
            severity: Severity::Info,
            advice: "task switches that no sched_switch told: seen by whose events follow; between the two events nothing is known",
        });
        stats
    }
}
