//! The one system call of ethtool. Here is the second `unsafe` of this crate: the structure behind the call's pointer has
//! no safe interface. The netlink way of ethtool would need none, but lacks driver and statistics, and is of 5.6 and later.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

/// Room behind the expected answer: kernels before 6.17 write as many strings or statistics as the driver has at that
/// moment, whatever the caller has room for, and the number can grow between two calls.
const SLACK_BYTES: usize = 64 << 10;

/// Asks about interfaces of the network namespace in which it was made.
pub struct Ethtool(OwnedFd);

impl Ethtool {
    /// A socket to ask through.
    pub fn new() -> io::Result<Ethtool> {
        Ok(Ethtool(socket_with(
            AddressFamily::INET,
            SocketType::DGRAM,
            SocketFlags::CLOEXEC,
            None,
        )?))
    }

    /// Sends the command structure `request` and returns its first `expect` bytes as the kernel filled them.
    pub fn ask(&self, interface: &str, request: &[u32], expect: usize) -> io::Result<Vec<u8>> {
        let mut data: Vec<u8> = request.iter().flat_map(|w| w.to_ne_bytes()).collect();
        let wanted = expect.max(data.len());
        data.resize(wanted.saturating_mul(2).saturating_add(SLACK_BYTES), 0);
        // SAFETY: zero is a valid ifreq.
        let mut ifr: libc::ifreq = unsafe { std::mem::zeroed() };
        let room = ifr.ifr_name.len().saturating_sub(1);
        if interface.len() > room {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        for (to, from) in ifr.ifr_name.iter_mut().zip(interface.bytes()) {
            *to = from.cast_signed() as libc::c_char;
        }
        ifr.ifr_ifru.ifru_data = data.as_mut_ptr().cast();
        // SAFETY: `ifr` is valid for the call and its name ends with NUL; its pointer is to `data`, which lives across the
        // call and is larger than what any command used here writes (see SLACK_BYTES).
        let done = unsafe { libc::ioctl(self.0.as_raw_fd(), libc::SIOCETHTOOL as _, &mut ifr) };
        if done < 0 {
            return Err(io::Error::last_os_error());
        }
        data.truncate(wanted);
        Ok(data)
    }
}
