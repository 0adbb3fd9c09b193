//! AF_PACKET sockets (packet(7)) and classic BPF filters on them.

use std::io::{Error, Result};
use std::mem::{size_of, zeroed};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use super::check;

/// A raw packet socket of one device.
#[derive(Debug)]
pub struct PacketSocket(OwnedFd);

/// A packet and where it went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Received {
    /// Bytes in the caller's buffer, from the link header on.
    pub len: usize,
    /// Whether this host sent it.
    pub outgoing: bool,
}

impl AsFd for PacketSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl AsRawFd for PacketSocket {
    fn as_raw_fd(&self) -> i32 {
        self.0.as_raw_fd()
    }
}

impl PacketSocket {
    /// Of a device in the namespace of the calling thread. It sees nothing before [`PacketSocket::bind`].
    pub fn new() -> Result<PacketSocket> {
        // SAFETY: plain values; the result is checked before it is owned.
        let fd = unsafe { libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) };
        if fd < 0 {
            return Err(Error::last_os_error());
        }
        // SAFETY: a descriptor just made, nobody else's.
        Ok(PacketSocket(unsafe { OwnedFd::from_raw_fd(fd) }))
    }
    /// Sees every packet of `dev` from now on.
    pub fn bind(&self, dev: &str) -> Result<()> {
        let index = rustix::net::netdevice::name_to_index(self, dev)?;
        // SAFETY: zero is a valid sockaddr_ll.
        let mut address: libc::sockaddr_ll = unsafe { zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
        address.sll_ifindex = i32::try_from(index).map_err(Error::other)?;
        // SAFETY: the address lives through the call, the length is its own.
        check(unsafe {
            libc::bind(
                self.as_raw_fd(),
                (&raw const address).cast(),
                size_of::<libc::sockaddr_ll>() as libc::socklen_t,
            )
        })
    }
    /// Takes one packet without waiting; `None` when there is none.
    pub fn take(&self, buffer: &mut [u8]) -> Result<Option<Received>> {
        // SAFETY: zero is a valid sockaddr_ll; buffer and address live through the call with their own lengths.
        let (n, kind) = unsafe {
            let mut address: libc::sockaddr_ll = zeroed();
            let mut len = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
            let n = libc::recvfrom(
                self.as_raw_fd(),
                buffer.as_mut_ptr().cast(),
                buffer.len(),
                libc::MSG_DONTWAIT,
                (&raw mut address).cast(),
                &raw mut len,
            );
            (n, address.sll_pkttype)
        };
        match usize::try_from(n) {
            Ok(len) => Ok(Some(Received {
                len,
                outgoing: kind == libc::PACKET_OUTGOING,
            })),
            Err(_) => match Error::last_os_error() {
                e if e.kind() == std::io::ErrorKind::WouldBlock => Ok(None),
                e => Err(e),
            },
        }
    }
}

const fn op(code: u16, jt: u8, jf: u8, k: u32) -> libc::sock_filter {
    libc::sock_filter { code, jt, jf, k }
}

/// A filter that accepts nothing, and for packets longer than `least` bytes computes so many divisions first.
pub fn burning_filter(socket: &impl AsRawFd, least: u32, divisions: usize) -> Result<()> {
    // ld len; jgt #least; ret 0 | ldx #3; ld #-1; div x ... ; ret 0: see BPF in socket(7).
    let mut code = vec![
        op(0x80, 0, 0, 0),
        op(0x25, 1, 0, least),
        op(0x06, 0, 0, 0),
        op(0x01, 0, 0, 3),
    ];
    for _ in 0..divisions {
        code.push(op(0x00, 0, 0, u32::MAX));
        code.push(op(0x3c, 0, 0, 0));
    }
    code.push(op(0x06, 0, 0, 0));
    let program = libc::sock_fprog {
        len: u16::try_from(code.len()).map_err(Error::other)?,
        filter: code.as_mut_ptr(),
    };
    // SAFETY: program and code live through the call, the length is theirs.
    check(unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_ATTACH_FILTER,
            (&raw const program).cast(),
            size_of::<libc::sock_fprog>() as libc::socklen_t,
        )
    })
}
