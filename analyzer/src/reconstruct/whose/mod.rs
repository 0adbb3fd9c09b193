//! Whose a packet is: the socket it is of, the thread that sent it, what it carries.
//!
//! In: rows of `tx`, edges, states, retransmissions, lives. Out: an owner for each life asked for. Must not guess: a packet that
//! nothing ties to a sender has none (pure ACKs, what other hosts sent).
//!
//! ```text
//! life ─ companion, copy, segment of ... ─> row of tx with payload ──────────────────────────────> data of its socket
//!                                        ├> UDP row of tx ─────────────────────────────────────────> datagram of its thread
//!                                        ├> an original whose frame left just before the event that tells a
//!                                        │  segment sent again ────────────────────────────────────> data of that socket
//!                                        └> an original whose first packet left just after a socket
//!                                           went to SYN_SENT, or just before a SYN was told sent again ─> SYN of that socket
//! ```
//! Source: net/ipv4/tcp_ipv4.c `tcp_v4_connect` (the state is set, then the SYN leaves), net/ipv4/tcp_output.c `tcp_retransmit_skb`
//! (the event follows the frame).

use rustc_hash::{FxHashMap, FxHashSet};

use crate::confidence::Confidence;
use crate::facts::{ConnectionId, Facts, SkbId};
use crate::name::Name;
use crate::reconstruct::lineage::tables::{LineageKind, LineageRow};
use crate::reconstruct::skb::tables::{HopRow, SkbClass, SkbRow};
use crate::reconstruct::tcp::tables::{RetransmitClass, RetransmitRow, StateRow};
use crate::reconstruct::transmit::tables::{TxKind, TxRow, TxStart};

mod payload;
mod syns;
mod turned;

#[cfg(test)]
mod tests;

/// Longest time from SYN_SENT to the SYN on its device, and from a frame to the event that tells it sent again, ns.
const SYN_NS: i64 = 500_000;
/// Frames, and steps of one moment, that are looked at.
const NEAR: usize = 64;
/// Steps from a packet to what it was made of.
const STEPS: usize = 8;

/// What a packet carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Carries {
    /// Payload of a TCP socket.
    Data,
    /// The opening of a TCP connection.
    Syn,
    /// The same, with payload (TCP Fast Open).
    SynData,
    /// The end of one direction of a TCP connection, without payload.
    Fin,
    /// A UDP datagram, or a part of one.
    Datagram,
    /// Not known: only the socket that it was for.
    Received,
    /// Not known: only the task in whose call it was sent, or dropped.
    Sent,
    /// The ICMP message that a tunnel made of a TCP segment too large for it, on its way back (`turned`).
    TooBig,
}

impl Carries {
    /// The word in tables.
    pub fn word(self) -> &'static str {
        match self {
            Carries::Data => "data",
            Carries::Syn => "syn",
            Carries::SynData => "syn_data",
            Carries::Fin => "fin",
            Carries::Datagram => "datagram",
            Carries::Received => "received",
            Carries::Sent => "sent",
            Carries::TooBig => "too_big",
        }
    }
}

/// Whose a packet is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Owner {
    /// Its socket; `None` of UDP, whose sockets no event names.
    pub connection: Option<ConnectionId>,
    /// What it carries.
    pub carries: Carries,
    /// Task that sent it.
    pub task: Name,
    /// Its thread.
    pub pid: i32,
    /// Least of the links to it.
    pub confidence: Confidence,
}

/// What owners are told from.
#[derive(Clone, Copy)]
pub struct Known<'k> {
    /// Segments and packets sent.
    pub tx: &'k [TxRow],
    /// Edges.
    pub lineage: &'k [LineageRow],
    /// States of sockets, in time order.
    pub states: &'k [StateRow],
    /// What was sent again, in time order.
    pub retransmits: &'k [RetransmitRow],
    /// All lives.
    pub lives: &'k [SkbRow],
    /// Their steps, in time order.
    pub hops: &'k [HopRow],
}

impl<'k> From<&'k Facts> for Known<'k> {
    fn from(facts: &'k Facts) -> Known<'k> {
        Known {
            tx: &facts.tx,
            lineage: &facts.lineage,
            states: &facts.tcp_states,
            retransmits: &facts.retransmits,
            lives: &facts.skbs,
            hops: &facts.hops,
        }
    }
}

