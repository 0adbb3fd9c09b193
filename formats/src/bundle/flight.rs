//! What a flight recorder adds to `manifest.json` and `end.json`: what it waited for, what it saw, and how far back each
//! CPU's ring reached. Both keys are absent from an ordinary recording.

use serde::{Deserialize, Serialize};

use crate::capture::ClockPair;

/// `manifest.json`, key `flight`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flight {
    /// What was waited for, as on the command line (`drops>100/s`).
    #[serde(default)]
    pub on: Vec<String>,
    /// Time before the trigger that was asked for, ns.
    #[serde(default)]
    pub before_ns: u64,
    /// Time after it, ns.
    #[serde(default)]
    pub after_ns: u64,
    /// Number of this bundle in its flight, from 1.
    #[serde(default)]
    pub sequence: u64,
    /// When the rings were last emptied and switched on: nothing before it is in the bundle.
    #[serde(default)]
    pub armed: ClockPair,
    /// CLOCK_MONOTONIC ns: `before_ns` before the trigger, or `armed` when that is later.
    #[serde(default)]
    pub window_start_ns: i64,
    /// When the texts of `snapshots/<what>/start` were read that are not in the first of `seconds/`.
    #[serde(default)]
    pub start_snapshots: ClockPair,
    /// Why this bundle was written.
    #[serde(default)]
    pub trigger: Trigger,
    /// Triggers seen since the last bundle that wrote none, because they came too soon after it.
    #[serde(default)]
    pub suppressed: u64,
}

/// Why a bundle was written.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trigger {
    /// As on the command line.
    #[serde(default)]
    pub on: String,
    /// When the recorder noticed. What it noticed happened before: within `interval_ns` for a rate.
    #[serde(default)]
    pub clock: ClockPair,
    /// A sentence for a person.
    #[serde(default)]
    pub sentence: String,
    /// How much the counters of a rate grew in `interval_ns`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// Between the two readings of a rate, ns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval_ns: Option<u64>,
    /// The growth per second that a rate has to exceed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threshold_per_s: Option<u64>,
    /// The exit status of the command (128 + n when signal n killed it).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_status: Option<i32>,
    /// What it rests on: counters and how much each grew, or the event as the kernel prints it.
    #[serde(default)]
    pub evidence: Vec<String>,
}

/// `end.json`, key `flight`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlightEnd {
    /// Per CPU, in order.
    #[serde(default)]
    pub cpus: Vec<FlightCpu>,
}

/// How far back the ring of one CPU reached.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlightCpu {
    /// CPU number.
    pub cpu: u32,
    /// Whether everything this CPU recorded since `window_start_ns` is in the bundle.
    #[serde(default)]
    pub reaches_back: bool,
    /// Timestamp of its first event in the bundle, recorded clock; null when it has none.
    #[serde(default)]
    pub first_ts: Option<u64>,
    /// Sub-buffers that were read and left out, because all their events are older than the window.
    #[serde(default)]
    pub cut_sub_buffers: u64,
    /// Events in these.
    #[serde(default)]
    pub cut_events: u64,
    /// Events overwritten since `armed`, as the kernel counted them.
    #[serde(default)]
    pub overwritten: u64,
}
