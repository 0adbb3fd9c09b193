//! What the user asked for, without clap.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use crate::pcap::PcapOptions;
use crate::perf::PerfOptions;
use crate::plan::Filters;

/// Where the bundle goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// A file, created with mode 0600 (a bundle holds kernel addresses and peers' addresses).
    File(PathBuf),
    /// The same under a name of ours: one that is taken gets a number.
    Named(PathBuf),
    /// Standard output; a recorded command then writes its own output to standard error.
    Stdout,
}

/// Which events are recorded. What each enables is in `plan/profiles.rs`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Profile {
    /// At most 12 events for a request and its response: can stay on.
    Lean,
    /// From the card to the reader.
    Rx,
    /// From the writer to the card.
    Tx,
    /// Connections: all events of TCP and of sockets, and their timers.
    Tcp,
    /// What was refused, retransmitted or reset.
    Drops,
    /// Everything that reconstruction can use.
    #[default]
    Full,
}

impl Profile {
    /// All, from the cheapest; with a line for a person.
    pub const ALL: [(Profile, &str, &str); 6] = [
        (Profile::Drops, "drops", "what was dropped, retransmitted or reset"),
        (Profile::Lean, "lean", "at most 12 events per request and response"),
        (Profile::Tcp, "tcp", "connections, sockets and their timers"),
        (Profile::Rx, "rx", "from the card to the reader"),
        (Profile::Tx, "tx", "from the writer to the card"),
        (Profile::Full, "full", "everything that can be used"),
    ];

    /// Its name on the command line and in the manifest.
    pub fn name(self) -> &'static str {
        Profile::ALL
            .iter()
            .find(|(p, _, _)| *p == self)
            .map_or("?", |(_, n, _)| n)
    }

    /// The profile of a name.
    pub fn parse(name: &str) -> Option<Profile> {
        Profile::ALL.iter().find(|(_, n, _)| *n == name).map(|(p, _, _)| *p)
    }
}

/// A recording as asked for.
#[derive(Debug, Clone)]
pub struct RecordOptions {
    /// Where the bundle goes.
    pub output: Output,
    /// Write over a file that exists, unless another recorder writes it.
    pub force: bool,
    /// Stop after this long; `None` is an hour, or until the command exits.
    pub duration: Option<Duration>,
    /// Which events.
    pub profile: Profile,
    /// Which of them: ports, interfaces, CPUs.
    pub filters: Filters,
    /// Probes of our own besides (`probes/`).
    pub extra_kprobes: bool,
    /// Interfaces whose packets are recorded, too.
    pub pcap: PcapOptions,
    /// Which backend, and what only perf can do.
    pub perf: PerfOptions,
    /// Ring buffer per CPU, KiB; `None` is [`DEFAULT_BUFFER_KIB`].
    pub buffer_kib: Option<u64>,
    /// All ring buffers together, KiB; `None` is an eighth of the available memory.
    pub max_buffers_kib: Option<u64>,
    /// Stop when the bundle has this many bytes; `None` is 4 GiB, or half of what is free.
    pub max_bytes: Option<u64>,
    /// Stop when the recorder itself uses more than this of one CPU, percent, for five seconds; `None` is 25 for each CPU, 200 at most.
    pub max_cpu_percent: Option<u32>,
    /// Run this and stop when it exits; empty means none.
    pub command: Vec<OsString>,
    /// The command line for the manifest.
    pub command_line: Vec<String>,
}

/// 8 MiB per CPU hold about 180,000 events of 46 bytes: 70 ms of the densest storm measured (2.5 million events/s on
/// one CPU), 180 ms at a million. The reader wakes when a batch is there, so it may be kept off the CPU for nearly all of that.
pub const DEFAULT_BUFFER_KIB: u64 = 8 << 10;
