//! Did those who asked by UDP get an answer, how late (`questions`), and did a datagram come twice?
//!
//! Needs the views `udp_turns`, `udp_sockets` and `udp_copies`. In vain is a turn to which nothing came, whose thread waited for something on that
//! socket ([`WAIT_NS`] or longer) and then closed the socket, asked on another one, or sent again. That it waited for it is a receive
//! call on the socket, or a poll whose time was over and the socket given up at once: who sends and never waits (a log, a metric) is not
//! among them, nor is a socket that was sent to first (a server). Where others are answered at the same address, who asks the same there again after such a wait has waited for it (`repeated`). Limits: what a poll waits for is not recorded: where nothing else tells,
//! turns are counted (`perhaps`) and no more; of two questions in one run, one answer is an answer; a thread that waits for what another sent.
//!
//! Where the datagram came to a socket of this recording, that socket is named; else no event tells where it went.

use std::collections::{BTreeMap, BTreeSet};

use crate::analyses::{Outcome, not_recorded};
use crate::explain::{Id, Kind};
use crate::facts::{Facts, Reason};
use crate::reconstruct::datagrams::tables::{Awaited, TurnEnd, TurnRow};
use crate::reconstruct::transmit::tables::TxKind;
use crate::reconstruct::whose::Carries;
use crate::stat::Distribution;
use untaken::Untaken;
use vain::in_vain;

mod alone;
mod beside;
mod beyond;
mod ceased;
mod copies;
mod crowds;
mod lost;
mod meanwhile;
mod named;
mod onward;
mod parked;
mod partly;
mod questions;
mod repeated;
mod silent;
#[cfg(test)]
mod tests;
mod untaken;
mod usurped;
mod vain;

use named::{holder, who};

pub use alone::Alone;
pub use beside::Beside;
pub use beyond::Beyond;
pub use ceased::{Ceased, Ports};
pub use copies::Copied;
pub use lost::Lost;
pub use meanwhile::Pause;
pub use onward::Onward;
pub use partly::Partly;
pub use questions::{AtServer, Chains, Questions, SLOW_NS, SLOW_TIMES};
pub(crate) use questions::{questions, whom};
pub use silent::Silent;
pub use usurped::Usurped;
pub use vain::InVain;
pub(crate) use vain::turns_in_vain;

/// Least time waited for an answer that did not come.
pub const WAIT_NS: i64 = 100_000_000;
/// The same where the recording ended before the wait did.
pub const OPEN_NS: i64 = 1_000_000_000;
/// Groups kept.
pub const GROUPS: usize = 40;

/// The answer.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct Datagrams {
    /// UDP sockets that were used.
    pub sockets: u64,
    /// Datagrams sent.
    pub sent: u64,
    /// Datagrams read.
    pub received: u64,
    /// Of turns that got an answer, on sockets that nobody had sent to before: begin of the first send to the arrival of the answer.
    pub response: Distribution,
    /// Answers to questions, by program and place; those with most time first.
    pub answered: Vec<Questions>,
    /// Turns whose thread waited in vain, by process (by thread, where that is not known) and by where they came to; longest first.
    pub in_vain: Vec<InVain>,
    /// Questions that were dropped on their way, of who waits for answers to many at once; most first.
    #[serde(skip)]
    pub lost: Vec<Lost>,
    /// Questions to a place outside of which a part has no answer for a time.
    #[serde(skip)]
    pub partly: Option<Partly>,
    /// Who is never answered where others are, by process and address; most first. Inferred.
    pub alone: Vec<Alone>,
    /// Turns without an answer whose thread slept in a poll: nothing tells what for.
    pub perhaps: u64,
    /// Of these, such in whose time a UDP packet was dropped by this host.
    pub perhaps_dropped: u64,
    /// Turns of which lost events could tell otherwise, or of whose wait too much is not told.
    pub unsure: u64,
    /// Datagrams that came twice, by socket and by where the copy was made; most first.
    pub copied: Vec<Copied>,
    /// Streams of which nothing came to some of their receivers for long, while they went on; longest first.
    pub silent: Vec<Silent>,
    /// Multicast that is sent on and comes to none of its receivers any more; the first before others.
    #[serde(skip)]
    pub ceased: Vec<Ceased>,
    /// No event names a datagram's socket (before Linux 6.3): it is known where the call is in which its packet was queued or freed.
    #[serde(skip)]
    pub by_calls: bool,
}

impl Datagrams {
    /// What there is to say where no socket is known to have been used.
    pub fn none(&self) -> &'static str {
        match self.by_calls {
            true => {
                "No program of this host is known to have sent or got a UDP datagram (no event of this kernel names a datagram's socket)."
            }
            false => "No program of this host sent or got a UDP datagram.",
        }
    }
}

