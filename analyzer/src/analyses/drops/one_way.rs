//! Two things by which a loss costs a transfer little: its own host told TCP of it at once, and nobody waits for what comes back.
//!
//! Needs `drops`, `skbs`, `tx`, `responses`, `connections`. A queue of the sending host that refuses a segment says so to TCP (`tcp_transmit_skb` fails, `snd_nxt` stays): it is sent again as a new
//! one, and no view names it a retransmission. A stream whose receiver confirms part after part, while its sender sends on, looks like requests of the receiver: must not be said of
//! uploads, whose sender waits for each answer.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::drops::tables::DropRow;
use crate::reconstruct::skb::tables::SkbClass;
use crate::reconstruct::transmit::tables::TxKind;

/// From a refusal to the next segment on that connection, at most, ns.
const SOON_NS: i64 = 1_000_000_000;
/// Fewest confirmations; how many times the turns of who sends they are; and how many times their bytes the stream is.
const CONFIRMED: usize = 20;
const TIMES: usize = 5;
const SMALL: u64 = 1_000;

/// Which of these lost segments their own host refused, and TCP sent on after.
pub(super) fn refused_at_home(facts: &Facts, rows: &[&DropRow]) -> Vec<bool> {
    let theirs: FxHashSet<ConnectionId> = rows.iter().filter_map(|d| d.owner?.connection).collect();
    let mut sent: FxHashMap<ConnectionId, Vec<i64>> = FxHashMap::default();
    for t in facts.tx.iter().filter(|t| t.kind == TxKind::Tcp) {
        if let Some(c) = t.connection.filter(|c| theirs.contains(c)) {
            sent.entry(c).or_default().push(t.t_sched_ns);
        }
    }
    sent.values_mut().for_each(|of| of.sort_unstable());
    let of = |d: &&DropRow| {
        let life = d
            .skb_id
            .and_then(|id| facts.skbs.get(id.0 as usize).filter(|s| s.skb_id == id));
        // It came to no other device, and was not on its way through this host.
        let at_home = life.is_some_and(|s| s.class == SkbClass::TxClone && s.hops <= 1);
        let next = d.owner.and_then(|o| sent.get(&o.connection?)).and_then(|of| {
            let next = of.get(of.partition_point(|t| *t <= d.time_ns))?;
            Some(next.saturating_sub(d.time_ns))
        });
        at_home && next.is_some_and(|ns| ns <= SOON_NS)
    };
    rows.iter().map(of).collect()
}

/// Of these the sending ends whose receivers only confirm, with these: what they say is no request, nor an answer that somebody waits for.
pub(super) fn confirmed(facts: &Facts, of: impl Iterator<Item = ConnectionId>) -> FxHashSet<ConnectionId> {
    let row = |c: ConnectionId| facts.connections.get(c.0 as usize);
    let ends = |c: ConnectionId| Some((c, row(c)?.peer?));
    let ends: Vec<(ConnectionId, ConnectionId)> = of.filter_map(ends).collect();
    if ends.is_empty() {
        return FxHashSet::default();
    }
    let mut turns: FxHashMap<ConnectionId, usize> = FxHashMap::default();
    for r in &facts.responses {
        *turns.entry(r.connection).or_default() += 1;
    }
    let n = |c: &ConnectionId| turns.get(c).copied().unwrap_or(0);
    let only = |(c, peer): &&(ConnectionId, ConnectionId)| {
        let small = row(*c).is_some_and(|r| r.bytes_in > 0 && r.bytes_in.saturating_mul(SMALL) <= r.bytes_out);
        small && n(peer) >= CONFIRMED && n(c).saturating_mul(TIMES) <= n(peer)
    };
    ends.iter().filter(only).flat_map(|(c, peer)| [*c, *peer]).collect()
}
