//! TCP_INFO's clocks in the text of a `sockets` snapshot: a line per socket, `name=value` each.

use netmortem_formats::Capture;
use netmortem_formats::capture::SnapshotWhen;
use rustc_hash::FxHashMap;

use crate::snapshots::{field, hex, lines};

/// The kernel's clocks of one socket, ns since its birth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clocks {
    /// Local and remote port.
    pub ports: (u16, u16),
    /// Something was outstanding or waited.
    pub busy_ns: i64,
    /// Of it, held by the peer's window.
    pub rwnd_ns: i64,
    /// Of it, held by the send buffer.
    pub sndbuf_ns: i64,
}

/// TCP sockets of a snapshot, by cookie; `None`: there is no such snapshot.
pub fn clocks(capture: &Capture, when: SnapshotWhen) -> Option<FxHashMap<u64, Clocks>> {
    let mut of = lines(capture, "sockets", move |w| w == when).peekable();
    of.peek()?;
    Some(of.filter_map(line).collect())
}

fn line(text: &str) -> Option<(u64, Clocks)> {
    let of = |name| field(text, name);
    let port = |name| of(name)?.rsplit_once(':')?.1.parse::<u16>().ok();
    let us = |name| of(name)?.parse::<i64>().ok()?.checked_mul(1_000);
    let clocks = Clocks {
        ports: (port("src")?, port("dst")?),
        busy_ns: us("tcp.busy_time")?,
        rwnd_ns: us("tcp.rwnd_limited")?,
        sndbuf_ns: us("tcp.sndbuf_limited")?,
    };
    (of("proto") == Some("tcp")).then_some((hex(text, "cookie")?, clocks))
}