/// Events without which nothing is said of UDP.
const NEEDED: [&str; 3] = ["sock:sock_send_length", "sock:sock_recv_length", "sock:sk_data_ready"];
/// The same where sockets are told by calls and the packets in them.
const NEEDED_OF_CALLS: [&str; 4] = [
    "net:net_dev_queue",
    "skb:consume_skb",
    "syscalls:sys_enter_sendto",
    "syscalls:sys_enter_recvfrom",
];
/// Linux 6.10 to 6.12 wake no reader, and fire no `sk_data_ready`, for a datagram that comes to a queue that is not empty (commit
/// 612b1c0dec5b, taken back since): how many came is not known there.
const UNTOLD: [&str; 3] = ["6.10.", "6.11.", "6.12."];

/// Whether each datagram that came is told.
fn each_is_told(facts: &Facts) -> bool {
    let release = format!("{}.", facts.capture.kernel_release);
    !facts.names.udp_by_calls && !UNTOLD.iter().any(|of| release.starts_with(of))
}

/// The event for want of which nothing is said of who sent, read or waited for datagrams.
pub(crate) fn untold(facts: &Facts) -> Option<String> {
    match facts.names.udp_by_calls {
        true => not_recorded(facts, &NEEDED_OF_CALLS),
        false => not_recorded(facts, &NEEDED),
    }
}

/// Thread or process, the socket to which its datagrams came, or the address.
type Key = (i32, Option<u32>, String);

