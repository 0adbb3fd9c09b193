//! TCP_INFO's clocks in the text of a `sockets` snapshot: a line per socket, `name=value` each.

use netmortem_formats::Capture;
use netmortem_formats::capture::SnapshotWhen;
use rustc_hash::FxHashMap;

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
    let mut texts = capture
        .snapshots
        .iter()
        .filter(|s| s.what == "sockets" && s.when == when)
        .peekable();
    texts.peek()?;
    let lines = texts.flat_map(|s| s.text.split(|b| *b == b'\n'));
    Some(lines.filter_map(|l| line(std::str::from_utf8(l).ok()?)).collect())
}

fn line(text: &str) -> Option<(u64, Clocks)> {
    let of = |name: &str| {
        let mut fields = text.split(' ').filter_map(|w| w.split_once('='));
        fields.find(|(n, _)| *n == name).map(|(_, v)| v)
    };
    let port = |name| of(name)?.rsplit_once(':')?.1.parse::<u16>().ok();
    let us = |name| of(name)?.parse::<i64>().ok()?.checked_mul(1_000);
    let cookie = of("cookie")?.strip_prefix("0x")?;
    let clocks = Clocks {
        ports: (port("src")?, port("dst")?),
        busy_ns: us("tcp.busy_time")?,
        rwnd_ns: us("tcp.rwnd_limited")?,
        sndbuf_ns: us("tcp.sndbuf_limited")?,
    };
    (of("proto") == Some("tcp")).then_some((u64::from_str_radix(cookie, 16).ok()?, clocks))
}
