//! A netlink socket that hears what the kernel announces, in its own network namespace and in those that have a number there. `unsafe`, because neither
//! the option for that nor the number that comes beside a message has a safe interface.
#![allow(unsafe_code)]

use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, Protocol, SocketFlags, SocketType, bind, socket_with};

/// Room for the numbers beside a message.
const CONTROL_BYTES: usize = 128;

/// One.
#[derive(Debug)]
pub struct Socket {
    fd: OwnedFd,
    /// It hears the others, too.
    pub all: bool,
}

/// What came.
#[derive(Debug, PartialEq, Eq)]
pub enum Came {
    /// So many bytes of messages, of the namespace with this number here; without one of this.
    Messages(usize, Option<i32>),
    /// Something was lost before what comes next.
    Lost,
    /// Nothing more.
    Nothing,
}

impl Socket {
    /// Hears groups, as a mask, in a buffer of so many bytes: what finds no room is lost, and the kernel says so once. `all`: of all namespaces that have a
    /// number in this.
    pub fn open(protocol: Option<Protocol>, groups: u32, (bytes, all): (i32, bool)) -> io::Result<Socket> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let fd = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, protocol)?;
        // Beyond net.core.rmem_max where the recorder may; a smaller one loses sooner.
        _ = set(&fd, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, bytes);
        // Without CAP_NET_BROADCAST it is refused: then the others are heard by sockets inside them.
        let all = all && set(&fd, libc::SOL_NETLINK, libc::NETLINK_LISTEN_ALL_NSID, 1).is_ok();
        bind(&fd, &SocketAddrNetlink::new(0, groups))?;
        Ok(Socket { fd, all })
    }

    /// The next messages, into `buffer`.
    pub fn next(&self, buffer: &mut [u8]) -> Came {
        let mut control = [0u64; CONTROL_BYTES / 8];
        let mut part = libc::iovec {
            iov_base: buffer.as_mut_ptr().cast(),
            iov_len: buffer.len(),
        };
        // SAFETY: all-zero bytes are a valid msghdr.
        let mut message: libc::msghdr = unsafe { zeroed() };
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = CONTROL_BYTES as _;
        // SAFETY: the header points to a buffer and to control bytes that live, with their true lengths, until it returns.
        let n = unsafe { libc::recvmsg(self.fd.as_raw_fd(), &raw mut message, libc::MSG_DONTWAIT) };
        let Ok(n) = usize::try_from(n) else {
            return match io::Error::last_os_error().raw_os_error() {
                Some(libc::ENOBUFS) => Came::Lost,
                Some(libc::EINTR) => Came::Messages(0, None),
                _ => Came::Nothing,
            };
        };
        let mut nsid = None;
        // SAFETY: the kernel filled the header's control bytes, and CMSG_* stay inside their length; the value's may be unaligned.
        unsafe {
            let mut c = libc::CMSG_FIRSTHDR(&raw const message);
            while !c.is_null() {
                let long = (*c).cmsg_len as usize >= libc::CMSG_LEN(size_of::<i32>() as u32) as usize;
                if (*c).cmsg_level == libc::SOL_NETLINK && (*c).cmsg_type == libc::NETLINK_LISTEN_ALL_NSID && long {
                    nsid = Some(libc::CMSG_DATA(c).cast::<i32>().read_unaligned());
                }
                c = libc::CMSG_NXTHDR(&raw const message, c);
            }
        }
        match message.msg_flags & libc::MSG_TRUNC {
            0 => Came::Messages(n.min(buffer.len()), nsid),
            _ => Came::Lost,
        }
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

fn set(fd: &OwnedFd, level: libc::c_int, name: libc::c_int, value: libc::c_int) -> io::Result<()> {
    let length = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: the value's pointer and length are those of a c_int that lives until the call returns.
    let done = unsafe { libc::setsockopt(fd.as_raw_fd(), level, name, (&raw const value).cast(), length) };
    match done {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
