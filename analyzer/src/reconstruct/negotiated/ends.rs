//! What each of two ends believes of the options that both should have alike: window scales, timestamps, SACK.
//!
//! In: the lines of both sockets in lists of sockets (each by its cookie). Out: [`Ends`]. Must not guess: where one of the two is in no
//! list, or its lines tell two things, nothing is told; what an end believes of ECN may be meant otherwise than its peer's, and is left out.
//!
//! Source: net/ipv4/tcp.c `tcp_get_info` (`tcpi_snd_wscale`: what the peer's SYN said, by which the peer's windows are multiplied;
//! `tcpi_rcv_wscale`: what the own SYN said, by which the own ones are divided; both 0 unless `wscale_ok`).

use super::{OPT_WSCALE, number};

/// `TCPI_OPT_TIMESTAMPS`, `TCPI_OPT_SACK`.
const OPT_TIMESTAMPS: u32 = 1;
const OPT_SACK: u32 = 2;

/// What one end believes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Bits by which it multiplies its peer's windows.
    pub snd_wscale: u8,
    /// Bits by which it divides its own.
    pub rcv_wscale: u8,
    /// Window scaling is in use.
    pub window_scaling: bool,
    /// Timestamps are.
    pub timestamps: bool,
    /// SACK is.
    pub sack: bool,
}

/// Both ends of one connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ends {
    /// The socket's own.
    pub own: Options,
    /// Its peer's.
    pub peer: Options,
    /// Receive buffer of the peer's socket, bytes (`SK_MEMINFO_RCVBUF`); `None`: not told.
    pub peer_rcvbuf: Option<u32>,
}

/// Of a line.
pub(super) fn options(text: &str) -> Option<Options> {
    let options = number(text, "tcp.options")?;
    let bits = |name| number(text, name).and_then(|n| u8::try_from(n).ok());
    Some(Options {
        snd_wscale: bits("tcp.snd_wscale")?,
        rcv_wscale: bits("tcp.rcv_wscale")?,
        window_scaling: options & OPT_WSCALE != 0,
        timestamps: options & OPT_TIMESTAMPS != 0,
        sack: options & OPT_SACK != 0,
    })
}
