//! What sockets sent between two probes: frames, against what `snd_nxt` advanced by.

use rustc_hash::FxHashMap;

use crate::facts::{ConnectionId, SkbId};
use crate::reconstruct::tcp::tables::SampleRow;
use crate::reconstruct::transmit::tables::{TxKind, TxRow};

/// A frame sent for the first time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame {
    /// When it was queued on its device.
    pub ts_ns: i64,
    /// Payload, bytes; `None`: headers of unknown size are in it.
    pub bytes: Option<u32>,
    /// What was given to the device.
    pub skb: SkbId,
}

/// The time between two probes of a socket. Both happen under the socket's lock, so what was sent in between is what `snd_nxt`
/// advanced by.
#[derive(Debug, Clone, Copy)]
pub struct Window<'w> {
    /// Whose.
    pub connection: ConnectionId,
    /// From the one to the other.
    pub ns: (i64, i64),
    /// What `snd_nxt` advanced by, bytes; below 2^31.
    pub advanced: u64,
    /// Sent meanwhile.
    pub frames: &'w [Frame],
    /// No frame of the socket is known at all.
    pub none: bool,
}

impl Window<'_> {
    /// Payload of the frames whose payload is known, bytes.
    pub fn found(&self) -> u64 {
        self.frames.iter().filter_map(|f| f.bytes).map(u64::from).sum()
    }
    /// The payload of some frame is not known.
    pub fn unsized_frames(&self) -> bool {
        self.frames.iter().any(|f| f.bytes.is_none())
    }
}

/// Calls `with` for each window of every socket, by time of its end; windows in which nothing happened, or `snd_nxt` went back, are
/// left out. `born`: when the handshake of a socket was over, where the time from there to the first probe shall be one too: nothing was
/// acknowledged before that (each ACK is a probe).
pub fn windows(
    samples: &[SampleRow],
    tx: &[TxRow],
    born: impl Fn(ConnectionId) -> Option<i64>,
    mut with: impl FnMut(Window<'_>),
) {
    let mut sent: FxHashMap<ConnectionId, Vec<Frame>> = FxHashMap::default();
    // What a queue of this host refused in the send itself did not advance snd_nxt: that its bytes came again is known by snd_nxt standing still.
    let counted = |r: &&TxRow| matches!(r.kind, TxKind::Tcp | TxKind::TcpUnknown) && !r.refused;
    for r in tx.iter().filter(counted) {
        if let Some(c) = r.connection {
            sent.entry(c).or_default().push(Frame {
                ts_ns: r.t_sched_ns,
                bytes: r.bytes,
                skb: r.skb_id,
            });
        }
    }
    for of in sent.values_mut() {
        of.sort_by_key(|f| f.ts_ns);
    }
    // Of the last sample: when, snd_nxt, and how many of the frames came before it.
    let mut at: FxHashMap<ConnectionId, (i64, u32, usize)> = FxHashMap::default();
    for s in samples {
        let of = sent.get(&s.connection).map_or(&[][..], |of| of);
        let before = of.partition_point(|f| f.ts_ns < s.time_ns);
        let last = at.insert(s.connection, (s.time_ns, s.snd_nxt, before)).or_else(|| {
            let since = born(s.connection).filter(|t| *t <= s.time_ns)?;
            Some((since, s.snd_una, of.partition_point(|f| f.ts_ns <= since)))
        });
        let Some((since, nxt, from)) = last else { continue };
        let advanced = s.snd_nxt.wrapping_sub(nxt);
        let frames = of.get(from..before).unwrap_or(&[]);
        if frames.is_empty() && advanced == 0 || advanced >= 1 << 31 {
            continue;
        }
        with(Window {
            connection: s.connection,
            ns: (since, s.time_ns),
            advanced: u64::from(advanced),
            frames,
            none: of.is_empty(),
        });
    }
}
