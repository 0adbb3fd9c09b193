//! What each of two ends believes of the options that both should have alike: window scales, timestamps, SACK.
//!
//! In: the lines of both sockets in lists of sockets, or in the readings of every second (each by its cookie). Out: [`Ends`]. Must not guess: where one of the two is in no
//! list, or its lines tell two things, nothing is told; what an end believes of ECN may be meant otherwise than its peer's, and is left out.
//!
//! Source: net/ipv4/tcp.c `tcp_get_info` (`tcpi_snd_wscale`: what the peer's SYN said, by which the peer's windows are multiplied;
//! `tcpi_rcv_wscale`: what the own SYN said, by which the own ones are divided; both 0 unless `wscale_ok`).

use super::{Listed, Negotiated, OPENED, OPT_WSCALE, end};
use crate::counters::over_time::sockets::SocketRow;

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

/// Of a socket whose numbers have these words.
pub(super) fn options(number: impl Fn(&str) -> Option<u32>) -> Option<Options> {
    let options = number("tcp.options")?;
    let bits = |name| number(name).and_then(|n| u8::try_from(n).ok());
    Some(Options {
        snd_wscale: bits("tcp.snd_wscale")?,
        rcv_wscale: bits("tcp.rcv_wscale")?,
        window_scaling: options & OPT_WSCALE != 0,
        timestamps: options & OPT_TIMESTAMPS != 0,
        sack: options & OPT_SACK != 0,
    })
}

/// Of a reading of a second: its options, and no more.
pub(super) fn in_a_second(row: &SocketRow) -> Option<Listed> {
    if row.ends.proto != "tcp" || row.gone || !OPENED.contains(&row.state.as_str()) {
        return None;
    }
    let number = |word: &str| row.number(word).and_then(|n| u32::try_from(n).ok());
    let options = options(number)?;
    Some(Listed {
        src: end(&row.ends.src)?,
        dst: end(&row.ends.dst)?,
        cookie: Some(row.ends.cookie),
        of: Negotiated {
            window_scaling: options.window_scaling,
            congestion: None,
            delivered_ce: None,
            sizes: None,
            ends: None,
        },
        options: Some(options),
        rcvbuf: number("mem.rcvbuf"),
    })
}
