//! Round trips of each remote host.

use std::net::IpAddr;

use rustc_hash::FxHashMap;

use super::Times;
use crate::explain::{Id, Kind};
use crate::facts::{ConnectionId, Facts, SkbId};
use crate::reconstruct::opens::tables::{FIRST_SYN_NS, OpenEnd};
use crate::reconstruct::receive::tables::Stage;
use crate::reconstruct::transmit::tables::TxKind;
use crate::stat::sort_by_key;

/// A wait in another queue of this host from which it is taken for part of this host's, ns.
const QUEUED_NS: i64 = 200_000;

/// What a round trip is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Of {
    Handshake,
    Ack,
}

/// A round trip.
#[derive(Debug, Clone, Copy)]
pub(super) struct Trip {
    pub(super) of: Of,
    /// When it began.
    pub(super) sent_ns: i64,
    pub(super) ns: i64,
    /// What `netmortem explain` takes.
    pub(super) id: Option<Id>,
    pub(super) connection: ConnectionId,
    /// Remote port.
    pub(super) port: u16,
    /// Payload to this host without an ACK when it was sent, its own included.
    pub(super) in_flight: u64,
}

/// Something that lasted.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lasted {
    pub(super) sent_ns: i64,
    pub(super) ns: i64,
}

/// All of a remote host, by time.
#[derive(Debug, Default)]
pub(super) struct Samples {
    pub(super) trips: Vec<Trip>,
    pub(super) answers: Vec<Lasted>,
    /// This host's own part of sending, and of receiving until TCP had it.
    pub(super) own: Vec<Lasted>,
    /// Payload that came: when, bytes.
    pub(super) came: Vec<(i64, u64)>,
    /// Payload given to the device (+) and acknowledged (-).
    flight: Vec<(i64, i64)>,
}

impl Samples {
    pub(super) fn times(&self, of: Of) -> Times {
        Times::of(self.trips.iter().filter(|t| t.of == of).map(|t| t.ns).collect())
    }
    /// The longest of the handshakes and ACKs, of equals the first.
    pub(super) fn worst(&self) -> Option<Id> {
        let longest = self
            .trips
            .iter()
            .min_by_key(|t| (std::cmp::Reverse(t.ns), t.sent_ns, t.id));
        longest?.id
    }
    fn sort(&mut self) {
        sort_by_key(&mut self.trips, |t| t.sent_ns);
        sort_by_key(&mut self.answers, |t| t.sent_ns);
        sort_by_key(&mut self.own, |t| t.sent_ns);
        sort_by_key(&mut self.came, |t| t.0);
        sort_by_key(&mut self.flight, |t| t.0);
        let (mut flight, mut sum) = (self.flight.iter().peekable(), 0i64);
        for t in &mut self.trips {
            while let Some((_, bytes)) = flight.next_if(|f| f.0 <= t.sent_ns) {
                sum = sum.saturating_add(*bytes);
            }
            t.in_flight = u64::try_from(sum).unwrap_or(0);
        }
        self.flight = vec![];
    }
}

/// Remote end of each socket.
fn remotes(facts: &Facts) -> FxHashMap<ConnectionId, (IpAddr, u16)> {
    let of = facts.connections.iter();
    of.filter_map(|c| Some((c.connection, (c.daddr?.to_canonical(), c.dport))))
        .collect()
}

