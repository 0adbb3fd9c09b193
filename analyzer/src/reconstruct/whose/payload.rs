//! What tells whether a segment carries payload: when its connection was there, and how long its frames without any are.

use rustc_hash::{FxHashMap, FxHashSet};

use super::{Known, SYN_NS};
use crate::facts::ConnectionId;
use crate::reconstruct::tcp::states::{ESTABLISHED, FIN_WAIT1, LAST_ACK, SYN_SENT};
use crate::reconstruct::tcp::tables::StateRow;
use crate::reconstruct::transmit::tables::TxKind;

/// When sockets went to SYN_SENT first.
pub(super) fn began(states: &[StateRow]) -> FxHashMap<ConnectionId, i64> {
    let mut out = FxHashMap::default();
    for s in states.iter().filter(|s| s.kind == "sock" && s.state == SYN_SENT) {
        out.entry(s.connection).or_insert(s.time_ns);
    }
    out
}

/// When sockets that were seen to send a SYN were told that their connection is there; of others (it never was, or the recording ends before) what leaves
/// right behind the state is a SYN, and no more is known.
pub(super) fn established(states: &[StateRow]) -> FxHashMap<ConnectionId, i64> {
    let mut opening: FxHashSet<ConnectionId> = FxHashSet::default();
    let mut out = FxHashMap::default();
    for s in states.iter().filter(|s| s.kind == "sock") {
        match s.state {
            SYN_SENT if opening.insert(s.connection) => {
                _ = out.insert(s.connection, s.time_ns.saturating_add(SYN_NS));
            }
            ESTABLISHED if opening.remove(&s.connection) => _ = out.insert(s.connection, s.time_ns),
            _ => {}
        }
    }
    out
}

/// Frames of a TCP header without payload, over IPv4 and IPv6, without and with timestamps; with an Ethernet header and without. Others have more options (SACK, a
/// SYN's), beside which a small payload would pass for none.
const BARE_BYTES: [u32; 8] = [54, 66, 74, 86, 40, 52, 60, 72];

/// Longest of them that is taken for one of an unknown connection: IPv4 with timestamps.
const LEAST_BYTES: u32 = 66;

/// How long frames are that carry nothing.
pub(super) struct Bare {
    /// Each connection's shortest frame that is known to carry nothing, once it is there.
    of: FxHashMap<ConnectionId, u32>,
    /// The shortest of all.
    least: Option<u32>,
    /// When sockets closed their side.
    closed: FxHashMap<ConnectionId, i64>,
}

impl Bare {
    /// Of a connection; where none of its frames is known, and it has closed its side, as long as the shortest of all.
    pub(super) fn of(&self, c: ConnectionId, at: i64) -> Option<u32> {
        let closed = || self.closed.get(&c).is_some_and(|since| *since <= at);
        let own = self.of.get(&c).copied();
        own.or_else(|| self.least.filter(|_| closed()))
    }

    pub(super) fn of_all(known: &Known<'_>, established: &FxHashMap<ConnectionId, i64>) -> Bare {
        let mut of: FxHashMap<ConnectionId, u32> = FxHashMap::default();
        let control = known
            .tx
            .iter()
            .filter(|r| r.kind == TxKind::TcpControl && r.bytes == Some(0));
        for row in control {
            let life = known.lives.get(row.skb_id.0 as usize);
            let (Some(c), Some((born, bytes))) = (row.connection, life.and_then(|l| Some((l.birth_ns, l.bytes?))))
            else {
                continue;
            };
            if established.get(&c).is_none_or(|at| born > *at) {
                let shortest = of.entry(c).or_insert(bytes);
                *shortest = bytes.min(*shortest);
            }
        }
        of.retain(|_, bytes| BARE_BYTES.contains(bytes));
        let mut closed = FxHashMap::default();
        let ends = [FIN_WAIT1, LAST_ACK];
        for s in known
            .states
            .iter()
            .filter(|s| s.kind == "sock" && ends.contains(&s.state))
        {
            closed.entry(s.connection).or_insert(s.time_ns);
        }
        // Of another family, or without timestamps, a longer one may carry a few bytes.
        let least = of.values().min().map(|n| *n.min(&LEAST_BYTES));
        Bare { of, least, closed }
    }
}
