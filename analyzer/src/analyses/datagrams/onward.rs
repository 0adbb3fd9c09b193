//! Whom those asked who were asked in vain: the thread that read a question sent a datagram to another place right behind that, and got no answer there.
//!
//! ```text
//! asker   send ──────────────────────────────────────── waits in vain
//! asked          read ─ at most NEXT_NS ─ send ──────── nothing comes on that socket
//! the next                                      read    the same again, up to HOPS times
//! ```
//! Needs `udp_turns`, `udp_sockets`, `rx`. That it asked for the same is inferred. A datagram that it sends behind questions that it answers, too, is another matter (a log).

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::{FxHashMap, FxHashSet};

use super::beside::ByThread;
use super::{TurnRow, holder, who};
use crate::facts::{Facts, SkbId};
use crate::reconstruct::datagrams::tables::TurnEnd;

/// From the read of a question to what is sent on for it, at most, ns.
const NEXT_NS: i64 = 20_000_000;
/// All but one in so many turns are such.
const BUT: usize = 10;
/// So many answers tell whether the same is sent behind answered ones; it is where one in [`BUT`] has it.
const ANSWERED: usize = 10;
/// Steps that are followed.
const HOPS: usize = 3;

/// What was sent on for questions in vain, and got no answer either.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Onward {
    /// `task/thread` that sent it on; `task` of several.
    pub task: String,
    /// Where to, as in `in_vain`.
    pub to: String,
    /// `task/process` or `task/thread` that has the socket there; empty: not known.
    pub holder: String,
    /// Turns that it was sent on for.
    pub turns: u64,
    /// Datagrams.
    pub sends: u64,
    /// Of them, those that came to a socket of this recording.
    pub landed: u64,
    /// Of these, those not read when it ended.
    pub unread: u64,
    /// It is not sent behind questions that were answered, of which there are enough to tell.
    pub only_these: bool,
}

/// Where something was sent: a socket of this recording, else its address.
type Place = (Option<u32>, String);

/// Who read which packet when.
pub(super) struct Reads<'f> {
    of: FxHashMap<SkbId, (i32, i64)>,
    /// Of each thread, by time.
    all: FxHashMap<i32, Vec<i64>>,
    by: &'f ByThread<'f>,
    facts: &'f Facts,
}

impl<'f> Reads<'f> {
    pub(super) fn of(facts: &'f Facts, by: &'f ByThread<'f>) -> Reads<'f> {
        let sent: FxHashSet<SkbId> = facts.udp_turns.iter().filter_map(|t| t.skb_id).collect();
        let rows = facts.rx.iter().filter(|r| r.pid != 0 && sent.contains(&r.skb_id));
        let rows = rows.map(|r| (r.skb_id, (r.pid, r.start_ns.saturating_add(r.total_ns))));
        let of: FxHashMap<SkbId, (i32, i64)> = rows.collect();
        let mut all: FxHashMap<i32, Vec<i64>> = FxHashMap::default();
        for (pid, at) in of.values() {
            all.entry(*pid).or_default().push(*at);
        }
        all.values_mut().for_each(|of| of.sort_unstable());
        Reads { of, all, by, facts }
    }

    /// What its reader sent right behind it, before it read the next one.
    fn behind(&self, t: &TurnRow) -> Option<impl Iterator<Item = &'f TurnRow>> {
        let (pid, read) = *self.of.get(&t.skb_id?)?;
        let (of, reads) = (self.by.get(&pid)?, self.all.get(&pid)?);
        let next = reads.get(reads.partition_point(|at| *at <= read));
        let until = next.map_or(i64::MAX, |at| *at).min(read.saturating_add(NEXT_NS));
        let from = of.partition_point(|u| u.sent_ns < read);
        let behind = of.iter().skip(from).copied();
        Some(behind.take_while(move |u| u.start_ns <= until))
    }

    /// Some of them may have been answered: their reader sent something from the socket to which they came, which came to none of this recording.
    pub(super) fn spoke(&self, turns: &[&TurnRow]) -> bool {
        let spoke = |t: &&&TurnRow| {
            let own = |u: &TurnRow| Some(u.socket) == t.there && u.landed < u.sends;
            self.behind(t).is_some_and(|mut of| of.any(own))
        };
        turns.iter().filter(spoke).count().saturating_mul(BUT) > turns.len()
    }

    /// What that is, where it is no answer; without an answer itself as long as that was waited for.
    fn sent_on(&self, t: &TurnRow) -> Option<(Place, &'f TurnRow)> {
        let u = self
            .behind(t)?
            .find(|u| u.there != Some(t.socket) && Some(u.socket) != t.there)?;
        let none = u.end != TurnEnd::Answered && u.ready_ns.is_none_or(|at| at >= t.end_ns);
        let place = match u.there {
            Some(there) => (Some(there), String::new()),
            None => (None, u.peer(&self.facts.udp_sockets)),
        };
        let known = place.0.is_some() || !place.1.is_empty();
        (none && known && u.confidence.is_solid()).then_some((place, u))
    }

    /// The next step of nearly all of them.
    fn next(&self, turns: &[&TurnRow]) -> Option<(Onward, Vec<&'f TurnRow>)> {
        let mut by: BTreeMap<Place, Vec<&TurnRow>> = BTreeMap::new();
        for (place, u) in turns.iter().filter_map(|t| self.sent_on(t)) {
            by.entry(place).or_default().push(u);
        }
        let (place, mut on) = by.into_iter().max_by_key(|(_, of)| of.len())?;
        let n = on.len();
        if turns.len().saturating_sub(n).saturating_mul(BUT) > turns.len() {
            return None;
        }
        // Of those that came to the same sockets and were answered.
        let there: BTreeSet<u32> = turns.iter().filter_map(|t| t.there).collect();
        let answered = self.facts.udp_turns.iter().filter(|t| t.end == TurnEnd::Answered);
        let answered: Vec<&TurnRow> = answered
            .filter(|t| t.there.is_some_and(|n| there.contains(&n)))
            .collect();
        let too = answered.iter().filter_map(|t| self.sent_on(t));
        let too = too.filter(|(to, _)| *to == place).count();
        let enough = answered.len() >= ANSWERED;
        if enough && too.saturating_mul(BUT) >= answered.len() {
            return None;
        }
        on.sort_by_key(|u| (u.start_ns, u.pid));
        on.dedup_by_key(|u| (u.start_ns, u.pid));
        let first = on.first()?;
        let one = on.iter().all(|u| u.pid == first.pid);
        let at = place.0.and_then(|n| self.facts.udp_sockets.get(n as usize));
        let sum = |of: fn(&TurnRow) -> u32| on.iter().map(|t| u64::from(of(t))).sum();
        let onward = Onward {
            task: match one {
                true => who(&first.task, first.pid),
                false => first.task.text().into_owned(),
            },
            to: at.map_or(place.1, |s| s.local.clone()),
            holder: at.map(holder).unwrap_or_default(),
            turns: n as u64,
            sends: sum(|u| u.sends),
            landed: sum(|u| u.landed),
            unread: sum(|u| u.unread),
            only_these: enough,
        };
        Some((onward, on))
    }

    /// All steps, the last one is where nobody answered.
    pub(super) fn onward(&self, turns: &[&TurnRow]) -> Vec<Onward> {
        let mut out = vec![];
        let mut of: Vec<&TurnRow> = turns.to_vec();
        while out.len() < HOPS
            && let Some((step, next)) = self.next(&of)
            && !self.spoke(&next)
        {
            out.push(step);
            of = next;
        }
        out
    }
}
