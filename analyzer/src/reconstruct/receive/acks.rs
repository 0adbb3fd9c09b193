//! How far a stream had come when an ACK was sent, where the peer's socket is in the recording too: the peer's next
//! `tcp_probe` shows `snd_una` as that ACK left it (`tcp_probe` fires before the ACK is processed).

use rustc_hash::FxHashMap;

use crate::facts::{ConnectionId, SkbId};
use crate::reconstruct::skb::Identity;
use crate::reconstruct::tcp::Tcp;

/// What ACKs acknowledged.
#[derive(Debug, Default)]
pub struct Acks {
    /// (the ACK's skb, the socket that received it, `snd_una` afterwards), ascending.
    of: Vec<(SkbId, ConnectionId, u32)>,
}

impl Acks {
    /// Of every segment that a `tcp_probe` names, but the last of each socket.
    pub fn read(identity: &Identity, tcp: &Tcp) -> Acks {
        let mut next: FxHashMap<ConnectionId, u32> = FxHashMap::default();
        let mut of = vec![];
        for ((index, connection), sample) in tcp.probes.iter().zip(&tcp.samples).rev() {
            let after = next.insert(*connection, sample.snd_una);
            if let Some((skb, una)) = identity.of(*index).zip(after) {
                of.push((skb, *connection, una));
            }
        }
        of.sort_unstable();
        Acks { of }
    }
    /// What `skb` acknowledged, when it came to the peer of `connection`.
    pub fn acknowledged(&self, tcp: &Tcp, skb: SkbId, connection: ConnectionId) -> Option<u32> {
        let at = self.of.binary_search_by_key(&skb, |a| a.0).ok()?;
        let (_, receiver, una) = *self.of.get(at)?;
        let ends = |c: ConnectionId| tcp.sockets.all.get(c.0 as usize).map(|s| s.tuple);
        let (here, there) = (ends(connection)?, ends(receiver)?);
        (there == here.reversed()).then_some(una)
    }
}
