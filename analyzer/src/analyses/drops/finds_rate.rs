//! Losses by which transfers find the rate of a queue that they fill themselves: loss-based congestion control works so (RFC 5681, RFC 9438).
//!
//! Needs `drops` with their sockets and repairs, `connections`, `retransmits`, `responses`, `turnarounds`, `xmits`. Must not be said where anybody waits for an answer on such a connection,
//! where much was lost, was not sent again, or only when a retransmission timer had run out, nor of a queue that is mostly others', of which others lose more than a few packets, in which they wait, or that
//! drops by chance (netem); of one that is seldom full, or of a transfer whose thread answers somebody behind it (`own_queue.rs`).
//!
//! Which retransmission carries what was lost again is not known of all: of segments that a qdisc cut itself, and of such as TCP sends as new ones since its own
//! host refused them (`tcp_transmit_skb` fails, `snd_nxt` stays). Of a connection on which no timer ran out each loss before a retransmission was seen by TCP.
//! A transfer may have begun before the recording, or go on behind it: it is one where the same program sent as much to the same end by another connection.

use std::net::IpAddr;

use rustc_hash::{FxHashMap, FxHashSet};

use super::Group;
use super::one_way::{confirmed, refused_at_home};
use super::own_queue::{is_waited_for, kept_full, left_by, others_wait};
use super::reasons::QUEUE_FULL;
use crate::analyses::not_recorded;
use crate::facts::{ConnectionId, Facts};
use crate::name::Name;
use crate::reconstruct::drops::tables::DropRow;
use crate::reconstruct::tcp::states::{ESTABLISHED, SYN_RECV, SYN_SENT};
use crate::reconstruct::tcp::tables::{ConnectionRow, RetransmitClass, RetransmitRow};
use crate::reconstruct::whose::Carries;

/// Least payload of such a transfer, bytes.
const BULK: u64 = 5_000_000;
/// Part of it that may be lost: one in so many; of congestion control that does not slow down for a loss (BBR).
const LOST: u64 = 50;
const LOST_OWN_WINDOW: u64 = 6;
/// So few of the drops may be of nobody known, or of others: one in so many.
pub(super) const UNKNOWN: u64 = 50;
/// And no more than so many, whatever waits for them.
pub(super) const OTHERS: u64 = 5;
/// From a loss to a retransmission on that connection, at most, ns; and part of the lost segments that must be sent again in all, where which is which is not known.
const SOON_NS: i64 = 1_000_000_000;
const AGAIN: f64 = 0.5;
/// Payload of a full segment, bytes.
pub(super) const SEGMENT: u64 = 1_448;
/// Part of the losses that must be known to be sent again, and of what left by the device that must be the transfers'.
const NEARLY: f64 = 0.9;
const MOST: f64 = 0.5;
/// Without these neither what was sent again nor an answer would be seen.
const NEEDED: [&str; 4] = [
    "tcp:tcp_retransmit_skb",
    "sock:sock_send_length",
    "sock:sock_recv_length",
    "net:net_dev_start_xmit",
];

/// Segments of one call that are counted: as many as one packet has.
const SEGMENTS: u32 = 64;

/// The JSON says whether, as it did before it was known how many are of others.
#[expect(clippy::ref_option, reason = "serde's way")]
pub(super) fn whether<S: serde::Serializer>(others: &Option<u64>, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_bool(others.is_some())
}

