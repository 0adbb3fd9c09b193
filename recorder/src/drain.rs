//! One CPU's ring buffer into members: `trace_pipe_raw` -> pipe -> batch of whole sub-buffers -> zstd frame -> bundle.
//!
//! `splice` moves full sub-buffers only, and up to a batch of them for one system call: the recorder would otherwise
//! fill the recording with its own `read` calls. What is left at the end, a sub-buffer that is not full, is `read`.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use netmortem_formats::bundle::{BundleWriter, PagesEncoder, PagesName};
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, SpliceFlags, fcntl_setpipe_size, pipe_with, splice};

use crate::error::RecordError;
use crate::flight::Cut;
use crate::output::Patience;
use crate::tracefs;

/// A member is written when this much is waiting, and the reader is woken by as much. Big enough to compress well, small enough to decode in parallel, and to
/// compress in less than a ms: on a busy CPU a request of the host's own waits as long (docs/recorder-cost.md).
pub const BATCH_BYTES: usize = 256 << 10;
/// ... or when this long has passed since the last, with what a sub-buffer has that is not full; and then it goes to the
/// file at once. So a killed recorder leaves all but the last second.
const BATCH_AGE: Duration = Duration::from_millis(750);
/// How long to sleep when the kernel has nothing; also bounds how late an old batch is noticed.
const POLL: Duration = Duration::from_millis(250);
/// Pause after a nearly empty read, and instead of waiting for the kernel where it wakes a reader for every event (before 6.1 `poll` does not know
/// `buffer_percent`): our own calls would wake us a thousand times a second. A ring of 8 MiB takes 400 MB/s of events until it is over.
const PAUSE: Duration = Duration::from_millis(20);
const PIPE_BYTES: usize = BATCH_BYTES;

/// A `Write` that may be a file or a pipe.
pub type Sink = Box<dyn Write + Send>;

/// What the drain threads share.
pub struct Shared {
    writer: Mutex<BundleWriter<Sink>>,
    stop: AtomicBool,
    wake: OwnedFd,
    patience: Patience,
    /// Bytes in the bundle.
    pub bundle_bytes: AtomicU64,
    /// Bytes of sub-buffers read from the kernel.
    pub ring_bytes: AtomicU64,
}

impl Shared {
    /// Shares a writer whose manifest is written; `patience` is of its sink.
    pub fn new(writer: BundleWriter<Sink>, patience: Patience) -> Result<Shared, RecordError> {
        let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).map_err(|e| RecordError::System {
            doing: "eventfd",
            source: e.into(),
        })?;
        let bundle_bytes = AtomicU64::new(writer.bytes_written());
        Ok(Shared {
            writer: Mutex::new(writer),
            stop: AtomicBool::new(false),
            wake,
            patience,
            bundle_bytes,
            ring_bytes: AtomicU64::new(0),
        })
    }

    /// The writer. A thread that panicked while it held it left whole members or a cut one: both are readable.
    pub fn writer(&self) -> MutexGuard<'_, BundleWriter<Sink>> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The writer, unless others hold it this long.
    pub fn writer_within(&self, patience: Duration) -> Option<MutexGuard<'_, BundleWriter<Sink>>> {
        let asked = Instant::now();
        loop {
            match self.writer.try_lock() {
                Ok(w) => return Some(w),
                Err(TryLockError::Poisoned(p)) => return Some(p.into_inner()),
                Err(TryLockError::WouldBlock) if asked.elapsed() >= patience => return None,
                Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(2)),
            }
        }
    }

    /// The writer back, when the threads are gone.
    pub fn into_writer(self) -> BundleWriter<Sink> {
        self.writer.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes all threads read what is left and return.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Release);
        self.patience.stop();
        // Never read, so every poller sees it; it can only fail by being full, which wakes them as well.
        let _ = rustix::io::write(&self.wake, &1u64.to_ne_bytes());
    }
}

/// The reading end of one CPU.
pub struct CpuDrain {
    cpu: u32,
    raw: File,
    pipe: Option<(OwnedFd, OwnedFd)>,
    sub_buffer_bytes: usize,
    /// Sub-buffers of the ring, and the reader's own.
    capacity: u64,
    encoder: PagesEncoder,
    batch: Vec<u8>,
    /// When the last member was written.
    flushed: Instant,
    sequence: u64,
    /// What is older than the window of a flight recorder is left out.
    cut: Option<Cut>,
}

