//! Bytes of the edges of what TCP sent: an original, and the companion or the copy that went down in its place.
//!
//! In: frames with their payloads (transmit) and what `snd_nxt` advanced by (tcp_probe), by socket. Out: bytes of the edges `fclone` and
//! `retransmit_copy`, whether they are the original's, and why that is not known. No event has the length of an original:
//!
//! ```text
//! sent first    payload of the frames between two probes    = advance of snd_nxt      one unit: all edges of that time
//! sent again    payload of the frame                        = payload of the original's first frame that left
//! ```
//! Payload: the frame's length less the headers of its socket's data frames (one size, by all of its windows).

use rustc_hash::{FxHashMap, FxHashSet};

use super::tables::{Conserved, LineageKind, LineageRow};
use super::why::Why;
use crate::confidence::Confidence;
use crate::facts::{ConnectionId, SkbId};
use crate::reconstruct::balances::sent::{Window, windows};
use crate::reconstruct::dispatch::Lost;
use crate::reconstruct::skb::Identity;
use crate::reconstruct::tcp::states::ESTABLISHED;
use crate::reconstruct::tcp::tables::{RetransmitRow, SampleRow, StateRow};
use crate::reconstruct::transmit::tables::{TxKind, TxRow};

/// What SACK blocks add to a segment's headers: one to four of them, bytes.
const SACK_OPTIONS: std::ops::RangeInclusive<u64> = 12..=36;

/// What the bytes are compared with.
#[derive(Debug, Clone, Copy)]
pub struct Sent<'f> {
    /// What was sent first.
    pub tx: &'f [TxRow],
    /// tcp_probe, by time.
    pub samples: &'f [SampleRow],
    /// Changes of state: when handshakes were over.
    pub states: &'f [StateRow],
    /// What was sent again.
    pub retransmits: &'f [RetransmitRow],
}

impl<'f> Sent<'f> {
    /// Rows of the views `tx`, `tcp_samples`, `tcp_states` and `retransmits`.
    pub fn of(
        tx: &'f [TxRow],
        (samples, states, retransmits): (&'f [SampleRow], &'f [StateRow], &'f [RetransmitRow]),
    ) -> Sent<'f> {
        Sent {
            tx,
            samples,
            states,
            retransmits,
        }
    }
}

/// Whether the frames of a window are what `snd_nxt` advanced by.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Verdict {
    #[default]
    None,
    Same,
    Lost,
    Headers,
    Options,
    Apart,
}

struct Payloads<'f> {
    identity: &'f Identity,
    sent: Sent<'f>,
    /// By life: its row of `tx`, `u32::MAX` for none.
    rows: Vec<u32>,
    /// By row of `tx`.
    verdicts: Vec<Verdict>,
    /// Headers of data frames, by socket, bytes.
    headers: FxHashMap<ConnectionId, u32>,
    /// Payload of a full segment, by socket; `None` until one is asked for.
    segments: Option<FxHashMap<ConnectionId, u32>>,
    /// Frames that originals sent again went in at first; of several the last: the queue refused those before.
    first: FxHashMap<SkbId, SkbId>,
    /// Sockets of originals sent again.
    owners: FxHashMap<SkbId, ConnectionId>,
}

/// Sets bytes, `conserved` and `why` of edges between originals and what was sent for them.
pub(super) fn bytes(rows: &mut [LineageRow], identity: &Identity, lost: &Lost, sent: Sent<'_>) {
    let mut p = Payloads::new(identity, sent);
    p.judge(lost);
    p.again(rows);
    for r in rows.iter_mut() {
        let again = match r.kind {
            LineageKind::RetransmitCopy => true,
            LineageKind::Fclone => identity.sent_again(r.child),
            _ => continue,
        };
        (r.bytes, r.conserved, r.why) = match again {
            true => p.of_again(r),
            false => p.of_first(r),
        };
        if r.conserved == Conserved::No {
            r.confidence = r.confidence.min(Confidence::Weak);
        }
    }
}