/// Asks.
pub fn answer(facts: &Facts) -> Outcome<Datagrams> {
    let used = !facts.udp_turns.is_empty() || !facts.udp_sockets.is_empty();
    // Without one of them nothing is said of what was sent, came or was read, nor of who waited for what.
    let because = untold(facts).or_else(|| {
        let sent = facts.tx.iter().any(|r| r.kind == TxKind::Udp);
        let known = facts.unknown.iter().find(|r| r.subject == "datagrams");
        known.filter(|_| sent && !used).map(|r| r.because.clone())
    });
    if let Some(because) = because {
        let subject = "datagrams";
        return Outcome::Unknown(vec![Reason { subject, because }]);
    }
    let sockets = &facts.udp_sockets;
    let of = |t: &TurnRow| sockets.get(t.socket as usize);
    let turns = || facts.udp_turns.iter().filter_map(|t| Some((t, of(t)?)));
    let response = turns()
        .filter(|(t, s)| !s.served && t.end == TurnEnd::Answered && t.confidence.is_solid())
        .filter_map(|(t, _)| Some(t.ready_ns.or(t.read_ns)?.saturating_sub(t.start_ns)));
    // Who sent, and where to: a socket of this host, else the remote end of its own, where that is known.
    let key = |t: &TurnRow| match t.there {
        Some(there) => (t.pid, Some(there), String::new()),
        None => (t.pid, None, t.peer(sockets)),
    };
    // Threads of one process together.
    let process = |(pid, there, to): &Key| (facts.process(*pid), *there, to.clone());
    let repeated = repeated::Repeated::of(facts);
    let lost_ones = lost::LostOnes::of(facts);
    let is_vain = |t: &TurnRow, s| !lost_ones.is(t) && (in_vain(t, s) || !t.reply && repeated.in_vain(facts, t, s));
    let vain = || turns().filter(|(t, s)| is_vain(t, s));
    let crowds = crowds::Crowds::of(facts, vain().map(|(t, _)| (process(&key(t)), t)));
    let process = |key: &Key| crowds.told(process(key));
    let mut groups: BTreeMap<Key, Vec<&TurnRow>> = BTreeMap::new();
    let mut senders: BTreeMap<Key, BTreeSet<Key>> = BTreeMap::new();
    let mut less: BTreeMap<Key, u64> = BTreeMap::new();
    let mut unsure = 0;
    for (t, _) in vain() {
        let key = key(t);
        match t.confidence.is_solid() {
            true => {
                groups.entry(process(&key)).or_default().push(t);
                senders.entry(process(&key)).or_default().insert(key);
            }
            false => {
                unsure += 1;
                *less.entry(process(&key)).or_default() += u64::from(t.sends);
            }
        }
    }
    // All that was sent there. What went to an unknown place counts where its thread waited for an answer.
    let mut all: BTreeMap<Key, u64> = BTreeMap::new();
    for (t, _) in turns() {
        let key = key(t);
        if key.1.is_some() || !key.2.is_empty() || t.awaited != Awaited::No || t.end == TurnEnd::Answered {
            *all.entry(key).or_default() += u64::from(t.sends);
        }
    }
    let sent = |key| {
        let of = senders.get(key).into_iter().flatten();
        of.filter_map(|one| all.get(one)).sum::<u64>()
    };
    let untaken = Untaken::of(facts);
    let by_thread = beside::by_thread(facts);
    let reads = onward::Reads::of(facts, &by_thread);
    let told = each_is_told(facts);
    let mut found: Vec<(InVain, &Vec<&TurnRow>, bool)> = groups
        .iter()
        .map(|(key, of)| {
            let group = group(facts, &untaken, (key.1, of), sent(key));
            let none = told && group.untaken == 0 && !reads.spoke(of);
            let onward = if none { reads.onward(of) } else { vec![] };
            let own = none && onward.is_empty();
            let told = InVain {
                less_certain: less.get(key).copied().unwrap_or(0),
                beside: beside::beside(facts, &by_thread, of).filter(|_| none),
                onward,
                ..group
            };
            (told, of, own)
        })
        .collect();
    found.sort_by_key(|(g, ..)| (std::cmp::Reverse(g.waited.sum_ns), g.first_ns));
    found.truncate(GROUPS);
    // These walk over all turns: of those that are told alone.
    let more = |(g, of, own): (InVain, &Vec<&TurnRow>, bool)| InVain {
        usurped: usurped::usurped(facts, g.socket, of),
        beyond: if own && g.unread == 0 {
            beyond::beyond(facts, of)
        } else {
            None
        },
        answered_before: if own { answered_before(facts, of) } else { 0 },
        ..g
    };
    let found: Vec<InVain> = found.into_iter().map(more).collect();
    let perhaps = turns().filter(|(t, s)| t.awaited == Awaited::Perhaps && t.ready_ns.is_none() && !s.served);
    let perhaps: Vec<&TurnRow> = perhaps.map(|(t, _)| t).collect();
    let lost = facts.drops.iter().filter(|d| d.expected == Some(false));
    let lost = lost.filter(|d| {
        d.owner
            .is_some_and(|o| matches!(o.carries, Carries::Datagram | Carries::Sent))
    });
    let mut lost: Vec<i64> = lost.map(|d| d.time_ns).collect();
    lost.sort_unstable();
    let next = |from: i64| lost.get(lost.partition_point(|at| *at < from));
    let dropped = |t: &&&TurnRow| next(t.start_ns).is_some_and(|at| *at <= t.end_ns);
    let told = each_is_told(facts);
    let (lost_ones, alone) = (lost_ones.groups(facts), alone::alone(facts));
    let by_others = found.iter().map(|v| &v.to).chain(lost_ones.iter().map(|l| &l.to));
    let by_others = by_others.chain(alone.iter().map(|a| &a.to)).cloned().collect();
    Outcome::Findings(Datagrams {
        partly: partly::partly(facts, &by_others).filter(|_| told && facts.gaps.is_empty()),
        sockets: sockets.len() as u64,
        sent: sockets.iter().map(|s| s.sent).sum(),
        received: sockets.iter().map(|s| s.received).sum(),
        response: Distribution::of(response.collect(), 0),
        answered: questions::answered(facts),
        in_vain: found,
        lost: lost_ones,
        alone,
        perhaps: perhaps.len() as u64,
        perhaps_dropped: perhaps.iter().filter(dropped).count() as u64,
        unsure,
        copied: if told { copies::copied(facts) } else { vec![] },
        silent: if told { silent::silent(facts) } else { vec![] },
        ceased: if told { ceased::ceased(facts) } else { vec![] },
        by_calls: facts.names.udp_by_calls,
    })
}

/// Of those from the first in vain on, one in so many at least is.
const SINCE: u64 = 4;

/// Turns of the same names at the same place that were answered before the first of these.
fn answered_before(facts: &Facts, of: &[&TurnRow]) -> u64 {
    let Some(first) = of.iter().min_by_key(|t| t.start_ns) else {
        return 0;
    };
    let to = first.whither(&facts.udp_sockets);
    let like = |t: &&TurnRow| {
        (t.task, t.there, t.end) == (first.task, first.there, TurnEnd::Answered) && t.whither(&facts.udp_sockets) == to
    };
    let (mut before, mut after) = (0u64, 0u64);
    for t in facts.udp_turns.iter().filter(like) {
        match t.start_ns < first.start_ns {
            true => before += 1,
            false => after += 1,
        }
    }
    // One that is lost now and then is no change.
    let many = (of.len() as u64).saturating_mul(SINCE) >= after;
    if many { before } else { 0 }
}