impl CpuDrain {
    /// `raw` is an opened, non-blocking `trace_pipe_raw` of a ring of `buffer_bytes`.
    pub fn new(cpu: u32, raw: File, sub_buffer_bytes: u32, buffer_bytes: u64) -> Result<CpuDrain, RecordError> {
        let encoder = PagesEncoder::new(1).map_err(|source| RecordError::Drain { cpu, source })?;
        let pipe = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)
            .ok()
            .inspect(|(_, w)| {
                // More than the default needs privileges or room; less is only slower.
                let _ = fcntl_setpipe_size(w, PIPE_BYTES);
            });
        let sub_buffer_bytes = sub_buffer_bytes as usize;
        Ok(CpuDrain {
            cpu,
            raw,
            pipe,
            sub_buffer_bytes,
            capacity: buffer_bytes.div_ceil(sub_buffer_bytes.max(1) as u64) + 2,
            encoder,
            batch: Vec::new(),
            flushed: Instant::now(),
            sequence: 0,
            cut: None,
        })
    }

    /// Leaves out what is older than a window: to be called before anything is read.
    pub fn set_cut(&mut self, cut: Cut) {
        self.cut = Some(cut);
    }

    /// What was left out.
    pub fn cut(&self) -> Option<&Cut> {
        self.cut.as_ref()
    }

    /// Its CPU.
    pub fn cpu(&self) -> u32 {
        self.cpu
    }

    /// Drains until told to stop.
    pub fn run(&mut self, shared: &Shared) -> Result<(), RecordError> {
        let mut in_vain = false;
        loop {
            if shared.stop.load(Ordering::Acquire) {
                return self.finish(shared);
            }
            let moved = self.read_full(shared)?;
            if self.flushed.elapsed() >= BATCH_AGE {
                // A quiet CPU takes long to fill one.
                // Where nothing is left the kernel is asked again: it wakes us at the next event, and not before.
                in_vain &= self.read_one(shared)?;
                self.flush(shared)?;
                let mut writer = shared.writer();
                writer.flush().map_err(RecordError::output)?;
            }
            in_vain &= moved == 0;
            if moved < 16 * self.sub_buffer_bytes {
                in_vain |= self.wait(shared, moved > 0 || in_vain)?;
            }
        }
    }

    /// Reads all that is left, full or not, and writes it. Only after tracing was stopped.
    pub fn finish(&mut self, shared: &Shared) -> Result<(), RecordError> {
        self.read_full(shared)?;
        // A ring holds so many; if tracing goes on, its reader's own system calls would feed it without end.
        for _ in 0..self.capacity {
            if !self.read_one(shared)? {
                break;
            }
            self.flush_if_large(shared)?;
        }
        self.flush(shared)
    }

    /// Sleeps until the buffer is filled to its `buffer_percent`, a stop, or a while. Whether the kernel said that there is something to read.
    fn wait(&self, shared: &Shared, pause: bool) -> Result<bool, RecordError> {
        let wake = PollFd::new(&shared.wake, PollFlags::IN);
        let (mut fds, timeout) = match pause {
            true => (vec![wake], PAUSE),
            false => (vec![wake, PollFd::new(&self.raw, PollFlags::IN)], POLL),
        };
        let timeout = Timespec {
            tv_sec: 0,
            tv_nsec: i64::from(timeout.subsec_nanos()),
        };
        match poll(&mut fds, Some(&timeout)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(e) => return Err(self.error(e.into())),
        }
        Ok(fds.get(1).is_some_and(|raw| !raw.revents().is_empty()))
    }

    /// Moves full sub-buffers until there are no more; returns how many bytes.
    fn read_full(&mut self, shared: &Shared) -> Result<usize, RecordError> {
        let mut total = 0;
        while let Some((reader, writer)) = &self.pipe {
            let flags = SpliceFlags::NONBLOCK | SpliceFlags::MOVE;
            match splice(self.raw.as_fd(), None, writer.as_fd(), None, PIPE_BYTES, flags) {
                Ok(0) | Err(Errno::AGAIN | Errno::INTR) => break,
                Ok(n) => {
                    tracefs::append(reader, n, &mut self.batch).map_err(|e| self.error(e))?;
                    total += n;
                    shared.ring_bytes.fetch_add(n as u64, Ordering::Relaxed);
                    self.flush_if_large(shared)?;
                }
                // No splice here (some containers): fall back to read.
                Err(Errno::INVAL | Errno::NOSYS) => self.pipe = None,
                Err(e) => return Err(self.error(e.into())),
            }
        }
        if self.pipe.is_none() {
            for _ in 0..self.capacity {
                if !self.read_one(shared)? {
                    break;
                }
                total += self.sub_buffer_bytes;
                self.flush_if_large(shared)?;
            }
        }
        Ok(total)
    }

    /// Reads one sub-buffer, full or not; false when there is none.
    fn read_one(&mut self, shared: &Shared) -> Result<bool, RecordError> {
        let at = self.batch.len();
        self.batch.resize(at + self.sub_buffer_bytes, 0);
        let done = self.batch.get_mut(at..).map_or(Ok(()), |b| self.raw.read_exact(b));
        match done {
            Ok(()) => {
                shared
                    .ring_bytes
                    .fetch_add(self.sub_buffer_bytes as u64, Ordering::Relaxed);
                Ok(true)
            }
            Err(e) => {
                self.batch.truncate(at);
                match e.kind() {
                    io::ErrorKind::WouldBlock | io::ErrorKind::UnexpectedEof => Ok(false),
                    _ => Err(self.error(e)),
                }
            }
        }
    }

    fn flush_if_large(&mut self, shared: &Shared) -> Result<(), RecordError> {
        if self.batch.len() >= BATCH_BYTES {
            self.flush(shared)
        } else {
            Ok(())
        }
    }

    fn flush(&mut self, shared: &Shared) -> Result<(), RecordError> {
        self.flushed = Instant::now();
        if let Some(cut) = &mut self.cut {
            cut.apply(&mut self.batch);
        }
        if self.batch.is_empty() {
            return Ok(());
        }
        self.sequence += 1;
        let name = PagesName {
            cpu: self.cpu,
            sequence: self.sequence,
        };
        let frame = self.encoder.encode(&self.batch).map_err(|e| self.error(e))?;
        self.batch.clear();
        let mut writer = shared.writer();
        writer.append_pages(name, &frame).map_err(RecordError::output)?;
        shared.bundle_bytes.store(writer.bytes_written(), Ordering::Relaxed);
        Ok(())
    }

    fn error(&self, source: io::Error) -> RecordError {
        RecordError::Drain { cpu: self.cpu, source }
    }
}