impl<'f> Payloads<'f> {
    fn new(identity: &'f Identity, sent: Sent<'f>) -> Payloads<'f> {
        let mut rows = vec![u32::MAX; identity.lives.len()];
        let mut headers = FxHashMap::default();
        for (i, r) in (0u32..).zip(sent.tx) {
            if let Some(slot) = rows.get_mut(r.skb_id.0 as usize) {
                *slot = i;
            }
            let Some(c) = r.connection.filter(|_| r.kind == TxKind::Tcp) else {
                continue;
            };
            let frame = identity.life(r.skb_id).and_then(|l| l.bytes);
            if let Some(h) = frame.zip(r.bytes).and_then(|(len, payload)| len.checked_sub(payload)) {
                headers.entry(c).or_insert(h);
            }
        }
        Payloads {
            identity,
            sent,
            rows,
            verdicts: vec![Verdict::None; sent.tx.len()],
            headers,
            segments: None,
            first: FxHashMap::default(),
            owners: FxHashMap::default(),
        }
    }

    fn row(&self, skb: SkbId) -> Option<(u32, &'f TxRow)> {
        let at = *self.rows.get(skb.0 as usize)?;
        Some((at, self.sent.tx.get(at as usize)?))
    }

    /// What every window says of its frames.
    fn judge(&mut self, lost: &Lost) {
        let mut born: FxHashMap<ConnectionId, i64> = FxHashMap::default();
        let established = |s: &&StateRow| s.kind == "sock" && s.state == ESTABLISHED;
        for s in self.sent.states.iter().filter(established) {
            born.entry(s.connection).or_insert(s.time_ns);
        }
        let (rows, verdicts) = (&self.rows, &mut self.verdicts);
        windows(
            self.sent.samples,
            self.sent.tx,
            |c| born.get(&c).copied(),
            |w| {
                // With TCP Fast Open bytes were sent in the handshake.
                let early = born.get(&w.connection) == Some(&w.ns.0) && w.found() < w.advanced;
                let verdict = match verdict(&w, lost) {
                    Verdict::Apart if early => Verdict::None,
                    verdict => verdict,
                };
                for f in w.frames {
                    let at = rows.get(f.skb.0 as usize).copied().unwrap_or(u32::MAX);
                    if let Some(v) = verdicts.get_mut(at as usize) {
                        *v = verdict;
                    }
                }
            },
        );
    }

    /// Looks up what is asked of originals that were sent again.
    fn again(&mut self, rows: &[LineageRow]) {
        let identity = self.identity;
        let again = |r: &&LineageRow| match r.kind {
            LineageKind::RetransmitCopy => true,
            LineageKind::Fclone => identity.sent_again(r.child),
            _ => false,
        };
        let originals: FxHashSet<SkbId> = rows.iter().filter(again).map(|r| r.parent).collect();
        if originals.is_empty() {
            return;
        }
        for c in identity
            .clones
            .iter()
            .filter(|c| !c.again && originals.contains(&c.original))
        {
            self.first.insert(c.original, c.clone);
        }
        for r in self.sent.retransmits {
            if let Some((o, c)) = r.original.zip(r.connection) {
                self.owners.entry(o).or_insert(c);
            }
        }
    }

    fn of_first(&self, r: &LineageRow) -> (Option<u32>, Conserved, Why) {
        use Conserved::{No, Unknown, Yes};
        let Some((at, row)) = self.row(r.child) else {
            return (None, Unknown, Why::NoSocket);
        };
        if row.refused {
            return (row.bytes, Unknown, Why::Refused);
        }
        let Some(bytes) = row.bytes.filter(|_| row.kind == TxKind::Tcp) else {
            let why = match row.connection {
                Some(_) => Why::Headers,
                None => Why::NoSocket,
            };
            return (row.bytes, Unknown, why);
        };
        let (conserved, why) = match self.verdicts.get(at as usize).copied().unwrap_or_default() {
            Verdict::Same => (Yes, Why::Unit),
            Verdict::Apart => (No, Why::Advance),
            Verdict::Options => (Unknown, Why::Options),
            Verdict::Headers => (Unknown, Why::Headers),
            Verdict::Lost => (Unknown, Why::Lost),
            Verdict::None => (Unknown, Why::NoProbe),
        };
        (Some(bytes), conserved, why)
    }

    fn of_again(&mut self, r: &LineageRow) -> (Option<u32>, Conserved, Why) {
        use Conserved::{No, Unknown, Yes};
        let first = self.first.get(&r.parent).and_then(|skb| self.row(*skb)).map(|f| f.1);
        // A SYN's or a FIN's frame has other headers.
        if first.is_some_and(|f| f.kind != TxKind::Tcp) {
            return (None, Unknown, Why::Headers);
        }
        let connection = first.and_then(|f| f.connection);
        let Some(connection) = connection.or(self.owners.get(&r.parent).copied()) else {
            return (None, Unknown, Why::NoSocket);
        };
        let len = self.identity.life(r.child).and_then(|l| l.bytes);
        let header = self.headers.get(&connection).copied();
        let Some(payload) = len.zip(header).and_then(|(len, h)| len.checked_sub(h)) else {
            return (None, Unknown, Why::Headers);
        };
        let Some(before) = first.and_then(|f| f.bytes) else {
            // It may be a FIN, or a SYN with more options.
            return (Some(payload).filter(|n| *n > 0), Unknown, Why::FirstNotSeen);
        };
        let (conserved, why) = match payload.cmp(&before) {
            std::cmp::Ordering::Equal => (Yes, Why::Unit),
            std::cmp::Ordering::Less => (Unknown, Why::Shorter),
            std::cmp::Ordering::Greater if options(u64::from(payload - before), 1) => (Unknown, Why::Options),
            std::cmp::Ordering::Greater if self.segment(connection).is_none_or(|n| payload <= n) => {
                (Unknown, Why::Joined)
            }
            std::cmp::Ordering::Greater => (No, Why::Longer),
        };
        (Some(payload), conserved, why)
    }

    /// Payload of a full segment of a socket, bytes: what its device was told to cut frames to. `None`: none was cut.
    fn segment(&mut self, connection: ConnectionId) -> Option<u32> {
        let (tx, identity) = (self.sent.tx, self.identity);
        let largest = self.segments.get_or_insert_with(|| {
            let mut all: FxHashMap<ConnectionId, u32> = FxHashMap::default();
            for (c, skb) in tx.iter().filter_map(|r| Some((r.connection?, r.skb_id))) {
                let size = identity.life(skb).map_or(0, |l| u32::from(l.gso_size));
                if size > 0 {
                    let had = all.entry(c).or_insert(size);
                    *had = size.max(*had);
                }
            }
            all
        });
        largest.get(&connection).copied()
    }
}

fn verdict(w: &Window<'_>, lost: &Lost) -> Verdict {
    let found = w.found();
    match found.checked_sub(w.advanced) {
        _ if lost.within(w.ns.0, w.ns.1) => Verdict::Lost,
        _ if w.unsized_frames() => Verdict::Headers,
        Some(0) => Verdict::Same,
        Some(more) if options(more, w.frames.len() as u64) => Verdict::Options,
        _ => Verdict::Apart,
    }
}

/// Whether so many bytes may be the SACK blocks of so many segments.
fn options(bytes: u64, segments: u64) -> bool {
    bytes.is_multiple_of(4) && bytes >= *SACK_OPTIONS.start() && bytes <= segments.saturating_mul(*SACK_OPTIONS.end())
}
