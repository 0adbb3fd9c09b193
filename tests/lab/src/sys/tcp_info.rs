//! What TCP itself counted on a socket: TCP_INFO (tcp(7), struct tcp_info of include/uapi/linux/tcp.h).

use std::io::Result;
use std::os::fd::AsRawFd;

use super::check;

/// The counters that are compared.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TcpInfo {
    /// `tcpi_total_retrans`: segments.
    pub total_retrans: u32,
    /// `tcpi_bytes_acked`.
    pub bytes_acked: u64,
    /// `tcpi_bytes_received`: in order.
    pub bytes_received: u64,
}

/// Of a TCP socket, now.
pub fn tcp_info(socket: &impl AsRawFd) -> Result<TcpInfo> {
    // Later kernels append fields; these have stood at their places since 4.1.
    let mut bytes = [0u8; 136];
    let mut len = bytes.len() as libc::socklen_t;
    // SAFETY: the buffer lives through the call and has the length that is said.
    check(unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            bytes.as_mut_ptr().cast(),
            &raw mut len,
        )
    })?;
    let u64_at = |at: usize| u64::from_ne_bytes(std::array::from_fn(|i| bytes[at + i]));
    Ok(TcpInfo {
        total_retrans: u32::from_ne_bytes(std::array::from_fn(|i| bytes[100 + i])),
        bytes_acked: u64_at(120),
        bytes_received: u64_at(128),
    })
}
