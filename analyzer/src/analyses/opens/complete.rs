//! Resets behind a complete exchange: how health checks and proxies end connections that they opened (`SO_LINGER` 0).
//!
//! Needs `resets`, `opens`, `tx`, `rx`. Of a RST that came: the socket of this recording that sent it had opened the connection; all that either end
//! had sent was acknowledged, all that came was read, and the end that sent last was the server, or nothing was sent at all: no request was
//! open. What reads such a connection next is told ECONNRESET, where it would have been told the end: nobody waited for anything. Must not
//! take for one: a RST of the server (whether an answer was complete is not known), one whose sender is not in the recording, or one that
//! something between sent.
//! Source: net/ipv4/tcp.c `tcp_disconnect`, `__tcp_close` (zero linger: RST).

use rustc_hash::FxHashMap;

use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::dispatch::Lost;
use crate::reconstruct::opens::tables::{OpenEnd, OpenRow, ResetRow, Sender};
use crate::reconstruct::receive::tables::RxEnd;
use crate::reconstruct::transmit::tables::{TxEnd, TxKind};

/// Longest time from a RST to its arrival, ns.
const ARRIVES_NS: i64 = 1_000_000;

/// What a socket sent and got.
#[derive(Default, Clone, Copy)]
struct Data {
    sent: Option<i64>,
    open: bool,
}

/// Of each such RST that came who sent it; by its socket there and time.
pub(super) fn complete(facts: &Facts) -> impl Fn(&ResetRow) -> Option<(String, i32)> {
    let told = ["sock:sock_send_length", "skb:skb_copy_datagram_iovec"];
    let told = told.iter().all(|key| facts.capture.recorded(key));
    let opened = facts.opens.iter().filter(|o| told && o.end == OpenEnd::Established);
    let opened: FxHashMap<ConnectionId, &OpenRow> = opened.filter_map(|o| Some((o.connection?, o))).collect();
    // RSTs that clients sent, by both ends.
    let mut sent: FxHashMap<_, Vec<(i64, ConnectionId)>> = FxHashMap::default();
    for r in facts.resets.iter().filter(|r| !r.received && r.confidence.is_solid()) {
        if let (Some(c), Some(from), Some(to)) = (r.connection, r.from, r.to)
            && opened.contains_key(&c)
        {
            sent.entry((from, to)).or_default().push((r.time_ns, c));
        }
    }
    sent.values_mut().for_each(|of| of.sort_unstable());
    let sender = |r: &ResetRow| {
        let of = sent.get(&(r.to?, r.from?))?;
        let (at, c) = of.get(
            of.partition_point(|o| o.0 <= r.time_ns.saturating_add(ARRIVES_NS))
                .checked_sub(1)?,
        )?;
        // Two CPUs: their clocks may differ a little.
        (at.abs_diff(r.time_ns) <= ARRIVES_NS as u64).then_some(*c)
    };
    let came = (facts.resets.iter()).filter(|r| r.received && r.sender != Sender::Between && r.confidence.is_solid());
    let pairs: Vec<(i64, ConnectionId, ConnectionId)> = came
        .filter_map(|r| Some((r.time_ns, r.connection?, sender(r)?)))
        .collect();
    let mut data: FxHashMap<ConnectionId, Data> = FxHashMap::default();
    for (_, here, there) in &pairs {
        data.entry(*here).or_default();
        data.entry(*there).or_default();
    }
    for t in facts.tx.iter().filter(|t| t.bytes != Some(0) && t.kind == TxKind::Tcp) {
        if let Some(d) = t.connection.and_then(|c| data.get_mut(&c)) {
            d.sent = d.sent.max(Some(t.start_ns));
            d.open |= t.end != TxEnd::Acked;
        }
    }
    for r in facts.rx.iter().filter(|r| r.bytes != Some(0) && r.end != RxEnd::Read) {
        if let Some(d) = r.connection.and_then(|c| data.get_mut(&c)) {
            d.open |= r.end != RxEnd::Protocol || r.bytes.is_some();
        }
    }
    let lost = Lost::of(&facts.gaps);
    let by = |(at, here, there): (i64, ConnectionId, ConnectionId)| {
        let (server, client, open) = (data.get(&here)?, data.get(&there)?, opened.get(&there)?);
        let answered = client.sent.is_none() || server.sent > client.sent;
        let quiet = answered && !server.open && !client.open && !lost.within(open.start_ns, at);
        quiet.then(|| ((here, at), (open.task.text().into_owned(), open.pid)))
    };
    let found: FxHashMap<(ConnectionId, i64), (String, i32)> = pairs.into_iter().filter_map(by).collect();
    move |r| {
        let key = (r.connection.filter(|_| r.received)?, r.time_ns);
        found.get(&key).cloned()
    }
}
