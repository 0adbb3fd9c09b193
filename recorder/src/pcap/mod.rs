//! Packets beside the events: an AF_PACKET socket with a TPACKET_V3 ring for each interface that was asked for.
//!
//! In: specs (`eth0`, `netns:web/eth0`), a snaplen, ports. Out: members `packets/N/NNNNNN.pcapng.zst`, a line per interface
//! in the manifest and in `end.json`. It must not set anything of an interface (no promiscuous mode), keep payload
//! unless asked to, or end the recording because of an interface. Closing the socket undoes all of it.
//! Follows Documentation/networking/packet_mmap.rst and net/packet/af_packet.c.
//!
//! ```text
//! spec -> inside its namespace: socket (bound to nothing), filter, ring -> manifest -> bound at the start
//!   thread per interface: block of frames -> cut to the headers -> pcapng section -> zstd -> member, every second
//! stop -> a filter that takes nothing -> the rest of the ring -> PACKET_STATISTICS -> end.json
//! ```

mod filter;
mod frames;
mod headers;
mod ring;
mod spec;
mod tap;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use netmortem_formats::bundle::{PlannedTap, TapEnd};
use rustix::event::{EventfdFlags, eventfd};
use std::os::fd::OwnedFd;

use crate::drain::Shared;
use crate::error::RecordError;
use crate::host;
use crate::options::RecordOptions;
use tap::Tap;

pub use spec::TapSpec;

/// Ring of an interface, KiB. A packet whose headers are kept takes some 130 to 350 bytes of it.
pub const DEFAULT_RING_KIB: u64 = 8 << 10;
/// All rings together take at most this part of the memory that is available.
const MEMORY_PART: u64 = 8;
/// Two blocks of a page.
const LEAST_RING_KIB: u64 = 8;

/// What was asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PcapOptions {
    /// Interfaces; none means no packets are recorded.
    pub taps: Vec<TapSpec>,
    /// Most bytes kept of a packet, payload included; 0 is all of it. `None`: its headers, no payload.
    pub snaplen: Option<u32>,
    /// Ring of each interface, KiB; `None` is [`DEFAULT_RING_KIB`].
    pub ring_kib: Option<u64>,
}

/// Sockets that take nothing yet.
pub struct Taps(Vec<Tap>);

impl Taps {
    /// Opens a socket and a ring for every interface. What was reduced is said in `notes`.
    pub fn open(options: &RecordOptions, notes: &mut Vec<String>) -> Result<Taps, RecordError> {
        let mut specs: Vec<TapSpec> = Vec::new();
        for spec in &options.pcap.taps {
            if !specs.contains(spec) {
                specs.push(spec.clone());
            }
        }
        let ring_kib = ring_kib(&options.pcap, specs.len() as u64, notes);
        let open = |(n, spec): (usize, &TapSpec)| {
            let number = u32::try_from(n).unwrap_or(u32::MAX);
            Tap::open(number, spec, options.pcap.snaplen, &options.filters.ports, ring_kib)
        };
        specs
            .iter()
            .enumerate()
            .map(open)
            .collect::<Result<_, RecordError>>()
            .map(Taps)
    }

    /// For the manifest.
    pub fn plan(&self) -> Vec<PlannedTap> {
        self.0.iter().map(|t| t.plan.clone()).collect()
    }

    /// Lets the packets in, and a thread for each interface take them.
    pub fn start(self, shared: &Arc<Shared>) -> Result<Running, RecordError> {
        let system = |doing| move |e: std::io::Error| RecordError::System { doing, source: e };
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
        let wake = eventfd(0, flags).map_err(|e| system("eventfd")(e.into()))?;
        let mut this = Running {
            shared: Arc::clone(shared),
            stop: Arc::new(Stop {
                told: AtomicBool::new(false),
                wake,
            }),
            threads: Vec::new(),
        };
        for mut tap in self.0 {
            let (shared, stop) = (Arc::clone(shared), Arc::clone(&this.stop));
            let name = format!("packets/{}", tap.plan.name);
            let thread = std::thread::Builder::new().name(name);
            let handle = thread.spawn(move || tap.run(&shared, &stop));
            this.threads.push(handle.map_err(system("starting a thread"))?);
        }
        Ok(this)
    }
}

/// KiB of each ring: what was asked for or the default, and all together within the limit.
fn ring_kib(options: &PcapOptions, taps: u64, notes: &mut Vec<String>) -> u64 {
    let wanted = options.ring_kib.unwrap_or(DEFAULT_RING_KIB).max(LEAST_RING_KIB);
    let Some(limit) = host::meminfo_kib("MemAvailable").map(|k| k / MEMORY_PART) else {
        return wanted;
    };
    let room = (limit / taps.max(1)).max(LEAST_RING_KIB);
    if room < wanted {
        notes.push(format!(
            "--pcap: rings of {room} KiB instead of {wanted} for each of {taps} interfaces: together they may take an eighth of the available memory"
        ));
    }
    wanted.min(room)
}

/// How the threads are told to end.
struct Stop {
    told: AtomicBool,
    wake: OwnedFd,
}

/// Interfaces being recorded. Dropping it stops the threads and waits for them.
pub struct Running {
    shared: Arc<Shared>,
    stop: Arc<Stop>,
    threads: Vec<JoinHandle<Result<TapEnd, RecordError>>>,
}

impl Running {
    /// Whether a thread could not write and ended; [`Running::finish`] says why.
    pub fn one_has_failed(&self) -> bool {
        // One whose interface is gone waits for the end as well.
        self.threads.iter().any(JoinHandle::is_finished)
    }

    /// Takes what is left in the rings; what became of each interface.
    pub fn finish(mut self) -> Result<Vec<TapEnd>, RecordError> {
        self.join()
    }

    fn join(&mut self) -> Result<Vec<TapEnd>, RecordError> {
        if self.threads.is_empty() {
            return Ok(Vec::new());
        }
        // Also ends the patience with a reader that takes nothing.
        self.shared.stop();
        self.stop.told.store(true, Ordering::Release);
        // Never read, so every poller sees it; it can only fail by being full, which wakes them as well.
        let _ = rustix::io::write(&self.stop.wake, &1u64.to_ne_bytes());
        let (mut ends, mut first_error) = (Vec::new(), None);
        for handle in self.threads.drain(..) {
            match handle.join().unwrap_or(Err(RecordError::PacketThreadDied)) {
                Ok(end) => ends.push(end),
                Err(e) => first_error = first_error.or(Some(e)),
            }
        }
        first_error.map_or(Ok(ends), Err)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Only on the way out of an error that is already being returned.
        let _ = self.join();
    }
}
