//! What was read and how well: the answer of `check`, and the views `gaps` and `stats`.

use std::collections::BTreeMap;

use crate::table::{Cell, TableDef, col};

/// One ring buffer of the capture.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct StreamInfo {
    /// Tracing instance, empty for the top one.
    pub instance: String,
    /// CPU.
    pub cpu: u32,
    /// Clock name as recorded.
    pub clock: String,
    /// Records decoded.
    pub events: u64,
    /// Events the kernel counted as lost inside the stream.
    pub lost_events: u64,
    /// Losses whose number the kernel did not store.
    pub losses_of_unknown_size: u64,
    /// Decoded bytes of ring buffer.
    pub bytes: u64,
    /// First timestamp on the trace clock; `None` when there is no record.
    pub first_ns: Option<i64>,
    /// Last timestamp.
    pub last_ns: Option<i64>,
    /// Whether the reconstruction uses it.
    pub used: bool,
}

/// A capture of packets beside the events (`--pcap`).
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct TapInfo {
    /// Interface.
    pub name: String,
    /// Packets in the bundle.
    pub packets: u64,
    /// Packets lost because its ring was full; 0 also where that is not known.
    pub dropped: u64,
}

/// An interval of one CPU whose events are missing.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct GapRow {
    /// CPU.
    pub cpu: u32,
    /// Last event before it; `None`: from the start of the stream.
    pub start_ns: Option<i64>,
    /// First event after it; `None`: to the end of the stream.
    pub end_ns: Option<i64>,
    /// Events lost, when the kernel said how many.
    pub lost_events: Option<u64>,
    /// `overrun` (the kernel's flag), `damaged` (undecodable bytes), `cut` (the file ends).
    pub cause: &'static str,
}

/// The view `gaps`.
pub static GAPS: TableDef<GapRow> = TableDef {
    name: "gaps",
    meaning: "one row per interval of a CPU whose events are missing",
    columns: &[
        col!("cpu", "id", U64, "CPU", |r, _| Cell::U64(r.cpu.into())),
        col!(
            "start_ns",
            "ns",
            I64,
            "last event before the gap; empty: from the start",
            |r, _| r.start_ns.into()
        ),
        col!(
            "end_ns",
            "ns",
            I64,
            "first event after the gap; empty: to the end",
            |r, _| r.end_ns.into()
        ),
        col!(
            "lost_events",
            "count",
            U64,
            "events lost; empty when the kernel did not store the number",
            |r, _| r.lost_events.into()
        ),
        col!(
            "cause",
            "",
            Str,
            "overrun (the kernel's flag), damaged (undecodable bytes), cut (the file ends)",
            |r, _| { Cell::str(r.cause) }
        ),
    ],
};

/// How bad a counter is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing.
    Info,
    /// Some answers are weaker.
    Warning,
    /// Some answers are missing.
    Error,
}

/// A counter of the analysis itself.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct StatRow {
    /// Name.
    pub name: &'static str,
    /// Value.
    pub value: u64,
    /// How bad it is when not 0.
    pub severity: Severity,
    /// What it means and what to do.
    pub advice: &'static str,
}

/// The view `stats`.
pub static STATS: TableDef<StatRow> = TableDef {
    name: "stats",
    meaning: "one row per counter of the analysis itself: what was skipped, paired, or could not be",
    columns: &[
        col!("name", "", Str, "counter", |r, _| Cell::str(r.name)),
        col!("value", "count", U64, "value", |r, _| Cell::U64(r.value)),
        col!("severity", "", Str, "info, warning, error", |r, _| Cell::str(
            match r.severity {
                Severity::Info => "info",
                Severity::Warning => "warning",
                Severity::Error => "error",
            }
        )),
        col!("advice", "", Str, "what it means and what to do", |r, _| Cell::str(
            r.advice
        )),
    ],
};

