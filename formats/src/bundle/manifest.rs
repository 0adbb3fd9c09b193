//! `manifest.json` and `end.json` as types. A reader ignores keys it does not know and takes a missing key as unknown
//! (empty, 0 or null); a change that an old reader would misread raises [`FORMAT_VERSION`].

use serde::{Deserialize, Serialize};

use crate::capture::{ClockPair, CpuStats, Host};
use crate::endian::Endian;

use super::flight::{Flight, FlightEnd};
use super::slice::{Slice, is_true, texts};

/// Version of the bundle format this code writes, and the newest it reads.
pub const FORMAT_VERSION: u32 = 1;

/// `manifest.json`: what was about to be recorded, where and how; known before the first event.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// Version of the bundle format.
    pub format_version: u32,
    /// The program that recorded.
    #[serde(default)]
    pub recorder: RecorderInfo,
    /// Kernel and host.
    #[serde(default)]
    pub host: Host,
    /// The machine.
    #[serde(default)]
    pub machine: Machine,
    /// Clocks of the recording.
    #[serde(default)]
    pub clocks: Clocks,
    /// What was asked of the kernel.
    #[serde(default)]
    pub plan: Plan,
    /// What a flight recorder waited for and saw; `None` for an ordinary recording.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flight: Option<Flight>,
    /// What it was cut to, and what was cut; `None` for what is all of a recording, and for slices of older writers, whose
    /// `notes` alone say so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slice: Option<Slice>,
    /// Whether names and addresses are pseudonyms; older writers say so in `notes` only.
    #[serde(default, skip_serializing_if = "std::ops::Not::not", deserialize_with = "is_true")]
    pub redacted: bool,
    /// Words of the list of names that its pseudonyms are of (`convert --names`), one for each use, the last one last; empty: they are its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "texts")]
    pub pseudonyms: Vec<String>,
    /// What a person should know about this recording, in sentences.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// The program that recorded.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecorderInfo {
    /// Version of the recorder.
    #[serde(default)]
    pub version: String,
    /// Its command line.
    #[serde(default)]
    pub command_line: Vec<String>,
    /// Its process id; its own threads are in the recording like any other task.
    #[serde(default)]
    pub pid: u32,
    /// The command it ran (`-- CMD...`), empty when none.
    #[serde(default)]
    pub command: Vec<String>,
}

/// The machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// Byte order of the recorded kernel.
    #[serde(default)]
    pub endian: Endian,
    /// Bytes of a memory page; 0 when unknown.
    #[serde(default)]
    pub page_bytes: u64,
    /// `MemTotal`, KiB; 0 when unknown.
    #[serde(default)]
    pub memory_kib: u64,
    /// `model name` of the first CPU, empty when unknown.
    #[serde(default)]
    pub cpu_model: String,
    /// Ticks of the kernel per second (CONFIG_HZ): timers of TCP and the time limit of softirqs count in them; 0 when
    /// unknown.
    #[serde(default)]
    pub hz: u32,
    /// /proc/sys/kernel/random/boot_id: joins several recordings of one boot.
    #[serde(default)]
    pub boot_id: String,
    /// CPUs online at the start.
    #[serde(default)]
    pub cpus_online: Vec<u32>,
}

/// Clocks of the recording.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clocks {
    /// Clock of the ring buffer in the kernel's spelling (`mono`).
    #[serde(default)]
    pub trace_clock: String,
    /// Readings just before the first event.
    #[serde(default)]
    pub start: ClockPair,
}

/// What was asked of the kernel.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// Name of the profile (`full`).
    #[serde(default)]
    pub profile: String,
    /// Name of the private tracing instance.
    #[serde(default)]
    pub instance: String,
    /// How events were recorded, when not into a tracing instance: `perf`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub perf: Option<PlannedPerf>,
    /// Ring buffer per CPU, bytes.
    #[serde(default)]
    pub buffer_bytes_per_cpu: u64,
    /// Size of a sub-buffer, bytes; 0 means as `header_page` says.
    #[serde(default)]
    pub sub_buffer_bytes: u32,
    /// CPUs whose buffers were drained.
    #[serde(default)]
    pub cpus: Vec<u32>,
    /// What was asked for with `--port`, `--dev`, `--cpu` (`port 80`); empty means everything. Which events that holds for
    /// says the filter of each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub filters: Vec<String>,
    /// Events that were enabled.
    #[serde(default)]
    pub events: Vec<PlannedEvent>,
    /// Events the profile wants and this kernel does not have, or refused.
    #[serde(default)]
    pub absent: Vec<AbsentEvent>,
    /// Interfaces whose packets are recorded (`packets/N/` are those of number N, from 0).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub packets: Vec<PlannedTap>,
}

/// The perf backend: `perf/cpuN/` members hold records instead of sub-buffers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedPerf {
    /// `perf_event_attr.sample_type` of all events; `sample_id_all` is set.
    #[serde(default)]
    pub sample_type: u64,
    /// Only what tasks of this cgroup did (its folder); empty means no such limit.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub cgroup: String,
    /// Only what these processes, and what they started, did; empty means no such limit.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pids: Vec<u32>,
    /// Why this backend.
    #[serde(default)]
    pub because: String,
}