/// Owners of packets.
pub struct Whose<'k> {
    known: Known<'k>,
    /// Row of `tx` by life.
    sent: FxHashMap<SkbId, usize>,
    /// What a life was made of.
    made_of: FxHashMap<SkbId, (SkbId, Confidence)>,
    /// SYNs of each original.
    opened: FxHashMap<SkbId, (ConnectionId, Confidence)>,
    /// Originals of segments that were only seen sent again: cut from a larger one that was sent before.
    again: FxHashMap<SkbId, (ConnectionId, Carries)>,
    /// When sockets began to open one: what left before is not theirs.
    began: FxHashMap<ConnectionId, i64>,
    /// When sockets that opened a connection were told that it is there: what left before is its SYN.
    established: FxHashMap<ConnectionId, i64>,
    /// Packets that a tunnel turned round, and the tunnel.
    turned: FxHashMap<SkbId, Name>,
}

impl<'k> Whose<'k> {
    /// Reads the tables once.
    pub fn of(known: Known<'k>) -> Whose<'k> {
        let mut sent = FxHashMap::default();
        for (at, row) in known.tx.iter().enumerate() {
            sent.insert(row.skb_id, at);
            if let Some(original) = row.original {
                sent.insert(original, at);
            }
        }
        let made_of = known.lineage.iter().filter_map(|l| match l.kind {
            LineageKind::Gso
            | LineageKind::QdiscSegment
            | LineageKind::Fclone
            | LineageKind::RetransmitCopy
            | LineageKind::Tap => Some((l.child, (l.parent, l.confidence))),
            LineageKind::GroMerge | LineageKind::FragList | LineageKind::Coalesce => None,
        });
        let mut out = Whose {
            known,
            sent,
            made_of: made_of.collect(),
            opened: FxHashMap::default(),
            again: FxHashMap::default(),
            began: payload::began(known.states),
            established: payload::established(known.states),
            turned: turned::turned(known.hops),
        };
        out.opened = out.syns();
        out.again = out.sent_again();
        out
    }

    /// The tunnel that made an ICMP message of this packet.
    pub fn turned_by(&self, skb: SkbId) -> Option<Name> {
        self.turned.get(&skb).copied()
    }

    /// The packet's, when anything tells. Of one that was turned round: whose the segment was of which it was made.
    pub fn packet(&self, skb: SkbId) -> Option<Owner> {
        let mut owner = self.made(skb)?;
        let began = owner.connection.and_then(|c| self.began.get(&c));
        let born = self.known.lives.get(skb.0 as usize).map(|l| l.birth_ns);
        // The memory of another socket's original may be this one's later.
        if born.zip(began).is_some_and(|(born, began)| born < *began) {
            return None;
        }
        // A segment sent again has the same original as the SYN that it was in: each frame is told by when it left.
        let opens = || {
            let established = self.established.get(&owner.connection?)?;
            let life = self.known.lives.get(skb.0 as usize)?;
            Some(life.birth_ns < *established)
        };
        owner.carries = match (owner.carries, self.turned.contains_key(&skb)) {
            (Carries::Data, true) => Carries::TooBig,
            (Carries::Data, false) if opens() == Some(true) => Carries::SynData,
            (carries, _) => carries,
        };
        Some(owner)
    }

    fn made(&self, skb: SkbId) -> Option<Owner> {
        let mut sure = self.known.lives.get(skb.0 as usize).map(|l| l.links)?;
        let mut at = skb;
        for _ in 0..STEPS {
            if let Some(owner) = self.named(at) {
                return Some(Owner {
                    confidence: owner.confidence.min(sure),
                    ..owner
                });
            }
            let (parent, link) = *self.made_of.get(&at)?;
            (at, sure) = (parent, sure.min(link));
        }
        None
    }

    fn named(&self, skb: SkbId) -> Option<Owner> {
        let row = self.sent.get(&skb).and_then(|at| self.known.tx.get(*at));
        let of = |carries, row: &TxRow| Owner {
            connection: row.connection,
            carries,
            task: row.task,
            pid: row.pid,
            confidence: row.confidence,
        };
        match row {
            Some(row) if row.kind == TxKind::Tcp && row.connection.is_some() => {
                let owner = of(Carries::Data, row);
                // An event that names it as sent again says whose it is, too.
                let named = self.again.get(&self.original(skb)).map(|(c, _)| *c) == row.connection;
                let sure = if named { Confidence::Strong } else { owner.confidence };
                return Some(Owner {
                    confidence: owner.confidence.max(sure),
                    ..owner
                });
            }
            Some(row) if row.kind == TxKind::Udp => return Some(of(Carries::Datagram, row)),
            _ => {}
        }
        let syn = self.opened.get(&skb).map(|(c, sure)| (*c, Carries::Syn, *sure));
        let again = || {
            self.again
                .get(&skb)
                .map(|(c, carries)| (*c, *carries, Confidence::Strong))
        };
        // Before 6.3 no event tells of calls on UDP sockets, but that a system call sends.
        let called = row.filter(|r| r.kind == TxKind::Other && r.start == TxStart::Sendmsg && r.pid > 0);
        let Some((connection, carries, confidence)) = syn.or_else(again) else {
            // A thread may send for another reason than the call that it is in.
            return called.map(|row| Owner {
                confidence: row.confidence.min(Confidence::Weak),
                ..of(Carries::Sent, row)
            });
        };
        Some(Owner {
            connection: Some(connection),
            carries,
            task: row.map_or(Name::default(), |r| r.task),
            pid: row.map_or(0, |r| r.pid),
            confidence,
        })
    }

    /// Originals that events name as sent again; without a name the one whose frame is the last one of its length before the event. Of one
    /// that fits two sockets, as when two CPUs send at a time, nothing is known.
    fn sent_again(&self) -> FxHashMap<SkbId, (ConnectionId, Carries)> {
        let again = self.known.retransmits.iter();
        let mut again = again
            .filter(|r| r.class != RetransmitClass::Syn && (r.original.is_some() || r.bytes.is_some()))
            .peekable();
        if again.peek().is_none() {
            return FxHashMap::default();
        }
        let frames = self.known.lives.iter();
        let frames = frames.filter(|l| matches!(l.class, SkbClass::TxClone | SkbClass::TxOther | SkbClass::Tx));
        let mut frames: Vec<(i64, SkbId)> = frames.map(|l| (l.birth_ns, l.skb_id)).collect();
        frames.sort_unstable();
        let framed: FxHashSet<SkbId> = frames.iter().map(|f| self.original(f.1)).collect();
        // One whose frames are known, and whose life is sure.
        let known = |skb: &SkbId| {
            let life = self.known.lives.get(skb.0 as usize).filter(|l| l.skb_id == *skb);
            framed.contains(skb) && life.is_none_or(|l| l.links.is_solid())
        };
        let bare = payload::Bare::of_all(&self.known, &self.established);
        let mut of: FxHashMap<SkbId, (Option<ConnectionId>, Carries)> = FxHashMap::default();
        for r in again {
            let by_frame = || {
                let near = self.last_before(&frames, r.time_ns, Some(r.bytes?));
                near.map(|f| self.original(f.1))
            };
            let (Some(original), Some(c)) = (r.original.filter(known).or_else(by_frame), r.connection) else {
                continue;
            };
            // What is sent again without payload, once its connection is there, is a FIN.
            let bare = bare.of(c, r.time_ns);
            let fin = r.bytes.zip(bare).is_some_and(|(bytes, bare)| bytes <= bare);
            let carries = if fin { Carries::Fin } else { Carries::Data };
            let whose = of.entry(original).or_insert((Some(c), carries));
            if whose.0 != Some(c) {
                whose.0 = None;
            }
            if carries == Carries::Data {
                whose.1 = carries;
            }
        }
        of.into_iter()
            .filter_map(|(skb, (c, carries))| Some((skb, (c?, carries))))
            .collect()
    }

    /// The frame that an event follows: the last one close before it, of the length that is known.
    fn last_before<'f>(&self, frames: &'f [(i64, SkbId)], at: i64, bytes: Option<u32>) -> Option<&'f (i64, SkbId)> {
        let before = frames.get(..frames.partition_point(|f| f.0 <= at))?;
        let near = before.iter().rev().take_while(|f| f.0 >= at.saturating_sub(SYN_NS));
        near.take(NEAR).find(|f| bytes.is_none() || self.bytes(f.1) == bytes)
    }

    /// What a frame was made of, or itself.
    fn original(&self, frame: SkbId) -> SkbId {
        self.made_of.get(&frame).map_or(frame, |(of, _)| *of)
    }

    fn bytes(&self, skb: SkbId) -> Option<u32> {
        self.known.lives.get(skb.0 as usize).and_then(|l| l.bytes)
    }
}
