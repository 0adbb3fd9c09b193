//! Dump requests over netlink (net/netlink/af_netlink.c): one request, answers until NLMSG_DONE.
//!
//! Framing and attributes are netlink-packet-core's. Its sisters for routes and sockets are not used: they refuse whole
//! messages whose structures are shorter than the newest kernel's, and drop what is longer.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use netlink_packet_core::{NLA_HEADER_SIZE, NetlinkBuffer, NlaBuffer, NlasIterator};
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, Protocol, RecvFlags, SendFlags, SocketFlags, SocketType, recv, sendto, socket_with};

const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const NLM_F_REQUEST: u16 = 1;
const NLM_F_DUMP_INTR: u16 = 0x10;
const NLM_F_DUMP: u16 = 0x300;
const HEADER_BYTES: usize = 16;

/// No answer of the kernel takes this long; a recorder must not hang on one that never comes.
const PATIENCE: Duration = Duration::from_secs(2);
/// The kernel sends at most 32 KiB at once (`netlink_dump`).
const BUFFER_BYTES: usize = 64 << 10;

/// How a dump ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Dumped {
    /// The kernel says that the table changed while it was read: entries may be missing or twice.
    pub changed: bool,
    /// `each` had enough before the end.
    pub cut: bool,
}

/// Sends one dump request to `protocol` (`None` is NETLINK_ROUTE) and hands the body of every answer to `each`, until
/// that returns false. Works in the network namespace of the calling thread.
pub fn dump(
    protocol: Option<Protocol>,
    message_type: u16,
    body: &[u8],
    each: &mut dyn FnMut(&[u8]) -> bool,
) -> io::Result<Dumped> {
    let fd = ask(protocol, message_type, NLM_F_DUMP, body)?;
    answers(&fd, each)
}

/// Sends one request with these flags, too, by a socket that waits for an answer for so long at most.
pub fn ask(protocol: Option<Protocol>, message_type: u16, flags: u16, body: &[u8]) -> io::Result<OwnedFd> {
    let fd = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, protocol)?;
    set_socket_timeout(&fd, Timeout::Recv, Some(PATIENCE))?;
    let length = u32::try_from(HEADER_BYTES + body.len()).unwrap_or(u32::MAX);
    let mut request = Vec::with_capacity(HEADER_BYTES + body.len());
    request.extend_from_slice(&length.to_ne_bytes());
    request.extend_from_slice(&message_type.to_ne_bytes());
    request.extend_from_slice(&(NLM_F_REQUEST | flags).to_ne_bytes());
    // Sequence number and port: one request per socket, the kernel is port 0.
    request.extend_from_slice(&[0; 8]);
    request.extend_from_slice(body);
    sendto(&fd, &request, SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
    Ok(fd)
}

fn answers(fd: &OwnedFd, each: &mut dyn FnMut(&[u8]) -> bool) -> io::Result<Dumped> {
    let mut out = Dumped::default();
    let mut buffer = vec![0u8; BUFFER_BYTES];
    loop {
        let (n, _) = recv(fd, &mut *buffer, RecvFlags::empty())?;
        let mut rest = buffer.get(..n).unwrap_or_default();
        if rest.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        while !rest.is_empty() {
            let message = NetlinkBuffer::new_checked(rest).map_err(io::Error::other)?;
            out.changed |= message.flags() & NLM_F_DUMP_INTR != 0;
            let body = message.payload();
            match message.message_type() {
                NLMSG_DONE | NLMSG_ERROR => {
                    let code = body.first_chunk::<4>().map_or(0, |c| i32::from_ne_bytes(*c));
                    return match code {
                        0.. => Ok(out),
                        n => Err(io::Error::from_raw_os_error(n.saturating_neg())),
                    };
                }
                _ if !each(body) => return Ok(Dumped { cut: true, ..out }),
                _ => {}
            }
            let step = (message.length() as usize).next_multiple_of(4);
            rest = rest.get(step..).unwrap_or_default();
        }
    }
}

/// Attributes as (type, value), up to the first that is damaged.
pub fn attributes(bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    let of = |a: NlaBuffer<_>| {
        let (kind, length) = (a.kind(), usize::from(a.length()));
        // `NlaBuffer::value` borrows from the view instead of from the bytes.
        let whole: &[u8] = a.into_inner();
        Some((kind, whole.get(NLA_HEADER_SIZE..length)?))
    };
    NlasIterator::new(bytes).map_while(move |a| of(a.ok()?))
}

/// A text attribute: up to its NUL.
pub fn text(value: &[u8]) -> String {
    let end = value.iter().position(|b| *b == 0).unwrap_or(value.len());
    word(&String::from_utf8_lossy(value.get(..end).unwrap_or_default()))
}

/// A text as one word of a `key=value` line: what would end the word or the line becomes `?`.
pub fn word(text: &str) -> String {
    let plain = |c: char| if c.is_whitespace() || c.is_control() { '?' } else { c };
    text.chars().map(plain).collect()
}

/// Number `n` of an array of u32 in the byte order of the host.
pub fn u32_at(value: &[u8], n: usize) -> Option<u32> {
    value
        .get(n.checked_mul(4)?..)?
        .first_chunk::<4>()
        .map(|c| u32::from_ne_bytes(*c))
}

/// Lower-case hex.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |s, b| s + &format!("{b:02x}"))
}
