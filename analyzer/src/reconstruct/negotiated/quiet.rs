//! When something was sent or came last on a socket before the recording began.
//!
//! In: the first list of sockets (TCP_INFO's `tcpi_last_data_sent`, `_recv` and `tcpi_last_ack_recv`, which keepalives renew as they do a firewall's table; ms until the list was made), sockets (tcp). Out: ns, by connection. The list is made within some
//! tenths of a second of the start, and is no finer than a tick: what is told is that much uncertain. Not of a socket that is in no such list.

use netmortem_formats::Capture;
use netmortem_formats::capture::SnapshotWhen;
use rustc_hash::FxHashMap;

use super::{OPENED, end, number};
use crate::facts::ConnectionId;
use crate::reconstruct::tcp::tables::ConnectionRow;
use crate::snapshots::{field, hex, lines};

const MS: i64 = 1_000_000;

/// Of each connection that was open then.
pub fn quiet(capture: &Capture, connections: &[ConnectionRow], start_ns: Option<i64>) -> FxHashMap<ConnectionId, i64> {
    let Some(start) = start_ns else {
        return FxHashMap::default();
    };
    let line = |l: &str| {
        let opened = OPENED.contains(&field(l, "state")?) && field(l, "proto") == Some("tcp");
        let words = ["tcp.last_data_sent", "tcp.last_data_recv", "tcp.last_ack_recv"];
        let mut each = words.iter().map(|w| number(l, w));
        let last = each.try_fold(u32::MAX, |least, ns| Some(least.min(ns?)))?;
        let ends = (end(field(l, "src")?)?, end(field(l, "dst")?)?);
        opened.then_some((ends, (hex(l, "cookie"), start.saturating_sub(i64::from(last) * MS))))
    };
    let mut by_ends: FxHashMap<_, Option<(Option<u64>, i64)>> = FxHashMap::default();
    for (ends, of) in lines(capture, "sockets", |w| w == SnapshotWhen::Start).filter_map(line) {
        // Two namespaces may have the same.
        by_ends.entry(ends).and_modify(|of| *of = None).or_insert(Some(of));
    }
    let of = |c: &ConnectionRow| {
        let here = std::net::SocketAddr::new(c.saddr?.to_canonical(), c.sport);
        let there = std::net::SocketAddr::new(c.daddr?.to_canonical(), c.dport);
        let (cookie, at) = by_ends.get(&(here, there)).copied().flatten()?;
        let own = c.cookie.is_none_or(|own| cookie == Some(own));
        own.then_some((c.connection, at))
    };
    connections.iter().filter_map(of).collect()
}
