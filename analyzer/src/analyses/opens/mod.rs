//! Did connections come to be, how long did that take, and which were reset?
//!
//! Needs the views `opens` and `resets`. An attempt of a program that gave up, or that still waited, had no answer for the time stated; a
//! non-blocking `connect` whose socket was closed again at once (the other address answered first) is among them with a short time.
//! Limits: only attempts of the recorded host; what a listener turned away is in the counters (`handshakes`), and a RST that a firewall makes is seen
//! where it arrives alone.

use std::collections::{BTreeMap, BTreeSet};

use crate::analyses::{Outcome, not_recorded, reasons};
use crate::explain::{Id, Kind};
use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::opens::tables::{End, OpenEnd, OpenRow, ResetRow, Sender};
use crate::stat::Distribution;

mod aborted;
mod accepts;
mod after_udp;
pub(crate) mod aside;
mod before;
mod checks;
mod complete;
mod cut_off;
mod doors;
mod failed;
mod fallback;
mod family;
mod handshakes;
pub(crate) mod herd;
mod inherited;
mod left_full;
mod limited;
mod listens;
mod local;
mod moved;
mod on_the_way_back;
mod orphans;
mod piled;
mod pooled;
mod probed;
mod probers;
mod raced;
mod refuses;
mod rejected;
mod restarted;
mod rst;
mod scans;
mod shut;
mod slowest;
mod source;
mod strangers;
#[cfg(test)]
mod tests;
mod translated;
mod turned_away;
mod twice;
mod untranslated;

pub use aborted::Aborted;
pub use accepts::FailedAccepts;
pub use before::Before;
pub(crate) use checks::checking;
pub use cut_off::CutOff;
pub use failed::Failed;
pub use fallback::Fallback;
pub(crate) use fallback::fallbacks;
pub use handshakes::{HalfOpen, Late};
pub use herd::Herd;
pub use inherited::Inherited;
pub use left_full::GivenUpFull;
pub use limited::Limited;
pub use listens::{TakenOver, ToItself, Unheard};
pub use local::FullQueue;
pub use moved::Moved;
pub use on_the_way_back::Back;
pub use orphans::Orphans;
pub use piled::Piled;
pub use probed::{AcceptQueue, Lookups};
pub use raced::Raced;
pub use refuses::{Holder, Refuses};
pub use rejected::Rejected;
pub use rst::Reset;
pub use scans::Scan;
pub(crate) use scans::scanning;
pub use shut::{Only, Shut};
pub use slowest::SlowOpen;
pub use source::Source;
pub(crate) use strangers::monitored;
pub use turned_away::TurnedAway;
pub use twice::Twice;

use self::moved::Twin;
use self::untranslated::Untranslated;
use super::neighbours::flapping;

/// Slowest attempts kept.
pub const WORST: usize = 8;
/// Groups kept.
pub const GROUPS: usize = 40;

