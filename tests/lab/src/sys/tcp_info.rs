//! What TCP itself counted on a socket: TCP_INFO (tcp(7), struct tcp_info of include/uapi/linux/tcp.h).

use std::io::Result;
use std::os::fd::{AsFd, AsRawFd};

use super::check;

/// What is compared, and what tells why a sender waited. 0 where the kernel has no such field.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TcpInfo {
    /// Segments not yet acknowledged.
    pub unacked: u32,
    /// `tcpi_total_retrans`: segments.
    pub total_retrans: u32,
    /// `tcpi_bytes_received`: in order.
    pub bytes_received: u64,
    /// Bytes written and not yet sent.
    pub notsent_bytes: u32,
    /// Time held by the receiver's window, us.
    pub rwnd_limited_us: u64,
}

/// Of a TCP socket, now.
pub fn tcp_info(socket: &impl AsFd) -> Result<TcpInfo> {
    // Later kernels append fields; these have stood at their places since they came.
    let mut raw = [0u8; 256];
    let mut len = raw.len() as libc::socklen_t;
    // SAFETY: the kernel writes at most `len` bytes into `raw`, which has as many.
    check(unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            raw.as_mut_ptr().cast(),
            &raw mut len,
        )
    })?;
    let u32_at = |at: usize| u32::from_ne_bytes(std::array::from_fn(|i| raw[at + i]));
    let u64_at = |at: usize| u64::from_ne_bytes(std::array::from_fn(|i| raw[at + i]));
    Ok(TcpInfo {
        unacked: u32_at(24),
        total_retrans: u32_at(100),
        bytes_received: u64_at(128),
        notsent_bytes: u32_at(144),
        rwnd_limited_us: u64_at(176),
    })
}
