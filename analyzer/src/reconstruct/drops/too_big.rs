//! Packets larger than the MTU of their next link (PKT_TOO_BIG): how path MTU discovery works, or a black hole.
//!
//! In: rows of `drops`, what became of the ICMP message that each caused, segments, rows of `retransmits`. Out: the same rows,
//! judged. Must not call repaired what another way of recovery brought through, nor a black hole what was still under way.
//!
//! ```text
//! its TCP segment was sent here ─┬ acknowledged, and its socket sent again before that by class pmtu ─> expected (repaired)
//!                                ├ the same without a timeout, where messages are counted only (5.x) ─> expected (weak)
//!                                ├ not acknowledged: the ICMP message was freed here, or its socket
//!                                │ sent again by timer and never by class pmtu ──────────────────────> lost (black hole)
//!                                └ else ────────────────────────────────────────────────────────────┐
//! who sent it is not recorded, or no TCP segment ───────────────────────────────────────────────────┴> lost
//! icmp_send ─ [a packet lost on this CPU: the message itself] ─ kfree_skb PKT_TOO_BIG: the message did not leave this host
//! icmp_send ─ net_dev_queue (the message) ─ kfree_skb PKT_TOO_BIG .. kfree_skb (the message), later: the same, at another device
//! ```
//! Source: net/ipv4/ip_forward.c `ip_forward` (icmp_send, then the free, in one softirq), net/ipv4/tcp_ipv4.c `tcp_v4_mtu_reduced`.

use rustc_hash::{FxHashMap, FxHashSet};

use super::otherhost::Hindsight;
use super::segments::Segments;
use super::tables::DropRow;
use crate::confidence::Confidence;
use crate::facts::{ConnectionId, SkbId};
use crate::name::Name;
use crate::reconstruct::tcp::tables::{RetransmitClass, RetransmitRow};
use crate::reconstruct::whose::Owner;

/// What became of the ICMP message that a packet caused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Message {
    /// It was made, and no free of it is seen in that softirq; its life, where that is known.
    Sent(Option<SkbId>),
    /// It was freed here: this is its row.
    Dropped(usize),
    /// None was made; known of IPv4 where `icmp_send` is recorded.
    None,
    /// Not recorded, but the kernel counted one for each.
    Counted,
    /// Not recorded.
    Unknown,
}

/// From the making of a message to its free in the same handling of a packet, at most, ns.
const HANDLING_NS: i64 = 100_000;

/// What all of these begin with.
pub(super) const TOO_BIG: &str = "larger than the MTU of its next link";

pub(super) const REPAIRED: &str = "larger than the MTU of its next link; path MTU discovery repaired it: an ICMP message made its sender send the segment again, and it was acknowledged";
pub(super) const FILTERED: &str = "larger than the MTU of its next link: a path MTU black hole, the ICMP message for its sender was dropped by this host";
pub(super) const SILENT: &str =
    "larger than the MTU of its next link: a path MTU black hole, no ICMP message was made for its sender";
pub(super) const UNHEARD: &str =
    "larger than the MTU of its next link: a path MTU black hole, its sender only sent it again as it was";
pub(super) const STOPPED: &str =
    "larger than the MTU of its next link, and the ICMP message for its sender was dropped by this host";
/// The message's own row.
pub(super) const MESSAGE: &str =
    "the ICMP message that a packet was too big, which its sender needs for path MTU discovery";

/// The row of a message that a tunnel made of a segment: its sender went on as before, and where nothing tells that.
pub(super) const TUNNEL_HOLE: &str = "a tunnel made it of a segment too large for it, to tell the sender: a path MTU black hole, the sender only sent it again as it was";
pub(super) const TUNNEL: &str = "a tunnel made it of a segment too large for it, to tell the sender";

/// When each socket sent again by timer, and by class pmtu.
pub(super) struct Again(FxHashMap<(ConnectionId, bool), Vec<(i64, Confidence)>>);

impl Again {
    pub(super) fn of(retransmits: &[RetransmitRow]) -> Again {
        let mut by: FxHashMap<_, Vec<_>> = FxHashMap::default();
        let classes = [RetransmitClass::Rto, RetransmitClass::Pmtu];
        for r in retransmits.iter().filter(|r| classes.contains(&r.class)) {
            if let Some(c) = r.connection {
                let pmtu = r.class == RetransmitClass::Pmtu;
                by.entry((c, pmtu)).or_default().push((r.time_ns, r.confidence));
            }
        }
        for of in by.values_mut() {
            of.sort_unstable();
        }
        Again(by)
    }

    /// The first of either class after that time.
    fn after(&self, of: Option<ConnectionId>, time_ns: i64) -> Vec<(i64, RetransmitClass, Confidence)> {
        let first = |pmtu: bool, class| {
            let of = self.0.get(&(of?, pmtu))?;
            let (at, sure) = *of.get(of.partition_point(|(at, _)| *at <= time_ns))?;
            Some((at, class, sure))
        };
        let both = [first(false, RetransmitClass::Rto), first(true, RetransmitClass::Pmtu)];
        both.into_iter().flatten().collect()
    }

    /// What is said of a message of a tunnel that was dropped then: its sender sent again by timer after it, and not by class pmtu.
    pub(super) fn by_tunnel(&self, owner: &Owner, time_ns: i64) -> &'static str {
        let after = self.after(owner.connection, time_ns);
        let again = |class| after.iter().any(|(_, of, _)| *of == class);
        match again(RetransmitClass::Rto) && !again(RetransmitClass::Pmtu) {
            true => TUNNEL_HOLE,
            false => TUNNEL,
        }
    }
}

