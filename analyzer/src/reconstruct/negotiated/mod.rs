//! What the two ends of a TCP connection agreed on when it was opened, and the sizes they use: window scaling, MSS, path MTU, as the
//! kernel's lists of sockets (sock_diag, TCP_INFO) at both ends of a recording say.
//!
//! In: `sockets` snapshots, readings of every second (`sockets_over_time`), sockets (tcp). Out: [`Negotiated`] by connection; a socket that no list has, or that two lists tell
//! otherwise, is not there. Must not guess: of a listening or closed socket, and of one in TIME_WAIT, nothing is told.
//!
//! ```text
//! line of a list ── its cookie, or its ends where no event named a cookie ──> its socket
//!                ├─ that of its peer (`connections`), by the same ──> what both ends believe
//!                └─ its ends turned round, where its own line is in no list ─> the other end's (window scaling: both have it, or none)
//! ```
//! Source: net/ipv4/tcp.c `tcp_get_info` (`TCPI_OPT_WSCALE`: `rx_opt.wscale_ok`, which is set only when both SYNs had the option),
//! include/uapi/linux/tcp.h.

use crate::name::Name;
use std::net::{IpAddr, SocketAddr};

use netmortem_formats::Capture;
use rustc_hash::FxHashMap;

use crate::counters::over_time::sockets::SocketRow;
use crate::facts::ConnectionId;
use crate::reconstruct::tcp::tables::ConnectionRow;
use crate::snapshots::{field, hex, lines};

mod ends;
mod quiet;
#[cfg(test)]
mod tests;

pub use ends::{Ends, Options};
pub use quiet::quiet;

/// `TCPI_OPT_WSCALE`.
const OPT_WSCALE: u32 = 4;
/// TCP states of which the options are told: ESTABLISHED, FIN_WAIT1, FIN_WAIT2, CLOSE_WAIT, LAST_ACK, CLOSING.
const OPENED: [&str; 6] = [
    "established",
    "fin_wait1",
    "fin_wait2",
    "close_wait",
    "last_ack",
    "closing",
];

/// What two ends agreed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Negotiated {
    /// Window scaling is in use.
    pub window_scaling: bool,
    /// Its congestion control, as the last list has it; `None`: not told.
    pub congestion: Option<Name>,
    /// Segments it sent whose ACKs told of ECN's CE mark (`tcpi_delivered_ce`), as the last list has it; `None`: not told.
    pub delivered_ce: Option<u32>,
    /// Payload of a full segment that the socket sends, and the MTU of its path, bytes; `None`: only the other end is in a list.
    pub sizes: Option<Sizes>,
    /// What both ends believe; `None`: one of them is in no list.
    pub ends: Option<Ends>,
}

impl Negotiated {
    /// The socket's congestion control sets its window itself, whatever it was before a pause (BBR); `None`: not told.
    pub fn own_window(&self) -> Option<bool> {
        self.congestion.map(|name| name.bytes().starts_with(b"bbr"))
    }
}

/// Sizes of one socket, bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sizes {
    /// `tcpi_snd_mss`.
    pub snd_mss: u32,
    /// `tcpi_advmss`.
    pub advmss: u32,
    /// `tcpi_pmtu`.
    pub pmtu: u32,
}

/// A line of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Listed {
    src: SocketAddr,
    dst: SocketAddr,
    cookie: Option<u64>,
    of: Negotiated,
    options: Option<Options>,
    rcvbuf: Option<u32>,
}

/// An IPv4 address of a socket of both families is one of IPv4, as events have it.
fn end(text: &str) -> Option<SocketAddr> {
    let end: SocketAddr = text.parse().ok()?;
    Some(SocketAddr::new(end.ip().to_canonical(), end.port()))
}

fn number(text: &str, name: &str) -> Option<u32> {
    field(text, name)?.parse().ok()
}

fn line(text: &str) -> Option<Listed> {
    let of = |name| field(text, name);
    let number = |name: &str| number(text, name);
    if of("proto") != Some("tcp") || !OPENED.contains(&of("state")?) {
        return None;
    }
    let sizes = || {
        Some(Sizes {
            snd_mss: number("tcp.snd_mss")?,
            advmss: number("tcp.advmss")?,
            pmtu: number("tcp.pmtu")?,
        })
    };
    Some(Listed {
        src: end(of("src")?)?,
        dst: end(of("dst")?)?,
        cookie: hex(text, "cookie"),
        of: Negotiated {
            window_scaling: number("tcp.options")? & OPT_WSCALE != 0,
            congestion: of("cong").map(|c| Name::new(c.as_bytes())),
            delivered_ce: number("tcp.delivered_ce"),
            sizes: sizes(),
            ends: None,
        },
        options: ends::options(|word| self::number(text, word)),
        rcvbuf: number("mem.rcvbuf"),
    })
}

/// Sockets by their ends; `None`: two at the same ends, or one that is told otherwise.
fn by_ends(all: impl Iterator<Item = Listed>) -> FxHashMap<(SocketAddr, SocketAddr), Option<Listed>> {
    let mut by_ends: FxHashMap<(SocketAddr, SocketAddr), Option<Listed>> = FxHashMap::default();
    for l in all {
        let of = by_ends.entry((l.src, l.dst)).or_insert(Some(l));
        *of = of
            .filter(|o| (o.cookie, o.of.window_scaling, o.options) == (l.cookie, l.of.window_scaling, l.options))
            .map(|_| l);
    }
    by_ends
}

/// Of every socket that a list of this recording has, or whose other end one has.
pub fn negotiated(
    capture: &Capture,
    connections: &[ConnectionRow],
    seconds: &[SocketRow],
) -> FxHashMap<ConnectionId, Negotiated> {
    // The last list that has a socket tells its sizes; one whose options changed was another.
    let mut by_ends = by_ends(lines(capture, "sockets", |_| true).filter_map(line));
    // Of what opened and ended between two lists.
    for (ends, l) in self::by_ends(seconds.iter().filter_map(ends::in_a_second)) {
        by_ends.entry(ends).or_insert(l);
    }
    let listed = |src, dst| by_ends.get(&(src, dst)).copied().flatten();
    let ends_of = |c: &ConnectionRow| {
        let end = |a: Option<IpAddr>, port| Some(SocketAddr::new(a?.to_canonical(), port));
        end(c.saddr, c.sport).zip(end(c.daddr, c.dport))
    };
    let own = |c: &ConnectionRow| {
        let (src, dst) = ends_of(c)?;
        listed(src, dst).filter(|l| c.cookie.is_none_or(|cookie| l.cookie == Some(cookie)))
    };
    let both = |c: &ConnectionRow, l: &Listed| {
        let peer = connections
            .get(c.peer?.0 as usize)
            .filter(|p| c.cookie.is_some() && p.cookie.is_some())?;
        let peer = own(peer)?;
        Some(Ends {
            own: l.options?,
            peer: peer.options?,
            peer_rcvbuf: peer.rcvbuf,
        })
    };
    let of = |c: &ConnectionRow| {
        let (src, dst) = ends_of(c)?;
        let own = own(c).map(|l| Negotiated {
            ends: both(c, &l),
            ..l.of
        });
        let other = || {
            listed(dst, src).map(|l| Negotiated {
                sizes: None,
                delivered_ce: None,
                congestion: None,
                ..l.of
            })
        };
        Some((c.connection, own.or_else(other)?))
    };
    connections.iter().filter_map(of).collect()
}