/// The answer.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct Opens {
    /// Attempts of TCP sockets.
    pub attempts: u64,
    /// Calls of `connect` that failed before their socket had a state: of which protocol is not known.
    pub without_socket: u64,
    /// RSTs that came, those of refused attempts not among them; empty: they were not recorded.
    pub received: Option<u64>,
    /// Of those that stood: from `connect` until then.
    pub setup: Distribution,
    /// The slowest of these.
    pub setup_worst: Option<Id>,
    /// Of those that stood: such whose SYN was retransmitted.
    pub delayed: u64,
    /// Attempts that did not come to be, by end, peer and task; most first.
    pub failed: Vec<Failed>,
    /// Programs that were refused at many ports, a few times each; not among `failed`.
    pub scans: Vec<Scan>,
    /// RSTs by peer, direction and sender; those of refused attempts and of connections turned away are not among them.
    pub resets: Vec<Reset>,
    /// Attempts that took longest, whatever came of them.
    pub slowest: Vec<SlowOpen>,
    /// The listener most of whose connections stood at their client long before.
    pub late: Option<Late>,
    /// The listener most of whose half-open connections were never answered, where SYNs were refused for no full accept queue.
    pub half_open: Option<HalfOpen>,
    /// Segments that sockets in TIME_WAIT refused for older timestamps (TcpExtPAWSTimewait); `None`: not counted, or none.
    pub paws_timewait: Option<u64>,
    /// Connections that their own program closed at once without an answer, by address; most first.
    pub turned_away: Vec<TurnedAway>,
    /// Attempts to an address after which another was taken; most first.
    pub fallbacks: Vec<Fallback>,
    /// Calls of `accept` that failed for want of descriptors or memory; most first.
    pub not_accepted: Vec<FailedAccepts>,
    /// Processes that found the accept queue of a socket of AF_UNIX full, or nobody there; most first.
    pub full_queues: Vec<FullQueue>,
    /// Connections that their program closed by itself while it could not send on them; most first.
    pub given_up_full: Vec<GivenUpFull>,
    /// The threads of one name that wake each other in vain for each connection.
    pub herd: Option<Herd>,
    /// Connections that were reset because another listening socket took their port over.
    pub taken_over: Option<TakenOver>,
    /// Sockets that connected to themselves.
    pub to_itself: Option<ToItself>,
    /// Idle connections that their server closed just as their clients asked again.
    pub raced: Option<Raced>,
    /// Connections that another process kept open, which had a copy of their descriptors.
    pub inherited: Option<Inherited>,
    /// The peer that a server cut off in the middle of one transfer after the other.
    #[serde(skip)]
    pub cut_off: Option<CutOff>,
    /// The server that closed new connections upon their first message, for a time.
    #[serde(skip)]
    pub refuses: Option<Refuses>,
    /// The source of which a rule dropped SYNs while it had so many connections.
    #[serde(skip)]
    pub limited: Option<Limited>,
    /// Connections that the kernel reset by itself, for want of memory or of orphans.
    pub orphans: Option<Orphans>,
    /// Listening sockets with many connections in their accept queue, before and after; the fullest first.
    pub piled: Vec<Piled>,
    /// Attempts that had no answer yet when the recording ended, for less than twice as long as openings to that end take; not among `failed`.
    pub under_way: u64,
    /// How full accept queues were, by port; empty: none was, or it was not recorded (`--extra kprobes`).
    pub accept_queues: Vec<AcceptQueue>,
    /// For how long names were resolved, by task; empty likewise.
    pub name_lookups: Vec<Lookups>,
}

pub(crate) fn end(of: Option<End>) -> String {
    of.map_or_else(String::new, |(a, p)| std::net::SocketAddr::new(a, p).to_string())
}

fn task(r: &OpenRow) -> String {
    match r.pid {
        0 => String::new(),
        pid => format!("{}/{pid}", r.task.text()),
    }
}