/// All CPUs being drained. Dropping it stops the threads and waits for them, so that the instance can be removed.
pub struct Drains {
    shared: Arc<Shared>,
    threads: Vec<(u32, JoinHandle<Result<CpuDrain, RecordError>>)>,
    /// CPUs without a thread (offline at the start): read once, at the end.
    idle: Vec<CpuDrain>,
}

impl Drains {
    /// Starts a thread for every CPU in `online`.
    pub fn start(shared: Shared, drains: Vec<CpuDrain>, online: &[u32]) -> Result<Drains, RecordError> {
        let mut this = Drains {
            shared: Arc::new(shared),
            threads: Vec::new(),
            idle: Vec::new(),
        };
        for mut d in drains {
            let cpu = d.cpu();
            if !online.contains(&cpu) {
                this.idle.push(d);
                continue;
            }
            let shared = Arc::clone(&this.shared);
            let thread = std::thread::Builder::new().name(format!("drain/{cpu}"));
            let handle = thread.spawn(move || d.run(&shared).map(|()| d));
            this.threads.push((
                cpu,
                handle.map_err(|source| RecordError::System {
                    doing: "starting a thread",
                    source,
                })?,
            ));
        }
        Ok(this)
    }

    /// What the threads share.
    pub fn shared(&self) -> &Shared {
        &self.shared
    }

    /// The same, for threads that live shorter than this.
    pub fn share(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Whether a thread returned before it was told to: an error, which [`Drains::finish`] returns.
    pub fn one_has_ended(&self) -> bool {
        self.threads.iter().any(|(_, t)| t.is_finished())
    }

    /// Reads everything that is left, closes the readers, and gives the writer's holder back.
    pub fn finish(self) -> Result<Shared, RecordError> {
        self.finish_cut().map(|(shared, _)| shared)
    }

    /// The same, and what each CPU left out (with [`CpuDrain::set_cut`]).
    pub fn finish_cut(mut self) -> Result<(Shared, Vec<(u32, Cut)>), RecordError> {
        let mut drains = self.join()?;
        drains.append(&mut self.idle);
        for d in &mut drains {
            d.finish(&self.shared)?;
        }
        let cuts = drains
            .iter()
            .filter_map(|d| Some((d.cpu(), d.cut()?.clone())))
            .collect();
        drop(drains);
        let shared = Arc::clone(&self.shared);
        drop(self);
        let shared = Arc::into_inner(shared).ok_or(RecordError::ThreadDied { cpu: 0 })?;
        Ok((shared, cuts))
    }

    fn join(&mut self) -> Result<Vec<CpuDrain>, RecordError> {
        self.shared.stop();
        let mut drains = Vec::new();
        let mut first_error = None;
        for (cpu, handle) in self.threads.drain(..) {
            match handle.join().unwrap_or(Err(RecordError::ThreadDied { cpu })) {
                Ok(d) => drains.push(d),
                Err(e) => first_error = first_error.or(Some(e)),
            }
        }
        first_error.map_or(Ok(drains), Err)
    }
}

impl Drop for Drains {
    fn drop(&mut self) {
        // Only on the way out of an error that is already being returned.
        let _ = self.join();
    }
}
