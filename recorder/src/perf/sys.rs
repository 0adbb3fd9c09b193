//! The ring access: perf_event_open, its ioctls, and the memory shared with the kernel. The one file of this folder with
//! `unsafe`.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};

use perf_event_open_sys as sys;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use sys::bindings;

/// `PERF_SAMPLE_*` of all our events. `common_type` and `common_pid` of the payload say which event and which task.
pub const SAMPLE_TYPE: u64 =
    bindings::PERF_SAMPLE_TIME as u64 | bindings::PERF_SAMPLE_CPU as u64 | bindings::PERF_SAMPLE_RAW as u64;
/// `PERF_RECORD_LOST`.
pub const RECORD_LOST: u32 = bindings::PERF_RECORD_LOST;
/// `PERF_RECORD_SAMPLE`.
pub const RECORD_SAMPLE: u32 = bindings::PERF_RECORD_SAMPLE;

/// What an event counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// Nothing: it owns a ring, whose reader is woken when so many bytes wait.
    Ring {
        /// Bytes.
        wake_at: u32,
    },
    /// The tracepoint with this id.
    Tracepoint(u64),
}

/// Of whom.
#[derive(Debug, Clone, Copy)]
pub enum Whom<'a> {
    /// All tasks.
    All,
    /// A thread, and what it starts.
    Thread(u32),
    /// Tasks of the cgroup with this folder.
    Cgroup(&'a OwnedFd),
}

/// An event on one CPU, switched off.
#[derive(Debug)]
pub struct Event {
    fd: OwnedFd,
    says_lost: bool,
}

impl Event {
    /// Opens it. Older kernels (before 6.0) do not count losses for each event.
    pub fn open(what: What, whom: Whom<'_>, cpu: u32) -> io::Result<Event> {
        let open = |read_format: u64| {
            let mut attr = bindings::perf_event_attr {
                size: size_of::<bindings::perf_event_attr>() as u32,
                sample_type: SAMPLE_TYPE,
                read_format,
                clockid: libc::CLOCK_MONOTONIC,
                ..Default::default()
            };
            attr.__bindgen_anon_1.sample_period = 1;
            attr.set_disabled(1);
            attr.set_sample_id_all(1);
            attr.set_use_clockid(1);
            match what {
                What::Ring { wake_at } => {
                    attr.type_ = bindings::PERF_TYPE_SOFTWARE;
                    attr.config = u64::from(bindings::PERF_COUNT_SW_DUMMY);
                    attr.set_watermark(1);
                    attr.__bindgen_anon_2.wakeup_watermark = wake_at;
                }
                What::Tracepoint(id) => {
                    attr.type_ = bindings::PERF_TYPE_TRACEPOINT;
                    attr.config = id;
                    // Otherwise every event would count as a wake-up.
                    attr.set_watermark(1);
                    attr.__bindgen_anon_2.wakeup_watermark = u32::MAX;
                }
            }
            let mut flags = bindings::PERF_FLAG_FD_CLOEXEC;
            let pid = match whom {
                Whom::All => -1,
                Whom::Thread(tid) => {
                    attr.set_inherit(1);
                    tid.cast_signed()
                }
                Whom::Cgroup(folder) => {
                    flags |= bindings::PERF_FLAG_PID_CGROUP;
                    folder.as_raw_fd()
                }
            };
            // SAFETY: `attr` is a whole perf_event_attr with its size in it; the call keeps no pointer to it.
            let fd = unsafe { sys::perf_event_open(&raw mut attr, pid, cpu.cast_signed(), -1, flags.into()) };
            match fd {
                // SAFETY: a new descriptor that nobody else has.
                0.. => Ok(unsafe { OwnedFd::from_raw_fd(fd) }),
                _ => Err(io::Error::last_os_error()),
            }
        };
        match open(u64::from(bindings::PERF_FORMAT_LOST)) {
            Ok(fd) => Ok(Event { fd, says_lost: true }),
            Err(e) if e.raw_os_error() == Some(libc::EINVAL) => open(0).map(|fd| Event { fd, says_lost: false }),
            Err(e) => Err(e),
        }
    }

    /// Makes its records go into another's ring.
    pub fn output_into(&self, ring: &Ring) -> io::Result<()> {
        // SAFETY: both descriptors are open; the call takes no pointer.
        check(unsafe { sys::ioctls::SET_OUTPUT(self.fd.as_raw_fd(), ring.event.fd.as_raw_fd()) })
    }