/// The port of an end that takes any address of its host.
pub(crate) fn port_of_any(at: &str) -> Option<&str> {
    ["0.0.0.0:", "[::]:"].iter().find_map(|any| at.strip_prefix(any))
}

fn group(facts: &Facts, untaken: &Untaken, (there, turns): (Option<u32>, &[&TurnRow]), all: u64) -> InVain {
    let socket = |n: u32| facts.udp_sockets.get(n as usize);
    let at = there.and_then(socket);
    let counted = each_is_told(facts);
    let came_to = at.map_or_else(String::new, |s| s.local.clone());
    let asked: BTreeSet<String> = turns.iter().filter_map(|t| Some(t.to?.to_string())).collect();
    let asked: Vec<String> = asked.into_iter().take(2).collect();
    let translated = matches!(asked.as_slice(), [one] if alone::translated(one, &came_to));
    let any = |of: &str| of.is_empty() || port_of_any(of).is_some();
    let to = match asked.as_slice() {
        [one] if translated || any(&came_to) => one.clone(),
        _ if came_to.is_empty() => turns.first().map_or_else(String::new, |t| t.peer(&facts.udp_sockets)),
        _ => came_to.clone(),
    };
    let again: Vec<&TurnRow> = (turns.iter())
        .filter_map(|t| facts.udp_turns.get(t.again? as usize))
        .collect();
    let answers = again.iter().filter(|t| t.end == TurnEnd::Answered);
    let answers: Vec<i64> = (answers.clone())
        .filter_map(|t| Some(t.ready_ns.or(t.read_ns)?.saturating_sub(t.start_ns)))
        .collect();
    let mut places: Vec<&str> = (again.iter())
        .map(|t| t.there.and_then(socket).map_or("", |s| s.local.as_str()))
        .collect();
    places.dedup();
    let first = turns.iter().min_by_key(|t| t.start_ns);
    let longest = turns.iter().max_by_key(|t| t.waited_ns);
    let sum = |of: fn(&TurnRow) -> u32| turns.iter().map(|t| u64::from(of(t))).sum();
    let threads: BTreeSet<i32> = turns.iter().map(|t| t.pid).collect();
    let processes: BTreeSet<i32> = threads.iter().map(|t| facts.process(*t)).collect();
    InVain {
        task: first.map_or_else(String::new, |t| {
            let process = facts.process(t.pid);
            let name = facts.processes.get(&process).map_or(t.task, |p| p.1);
            match (threads.len(), processes.len()) {
                (0 | 1, _) => who(&t.task, t.pid),
                (_, 0 | 1) => who(&name, process),
                _ => name.text().into_owned(),
            }
        }),
        processes: processes.len() as u64,
        threads: threads.len() as u64,
        to,
        came_to: if translated { came_to } else { String::new() },
        socket: there.filter(|_| counted),
        holder: at.map(holder).unwrap_or_default(),
        named_by: at.map_or("", |s| s.named_by),
        sends: sum(|t| t.sends),
        of: all,
        less_certain: 0,
        turns: turns.len() as u64,
        waited: Distribution::of(turns.iter().map(|t| t.waited_ns).collect(), 0),
        waited_in: longest.map_or_else(String::new, |t| t.waited_in.text().into_owned()),
        open: turns.iter().filter(|t| t.end == TurnEnd::RecordingEnd).count() as u64,
        landed: sum(|t| t.landed),
        unread: sum(|t| t.unread),
        untaken: untaken.answers(facts, turns),
        again: again.len() as u64,
        again_answered: answers.len() as u64,
        again_in_vain: (again.iter())
            .filter(|t| t.confidence.is_solid() && socket(t.socket).is_some_and(|s| in_vain(t, s)))
            .count() as u64,
        again_longest_ns: answers.iter().copied().max(),
        again_to: match places.as_slice() {
            [one] => (*one).to_owned(),
            _ => String::new(),
        },
        beside: None,
        onward: vec![],
        beyond: None,
        usurped: None,
        left_ns: at
            .and_then(|s| s.destroyed_ns)
            .map(|ns| ns.saturating_sub(facts.capture.start_ns.unwrap_or(0))),
        answered_before: 0,
        since_ns: first.map_or(0, |t| t.start_ns.saturating_sub(facts.capture.start_ns.unwrap_or(0))),
        pause: meanwhile::pause(facts, turns).filter(|_| processes.len() <= 1),
        first: first.and_then(|t| Id::of_row(Kind::UdpTurn, &facts.udp_turns, t)),
        first_ns: first.map_or(0, |t| t.start_ns),
        skb_id: first.and_then(|t| t.skb_id).map(|s| s.0),
    }
}
