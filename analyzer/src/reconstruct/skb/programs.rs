//! What threads of programs gave to their devices, and took from them: tun and tap (drivers/net/tun.c).
//!
//! In: steps and ends of lives on such a device. Out: [`ByProgram`], a sum for each device and thread, no row for each packet.
//! A packet that a program writes comes in inside its write call (`tun_get_user`), one that it reads is freed inside its read call
//! (`tun_do_read`): both in plain task context, so the thread of the event is the program's. What a softirq does is nobody's.

use rustc_hash::FxHashMap;

use crate::ingest::Event;
use crate::name::Name;

/// Devices and threads kept.
const MOST: usize = 4096;

/// Packets of one way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Packets.
    pub packets: u64,
    /// Their lengths as the device states them.
    pub bytes: u64,
}

impl Traffic {
    fn add(&mut self, len: u32) {
        self.packets = self.packets.saturating_add(1);
        self.bytes = self.bytes.saturating_add(len.into());
    }
    /// Both.
    pub fn and(self, other: Traffic) -> Traffic {
        Traffic {
            packets: self.packets.saturating_add(other.packets),
            bytes: self.bytes.saturating_add(other.bytes),
        }
    }
}

/// What a thread gave to a device, and took from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ByProgram {
    /// Device.
    pub dev: Name,
    /// Thread.
    pub pid: i32,
    /// Written by it: the host received them.
    pub gave: Traffic,
    /// Read by it: the host had sent them.
    pub took: Traffic,
}

/// Sums by device and thread.
#[derive(Debug, Default)]
pub(super) struct Programs(FxHashMap<(Name, i32), (Traffic, Traffic)>);

impl Programs {
    fn of(&mut self, e: &Event<'_>, dev: Name) -> Option<&mut (Traffic, Traffic)> {
        let key = (dev, e.pid);
        let known = e.in_task() && e.pid > 0 && (self.0.len() < MOST || self.0.contains_key(&key));
        known.then(|| self.0.entry(key).or_default())
    }
    /// A packet comes in on it.
    pub(super) fn gave(&mut self, e: &Event<'_>, dev: Name, len: u32) {
        if let Some(of) = self.of(e, dev) {
            of.0.add(len);
        }
    }
    /// One that was sent on it is freed as read.
    pub(super) fn took(&mut self, e: &Event<'_>, dev: Name, len: u32) {
        if let Some(of) = self.of(e, dev) {
            of.1.add(len);
        }
    }
    /// All of them, by device and thread.
    pub(super) fn finish(self) -> Vec<ByProgram> {
        let row = |((dev, pid), (gave, took))| ByProgram { dev, pid, gave, took };
        let mut all: Vec<ByProgram> = self.0.into_iter().map(row).collect();
        all.sort_unstable_by_key(|r| (r.dev, r.pid));
        all
    }
}
