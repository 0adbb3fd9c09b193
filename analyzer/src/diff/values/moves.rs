//! What each request and each answer from sockets that speak in turns has: payload bytes from one request of a connection to the next, and how long a client had to wait
//! for all of its answer.
//!
//! Left out, as not all of its bytes are known: what lost events touch, what may be another connection's, the last turn of a connection that was not closed, and what came
//! before the first request that is seen.
//!
//! ```text
//! client   send ......... send            send
//!           |-- request --|                |       tx that these calls wrote
//!                    rx rx rx rx           |       answer: all that comes before the next request
//! ```

use std::net::IpAddr;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::analyses::application::{Role, Socket, sockets};
use crate::diff::servers::answers::{openings, server};
use crate::diff::sides::options::Recording;
use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::dispatch::Lost;
use crate::reconstruct::receive::tables::RxEnd;
use crate::reconstruct::tcp::states::{ESTABLISHED, SYN_RECV, SYN_SENT};
use crate::reconstruct::transmit::tables::TxKind;

/// A request and its answer.
#[derive(Debug, Clone)]
pub(in crate::diff) struct Moves {
    /// When it was sent.
    pub at_ns: i64,
    /// Of a client: until the first byte of the answer was readable; the same with the opening of the connection, where it is the first on it.
    pub response_ns: Option<i64>,
    pub call_ns: Option<i64>,
    /// Of the server.
    pub turnaround_ns: Option<i64>,
    /// `address:port`.
    pub server: String,
    pub client: IpAddr,
    /// Bytes; `None`: not known.
    pub request: Option<i64>,
    pub answer: Option<i64>,
    /// Of a client: from its (last) send to the last byte readable.
    pub whole_ns: Option<i64>,
}

/// Bytes by time; `None`: not known, or not sure whose.
#[derive(Default)]
struct Bytes(Vec<(i64, Option<u32>)>);

impl Bytes {
    /// Of `[from, to)`; `None` where something is not known, or there are none.
    fn within(&self, from: i64, to: i64) -> Option<i64> {
        let at = |t: i64| self.0.partition_point(|b| b.0 < t);
        let of = self.0.get(at(from)..at(to.max(from)))?;
        let sum = of
            .iter()
            .try_fold(0i64, |sum, b| Some(sum.saturating_add(b.1?.into())))?;
        (sum > 0).then_some(sum)
    }
}

/// What went over connections, and when they left the established state.
#[derive(Default)]
struct Moved {
    came: FxHashMap<ConnectionId, Bytes>,
    went: FxHashMap<ConnectionId, Bytes>,
    closed: FxHashMap<ConnectionId, i64>,
}

