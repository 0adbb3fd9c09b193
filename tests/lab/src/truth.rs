//! `truth.json`: what a rig planted, stamped while it happened.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context;
use serde::{Deserialize, Serialize};

/// One planted wait.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Case {
    /// Ledger: `rx` or `tx`.
    pub table: String,
    /// Source port of the packet; 0 when it has none or the ledger names none (UDP, ICMP): then `dev` tells.
    pub sport: u16,
    /// Its destination port.
    pub dport: u16,
    /// The units meant start in here, ns on the recording's clock.
    pub from_ns: i64,
    /// End of it.
    pub to_ns: i64,
    /// The stage that must be named, as in `stage_<name>_ns`.
    pub stage: String,
    /// Its size, stamped, ns. The unit that suffered most must show it.
    pub ns: i64,
    /// What was done, for a person.
    pub why: String,
    /// Device of the units meant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dev: Option<String>,
    /// Thread that reads (rx) or writes (tx) the units meant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<i32>,
    /// Who must have run the softirq or the poll that received the units (rx), as in the column `run_by`. Empty: not asked.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub run_by: String,
    /// The kernel's own stamps of the unit meant (tx).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stamped: Option<Stamped>,
    /// Why the stamps themselves say that the plant failed (somebody else had the CPU): then nothing is asked. Empty else.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub void: String,
    /// Why the size is not asked: the stamps say that something else took long, too. Empty else.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub rough: String,
    /// Why this kernel's events cannot tell it: then an answer that is unknown or labelled weak is right too; another one
    /// that is claimed with confidence never is. Empty else.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub weaker: String,
}

impl Case {
    /// `stage` held packets of `ports` (source, destination) that start in `from_ns..=to_ns` for `ns`.
    pub fn new(table: &str, ports: (u16, u16), (from_ns, to_ns): (i64, i64), stage: &str, ns: i64, why: &str) -> Case {
        Case {
            table: table.into(),
            sport: ports.0,
            dport: ports.1,
            from_ns,
            to_ns,
            stage: stage.into(),
            ns,
            why: why.into(),
            ..Case::default()
        }
    }
    /// Packets without ports in the ledger (UDP, ICMP): their device tells.
    pub fn on_device(table: &str, dev: &str, window: (i64, i64), stage: &str, ns: i64, why: &str) -> Case {
        Case {
            dev: Some(dev.into()),
            ..Case::new(table, (0, 0), window, stage, ns, why)
        }
    }
    /// Not to be told with confidence by this kernel, for a reason; empty: it can tell.
    pub fn weaker(mut self, why: impl Into<String>) -> Case {
        self.weaker = why.into();
        self
    }
    /// Void where the send call took most of the time, which is no wait below it; its size is not asked where it took long.
    pub fn unless_sending(mut self, sending_ns: i64) -> Case {
        if sending_ns > self.ns / 10 * 4 && self.void.is_empty() {
            self.void = format!("the send call took {sending_ns} ns");
        } else if sending_ns > (self.ns / 20).max(50_000) {
            self.rough = format!("the send call took {sending_ns} ns");
        }
        self
    }
    /// Of this thread only: its reader (rx) or writer (tx).
    pub fn by(mut self, pid: i32) -> Case {
        self.pid = Some(pid);
        self
    }
    /// Says that the plant failed where the planting program's own stamps show it: much of it was not asked for (`planned_ns`,
    /// where it is the program's to choose), or it was not most of what the unit took (`whole_ns`). Where something else
    /// took more than a size may differ, that may lie in the same stage or in another: the size is not asked.
    pub fn unless_disturbed(mut self, planned_ns: Option<i64>, whole_ns: i64) -> Case {
        let late = planned_ns.map_or(0, |p| self.ns - p);
        let limit = (self.ns / 20).max(50_000);
        if self.ns <= 0 {
            self.void = "the cause was over before the packet came".into();
        } else if late > self.ns / 10 * 4 {
            self.void = format!("it lasted {} ns, {planned_ns:?} were asked", self.ns);
        } else if self.ns < whole_ns / 10 * 6 {
            self.void = format!("something else took most of {whole_ns} ns");
        } else if self.ns - whole_ns > limit {
            self.void = format!(
                "the packet was through {} ns before the cause was over",
                self.ns - whole_ns
            );
        } else if late > limit {
            self.rough = format!("it lasted {} ns, {planned_ns:?} were asked", self.ns);
        } else if self.table == "rx" && whole_ns - self.ns > limit {
            self.rough = format!("something else took {} ns", whole_ns - self.ns);
        }
        self
    }
}

/// One read system call of a stream, as the reader saw it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadCall {
    /// Source port of the packets.
    pub sport: u16,
    /// Destination port.
    pub dport: u16,
    /// Reading thread.
    pub pid: i32,
    /// CLOCK_MONOTONIC before the call.
    pub before_ns: i64,
    /// After it.
    pub after_ns: i64,
    /// Bytes of the stream read before this call.
    pub offset: u64,
    /// Bytes it returned.
    pub bytes: u64,
}

/// What the kernel stamped on one message by SO_TIMESTAMPING, CLOCK_MONOTONIC ns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamped {
    /// SCM_TSTAMP_SCHED: at the queueing discipline.
    pub sched_ns: i64,
    /// SCM_TSTAMP_SND: at the driver.
    pub snd_ns: i64,
    /// SCM_TSTAMP_ACK; none for datagrams.
    pub ack_ns: Option<i64>,
}

/// What TCP counted on a socket when the recording ended (TCP_INFO).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Socket {
    /// Its own port.
    pub local: u16,
    /// The peer's.
    pub remote: u16,
    /// `tcpi_bytes_received`.
    pub bytes_received: u64,
    /// `tcpi_total_retrans`, segments.
    pub total_retrans: u32,
}

/// All that a rig knows.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Truth {
    /// Name of the rig.
    pub rig: String,
    /// Kernel release.
    pub kernel: String,
    /// Planted waits.
    pub cases: Vec<Case>,
    /// What the kernel counted during the recording (`nstat` names, differences), and what the rig knows itself.
    pub counters: BTreeMap<String, i64>,
    /// Reads of streams, in order, complete from the first byte.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reads: Vec<ReadCall>,
    /// Sockets whose whole life until then was recorded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sockets: Vec<Socket>,
    /// Which devices packets pass.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ways: Vec<Way>,
}

/// The way of the packets that a socket gets.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Way {
    /// Its port.
    pub dport: u16,
    /// Devices from the first to the last; one that queues, starts and receives a packet is named once.
    pub devices: Vec<String>,
}

impl Truth {
    /// Writes it.
    pub fn save(&self, path: &Path) -> anyhow::Result<()> {
        std::fs::write(path, serde_json::to_vec_pretty(self)?).with_context(|| format!("writing {}", path.display()))
    }
    /// Reads it.
    pub fn load(path: &Path) -> anyhow::Result<Truth> {
        let bytes = std::fs::read(path).with_context(|| format!("reading {}", path.display()))?;
        serde_json::from_slice(&bytes).with_context(|| format!("{} is no truth", path.display()))
    }
}