/// Whether these words are of a black hole, and its name then.
pub(super) fn black_hole(why: &str) -> Option<&'static str> {
    match why {
        FILTERED => Some("a path MTU black hole: the ICMP messages for the sender were dropped here too"),
        SILENT => Some("a path MTU black hole: no ICMP message was made for the sender"),
        UNHEARD => Some("a path MTU black hole: the sender never sent smaller"),
        STOPPED => Some("and the ICMP messages for the sender were dropped here too"),
        TUNNEL_HOLE => Some("a path MTU black hole: the sender never sent smaller"),
        TUNNEL => Some("made by a tunnel of packets too large for it"),
        MESSAGE => Some("the ICMP packet-too-big messages"),
        _ => None,
    }
}

/// Judges the rows at these places.
pub fn judge(rows: &mut [DropRow], places: &[(usize, Message)], known: &Hindsight<'_>) {
    if places.is_empty() {
        return;
    }
    let asked: FxHashSet<SkbId> = places.iter().filter_map(|(at, _)| rows.get(*at)?.skb_id).collect();
    let segments = Segments::of(known, &asked);
    let again = Again::of(known.retransmits);
    let later = freed_later(rows, places);
    for (at, message) in places {
        let Some(row) = rows.get(*at) else { continue };
        let before = *message;
        let message = match message {
            Message::Sent(Some(skb)) => later.get(skb).map_or(*message, |place| Message::Dropped(*place)),
            _ => *message,
        };
        let told = of_row(row, message, (&segments, &again), known);
        if let (Message::Dropped(place), true) = (message, told.is_none_or(|(expected, ..)| !expected))
            && let Some(own) = rows.get_mut(place)
        {
            own.why = MESSAGE;
            if let Message::Dropped(_) = before {
                not_of_another(own, known);
            }
        }
        if let (Some((expected, why, sure)), Some(row)) = (told, rows.get_mut(*at)) {
            let sure = if known.lost { sure.min(Confidence::Weak) } else { sure };
            (row.expected, row.why, row.confidence) = (Some(expected), why, sure);
        }
    }
}

/// A message that was made and freed in the handling of one packet is no life that began long before: that one's end was not seen, and its address is the message's now.
fn not_of_another(own: &mut DropRow, known: &Hindsight<'_>) {
    let life = own.skb_id.and_then(|skb| known.identity.life(skb));
    if life.is_some_and(|l| l.birth_ns < own.time_ns.saturating_sub(HANDLING_NS)) {
        (own.skb_id, own.dev) = (None, Name::default());
    }
}

/// Messages that were sent and are dropped on their way in this host: their rows.
fn freed_later(rows: &[DropRow], places: &[(usize, Message)]) -> FxHashMap<SkbId, usize> {
    let sent = places.iter().filter_map(|(_, message)| match message {
        Message::Sent(skb) => *skb,
        _ => None,
    });
    let sent: FxHashSet<SkbId> = sent.collect();
    let of = |(at, row): (usize, &DropRow)| {
        let skb = row.skb_id.filter(|skb| sent.contains(skb))?;
        (row.expected == Some(false)).then_some((skb, at))
    };
    rows.iter().enumerate().filter_map(of).collect()
}

fn of_row(
    row: &DropRow,
    message: Message,
    (segments, again): (&Segments, &Again),
    known: &Hindsight<'_>,
) -> Option<(bool, &'static str, Confidence)> {
    let fate = row.skb_id.and_then(|skb| segments.fate(skb));
    let life = row.skb_id.and_then(|id| known.identity.life(id));
    let connection = fate.and_then(|f| f.connection);
    decide(&Case {
        message,
        segment: fate.is_some(),
        acked: fate.and_then(|f| f.acked).filter(|at| *at > row.time_ns),
        links: life.map_or(Confidence::Unknown, |l| l.links.min(segments.sure(l.skb_id))),
        again: &again.after(connection, row.time_ns),
    })
}

/// What is known of one packet that was too big.
pub(super) struct Case<'c> {
    pub message: Message,
    /// It was a TCP segment of this recording.
    pub segment: bool,
    /// When that was acknowledged after the drop.
    pub acked: Option<i64>,
    /// Of the life to its events.
    pub links: Confidence,
    /// What its socket sent again after the drop, by time.
    pub again: &'c [(i64, RetransmitClass, Confidence)],
}

/// Expected, why, how sure; `None`: nothing more than the reason says.
pub(super) fn decide(c: &Case<'_>) -> Option<(bool, &'static str, Confidence)> {
    let lost = |why| Some((false, why, c.links.min(Confidence::Strong)));
    let of = |class| c.again.iter().find(|(_, of, _)| *of == class);
    let dropped = matches!(c.message, Message::Dropped(_));
    let smaller = of(RetransmitClass::Pmtu);
    match (c.acked, smaller) {
        (Some(acked), Some((at, _, told))) if *at <= acked => {
            Some((true, REPAIRED, c.links.min(*told).min(Confidence::Strong)))
        }
        // What made its socket send again is not recorded there; it did not take a timer.
        (Some(acked), None)
            if c.message == Message::Counted && of(RetransmitClass::Rto).is_none_or(|r| r.0 > acked) =>
        {
            Some((true, REPAIRED, Confidence::Weak))
        }
        (None, None) if c.segment && dropped => lost(FILTERED),
        (None, None) if c.segment && of(RetransmitClass::Rto).is_some() => match c.message {
            Message::None => lost(SILENT),
            _ => lost(UNHEARD),
        },
        _ if dropped => lost(STOPPED),
        _ => None,
    }
}
