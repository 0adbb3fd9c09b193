//! System calls of sockets and tun devices without a safe interface: attaching to a device, options, `tcp_info`.
#![allow(unsafe_code)] // ioctl, send with flags, getsockopt and setsockopt of raw structures

use std::fs::File;
use std::io::{Error, Result};
use std::os::fd::{AsFd, AsRawFd};

/// A layer of packets for [`attach`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layer {
    /// tun: IP packets.
    Ip,
    /// tap: Ethernet frames.
    Ethernet,
}

/// Makes the tun or tap device `name` in this thread's namespace; it lives until the file is closed. One packet a read
/// or write, without a header.
pub fn attach(name: &str, layer: Layer) -> Result<File> {
    let file = File::options().read(true).write(true).open("/dev/net/tun")?;
    let kind = match layer {
        Layer::Ip => libc::IFF_TUN,
        Layer::Ethernet => libc::IFF_TAP,
    };
    let mut request = [0u8; 40]; // struct ifreq: 16 bytes of name, then the flags
    for (to, from) in request.iter_mut().zip(name.bytes().take(15)) {
        *to = from;
    }
    let flags = (kind | libc::IFF_NO_PI) as u16;
    request[16..18].copy_from_slice(&flags.to_ne_bytes());
    // SAFETY: TUNSETIFF reads and writes a struct ifreq, which is what `request` is.
    if unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF as _, request.as_mut_ptr()) } != 0 {
        return Err(Error::last_os_error());
    }
    Ok(file)
}

/// Keeps another task on one CPU.
pub fn pin_other(pid: i32, cpu: usize) -> Result<()> {
    let mut set = rustix::thread::CpuSet::new();
    set.set(cpu);
    Ok(rustix::thread::sched_setaffinity(
        rustix::thread::Pid::from_raw(pid),
        &set,
    )?)
}

/// setsockopt with a value of any plain type (`i32`, or a byte array).
pub fn set<T: Copy>(socket: &impl AsFd, level: i32, option: i32, value: T) -> Result<()> {
    // SAFETY: the kernel reads `size_of::<T>()` bytes of `value`.
    let rc = unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            level,
            option,
            (&raw const value).cast(),
            size_of::<T>() as libc::socklen_t,
        )
    };
    if rc == 0 { Ok(()) } else { Err(Error::last_os_error()) }
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

/// The part of `struct tcp_info` (include/uapi/linux/tcp.h) that says why a sender waited.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TcpInfo {
    /// Segments not yet acknowledged.
    pub unacked: u32,
    /// Smoothed round trip, us.
    pub rtt_us: u32,
    /// Congestion window, segments.
    pub cwnd: u32,
    /// Retransmitted segments of the connection.
    pub total_retrans: u32,
    /// Bytes written and not yet sent.
    pub notsent_bytes: u32,
    /// Time with data outstanding or waiting, us.
    pub busy_us: u64,
    /// Of it: held by the receiver's window, us.
    pub rwnd_limited_us: u64,
    /// Of it: held by the send buffer, us.
    pub sndbuf_limited_us: u64,
}

/// tcp_info of a connection. Fields that a kernel does not have are 0.
pub fn tcp_info(socket: &impl AsFd) -> Result<TcpInfo> {
    let mut raw = [0u8; 256];
    let mut len = raw.len() as libc::socklen_t;
    // SAFETY: the kernel writes at most `len` bytes into `raw`.
    let rc = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            raw.as_mut_ptr().cast(),
            &mut len,
        )
    };
    if rc != 0 {
        return Err(Error::last_os_error());
    }
    let u32_at = |at: usize| {
        raw.get(at..at + 4)
            .and_then(|b| b.try_into().ok())
            .map_or(0, u32::from_ne_bytes)
    };
    let u64_at = |at: usize| {
        raw.get(at..at + 8)
            .and_then(|b| b.try_into().ok())
            .map_or(0, u64::from_ne_bytes)
    };
    Ok(TcpInfo {
        unacked: u32_at(24),
        rtt_us: u32_at(68),
        cwnd: u32_at(80),
        total_retrans: u32_at(100),
        notsent_bytes: u32_at(144),
        busy_us: u64_at(168),
        rwnd_limited_us: u64_at(176),
        sndbuf_limited_us: u64_at(184),
    })
}