/// Asks.
pub fn answer(facts: &Facts) -> Outcome<Opens> {
    if facts.opens.is_empty()
        && let Some(because) = not_recorded(facts, &["sock:inet_sock_set_state"])
    {
        return Outcome::Unknown(reasons(facts, "opens", &because));
    }
    let stood: Vec<&OpenRow> = facts.opens.iter().filter(|r| r.end == OpenEnd::Established).collect();
    let mut slowest: Vec<&OpenRow> = facts.opens.iter().collect();
    slowest.sort_by_key(|r| (std::cmp::Reverse(r.total_ns()), r.start_ns));
    let (turned_away, of_turned) = turned_away::turned_away(facts);
    let (resets, received) = resets(facts, of_turned);
    let id = |r: &OpenRow| Id::of_row(Kind::Open, &facts.opens, r);
    let slow = |r: &&OpenRow| SlowOpen {
        id: id(r),
        connection: r.connection.map(|c| c.0),
        to: end(r.to),
        task: task(r),
        start_ns: r.start_ns,
        total_ns: r.total_ns(),
        end: r.end.word(),
        syns_again: r.syns_again,
    };
    let cut_off = cut_off::cut_off(facts);
    let usual = failed::usual(&stood);
    let under_way = |r: &OpenRow| failed::under_way(r, &usual);
    let (failed, scans) = failed::failed(facts, &under_way);
    let delayed = stood.iter().filter(|r| r.syns_again.is_some_and(|n| n > 0)).count() as u64;
    Outcome::Findings(Opens {
        attempts: facts.opens.iter().filter(|r| r.connection.is_some()).count() as u64,
        without_socket: facts.opens.iter().filter(|r| r.connection.is_none()).count() as u64,
        received: not_recorded(facts, &["tcp:tcp_receive_reset"])
            .is_none()
            .then_some(received),
        setup_worst: stood
            .iter()
            .min_by_key(|r| (std::cmp::Reverse(r.total_ns()), r.start_ns))
            .and_then(|r| id(r)),
        setup: Distribution::of(stood.iter().map(|r| r.total_ns()).collect(), 0),
        delayed,
        failed,
        scans,
        resets,
        slowest: slowest.iter().take(WORST).map(slow).collect(),
        late: handshakes::late(facts),
        half_open: handshakes::half_open(facts),
        paws_timewait: handshakes::paws_timewait(facts).filter(|n| *n >= delayed),
        turned_away,
        fallbacks: fallback::fallbacks(facts),
        not_accepted: accepts::failed(facts),
        full_queues: local::full_queues(facts),
        given_up_full: left_full::given_up(facts, cut_off.as_ref()),
        herd: herd::herd(facts),
        taken_over: listens::taken_over(facts),
        to_itself: listens::to_itself(facts),
        raced: raced::raced(facts),
        inherited: inherited::inherited(facts),
        cut_off,
        refuses: refuses::refuses(facts),
        limited: limited::limited(facts),
        orphans: orphans::orphans(facts),
        piled: piled::piled(facts),
        under_way: facts.opens.iter().filter(|r| under_way(r)).count() as u64,
        accept_queues: probed::queues(facts),
        name_lookups: probed::lookups(facts),
    })
}

/// What RSTs of one group have in common: direction, sender and whether that is a twin or another server or none was translated, service, reason, who ended a complete exchange.
type Group = (bool, Sender, (Twin, bool, Untranslated), String, String, Option<String>);

