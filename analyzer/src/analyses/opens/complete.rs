//! Resets behind a complete exchange: how health checks and proxies end connections that they opened (`SO_LINGER` 0).
//!
//! Needs `resets`, `opens`, `connections`, `tx`, `rx`. Of a RST that came: the socket of this recording that sent it had opened the connection (or
//! goes where others were opened to, and stood before the recording began); all that either end had sent was acknowledged, all that came was
//! read, the end that sent last was the server, or nothing was sent at all; and the RST followed at once on the last read, or on the opening.
//! One that comes later ends a wait: the rest of an answer, or a greeting, may never have come. What reads such a connection next is told
//! ECONNRESET, where it would have been told the end: nobody waited for anything. Must not take for one: a RST of the server (whether an answer
//! was complete is not known), one whose sender is not in the recording, or one that something between sent.
//! Source: net/ipv4/tcp.c `tcp_disconnect`, `__tcp_close` (zero linger: RST).

use rustc_hash::{FxHashMap, FxHashSet};

use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::dispatch::Lost;
use crate::reconstruct::opens::tables::{OpenEnd, ResetRow, Sender};
use crate::reconstruct::receive::tables::RxEnd;
use crate::reconstruct::transmit::tables::{TxEnd, TxKind};

/// Longest time from a RST to its arrival, ns.
const ARRIVES_NS: i64 = 1_000_000;
/// Longest time from what its program last learned of a connection to a RST that no wait precedes, ns.
pub(super) const AT_ONCE_NS: i64 = 20_000_000;

/// What a socket sent and got.
#[derive(Default, Clone, Copy)]
struct Data {
    sent: Option<i64>,
    read: Option<i64>,
    open: bool,
}

/// A socket of a client.
struct Client {
    /// Begin of its `connect`, and when it stood; where that was before the recording, its begin and none.
    start_ns: i64,
    stood: Option<i64>,
    task: String,
    pid: i32,
}

/// Sockets that opened their connection here, and others that go where these go.
fn clients(facts: &Facts) -> FxHashMap<ConnectionId, Client> {
    let begin = facts.capture.start_ns.unwrap_or(i64::MIN);
    let servers: FxHashSet<_> = facts.opens.iter().filter_map(|o| o.to).collect();
    let tried: FxHashSet<_> = facts.opens.iter().filter_map(|o| o.connection).collect();
    let others = (facts.connections.iter()).filter(|r| !tried.contains(&r.connection));
    let others = others.filter(|r| r.daddr.is_some_and(|a| servers.contains(&(a, r.dport))));
    let client = |start_ns, stood, task: &crate::name::Name, pid| Client {
        start_ns,
        stood,
        task: task.text().into_owned(),
        pid,
    };
    let mut all: FxHashMap<ConnectionId, Client> = others
        .map(|r| (r.connection, client(begin, None, &r.task, r.pid)))
        .collect();
    for o in facts.opens.iter().filter(|o| o.end == OpenEnd::Established) {
        if let Some(c) = o.connection {
            all.insert(c, client(o.start_ns, Some(o.end_ns), &o.task, o.pid));
        }
    }
    all
}

/// Of each such RST that came who sent it; by its socket there and time.
pub(super) fn complete(facts: &Facts) -> impl Fn(&ResetRow) -> Option<(String, i32)> {
    let told = ["sock:sock_send_length", "skb:skb_copy_datagram_iovec"];
    let told = told.iter().all(|key| facts.capture.recorded(key));
    let clients = if told { clients(facts) } else { FxHashMap::default() };
    // RSTs that clients sent, by both ends.
    let mut sent: FxHashMap<_, Vec<(i64, ConnectionId)>> = FxHashMap::default();
    for r in facts.resets.iter().filter(|r| !r.received && r.confidence.is_solid()) {
        if let (Some(c), Some(from), Some(to)) = (r.connection, r.from, r.to)
            && clients.contains_key(&c)
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
        (at.abs_diff(r.time_ns) <= ARRIVES_NS as u64).then_some((*at, *c))
    };
    let came = (facts.resets.iter()).filter(|r| r.received && r.sender != Sender::Between && r.confidence.is_solid());
    let pairs: Vec<(i64, ConnectionId, ConnectionId, i64)> = came
        .filter_map(|r| {
            let (sent_ns, there) = sender(r)?;
            Some((r.time_ns, r.connection?, there, sent_ns))
        })
        .collect();
    let mut data: FxHashMap<ConnectionId, Data> = FxHashMap::default();
    for (_, here, there, _) in &pairs {
        data.entry(*here).or_default();
        data.entry(*there).or_default();
    }
    for t in facts.tx.iter().filter(|t| t.bytes != Some(0) && t.kind == TxKind::Tcp) {
        if let Some(d) = t.connection.and_then(|c| data.get_mut(&c)) {
            d.sent = d.sent.max(Some(t.start_ns));
            d.open |= t.end != TxEnd::Acked;
        }
    }
    for r in facts.rx.iter().filter(|r| r.bytes != Some(0)) {
        if let Some(d) = r.connection.and_then(|c| data.get_mut(&c)) {
            match r.end {
                RxEnd::Read => d.read = d.read.max(Some(r.start_ns.saturating_add(r.total_ns))),
                RxEnd::Protocol => d.open |= r.bytes.is_some(),
                _ => d.open = true,
            }
        }
    }
    let lost = Lost::of(&facts.gaps);
    let by = |(at, here, there, sent_ns): (i64, ConnectionId, ConnectionId, i64)| {
        let (server, client, who) = (data.get(&here)?, data.get(&there)?, clients.get(&there)?);
        // `None` is less: nobody sent.
        let answered = server.sent > client.sent || client.sent.is_none();
        let at_once = sent_ns.saturating_sub(client.read.max(who.stood)?) <= AT_ONCE_NS;
        let quiet = answered && at_once && !server.open && !client.open && !lost.within(who.start_ns, at);
        quiet.then(|| ((here, at), (who.task.clone(), who.pid)))
    };
    let found: FxHashMap<(ConnectionId, i64), (String, i32)> = pairs.into_iter().filter_map(by).collect();
    move |r| {
        let key = (r.connection.filter(|_| r.received)?, r.time_ns);
        found.get(&key).cloned()
    }
}
