//! The kernel's own stamps of what a socket sends: SO_TIMESTAMPING (Documentation/networking/timestamping.rst).

use std::io::{Error, ErrorKind, Result};
use std::mem::zeroed;
use std::os::fd::{AsFd, AsRawFd};

use rustix::time::{ClockId, clock_gettime};

use super::{now_ns, set};

const SO_TIMESTAMPING: i32 = 37;
/// TX_SOFTWARE, SOFTWARE, OPT_ID, TX_SCHED, TX_ACK, OPT_TSONLY.
const FLAGS: u32 = 1 << 1 | 1 << 4 | 1 << 7 | 1 << 8 | 1 << 9 | 1 << 11;
const SO_EE_ORIGIN_TIMESTAMPING: u8 = 4;

/// Where a packet was when it was stamped: `ee_info` of the error queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Handed to the driver: SCM_TSTAMP_SND.
    Snd,
    /// Given to the queueing discipline: SCM_TSTAMP_SCHED.
    Sched,
    /// Acknowledged: SCM_TSTAMP_ACK.
    Ack,
}

/// One stamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// Where.
    pub stage: Stage,
    /// Which send call: the number of the datagram, or of the last byte of the stream, both from 0.
    pub id: u32,
    /// When, CLOCK_MONOTONIC ns.
    pub at_ns: i64,
}

/// Asks for stamps of what is sent from now on.
pub fn stamp(socket: &impl AsFd) -> Result<()> {
    set(socket, libc::SOL_SOCKET, SO_TIMESTAMPING, FLAGS)
}

/// The stamps that came so far, taken out of the socket's error queue.
pub fn stamps(socket: &impl AsFd) -> Result<Vec<Stamp>> {
    let mut all = vec![];
    while let Some(control) = control(socket)? {
        all.extend(parse(&control, realtime_ahead_ns()));
    }
    Ok(all)
}

/// Stamps are in CLOCK_REALTIME: how far that is ahead of CLOCK_MONOTONIC, by the closest of a few readings.
fn realtime_ahead_ns() -> i64 {
    let reading = |_| {
        let before = now_ns();
        let real = clock_gettime(ClockId::Realtime);
        let after = now_ns();
        (
            after - before,
            real.tv_sec * 1_000_000_000 + real.tv_nsec - (before + after) / 2,
        )
    };
    (0..5).map(reading).min().map_or(0, |r| r.1)
}

/// Control messages of the next entry of the error queue.
fn control(socket: &impl AsFd) -> Result<Option<Vec<u8>>> {
    let mut bytes = vec![0u64; 64];
    // SAFETY: zero is a valid msghdr; the buffer has the length that is said and lives through the call.
    let (n, len) = unsafe {
        let mut message: libc::msghdr = zeroed();
        message.msg_control = bytes.as_mut_ptr().cast();
        message.msg_controllen = size_of_val(&bytes[..]) as _;
        let flags = libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT;
        let n = libc::recvmsg(socket.as_fd().as_raw_fd(), &raw mut message, flags);
        (n, message.msg_controllen as usize)
    };
    if n < 0 {
        let e = Error::last_os_error();
        return if e.kind() == ErrorKind::WouldBlock {
            Ok(None)
        } else {
            Err(e)
        };
    }
    Ok(Some(bytes.iter().flat_map(|w| w.to_ne_bytes()).take(len).collect()))
}

/// `struct cmsghdr` (length, level, type), then SCM_TIMESTAMPING (three timespecs, the first is the software's) and
/// IP_RECVERR (`struct sock_extended_err`).
fn parse(control: &[u8], ahead_ns: i64) -> Option<Stamp> {
    let (mut rest, mut real, mut which) = (control, None, None);
    let u32_at = |b: &[u8], at: usize| Some(u32::from_ne_bytes(b.get(at..at + 4)?.try_into().ok()?));
    let i64_at = |b: &[u8], at: usize| Some(i64::from_ne_bytes(b.get(at..at + 8)?.try_into().ok()?));
    while let Some(len) = i64_at(rest, 0)
        .and_then(|l| usize::try_from(l).ok())
        .filter(|l| *l >= 16)
    {
        let (level, kind, body) = (u32_at(rest, 8)?, u32_at(rest, 12)?, rest.get(16..len)?);
        if (level, kind) == (libc::SOL_SOCKET as u32, SO_TIMESTAMPING as u32) {
            real = Some(i64_at(body, 0)? * 1_000_000_000 + i64_at(body, 8)?);
        } else if body.get(4) == Some(&SO_EE_ORIGIN_TIMESTAMPING) {
            let stage = match u32_at(body, 8)? {
                0 => Stage::Snd,
                1 => Stage::Sched,
                2 => Stage::Ack,
                _ => return None,
            };
            which = Some((stage, u32_at(body, 12)?));
        }
        rest = rest.get(len.next_multiple_of(8)..).unwrap_or_default();
    }
    let (stage, id) = which?;
    Some(Stamp {
        stage,
        id,
        at_ns: real? - ahead_ns,
    })
}