impl Moved {
    fn of(facts: &Facts, sockets: &[Socket<'_>]) -> Moved {
        let mut out = Moved::default();
        let wanted: FxHashSet<ConnectionId> = sockets.iter().filter(|s| s.in_turns).map(|s| s.connection).collect();
        let wanted = |c: Option<ConnectionId>| c.filter(|c| wanted.contains(c));
        // What is no data has no bytes that anyone would state.
        for r in facts.rx.iter().filter(|r| r.end != RxEnd::Protocol) {
            if let Some(c) = wanted(r.connection) {
                out.came
                    .entry(c)
                    .or_default()
                    .0
                    .push((r.start_ns, r.bytes.filter(|_| r.confidence.is_solid())));
            }
        }
        for t in facts.tx.iter().filter(|t| t.kind == TxKind::Tcp) {
            if let Some(c) = wanted(t.connection) {
                out.went
                    .entry(c)
                    .or_default()
                    .0
                    .push((t.start_ns, t.bytes.filter(|_| t.confidence.is_solid())));
            }
        }
        for of in out.came.values_mut().chain(out.went.values_mut()) {
            of.0.sort_unstable();
        }
        let left = |s: i32| s > ESTABLISHED && !matches!(s, SYN_SENT | SYN_RECV);
        for s in facts.tcp_states.iter().filter(|s| s.kind == "sock" && left(s.state)) {
            out.closed.entry(s.connection).or_insert(s.time_ns);
        }
        out
    }
}

/// A request: when its first byte was sent (of a server: came), when its answer began at the latest, and whether it is one.
struct Turn {
    from_ns: i64,
    send_ns: i64,
    judged: bool,
    /// Of a client: until the last byte of the answer was readable, and the first one.
    whole_ns: Option<i64>,
    response_ns: Option<i64>,
    turnaround_ns: Option<i64>,
}

fn turns(s: &Socket<'_>) -> Vec<Turn> {
    let turns = match s.role {
        Role::Client => (s.responses.iter())
            .map(|r| Turn {
                from_ns: r.send_ns.saturating_sub(r.sending_ns),
                send_ns: r.send_ns,
                judged: !r.overlap && r.confidence.is_solid(),
                whole_ns: r.whole_ns(),
                response_ns: r.response_ns(),
                turnaround_ns: r.peer.map(|p| p.turnaround_ns),
            })
            .collect(),
        Role::Server => (s.turnarounds.iter())
            .map(|t| Turn {
                from_ns: t.send_ns,
                send_ns: t.send_ns,
                judged: !t.overlap && t.confidence.is_solid(),
                whole_ns: None,
                response_ns: None,
                turnaround_ns: Some(t.total_ns()),
            })
            .collect(),
    };
    let mut turns: Vec<Turn> = turns;
    turns.sort_by_key(|t| t.from_ns);
    turns
}

/// All of a side; none where names are pseudonyms.
pub(in crate::diff) fn of(side: &[Recording<'_>], hidden: bool) -> Vec<Moves> {
    let mut out = vec![];
    for r in side.iter().filter(|_| !hidden) {
        add(r, &mut out);
    }
    out
}

fn add(r: &Recording<'_>, out: &mut Vec<Moves>) {
    let (facts, here) = (r.facts, r.connections());
    let (all, lost) = (sockets(facts), Lost::of(&facts.gaps));
    let moved = Moved::of(facts, &all);
    let opened = openings(facts);
    let none = Bytes::default();
    for s in all.iter().filter(|s| s.in_turns) {
        let row = facts.connections.get(s.connection.0 as usize);
        let Some((row, name)) = row.zip(server(r, s.connection, s.role)) else {
            continue;
        };
        let (client, twice) = match s.role {
            Role::Client => (row.saddr, false),
            // What its client's socket tells is told there.
            Role::Server => (row.daddr, row.peer.is_some()),
        };
        if twice || here.as_ref().is_some_and(|h| !h.contains(&s.connection)) {
            continue;
        }
        let Some(client) = client.map(|a| a.to_canonical()) else {
            continue;
        };
        let (came, went) = (
            moved.came.get(&s.connection).unwrap_or(&none),
            moved.went.get(&s.connection).unwrap_or(&none),
        );
        let turns = turns(s);
        let opening = opened.get(&s.connection).and_then(|(from, to)| Some((*to)? - from));
        for (nth, t) in turns.iter().enumerate() {
            let next = turns.get(nth.saturating_add(1)).map(|t| t.from_ns);
            let end = next.or_else(|| moved.closed.get(&s.connection).copied().filter(|at| *at > t.send_ns));
            let Some(end) = end.filter(|end| t.judged && r.has(t.send_ns) && !lost.within(t.from_ns, *end)) else {
                continue;
            };
            // A close of its own does not end what it sends.
            let to = next.unwrap_or(i64::MAX);
            let before = nth.checked_sub(1).and_then(|n| turns.get(n)).map(|t| t.from_ns);
            let (request, answer) = match s.role {
                Role::Client => (went.within(t.from_ns, to), came.within(t.from_ns, end)),
                Role::Server => (
                    before.and_then(|from| came.within(from, t.send_ns)),
                    went.within(t.from_ns, to),
                ),
            };
            let waited = opening.filter(|_| nth == 0).unwrap_or(0);
            out.push(Moves {
                at_ns: t.send_ns,
                response_ns: t.response_ns,
                call_ns: t.response_ns.map(|ns| ns.saturating_add(waited)),
                turnaround_ns: t.turnaround_ns,
                server: name.clone(),
                client,
                request,
                answer,
                whole_ns: t.whole_ns,
            });
        }
    }
}
