//! One CPU's ring into members: bytes from tail to head -> batch of whole records -> zstd frame -> bundle.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use netmortem_formats::bundle::{PagesEncoder, PagesName, records_name};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::sys::{RECORD_LOST, RECORD_SAMPLE, Ring};
use crate::drain::Shared;
use crate::error::RecordError;

/// As of the sub-buffers of a tracing instance.
const BATCH_BYTES: usize = 512 << 10;
const BATCH_AGE: Duration = Duration::from_millis(750);
/// Also bounds how late a stop is noticed.
const POLL: Duration = Duration::from_millis(50);

/// What a ring gave.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Drained {
    /// Samples.
    pub samples: u64,
    /// Sum of the LOST records.
    pub lost: u64,
    /// Bytes of records.
    pub bytes: u64,
}

/// The reading end of one CPU.
struct CpuRing {
    cpu: u32,
    ring: Ring,
    encoder: PagesEncoder,
    batch: Vec<u8>,
    oldest: Option<Instant>,
    sequence: u64,
    drained: Drained,
    /// Lost so far, for whoever looks while it runs.
    lost: Arc<AtomicU64>,
}

impl CpuRing {
    fn run(&mut self, shared: &Shared, stop: &AtomicBool) -> Result<(), RecordError> {
        loop {
            // Before the last look at the ring: events are off when this is set.
            let stopping = stop.load(Ordering::Acquire);
            let at = self.batch.len();
            let n = self.ring.take(&mut self.batch);
            if n > 0 {
                self.count(at);
                self.oldest.get_or_insert_with(Instant::now);
                shared.ring_bytes.fetch_add(n as u64, Ordering::Relaxed);
            }
            let old = self.oldest.is_some_and(|t| t.elapsed() >= BATCH_AGE);
            if self.batch.len() >= BATCH_BYTES || old || stopping {
                self.flush(shared)?;
            }
            if old {
                shared.writer().flush().map_err(RecordError::output)?;
            }
            if stopping {
                return Ok(());
            }
            self.wait()?;
        }
    }

    /// Counts the records of the batch from here on, by their headers.
    fn count(&mut self, from: usize) {
        let mut rest = self.batch.get(from..).unwrap_or_default();
        self.drained.bytes += rest.len() as u64;
        while let Some(header) = rest.first_chunk::<8>() {
            let [a, b, c, d, _, _, low, high] = *header;
            let size = usize::from(u16::from_ne_bytes([low, high]));
            match u32::from_ne_bytes([a, b, c, d]) {
                RECORD_SAMPLE => self.drained.samples += 1,
                RECORD_LOST => {
                    let lost = rest
                        .get(16..)
                        .and_then(|b| b.first_chunk())
                        .map(|b| u64::from_ne_bytes(*b));
                    self.drained.lost += lost.unwrap_or(0);
                    self.lost.fetch_add(lost.unwrap_or(0), Ordering::Relaxed);
                }
                _ => {}
            }
            rest = rest.get(size.max(8)..).unwrap_or_default();
        }
    }

    /// Until a quarter of the ring is full, or a while.
    fn wait(&self) -> Result<(), RecordError> {
        let timeout = Timespec {
            tv_sec: 0,
            tv_nsec: i64::from(POLL.subsec_nanos()),
        };
        let mut fds = [PollFd::new(self.ring.fd(), PollFlags::IN)];
        match poll(&mut fds, Some(&timeout)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(e) => {
                return Err(RecordError::Drain {
                    cpu: self.cpu,
                    source: e.into(),
                });
            }
        }
        // A CPU that went offline hangs up at once and for ever: do not spin on it.
        if fds
            .iter()
            .any(|f| f.revents().intersects(PollFlags::HUP | PollFlags::ERR))
        {
            std::thread::sleep(POLL);
        }
        Ok(())
    }

    fn flush(&mut self, shared: &Shared) -> Result<(), RecordError> {
        self.oldest = None;
        if self.batch.is_empty() {
            return Ok(());
        }
        self.sequence += 1;
        let name = records_name(PagesName {
            cpu: self.cpu,
            sequence: self.sequence,
        });
        let cpu = self.cpu;
        let frame = self.encoder.encode(&self.batch);
        let frame = frame.map_err(|source| RecordError::Drain { cpu, source })?;
        self.batch.clear();
        let mut writer = shared.writer();
        writer.append(&name, &frame).map_err(RecordError::output)?;
        shared.bundle_bytes.store(writer.bytes_written(), Ordering::Relaxed);
        Ok(())
    }
}

/// All rings being read. Dropping it stops the threads and waits for them.
pub struct Rings {
    stop: Arc<AtomicBool>,
    threads: Vec<(u32, JoinHandle<Result<Drained, RecordError>>)>,
    /// Lost so far, as far as the rings have said.
    pub lost: Arc<AtomicU64>,
}

impl Rings {
    /// Starts a thread for each.
    pub fn start(rings: Vec<(u32, Ring)>, shared: &Arc<Shared>) -> Result<Rings, RecordError> {
        let mut this = Rings {
            stop: Arc::default(),
            threads: Vec::new(),
            lost: Arc::default(),
        };
        for (cpu, ring) in rings {
            let mut ring = CpuRing {
                cpu,
                ring,
                encoder: PagesEncoder::new(1).map_err(|source| RecordError::Drain { cpu, source })?,
                batch: Vec::new(),
                oldest: None,
                sequence: 0,
                drained: Drained::default(),
                lost: Arc::clone(&this.lost),
            };
            let (shared, stop) = (Arc::clone(shared), Arc::clone(&this.stop));
            let thread = std::thread::Builder::new().name(format!("perf/{cpu}"));
            let handle = thread.spawn(move || ring.run(&shared, &stop).map(|()| ring.drained));
            let handle = handle.map_err(|source| RecordError::System {
                doing: "starting a thread",
                source,
            })?;
            this.threads.push((cpu, handle));
        }
        Ok(this)
    }

    /// Whether a thread returned before it was told to.
    pub fn one_has_ended(&self) -> bool {
        self.threads.iter().any(|(_, t)| t.is_finished())
    }

    /// Reads what is left, after the events were switched off, and says what each CPU gave.
    pub fn finish(mut self) -> Result<Vec<(u32, Drained)>, RecordError> {
        self.stop.store(true, Ordering::Release);
        let mut out = Vec::new();
        for (cpu, thread) in self.threads.drain(..) {
            out.push((cpu, thread.join().unwrap_or(Err(RecordError::ThreadDied { cpu }))?));
        }
        Ok(out)
    }
}

impl Drop for Rings {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        for (_, thread) in self.threads.drain(..) {
            // Only on the way out of an error that is already being returned.
            let _ = thread.join();
        }
    }
}