/// Whether a group is of such, but for a few: how many of it are of others, or of nobody known.
pub(super) fn finds_rate(facts: &Facts, group: &Group, rows: &[&DropRow]) -> Option<u64> {
    let by_chance = group.qdisc.as_deref() == Some("netem");
    if group.reason != QUEUE_FULL || by_chance || rows.is_empty() || !facts.gaps.is_empty() {
        return None;
    }
    let again = again_on(facts);
    let at_home = refused_at_home(facts, rows);
    let with_home = || rows.iter().zip(&at_home);
    let repaired = with_home()
        .filter(|(d, at_home)| **at_home || d.repair.is_some() || sent_again(d, &again))
        .count() as f64;
    if repaired < NEARLY * rows.len() as f64 || not_recorded(facts, &NEEDED).is_some() {
        return None;
    }
    // First and last loss of each, and how many.
    let mut lost: FxHashMap<ConnectionId, (i64, i64, u64)> = FxHashMap::default();
    for d in rows {
        let data = d.owner.filter(|o| o.carries == Carries::Data);
        if let Some(c) = data.and_then(|o| o.connection) {
            let of = lost.entry(c).or_insert((d.time_ns, d.time_ns, 0));
            *of = (of.0.min(d.time_ns), of.1.max(d.time_ns), of.2.saturating_add(1));
        }
    }
    let row = |c: ConnectionId| facts.connections.get(c.0 as usize);
    let both = |c: ConnectionId| [Some(c), row(c).and_then(|r| r.peer)].into_iter().flatten();
    let all: FxHashSet<ConnectionId> = lost.keys().flat_map(|c| both(*c)).collect();
    // Others lose a few beside them.
    let bulk = |c: ConnectionId| row(c).is_some_and(|r| r.bytes_out >= BULK);
    let whole: FxHashSet<Transfer> = lost
        .keys()
        .filter(|c| bulk(**c))
        .filter_map(|c| transfer(row(*c)?))
        .collect();
    let cut = |c: ConnectionId| {
        let like = row(c).and_then(transfer).is_some_and(|t| whole.contains(&t));
        like && !bulk(c) && goes_on(facts, c)
    };
    let cut: FxHashSet<ConnectionId> = lost.keys().copied().filter(|c| cut(*c)).collect();
    lost.retain(|c, _| bulk(*c) || cut.contains(c));
    let theirs: u64 = lost.values().map(|l| l.2).fold(0, u64::saturating_add);
    let others = (rows.len() as u64).saturating_sub(theirs);
    if others > OTHERS || others.saturating_mul(UNKNOWN) > rows.len() as u64 {
        return None;
    }
    let mut during: FxHashMap<ConnectionId, (i64, i64)> = FxHashMap::default();
    for (c, l) in lost.iter().flat_map(|(c, l)| both(*c).map(move |c| (c, l))) {
        let of = during.entry(c).or_insert((l.0, l.1));
        *of = (of.0.min(l.0), of.1.max(l.1));
    }
    // What both ends say before a transfer waits for none of its losses.
    let while_lost = |c: ConnectionId, from: i64, to: i64| {
        let within = |(first, last): &(i64, i64)| from <= *last && to >= *first;
        during.get(&c).is_some_and(within)
    };
    let responses = facts.responses.iter();
    let responses = responses.filter(|r| while_lost(r.connection, r.send_ns, r.read_ns));
    // What began before the first loss, and ends with the transfer's first bytes, is of what was said before.
    let turnarounds = facts.turnarounds.iter();
    let turnarounds = turnarounds.filter(|t| while_lost(t.connection, t.start_ns(), t.start_ns()));
    let mut asked = responses.map(|r| r.connection).chain(turnarounds.map(|t| t.connection));
    let mut slowly = slowly_again(facts);
    let few = |(c, lost): (&ConnectionId, &(i64, i64, u64))| {
        let own = facts.negotiated.get(c).and_then(|n| n.own_window()) == Some(true);
        let part = if own { LOST_OWN_WINDOW } else { LOST };
        let bytes = lost.2.saturating_mul(SEGMENT);
        // What begins at the end of the recording has lost in its slow start, and sent little.
        cut.contains(c) || row(*c).is_some_and(|r| bytes.saturating_mul(part) <= r.bytes_out)
    };
    // Of all that these lost, whichever it is.
    let unlinked = with_home()
        .filter(|(d, at_home)| d.repair.is_none() && !**at_home)
        .count();
    let resent: usize = lost.keys().filter_map(|c| again.get(c)).map(Vec::len).sum();
    let enough = unlinked <= rows.len() / 10 || resent as f64 >= AGAIN * theirs as f64;
    let sent: u64 = lost
        .keys()
        .filter_map(|c| Some(row(*c)?.bytes_out))
        .fold(0, u64::saturating_add);
    let left = left_by(facts, &group.dev);
    let fills = left > 0 && sent as f64 >= MOST * left as f64;
    let theirs = fills && enough && lost.iter().all(few);
    // What only confirms a stream is no request.
    let confirmed = confirmed(facts, lost.keys().copied());
    let waits = |c: ConnectionId| during.contains_key(&c) && !confirmed.contains(&c);
    let fine = theirs && !asked.any(waits) && !slowly.any(|c| all.contains(&c));
    let alone = || !others_wait(facts, &group.dev, &all) && !is_waited_for(facts, &during);
    (fine && alone() && kept_full(facts, &group.dev, &lost)).then_some(others)
}

/// Whose, from where, and where to.
type Transfer = (Name, IpAddr, (IpAddr, u16));

fn transfer(r: &ConnectionRow) -> Option<Transfer> {
    Some((r.task, r.saddr?, (r.daddr?, r.dport)))
}

/// It was not closed in the recording.
fn goes_on(facts: &Facts, c: ConnectionId) -> bool {
    let open = [ESTABLISHED, SYN_SENT, SYN_RECV];
    let mut states = facts
        .tcp_states
        .iter()
        .filter(|s| s.kind == "sock" && s.connection == c);
    facts.capture.recorded("sock:inet_sock_set_state") && states.all(|s| open.contains(&s.state))
}

/// Connections on which something was sent again only when a retransmission timer had run out.
pub(super) fn slowly_again(facts: &Facts) -> impl Iterator<Item = ConnectionId> + '_ {
    let slow = |r: &&RetransmitRow| {
        !matches!(
            r.class,
            RetransmitClass::Fast | RetransmitClass::RackTimer | RetransmitClass::Tlp
        )
    };
    facts.retransmits.iter().filter(slow).filter_map(|r| r.connection)
}

/// When segments were sent again, by connection, each of one call by itself.
pub(super) fn again_on(facts: &Facts) -> FxHashMap<ConnectionId, Vec<i64>> {
    let mut again: FxHashMap<ConnectionId, Vec<i64>> = FxHashMap::default();
    for (c, r) in facts.retransmits.iter().filter_map(|r| Some((r.connection?, r))) {
        let times = std::iter::repeat_n(r.time_ns, r.segments.unwrap_or(1).clamp(1, SEGMENTS) as usize);
        again.entry(c).or_default().extend(times);
    }
    again.values_mut().for_each(|of| of.sort_unstable());
    again
}

/// Something was sent again on its connection soon.
pub(super) fn sent_again(d: &DropRow, again: &FxHashMap<ConnectionId, Vec<i64>>) -> bool {
    let of = d.owner.and_then(|o| again.get(&o.connection?));
    of.is_some_and(|of| {
        let next = of.get(of.partition_point(|t| *t < d.time_ns));
        next.is_some_and(|t| t.saturating_sub(d.time_ns) <= SOON_NS)
    })
}
