//! setsockopt and send as they are (socket(7), send(2)).

use std::io::{Error, Result};
use std::os::fd::{AsFd, AsRawFd};

use super::check;

/// setsockopt with a value of any plain type (`i32`, or a byte array).
pub fn set<T: Copy>(socket: &impl AsFd, level: i32, option: i32, value: T) -> Result<()> {
    // SAFETY: the kernel reads `size_of::<T>()` bytes of `value`.
    check(unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            level,
            option,
            (&raw const value).cast(),
            size_of::<T>() as libc::socklen_t,
        )
    })
}

/// send(2) with flags; the bytes taken.
pub fn send(socket: &impl AsFd, bytes: &[u8], flags: i32) -> Result<usize> {
    // SAFETY: the kernel reads `bytes`.
    let n = unsafe {
        libc::send(
            socket.as_fd().as_raw_fd(),
            bytes.as_ptr().cast(),
            bytes.len(),
            flags | libc::MSG_NOSIGNAL,
        )
    };
    usize::try_from(n).map_err(|_| Error::last_os_error())
}
