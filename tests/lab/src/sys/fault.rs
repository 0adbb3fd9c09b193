//! Memory whose first use waits for us (userfaultfd(2)): a copy to or from it lasts exactly as long as we want, with
//! whatever the kernel holds meanwhile.

use std::io::{Error, Result};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::time::Duration;

use super::{check, now_ns};

const PAGE: usize = 4096;
const UFFD_API: u64 = 0xaa;
const UFFDIO_API: libc::Ioctl = 0xc018_aa3f_u32 as libc::Ioctl;
const UFFDIO_REGISTER: libc::Ioctl = 0xc020_aa00_u32 as libc::Ioctl;
const UFFDIO_ZEROPAGE: libc::Ioctl = 0xc020_aa04_u32 as libc::Ioctl;
const MODE_MISSING: u64 = 1;

/// Pages that are not there yet.
#[derive(Debug)]
pub struct Fault {
    fd: OwnedFd,
    at: *mut libc::c_void,
    pages: usize,
}

// SAFETY: the pointer is only handed out as slices of pages that belong to this value.
unsafe impl Send for Fault {}
// SAFETY: as above; the kernel serialises faults.
unsafe impl Sync for Fault {}

impl Fault {
    /// Maps `pages` pages.
    pub fn new(pages: usize) -> Result<Fault> {
        // SAFETY: plain values; results are checked before they are used.
        let (fd, at) = unsafe {
            let fd = libc::syscall(libc::SYS_userfaultfd, libc::O_CLOEXEC);
            let fd = i32::try_from(fd).map_err(Error::other)?;
            if fd < 0 {
                return Err(Error::last_os_error());
            }
            let fd = OwnedFd::from_raw_fd(fd);
            let at = libc::mmap(
                std::ptr::null_mut(),
                pages * PAGE,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            );
            if at == libc::MAP_FAILED {
                return Err(Error::last_os_error());
            }
            (fd, at)
        };
        let this = Fault { fd, at, pages };
        let mut api = [UFFD_API, 0, 0];
        let mut register = [at as u64, (pages * PAGE) as u64, MODE_MISSING, 0];
        // SAFETY: the arrays have the sizes that the requests state (24 and 32 bytes) and live through the calls.
        unsafe {
            check(libc::ioctl(this.fd.as_raw_fd(), UFFDIO_API, api.as_mut_ptr()))?;
            check(libc::ioctl(this.fd.as_raw_fd(), UFFDIO_REGISTER, register.as_mut_ptr()))?;
        }
        Ok(this)
    }
    /// The bytes of a page: whoever reads them first waits for [`Fault::serve`].
    pub fn page(&self, n: usize) -> &[u8] {
        let n = n.min(self.pages - 1);
        // SAFETY: inside the mapping, which lives as long as self; reading waits, then sees zeroes.
        unsafe { std::slice::from_raw_parts(self.at.cast::<u8>().add(n * PAGE), PAGE) }
    }
    /// The same to write into.
    pub fn page_mut(&mut self, n: usize) -> &mut [u8] {
        let n = n.min(self.pages - 1);
        // SAFETY: inside the mapping, and self is borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.at.cast::<u8>().add(n * PAGE), PAGE) }
    }
    /// The descriptor that tells of faults, for whoever serves them while the pages are in use.
    pub fn server(&self) -> Result<Server> {
        Ok(Server(self.fd.try_clone()?))
    }
}

impl Drop for Fault {
    fn drop(&mut self) {
        // SAFETY: our own mapping.
        unsafe { libc::munmap(self.at, self.pages * PAGE) };
    }
}

/// Serves faults.
#[derive(Debug)]
pub struct Server(OwnedFd);

impl AsFd for Server {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Server {
    /// Waits for a fault; returns its page's address and when it was seen.
    pub fn wait(&self) -> Result<(u64, i64)> {
        // struct uffd_msg: event u8 (0x12 = pagefault) at 0, its address at 16.
        let mut message = [0u64; 4];
        let bytes: &mut [u8] = {
            // SAFETY: 32 plain bytes.
            unsafe { std::slice::from_raw_parts_mut(message.as_mut_ptr().cast(), 32) }
        };
        rustix::io::read(&self.0, bytes)?;
        Ok((message[2] & !(PAGE as u64 - 1), now_ns()))
    }
    /// Lets whoever waits for the page go on; returns when.
    pub fn serve(&self, page: u64) -> Result<i64> {
        let mut zero = [page, PAGE as u64, 0, 0];
        // SAFETY: 32 bytes as the request states, alive through the call.
        check(unsafe { libc::ioctl(self.0.as_raw_fd(), UFFDIO_ZEROPAGE, zero.as_mut_ptr()) })?;
        Ok(now_ns())
    }
    /// Waits for a fault, then `long`, then serves it: when it was seen and when it was served.
    pub fn delay(&self, long: Duration) -> Result<(i64, i64)> {
        let (page, seen) = self.wait()?;
        std::thread::sleep(long);
        Ok((seen, self.serve(page)?))
    }
}