    /// Only records that match; the language is that of tracefs.
    pub fn set_filter(&self, filter: &str) -> io::Result<()> {
        let text = CString::new(filter)?;
        // SAFETY: a text that ends with NUL, which the kernel copies and does not change.
        check(unsafe { sys::ioctls::SET_FILTER(self.fd.as_raw_fd(), text.as_ptr().cast_mut()) })
    }

    /// Switches it on.
    pub fn enable(&self) -> io::Result<()> {
        // SAFETY: an open descriptor; the call takes no pointer.
        check(unsafe { sys::ioctls::ENABLE(self.fd.as_raw_fd(), 0) })
    }

    /// Switches it off; when this returns nothing more is written.
    pub fn disable(&self) -> io::Result<()> {
        // SAFETY: an open descriptor; the call takes no pointer.
        check(unsafe { sys::ioctls::DISABLE(self.fd.as_raw_fd(), 0) })
    }

    /// Whether its task has ended, and all that inherited it.
    pub fn has_hung_up(&self) -> bool {
        let mut fds = [PollFd::new(&self.fd, PollFlags::empty())];
        let done = poll(&mut fds, Some(&Timespec::default()));
        done.is_ok() && fds.iter().any(|f| f.revents().contains(PollFlags::HUP))
    }

    /// How often it happened, and how many of these found no room; the latter is `None` on old kernels.
    pub fn counts(&self) -> io::Result<(u64, Option<u64>)> {
        let mut words = [0u8; 16];
        let n = rustix::io::read(&self.fd, &mut words)?;
        let word = |i: usize| {
            words
                .get(i * 8..)
                .and_then(|w| w.first_chunk())
                .map(|w| u64::from_ne_bytes(*w))
        };
        let lost = if self.says_lost && n >= 16 { word(1) } else { None };
        Ok((word(0).unwrap_or(0), lost))
    }
}

fn check(returned: i32) -> io::Result<()> {
    match returned {
        0.. => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// A ring shared with the kernel: it writes at the head, we read from the tail.
#[derive(Debug)]
pub struct Ring {
    event: Event,
    base: *mut u8,
    mapped: usize,
    data: usize,
    size: usize,
    tail: u64,
}

// SAFETY: the mapping belongs to this value alone; what the kernel changes is read through atomics.
unsafe impl Send for Ring {}

impl Ring {
    /// Maps a ring of `bytes` (a power of two of pages) that `event`, a [`What::Ring`], owns.
    pub fn map(event: Event, bytes: usize) -> io::Result<Ring> {
        let page = rustix::param::page_size();
        let mapped = bytes + page;
        let (access, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED);
        // SAFETY: a new mapping at an address the kernel chooses.
        let base = unsafe { libc::mmap(std::ptr::null_mut(), mapped, access, flags, event.fd.as_raw_fd(), 0) };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Ring {
            event,
            base: base.cast(),
            mapped,
            data: page,
            size: bytes,
            tail: 0,
        })
    }

    fn header(&self) -> *mut bindings::perf_event_mmap_page {
        self.base.cast()
    }

    /// Appends all that is waiting, whole records; returns how many bytes.
    pub fn take(&mut self, out: &mut Vec<u8>) -> usize {
        // SAFETY: the header page is mapped as long as self lives, and its fields are aligned; the kernel writes data_head
        // concurrently, which the atomic load allows. Acquire pairs with the kernel's barrier before it moves the head.
        let head = unsafe { AtomicU64::from_ptr(&raw mut (*self.header()).data_head) }.load(Ordering::Acquire);
        let n = (head.wrapping_sub(self.tail) as usize).min(self.size);
        let start = (self.tail % self.size as u64) as usize;
        let first = n.min(self.size - start);
        // SAFETY: both pieces lie inside the data pages, and the kernel does not write between tail and head.
        let pieces = unsafe {
            let data = self.base.add(self.data);
            [
                std::slice::from_raw_parts(data.add(start), first),
                std::slice::from_raw_parts(data, n - first),
            ]
        };
        for piece in pieces {
            out.extend_from_slice(piece);
        }
        self.tail = head;
        // SAFETY: as above. Release: the kernel may overwrite what was copied only after the copy.
        unsafe { AtomicU64::from_ptr(&raw mut (*self.header()).data_tail) }.store(head, Ordering::Release);
        n
    }

    /// For poll: readable when `wake_at` bytes wait.
    pub fn fd(&self) -> &OwnedFd {
        &self.event.fd
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: the mapping of `map`, which nothing refers to any more.
        unsafe { libc::munmap(self.base.cast(), self.mapped) };
    }
}
