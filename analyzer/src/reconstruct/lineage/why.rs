//! Why the bytes of an edge are not compared, or do not add up.

use super::tables::{Conserved, LineageKind, LineageRow};

/// What an edge's own bytes say of `conserved`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Why {
    /// Nothing of its own: the head, the packet or the socket says it.
    #[default]
    Unit,
    /// A clone of the frame.
    Shared,
    /// The socket is not known.
    NoSocket,
    /// What of the frame is headers is not known.
    Headers,
    /// No tcp_probe behind it, or none before.
    NoProbe,
    /// Events were lost meanwhile.
    Lost,
    /// A queue of this host refused it.
    Refused,
    /// As many bytes more as TCP options have.
    Options,
    /// Other bytes than `snd_nxt` advanced by.
    Advance,
    /// First sent before the recording, or as part of another original.
    FirstNotSeen,
    /// Fewer than at first.
    Shorter,
    /// More than at first, not more than a segment.
    Joined,
    /// More than at first, and than a segment.
    Longer,
    /// Segments of an earlier packet may be before it.
    Order,
    /// Its queue drops what it has taken.
    QueueDrops,
    /// Several devices have its name.
    Devices,
}

impl Why {
    /// Why the bytes of a head, or of a packet cut, are not compared.
    pub fn of_unit(self) -> &'static str {
        match self {
            Why::Order => ORDER,
            Why::QueueDrops => QUEUE_DROPS,
            Why::Devices => DEVICES,
            _ => "the length of a part is not known",
        }
    }
}

const ORDER: &str =
    "segments of an earlier packet may come before its own: no event tells whose a segment is, only their order";
const QUEUE_DROPS: &str = "its queue drops what it has taken, to take another: no event tells whose segment that was";

const DEVICES: &str =
    "several devices have its name, in network namespaces: no event tells which of them a segment comes from";

impl LineageRow {
    /// Why its bytes are not compared, or do not add up; empty when they add up.
    pub fn because(&self) -> &'static str {
        match (self.conserved, self.why, self.kind) {
            (Conserved::Yes, ..) => "",
            (_, Why::Shared, _) => "a clone shares the data of the frame, whose length this is: its own is in no event",
            (_, Why::NoSocket, _) => "no event tells its socket: SYN, FIN, or a socket without samples",
            (_, Why::Headers, _) => {
                "no event tells how much of the frame is headers: SYN, FIN, or a socket without samples"
            }
            (_, Why::NoProbe, _) => "no tcp_probe on both sides of it says what snd_nxt advanced by",
            (_, Why::Lost, _) => "events were lost meanwhile",
            (_, Why::Refused, _) => "a queue of this host refused it, and its bytes were sent again as new ones",
            (_, Why::Options, _) => "as many bytes more than snd_nxt advanced by as TCP options (SACK blocks) may have",
            (_, Why::Advance, _) => "the frames between two tcp_probe carry other bytes than snd_nxt advanced by",
            (_, Why::FirstNotSeen, _) => "its first sending is not in the recording, or was part of another original",
            (_, Why::Shorter, _) => {
                "fewer bytes than at first: TCP cut the original, and no event tells what it left in it"
            }
            (_, Why::Joined, _) => "more bytes than at first: TCP may have joined small segments to send them again",
            (_, Why::Longer, _) => "more bytes than at first, and than TCP joins to send them again",
            (_, Why::Order | Why::QueueDrops | Why::Devices, _) => self.why.of_unit(),
            (Conserved::Unknown, Why::Unit, LineageKind::Coalesce) => {
                "what of its socket's bytes was read is not known, or not compared"
            }
            (Conserved::Unknown, Why::Unit, _) => "a length is not known",
            (Conserved::No, Why::Unit, LineageKind::Coalesce) => "other bytes were read from its socket than arrived",
            (Conserved::No, Why::Unit, _) => "the bytes of all edges of this head or packet are not its own",
        }
    }
}
