//! To which socket each packet came, and whether it was read there.

use rustc_hash::{FxHashMap, FxHashSet};

use super::rows::Inputs;
use super::sockets::SocketRow;
use super::tables::TurnRow;
use super::untold::Taken;
use crate::confidence::Confidence;
use crate::facts::SkbId;
use crate::reconstruct::receive::Queued;
use crate::reconstruct::receive::tables::{RxEnd, RxRow, Stage};

/// Where a packet came to.
#[derive(Clone, Copy)]
pub(super) struct Landed {
    pub(super) socket: u32,
    /// When; of what a call took not known.
    pub(super) at: i64,
    /// When the recording ended.
    pub(super) unread: bool,
    /// When the socket was destroyed with it.
    pub(super) left: bool,
    pub(super) confidence: Confidence,
}

/// Packets that calls took, where no event names a UDP socket: where they came to, and when what answers a turn came.
pub(super) fn taken_by_calls(
    taken: &[Taken],
    rx: &[RxRow],
    landed: &mut FxHashMap<SkbId, Landed>,
    turns: &mut [TurnRow],
) {
    let answers = taken.iter().filter_map(|t| Some((t.skb, t.turn?)));
    let answers: FxHashMap<SkbId, u32> = answers.collect();
    for r in rx {
        let turn = answers.get(&r.skb_id).and_then(|at| turns.get_mut(*at as usize));
        if let Some(t) = turn {
            let came = Stage::UNTIL_SOCKET.iter().filter_map(|s| r.stage(*s)).sum::<i64>();
            t.ready_ns = Some(r.start_ns.saturating_add(came)).filter(|at| *at >= t.start_ns);
        }
    }
    landed.extend(taken.iter().map(|t| {
        let one = Landed {
            socket: t.socket,
            at: i64::MAX,
            unread: false,
            left: false,
            confidence: Confidence::Strong,
        };
        (t.skb, one)
    }));
}

/// The socket to which each packet came.
pub(super) fn landed(sockets: &[SocketRow], of: Inputs<'_>) -> FxHashMap<SkbId, Landed> {
    let mut by_sk: FxHashMap<u64, Vec<(i64, u32)>> = FxHashMap::default();
    for (n, s) in (0u32..).zip(sockets) {
        by_sk.entry(s.sk).or_default().push((s.first_ns, n));
    }
    let unread = of.rx.iter().filter(|r| r.end == RxEnd::Queued).map(|r| r.skb_id);
    let unread: FxHashSet<SkbId> = unread.collect();
    let one = |q: &Queued| {
        let lives = by_sk.get(&q.sk)?;
        let socket = lives
            .get(lives.partition_point(|l| l.0 <= q.time_ns).checked_sub(1)?)?
            .1;
        let closed = sockets.get(socket as usize)?.closed;
        let landed = Landed {
            socket,
            at: q.time_ns,
            unread: !closed && unread.contains(&q.skb_id),
            left: of.left.contains_key(&q.skb_id),
            confidence: q.confidence,
        };
        Some((q.skb_id, landed))
    };
    of.queued.iter().filter_map(one).collect()
}