/// An interface whose packets are recorded, through an AF_PACKET socket.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedTap {
    /// Its name.
    pub name: String,
    /// Its number in its network namespace.
    #[serde(default)]
    pub ifindex: u32,
    /// Inode of its network namespace; 0 when unknown.
    #[serde(default)]
    pub netns: u64,
    /// Name of the namespace as asked for; empty for the recorder's own.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub netns_name: String,
    /// LINKTYPE number of its packets (1 Ethernet, 101 raw IP).
    #[serde(default)]
    pub link_type: u16,
    /// Most bytes kept of a packet; null: its headers only.
    #[serde(default)]
    pub snaplen: Option<u32>,
    /// The filter in the words of libpcap; empty means every packet.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub filter: String,
    /// Kernel memory of its ring, bytes.
    #[serde(default)]
    pub ring_bytes: u64,
}

impl PlannedTap {
    /// Its network namespace in words; empty for the recorder's own.
    pub fn netns_text(&self) -> String {
        match self.netns_name.as_str() {
            "" => String::new(),
            name => format!("network namespace {name} ({})", self.netns),
        }
    }
}

/// An enabled event.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedEvent {
    /// `system:name`.
    pub name: String,
    /// The filter as given to the kernel; empty means every event is recorded.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub filter: String,
}

/// An event of the profile that was not enabled.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AbsentEvent {
    /// `system:name`.
    pub name: String,
    /// Why, in words.
    #[serde(default)]
    pub because: String,
}

/// `end.json`: what became of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    /// Why it ended: `duration`, `command`, `SIGINT`, `SIGTERM`, `SIGHUP`, `SIGQUIT`, `max_bytes`,
    /// `max_cpu`, `pid` (the processes that alone were recorded have ended); of a flight recorder `trigger` when the time after the trigger has passed.
    #[serde(default)]
    pub stop_reason: String,
    /// Readings just after the last event.
    #[serde(default)]
    pub clock: ClockPair,
    /// `per_cpu/cpuN/stats` after the last read.
    #[serde(default)]
    pub cpu_stats: Vec<CpuStats>,
    /// What became of the interfaces in the manifest's `plan.packets`, in that order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub packets: Vec<TapEnd>,
    /// How the command ended; null when there was none, or it had not ended.
    #[serde(default)]
    pub command: Option<CommandEnd>,
    /// What the recording cost.
    #[serde(default)]
    pub recorder: RecorderEnd,
    /// What was read every second beside the counters, as long as it was cheap; of a flight in the seconds of this bundle. Of older recorders empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub readings: Vec<ReadingEnd>,
    /// How far back the rings of a flight recorder reached; `None` for an ordinary recording.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flight: Option<FlightEnd>,
    /// What went wrong on the way, in sentences.
    #[serde(default)]
    pub problems: Vec<String>,
    /// The recording that this bundle was made of was cut or damaged: what it lacked is missing here, too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub of_incomplete: bool,
    /// Every member before this one.
    #[serde(default)]
    pub members: Vec<MemberDigest>,
}

/// What became of an interface's packets.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TapEnd {
    /// Its name.
    pub name: String,
    /// Packets in the bundle.
    pub packets: u64,
    /// Packets that passed the filter, lost ones included (sum of `tp_packets` of PACKET_STATISTICS); null when unknown.
    #[serde(default)]
    pub received: Option<u64>,
    /// Packets lost because the ring was full (`tp_drops`); null when unknown.
    #[serde(default)]
    pub dropped: Option<u64>,
    /// How often the ring was full (`tp_freeze_q_cnt`); null when unknown.
    #[serde(default)]
    pub freezes: Option<u64>,
    /// Bytes of packets in the bundle, before compression, without the headers of pcapng.
    #[serde(default)]
    pub captured_bytes: u64,
    /// What happened to it on the way, in sentences.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// How the recorded command ended.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandEnd {
    /// Its process id.
    pub pid: u32,
    /// Its exit status.
    #[serde(default)]
    pub exit_code: Option<i32>,
    /// The signal that killed it.
    #[serde(default)]
    pub signal: Option<i32>,
}

/// What the recording cost.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecorderEnd {
    /// CPU time of the recorder's own threads (drain, compression, writing), ns; not the cost of the tracepoints.
    #[serde(default)]
    pub cpu_ns: u64,
    /// Bytes of sub-buffers read from the kernel.
    #[serde(default)]
    pub ring_bytes: u64,
}

/// A kind of reading of every second.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadingEnd {
    /// `nics`, `qdiscs`, `sockets`, `counters`.
    pub what: String,
    /// How often it is in the bundle.
    #[serde(default)]
    pub read: u64,
    /// Seconds in which it was left out, so that it costs little.
    #[serde(default)]
    pub skipped: u64,
    /// How often it was not whole, or too long, and is not in the bundle.
    #[serde(default)]
    pub failed: u64,
    /// The longest took so long, ns.
    #[serde(default)]
    pub longest_ns: u64,
}

/// Name, size and checksum of a member as stored.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberDigest {
    /// Name.
    pub name: String,
    /// Bytes.
    pub size: u64,
    /// SHA-256 of the bytes as stored, lower-case hex.
    pub sha256: String,
}