/// RSTs by kind, and how many came.
fn resets(facts: &Facts, told: impl Fn(&ResetRow) -> bool) -> (Vec<Reset>, u64) {
    let refused = || facts.opens.iter().filter(|r| r.end == OpenEnd::Refused);
    let sockets: BTreeSet<_> = refused().filter_map(|r| r.connection).collect();
    let mut ends: BTreeMap<_, Vec<&OpenRow>> = BTreeMap::new();
    for r in refused() {
        if let (Some(from), Some(to)) = (r.from, r.to) {
            ends.entry((to, from)).or_default().push(r);
        }
    }
    // The one that came to the attempt, and the one that was sent for want of a socket while it lasted.
    let of_refused = |r: &&ResetRow| {
        let lasted = |o: &&OpenRow| (o.start_ns..=o.end_ns).contains(&r.time_ns);
        r.connection.is_some_and(|c| sockets.contains(&c))
            || r.from
                .zip(r.to)
                .and_then(|key| ends.get(&key))
                .and_then(|of| of.get(of.partition_point(|o| o.start_ns <= r.time_ns).checked_sub(1)?))
                .is_some_and(lasted)
    };
    let mut received = 0;
    let complete = complete::complete(facts);
    let (closes, mut aborted) = (aborted::Closes::of(facts), BTreeMap::<Option<Id>, Vec<_>>::new());
    let (twin, elsewhere, untranslated) = (
        moved::twins(facts),
        translated::elsewhere(facts),
        untranslated::untranslated(facts),
    );
    let mut turned: BTreeMap<Option<Id>, Vec<(ConnectionId, i64)>> = BTreeMap::new();
    let mut between: BTreeMap<Option<Id>, Vec<(ConnectionId, i64)>> = BTreeMap::new();
    let mut groups: BTreeMap<Group, Reset> = BTreeMap::new();
    let all = facts.resets.iter().enumerate();
    for (at, r) in all.filter(|(_, r)| !of_refused(r) && !told(r)) {
        received += u64::from(r.received);
        let not_translated = untranslated(r);
        if not_translated == Untranslated::Same {
            continue;
        }
        // Of a server the local port says which service it is, of a client the remote one.
        let (here, there) = (r.from.map_or(0, |f| f.1), r.to.map_or(u16::MAX, |t| t.1));
        let service = if here < there { end(r.from) } else { end(r.to) };
        let sender = match r.confidence.is_solid() {
            true => r.sender,
            false => Sender::Unknown,
        };
        let (other, by_twin) = (elsewhere(r), twin(r));
        let (by, pid) = complete(r).unzip();
        let task = pid.map(|pid| format!("{}/{pid}", by.as_deref().unwrap_or_default()));
        let group = groups
            .entry((
                r.received,
                sender,
                (by_twin, other, not_translated),
                service,
                r.reason.clone(),
                by.clone(),
            ))
            .or_insert_with(|| Reset {
                received: r.received,
                sender: sender.word(),
                label: match r.to {
                    Some(_) => format!("{} > {}", end(r.from), end(r.to)),
                    None => format!("listener, port {here}"),
                },
                reason: facts.names.reset_reason(&r.reason),
                resets: 0,
                first: Id::at(Kind::Reset, at),
                first_ns: r.time_ns,
                sure: true,
                twin: by_twin == Twin::Socketless,
                listens: by_twin == Twin::Listener,
                moved: vec![],
                flapped: 0,
                elsewhere: other && not_translated == Untranslated::No,
                untranslated: match not_translated {
                    Untranslated::Ended(own) => end(Some(own)),
                    _ => String::new(),
                },
                times: vec![],
                aborted: None,
                rejected: None,
                duration_ns: facts.capture.duration_ns,
                complete: by.is_some(),
                by: task.clone().unwrap_or_default(),
            });
        group.sure &= r.confidence.is_solid();
        group.resets += 1;
        if let Some(peer) = closes.peer(r) {
            aborted.entry(group.first).or_default().push(peer);
        }
        if group.received && sender == Sender::Between {
            let of = r.connection.map(|c| (c, r.time_ns));
            between.entry(group.first).or_default().extend(of);
        }
        if by_twin != Twin::No {
            let of = r.connection.map(|c| (c, r.time_ns));
            turned.entry(group.first).or_default().extend(of);
        }
        if other || by_twin != Twin::No || not_translated != Untranslated::No {
            group
                .times
                .push(r.time_ns.saturating_sub(facts.capture.start_ns.unwrap_or(0)));
        }
        if task.is_some_and(|task| task != group.by) {
            group.by = by.unwrap_or_default();
        }
    }
    let mut all: Vec<Reset> = groups.into_values().collect();
    for r in &mut all {
        let of = between.get(&r.first).filter(|of| of.len() as u64 == r.resets);
        r.rejected = of.and_then(|of| rejected::rejected(facts, of));
        r.aborted = aborted.get(&r.first).and_then(|peers| aborted::told(facts, peers));
    }
    // Those of complete exchanges push none out.
    all.sort_by_key(|r| (r.complete, std::cmp::Reverse(r.resets), r.first_ns));
    all.truncate(GROUPS);
    let flapping = match turned.is_empty() {
        true => vec![],
        false => flapping(facts),
    };
    for r in &mut all {
        let Some(of) = turned.get(&r.first) else { continue };
        r.moved = moved::moved(facts, of);
        r.flapped = moved::flapped(&flapping, facts, of);
    }
    (all, received)
}
