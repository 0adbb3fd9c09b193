//! How far a stream had come when an ACK was sent, where the peer's socket is in the recording too: the peer's next
//! `tcp_probe` shows `snd_una` as that ACK left it (`tcp_probe` fires before the ACK is processed). One that a thread took out of
//! the backlog may have later ones merged into it, without an event (net/ipv4/tcp_ipv4.c `tcp_add_backlog`): it had come so far
//! not when the ACK was sent, but when it was processed.

use rustc_hash::FxHashMap;

use crate::facts::{ConnectionId, SkbId};
use crate::reconstruct::skb::Identity;
use crate::reconstruct::tcp::Tcp;
use crate::reconstruct::tcp::states::ESTABLISHED;

/// What one ACK acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Acked {
    /// The socket that it came to.
    to: ConnectionId,
    /// The socket that sent it, where only one has these addresses turned round.
    pub by: Option<ConnectionId>,
    /// `snd_una` of its peer afterwards.
    pub una: u32,
    /// When the peer processed it, where others may have been merged into it, ns.
    pub merged_ns: Option<i64>,
    /// It was seen sent: what queues it again is a router on its way.
    sent: bool,
}

/// What ACKs acknowledged.
#[derive(Debug, Default)]
pub struct Acks {
    /// By the ACK's skb, ascending.
    of: Vec<(SkbId, Acked)>,
    /// The sequence number of the first byte to a socket, where its peer was seen to be born: nothing was acknowledged before
    /// the peer's first probe.
    first: FxHashMap<ConnectionId, u32>,
}

impl Acks {
    /// Of every segment that a `tcp_probe` names, but the last of each socket.
    pub fn read(identity: &Identity, tcp: &Tcp) -> Acks {
        let peers = peers(tcp);
        let mut next: FxHashMap<ConnectionId, u32> = FxHashMap::default();
        let mut of = vec![];
        for ((index, connection), sample) in tcp.probes.iter().zip(&tcp.samples).rev() {
            let after = next.insert(*connection, sample.snd_una);
            let Some((skb, una)) = identity.of(*index).zip(after) else {
                continue;
            };
            let merged = tcp.probes_in_task.binary_search(index).is_ok();
            let acked = Acked {
                to: *connection,
                by: peers.get(connection).copied(),
                una,
                merged_ns: merged.then_some(sample.time_ns),
                sent: false,
            };
            of.push((skb, acked));
        }
        of.sort_unstable_by_key(|a| a.0);
        let born = tcp.states.iter().filter(|s| s.kind == "sock" && s.state == ESTABLISHED);
        let first = born.filter_map(|s| Some((*peers.get(&s.connection)?, *next.get(&s.connection)?)));
        Acks {
            of,
            first: first.collect(),
        }
    }
    /// The sequence number of the first byte to `connection`.
    pub fn first_byte(&self, connection: ConnectionId) -> Option<u32> {
        self.first.get(&connection).copied()
    }
    /// `skb` is queued on a device: what it acknowledges when it comes to its peer, told once.
    pub fn sent(&mut self, skb: SkbId) -> Option<Acked> {
        let at = self.of.binary_search_by_key(&skb, |a| a.0).ok()?;
        let acked = self.of.get_mut(at).map(|a| &mut a.1).filter(|a| !a.sent)?;
        acked.sent = true;
        Some(*acked)
    }
    /// Whether it came to the other end of `connection`.
    pub fn is_of(&self, acked: &Acked, tcp: &Tcp, connection: ConnectionId) -> bool {
        let ends = |c: ConnectionId| tcp.sockets.all.get(c.0 as usize).map(|s| s.tuple);
        let (here, there) = (ends(connection), ends(acked.to));
        here.zip(there).is_some_and(|(here, there)| there == here.reversed())
    }
}

/// The socket at the other end, where only one has these addresses turned round.
fn peers(tcp: &Tcp) -> FxHashMap<ConnectionId, ConnectionId> {
    let mut by: FxHashMap<_, Option<ConnectionId>> = FxHashMap::default();
    for s in &tcp.sockets.all {
        by.entry(s.tuple)
            .and_modify(|one| *one = None)
            .or_insert(Some(s.row.connection));
    }
    let all = tcp.sockets.all.iter();
    all.filter_map(|s| Some((s.row.connection, (*by.get(&s.tuple.reversed())?)?)))
        .collect()
}
