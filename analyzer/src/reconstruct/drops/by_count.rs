//! Which of several reasons a free stands for on kernels that record none, where its place is shared and a counter of the kernel tells.
//!
//! In: rows of `drops` at such places with their owners, what the kernel counted, RSTs, the way of packets. Out: the same rows, named. Inferred: the counter rose by as many as
//! these rows, and what else ends there was not counted. Must not name where two counters could have meant them, nor where events were lost.
//!
//! ```text
//! tcp_v4_rcv, tcp_v6_rcv   one counter alone rose; by as many as these rows, or (all namespaces known) as many that carry data or SYNs (TIME_WAIT frees bare ACKs there),
//!                          or up to twice as many: the readings enclose the recording (weak). Not what a RST answers: it found no socket
//! ip_error                 IpExtInNoRoutes rose by as many: no route; by none: a route refused
//! ip_rcv_finish(_core)     a device received the packet, sent it out again, and it came to the very one that had sent it first: its own source
//! ```
//! Sources: net/ipv4/tcp_ipv4.c `tcp_v4_rcv` (`discard_and_relse`; `no_tcp_socket` frees there, too, behind its RST), net/ipv4/route.c `ip_error`, `ip_route_input_slow` of
//! Linux 5.4 and 5.15.

use rustc_hash::FxHashMap;

use super::otherhost::Hindsight;
use super::places;
use super::tables::DropRow;
use crate::confidence::Confidence;
use crate::counters::tables::{CounterRow, refused, risen};
use crate::facts::{ConnectionId, SkbId};
use crate::name::Name;
use crate::reconstruct::opens::tables::ResetRow;
use crate::reconstruct::whose::Carries;
use crate::snapshots::devices::Devices;

/// Where TCP frees what no socket takes.
const TCP: [&str; 2] = ["tcp_v4_rcv", "tcp_v6_rcv"];
/// Where a route of input that is none, or refuses, ends.
const ROUTE: &str = "ip_error";
const NO_ROUTE: &str = "IP_INNOROUTES";
const COUNTED_NO_ROUTE: &str = "IpExtInNoRoutes";
const LOCAL_SOURCE: &str = "IP_LOCAL_SOURCE";

/// Counters of what ends in TCP's place, and the reason of later kernels.
const COUNTED: [(&str, &str); 4] = [
    ("TcpExtTCPMD5NotFound", "TCP_MD5NOTFOUND"),
    ("TcpExtTCPMD5Unexpected", "TCP_MD5UNEXPECTED"),
    ("TcpExtTCPMD5Failure", "TCP_MD5FAILURE"),
    ("TcpExtTCPBacklogDrop", "SOCKET_BACKLOG"),
];
/// What else is freed there and counted.
const OTHERS: [&str; 3] = ["TcpInCsumErrors", "TcpExtTCPMinTTLDrop", "TcpExtSyncookiesFailed"];
/// So many of those counted must be among the rows.
const MOSTLY: f64 = 0.5;
/// In this time a RST that came answers it: what is not answered is sent again no sooner (TCP_RTO_MIN); it is sent before the segment is freed, and another CPU may take it.
const ANSWERED_NS: std::ops::RangeInclusive<i64> = -1_000_000..=200_000_000;

/// Names that are not of a place.
pub(super) const REASONS: [&str; 6] = [
    "TCP_MD5NOTFOUND",
    "TCP_MD5UNEXPECTED",
    "TCP_MD5FAILURE",
    "SOCKET_BACKLOG",
    NO_ROUTE,
    LOCAL_SOURCE,
];

/// The counter that tells a reason: as `nstat` names it.
pub fn counter_of(reason: &str) -> Option<&'static str> {
    let no_route = (COUNTED_NO_ROUTE, NO_ROUTE);
    let mut all = COUNTED.iter().chain(std::iter::once(&no_route));
    all.find(|c| c.1 == reason).map(|c| c.0)
}

/// Rows at places that are shared.
#[derive(Debug, Default)]
pub(super) struct Shared {
    tcp: Vec<usize>,
    route: Vec<usize>,
}

impl Shared {
    /// Notes one.
    pub(super) fn at(&mut self, location: Option<&str>, row: usize) {
        let plain = location.map(|l| l.split('.').next().unwrap_or(l));
        match plain {
            Some(l) if TCP.contains(&l) => self.tcp.push(row),
            Some(ROUTE) => self.route.push(row),
            _ => {}
        }
    }
}

fn rise(counters: &[CounterRow], name: &str) -> u64 {
    refused(counters, |_, n| n == name)
}

