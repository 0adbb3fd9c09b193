//! One io_uring (io_uring(7)) that reads from sockets, one request at a time.

use std::io::{Error, Result};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicU32, Ordering};

const ENTRIES: u32 = 4;
const OP_RECV: u8 = 27;
const ENTER_GETEVENTS: u32 = 1;
const OFF_SQES: libc::off_t = 0x1000_0000;
const SQE: usize = 64;
/// Both rings in one mapping, since 5.4.
const FEAT_SINGLE_MMAP: u32 = 1;

/// `struct io_uring_params`: sq_entries, cq_entries, flags, …, features at 5, `sq_off` at 10, `cq_off` at 20; in words.
type Params = [u32; 30];

#[derive(Debug)]
struct Map(*mut libc::c_void, usize);

impl Map {
    fn new(fd: &OwnedFd, len: usize, at: libc::off_t) -> Result<Map> {
        let (rw, shared) = (
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED | libc::MAP_POPULATE,
        );
        // SAFETY: plain values; the result is checked before it is used.
        let p = unsafe { libc::mmap(std::ptr::null_mut(), len, rw, shared, fd.as_raw_fd(), at) };
        if p == libc::MAP_FAILED {
            Err(Error::last_os_error())
        } else {
            Ok(Map(p, len))
        }
    }
    fn word(&self, at: u32) -> &AtomicU32 {
        assert!(at as usize + 4 <= self.1, "the kernel's offsets lie in its mapping");
        // SAFETY: inside the mapping, aligned as the kernel lays it out, alive as long as self.
        unsafe { &*self.0.cast::<u8>().add(at as usize).cast::<AtomicU32>() }
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        // SAFETY: our own mapping.
        unsafe { libc::munmap(self.0, self.1) };
    }
}

/// The ring.
#[derive(Debug)]
pub struct Ring {
    rings: Map,
    entries: Map,
    params: Params,
    fd: OwnedFd,
}

// SAFETY: whoever owns the ring alone uses its mappings; nothing in it belongs to a thread.
unsafe impl Send for Ring {}

impl Ring {
    /// Makes one. Fails where the kernel has none, or forbids it (`kernel.io_uring_disabled`).
    pub fn new() -> Result<Ring> {
        let mut params: Params = [0; 30];
        // SAFETY: the kernel reads and writes 120 bytes of `params`; the result is checked before it is owned.
        let fd = unsafe {
            let fd = libc::syscall(libc::SYS_io_uring_setup, ENTRIES, params.as_mut_ptr());
            let fd = i32::try_from(fd).map_err(Error::other)?;
            if fd < 0 {
                return Err(Error::last_os_error());
            }
            OwnedFd::from_raw_fd(fd)
        };
        if params[5] & FEAT_SINGLE_MMAP == 0 {
            return Err(Error::other("this kernel maps the two rings apart"));
        }
        // The submission ring ends with its array of numbers, the completion ring with its entries of 16 bytes.
        let (sq_end, cq_end) = (params[16] + params[0] * 4, params[25] + params[1] * 16);
        let rings = Map::new(&fd, sq_end.max(cq_end) as usize, 0)?;
        let entries = Map::new(&fd, params[0] as usize * SQE, OFF_SQES)?;
        Ok(Ring {
            rings,
            entries,
            params,
            fd,
        })
    }
    /// recv(2) through the ring: submits it, and waits until it is complete.
    pub fn recv(&mut self, socket: &impl AsFd, buffer: &mut [u8]) -> Result<usize> {
        let mut entry = [0u8; SQE];
        entry[0] = OP_RECV;
        entry[4..8].copy_from_slice(&socket.as_fd().as_raw_fd().to_ne_bytes());
        entry[16..24].copy_from_slice(&(buffer.as_mut_ptr() as u64).to_ne_bytes());
        entry[24..28].copy_from_slice(&u32::try_from(buffer.len()).map_err(Error::other)?.to_ne_bytes());
        let [tail, mask, array] = [self.params[11], self.params[12], self.params[16]];
        let at = self.rings.word(tail).load(Ordering::Relaxed);
        let slot = at & self.rings.word(mask).load(Ordering::Relaxed);
        // SAFETY: the mask keeps the slot inside the mapped entries; nobody else writes there.
        unsafe {
            let to = self.entries.0.cast::<u8>().add(slot as usize * SQE);
            std::ptr::copy_nonoverlapping(entry.as_ptr(), to, SQE);
        }
        self.rings.word(array + 4 * slot).store(slot, Ordering::Relaxed);
        self.rings.word(tail).store(at.wrapping_add(1), Ordering::Release);
        let mut submit = 1u32;
        loop {
            if let Some(done) = self.completed() {
                return usize::try_from(done).map_err(|_| Error::from_raw_os_error(-done));
            }
            let none = std::ptr::null::<libc::c_void>();
            // SAFETY: plain values. The kernel writes to `buffer`, which is borrowed until the request is complete.
            let taken = unsafe {
                let fd = self.fd.as_raw_fd();
                libc::syscall(
                    libc::SYS_io_uring_enter,
                    fd,
                    submit,
                    1u32,
                    ENTER_GETEVENTS,
                    none,
                    0usize,
                )
            };
            if taken < 0 {
                // To leave while the kernel may still write to the buffer would be unsound: only a signal is no error.
                let e = Error::last_os_error();
                assert!(e.kind() == std::io::ErrorKind::Interrupted, "io_uring_enter: {e}");
            } else {
                submit = 0;
            }
        }
    }
    /// The result of the oldest completion, taken away.
    fn completed(&self) -> Option<i32> {
        let [head, tail, mask, cqes] = [self.params[20], self.params[21], self.params[22], self.params[25]];
        let at = self.rings.word(head).load(Ordering::Relaxed);
        if at == self.rings.word(tail).load(Ordering::Acquire) {
            return None;
        }
        let slot = at & self.rings.word(mask).load(Ordering::Relaxed);
        // struct io_uring_cqe: user_data u64, res i32, flags u32.
        let result = self.rings.word(cqes + 16 * slot + 8).load(Ordering::Relaxed);
        self.rings.word(head).store(at.wrapping_add(1), Ordering::Release);
        Some(result as i32)
    }
}