/// The hosts with most round trips, and how many others there are.
pub(super) fn by_host(facts: &Facts, most: usize) -> (Vec<(IpAddr, Samples)>, u64) {
    let remotes = remotes(facts);
    let handshakes = || {
        let stood = facts.opens.iter().filter(|o| o.end == OpenEnd::Established);
        let once = stood.filter(|o| match o.syns_again {
            Some(n) => n == 0,
            None => o.total_ns() < FIRST_SYN_NS,
        });
        once.filter_map(|o| Some((o, o.connection?, o.to?)))
    };
    let acks = || {
        let rows = facts.tx.iter().filter(|r| r.kind == TxKind::Tcp);
        rows.filter_map(|r| Some((r, r.connection?, r.t_snd_ns?, r.t_ack_ns?)))
    };
    let mut counts: FxHashMap<IpAddr, u64> = FxHashMap::default();
    for (_, _, to) in handshakes() {
        *counts.entry(to.0.to_canonical()).or_default() += 1;
    }
    for (_, c, ..) in acks() {
        if let Some((ip, _)) = remotes.get(&c) {
            *counts.entry(*ip).or_default() += 1;
        }
    }
    let mut order: Vec<(IpAddr, u64)> = counts.into_iter().collect();
    order.sort_unstable_by_key(|(ip, n)| (std::cmp::Reverse(*n), *ip));
    let others = order.len().saturating_sub(most) as u64;
    order.truncate(most);
    let nth: FxHashMap<IpAddr, usize> = order.iter().enumerate().map(|(n, (ip, _))| (*ip, n)).collect();
    let mut all: Vec<(IpAddr, Samples)> = order.iter().map(|(ip, _)| (*ip, Samples::default())).collect();
    let place = |c: ConnectionId| {
        let (ip, port) = remotes.get(&c)?;
        Some((*nth.get(ip)?, *port))
    };
    for (o, connection, (ip, port)) in handshakes() {
        let at = nth.get(&ip.to_canonical()).and_then(|at| all.get_mut(*at));
        if let Some((_, s)) = at {
            s.trips.push(Trip {
                of: Of::Handshake,
                sent_ns: o.start_ns,
                ns: o.total_ns(),
                id: Id::of_row(Kind::Open, &facts.opens, o),
                connection,
                port,
                in_flight: 0,
            });
        }
    }
    let queues = queues(facts);
    for (r, connection, sent, acked) in acks() {
        let Some((s, port)) = place(connection).and_then(|(at, port)| Some((&mut all.get_mut(at)?.1, port))) else {
            continue;
        };
        let bytes = i64::from(r.bytes.unwrap_or(0));
        s.flight.push((sent, bytes));
        s.flight.push((acked, bytes.saturating_neg()));
        if r.retransmits > 0 || !r.confidence.is_solid() {
            continue;
        }
        s.trips.push(Trip {
            of: Of::Ack,
            sent_ns: sent,
            ns: acked.saturating_sub(sent),
            id: Some(Id::new(Kind::Tx, r.skb_id.0)),
            connection,
            port,
            in_flight: 0,
        });
        // The first queue is counted with the row.
        let behind = queues
            .get(&r.skb_id)
            .into_iter()
            .flatten()
            .filter(|q| q.0 != r.t_sched_ns);
        let queued = behind.fold(0, |sum: i64, q| sum.saturating_add(q.1));
        s.own.push(Lasted {
            sent_ns: sent,
            ns: sent.saturating_sub(r.t_sched_ns).max(0).saturating_add(queued),
        });
    }
    for r in &facts.responses {
        let (Some((at, _)), Some(ns), false) = (place(r.connection), r.response_ns(), r.overlap) else {
            continue;
        };
        if let Some((_, s)) = all.get_mut(at) {
            s.answers.push(Lasted { sent_ns: r.send_ns, ns });
        }
    }
    received(facts, &mut all, place);
    for (_, s) in &mut all {
        s.sort();
    }
    (all, others)
}

fn received(facts: &Facts, all: &mut [(IpAddr, Samples)], place: impl Fn(ConnectionId) -> Option<(usize, u16)>) {
    for r in &facts.rx {
        let at = r.connection.and_then(&place).map(|(at, _)| at);
        let Some((_, s)) = at.and_then(|at| all.get_mut(at)) else {
            continue;
        };
        let bytes = u64::from(r.bytes.unwrap_or(0));
        if bytes == 0 {
            continue;
        }
        s.came.push((r.start_ns, bytes));
        let ns = Stage::UNTIL_SOCKET.iter().filter_map(|stage| r.stage(*stage));
        s.own.push(Lasted {
            sent_ns: r.start_ns,
            ns: ns.fold(0, i64::saturating_add),
        });
    }
}

/// When packets were queued and for how long they lay in that queue of this host, where that is long: their own, and those behind it (a bridge, a tunnel,
/// a container's way out).
fn queues(facts: &Facts) -> FxHashMap<SkbId, Vec<(i64, i64)>> {
    let mut waits: FxHashMap<SkbId, Vec<(i64, i64)>> = FxHashMap::default();
    for p in &facts.xmits {
        let (Some(skb), Some(queued), Some(started)) = (p.parent.or(p.skb_id), p.queued_ns, p.started_ns) else {
            continue;
        };
        let wait = started.saturating_sub(queued);
        if wait >= QUEUED_NS {
            waits.entry(skb).or_default().push((queued, wait));
        }
    }
    waits
}