/// What was read and how well: what `check --json` prints.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct CaptureInfo {
    /// Which part of `source` was analyzed, where it was not all: whoever opened it says so.
    #[serde(skip)]
    pub selected: Option<crate::fit::Selected>,
    /// Path or `-`.
    pub source: String,
    /// `bundle`, `trace.dat`.
    pub format: String,
    /// Its version.
    pub format_version: String,
    /// Kernel release of the recorded host, empty when not recorded.
    pub kernel_release: String,
    /// Host name, empty when not recorded.
    pub hostname: String,
    /// Machine.
    pub machine: String,
    /// Records by `system:name`; ids without a format text are `id:<n>`.
    pub events: BTreeMap<String, u64>,
    /// All records.
    pub total_events: u64,
    /// Events the kernel counted as lost: inside the streams, or by its per-CPU statistics when these say more.
    pub lost_events: u64,
    /// Losses whose number the kernel did not store.
    pub losses_of_unknown_size: u64,
    /// Of a slice: events that the kernel counted as lost at a time that nothing tells. Whether they are of the slice or of what
    /// was cut is not known; they are not in `lost_events`.
    #[serde(skip_serializing_if = "is_zero")]
    pub lost_at_unknown_time: u64,
    /// Ring buffers.
    pub streams: Vec<StreamInfo>,
    /// Intervals whose events are missing.
    pub gaps: Vec<GapRow>,
    /// Trace clock name, empty when not recorded.
    pub clock: String,
    /// Whether the clock measures time in ns (false for counter, uptime, x86-tsc: no latency is printed).
    pub clock_is_ns: bool,
    /// First event on the trace clock.
    pub start_ns: Option<i64>,
    /// Last event.
    pub end_ns: Option<i64>,
    /// end - start, 0 without events.
    pub duration_ns: i64,
    /// CLOCK_REALTIME minus trace clock, when clock pairs were recorded.
    pub realtime_offset_ns: Option<i64>,
    /// CPUs with a stream.
    pub cpus: u32,
    /// Decoded ring-buffer bytes.
    pub ring_bytes: u64,
    /// False when the file is cut or damaged.
    pub complete: bool,
    /// Sentences on what could not be read.
    pub problems: Vec<String>,
    /// Events the trackers know but this capture has no format for, and fields that are missing.
    pub missing_events: Vec<String>,
    /// Events that the recorder enabled (`system:name`); `None` when the file does not say, as a trace.dat does not.
    pub enabled_events: Option<Vec<String>>,
    /// Of them, those of which only some were recorded, as `--dev` or `--port` asked for.
    #[serde(skip)]
    pub filtered_events: Vec<String>,
    /// Command line of the recorder, empty when not recorded.
    pub command: String,
    /// Why the recording stopped, empty when not recorded.
    pub stop_reason: String,
    /// Further bundles whose events were joined to this one's: ids and totals are those of all of them together, and the
    /// snapshots are the first one's only.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub joined: Vec<String>,
    /// What a flight recorder waited for and saw; `None` for an ordinary recording.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flight: Option<netmortem_formats::bundle::Flight>,
    /// The profile that was recorded; empty when the recording does not say.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub profile: String,
    /// Events that the profile has and the recorded kernel or host had not.
    #[serde(skip)]
    pub absent: Vec<String>,
    /// Captures of packets beside the events.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub taps: Vec<TapInfo>,
    /// Rings of a flight recorder that do not reach back to the begin of its window, by CPU.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub short_rings: Vec<super::short::ShortRing>,
    /// CPUs of the host, where its recorder says that all that happened on each of them was recorded; empty: it does not, or some of it was cut.
    #[serde(skip)]
    pub whole_host: Vec<u16>,
    /// Which part of a recording it is; what is told of that is in [`crate::Told`].
    #[serde(skip)]
    pub part: crate::told::Part,
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

/// Events that older kernels tell under another name: the name of today, and theirs.
const BEFORE: [(&str, &str); 1] = [("sock:inet_sock_set_state", "tcp:tcp_set_state")];

impl CaptureInfo {
    /// Whether every event of a kind that happened would be in the recording: none was left out as the recorder was asked to.
    pub fn recorded_all(&self, key: &str) -> bool {
        self.recorded(key) && !self.filtered_events.iter().any(|e| e == key)
    }

    /// Whether an event that happened would be in the recording: one was seen, or the recorder says it was enabled. Without
    /// that, its absence says nothing.
    pub fn recorded(&self, key: &str) -> bool {
        let under = |key: &str| {
            self.events.contains_key(key)
                || self.total_events > 0 && self.enabled_events.as_ref().is_some_and(|e| e.iter().any(|n| n == key))
        };
        under(key) || BEFORE.iter().any(|(now, before)| *now == key && under(before))
    }
}