/// Names what one counter tells. Owners are known.
pub(super) fn judge(rows: &mut [DropRow], shared: &Shared, (counters, resets): (&[CounterRow], &[ResetRow])) {
    if !shared.route.is_empty() && rise(counters, COUNTED_NO_ROUTE) == shared.route.len() as u64 {
        places::name(rows, &shared.route, NO_ROUTE, Some(ROUTE));
    }
    let mut rose = COUNTED.iter().map(|c| (rise(counters, c.0), c.1)).filter(|c| c.0 > 0);
    let (Some((n, reason)), None) = (rose.next(), rose.next()) else {
        return;
    };
    if OTHERS.iter().any(|name| rise(counters, name) > 0) {
        return;
    }
    let refused = Refused::of(resets);
    let of = |at: &usize| rows.get(*at).filter(|r| r.expected.is_none() && !refused.one(r));
    let all: Vec<usize> = shared.tcp.iter().copied().filter(|at| of(at).is_some()).collect();
    // Each of them was counted.
    if all.len() as u64 == n {
        places::name(rows, &all, reason, None);
        return;
    }
    // The rest may be what TIME_WAIT obeyed.
    let carries = |at: &usize| {
        let owner = of(at).and_then(|r| r.owner);
        owner.is_some_and(|o| matches!(o.carries, Carries::Data | Carries::Syn | Carries::SynData))
    };
    let full: Vec<usize> = all.into_iter().filter(carries).collect();
    // Where only some may have been, nothing else may have been counted in any namespace.
    let others = COUNTED.iter().filter(|c| c.1 != reason).map(|c| c.0).chain(OTHERS);
    let alone = || others.clone().all(|name| risen(counters, name) == Some(0));
    let fits = full.len() as u64 <= n && full.len() as f64 >= MOSTLY * n as f64;
    if fits && alone() {
        places::name(rows, &full, reason, None);
        // Which of them the readings counted is not known.
        let weak = (full.len() as u64) < n;
        for at in full.iter().filter(|_| weak) {
            if let Some(row) = rows.get_mut(*at) {
                row.confidence = row.confidence.min(Confidence::Weak);
            }
        }
    }
}

/// When RSTs came to sockets.
struct Refused(FxHashMap<ConnectionId, Vec<i64>>);

impl Refused {
    fn of(resets: &[ResetRow]) -> Refused {
        let mut all: FxHashMap<ConnectionId, Vec<i64>> = FxHashMap::default();
        for r in resets.iter().filter(|r| r.received) {
            if let Some(c) = r.connection {
                all.entry(c).or_default().push(r.time_ns);
            }
        }
        all.values_mut().for_each(|times| times.sort_unstable());
        Refused(all)
    }
    /// Whether a segment was answered so.
    fn one(&self, row: &DropRow) -> bool {
        let came = row.owner.and_then(|o| self.0.get(&o.connection?));
        let first = |times: &Vec<i64>| {
            let after = times.partition_point(|ns| ns.saturating_sub(row.time_ns) < *ANSWERED_NS.start());
            times
                .get(after)
                .is_some_and(|ns| ANSWERED_NS.contains(&ns.saturating_sub(row.time_ns)))
        };
        came.is_some_and(first)
    }
}

/// Names what came back to the host that had sent it.
pub(super) fn came_back(rows: &mut [DropRow], looked_up: &[usize], known: &Hindsight<'_>) {
    let unclear = |at: &&usize| rows.get(**at).is_some_and(|r| r.expected.is_none());
    let unclear: Vec<usize> = looked_up.iter().filter(unclear).copied().collect();
    let mut way: FxHashMap<SkbId, Vec<(&str, Name)>> = (unclear.iter())
        .filter_map(|at| Some((rows.get(*at)?.skb_id?, vec![])))
        .collect();
    if way.is_empty() {
        return;
    }
    for h in known.identity.hops.iter() {
        if let Some(of) = way.get_mut(&h.skb_id).filter(|_| h.kind != "queue") {
            of.push((h.kind, h.dev));
        }
    }
    let back = |at: &usize| {
        let steps = rows.get(*at).and_then(|r| way.get(&r.skb_id?))?;
        let turned = (steps.windows(2)).any(|w| matches!(w, [("rx", a), ("xmit", b)] if a == b));
        (turned && to_its_sender(steps, known.devices) == Some(true)).then_some(*at)
    };
    let back: Vec<usize> = unclear.iter().filter_map(back).collect();
    places::name(rows, &back, LOCAL_SOURCE, None);
}

/// Whether a packet that was sent, handed on and sent again was received, at last, by the very device that had sent it first; `None`: no list has a device of that name.
pub fn to_its_sender(steps: &[(&str, Name)], devices: &Devices) -> Option<bool> {
    let [("xmit", sent), ("rx", next), .., ("xmit", before), ("rx", came)] = steps else {
        return Some(false);
    };
    if sent != came {
        return Some(false);
    }
    devices.came_back(&sent.text(), &next.text(), &before.text())
}

#[cfg(test)]
mod tests;
