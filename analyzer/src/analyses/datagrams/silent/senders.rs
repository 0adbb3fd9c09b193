//! The one sender of what came to a socket, and whether it sent on while nothing came.
//!
//! In: `udp_turns`, `tx`, silences. Out: who, how much, until when. No event tells where a datagram went that came to no socket of the recording: it must
//! have sent nearly all to this one outside of the silence, and nearly all that came, and by one socket within it.

use rustc_hash::{FxHashMap, FxHashSet};

use super::{FEWEST, Gap, distance, least};
use crate::analyses::datagrams::who;
use crate::facts::Facts;
use crate::name::Name;
use crate::reconstruct::datagrams::sockets::SocketRow;
use crate::reconstruct::transmit::tables::TxKind;

/// Of what it sent outside of the silence so much came at least, and of what came it sent so much, of 100.
const CAME: u64 = 95;

/// What a thread sent by UDP.
struct Sender<'f> {
    /// Its name.
    task: &'f Name,
    /// The one socket to which all came that is known to have come to one first in its turn.
    to: Option<u32>,
    /// All that came to any: a turn has one place, its first, but all that came of it is counted.
    landed: u64,
    /// The socket by which the first of it was sent.
    by: u32,
    /// Turns on others: begin, and the latest end of any until it, in order.
    others: Vec<(i64, i64)>,
    /// When it sent, in order.
    sent: Vec<i64>,
}

/// Those that sent to sockets with a silence.
pub(super) struct Senders<'f> {
    /// The one thread whose datagrams came to a socket; `None`: several.
    of: FxHashMap<u32, Option<i32>>,
    by: FxHashMap<i32, Sender<'f>>,
}

/// How many of these are in `from..to`.
fn within(of: &[i64], from: i64, to: i64) -> u64 {
    let (from, to) = (of.partition_point(|at| *at < from), of.partition_point(|at| *at < to));
    to.saturating_sub(from) as u64
}

impl<'f> Senders<'f> {
    pub(super) fn of(facts: &'f Facts, gaps: &[Gap]) -> Senders<'f> {
        let mut out = Senders {
            of: FxHashMap::default(),
            by: FxHashMap::default(),
        };
        let silent: FxHashSet<u32> = gaps.iter().filter_map(|g| u32::try_from(g.socket).ok()).collect();
        let landed = || facts.udp_turns.iter().filter_map(|t| Some((t, t.there?)));
        for (t, there) in landed().filter(|(_, there)| silent.contains(there)) {
            let one = out.of.entry(there).or_insert(Some(t.pid));
            *one = one.filter(|pid| *pid == t.pid);
        }
        let wanted: FxHashSet<i32> = out.of.values().flatten().copied().collect();
        for (t, there) in landed().filter(|(t, _)| wanted.contains(&t.pid)) {
            let first = || Sender {
                task: &t.task,
                to: Some(there),
                landed: 0,
                by: t.socket,
                others: vec![],
                sent: vec![],
            };
            let of = out.by.entry(t.pid).or_insert_with(first);
            of.to = of.to.filter(|to| *to == there);
            of.landed = of.landed.saturating_add(t.landed.into());
        }
        for t in &facts.udp_turns {
            if let Some(of) = out.by.get_mut(&t.pid).filter(|of| of.by != t.socket) {
                of.others.push((t.start_ns, t.sent_ns));
            }
        }
        for t in facts.tx.iter().filter(|t| t.kind == TxKind::Udp) {
            if let Some(of) = out.by.get_mut(&t.pid) {
                of.sent.push(t.start_ns);
            }
        }
        for of in out.by.values_mut() {
            of.sent.sort_unstable();
            of.others.sort_unstable();
            let mut latest = i64::MIN;
            for (_, end) in &mut of.others {
                latest = latest.max(*end);
                *end = latest;
            }
        }
        out
    }

    /// Who sent on, how much in the silence, and until when. `all`: the socket's silences.
    pub(super) fn went_on(&self, gap: &Gap, s: &SocketRow, all: &[Gap]) -> Option<(String, u64, i64)> {
        let here = u32::try_from(gap.socket).ok()?;
        let pid = self.of.get(&here).copied().flatten()?;
        let of = self.by.get(&pid)?;
        let before_its_end = of.others.partition_point(|(begin, _)| *begin < gap.to);
        let last = before_its_end.checked_sub(1).and_then(|n| of.others.get(n));
        let otherwise = last.is_some_and(|(_, end)| *end > gap.from);
        if of.to != Some(here) || of.landed > s.arrived || otherwise {
            return None;
        }
        let sent = &of.sent;
        let (first, last) = (s.first_arrived_ns?, s.last_arrived_ns?);
        let silent = all.iter().map(|g| within(sent, g.from, g.to.min(last)));
        let outside = within(sent, first, last).saturating_sub(silent.sum());
        let nearly = |a: u64, of: u64| a.saturating_mul(100) >= of.saturating_mul(CAME);
        if !nearly(s.arrived, outside) || !nearly(outside, s.arrived) {
            return None;
        }
        let meanwhile = within(sent, gap.from, gap.to);
        let until = *sent.get(sent.partition_point(|at| *at < gap.to).checked_sub(1)?)?;
        let (usual, long) = (distance(s)?.max(1), until.saturating_sub(gap.from));
        let went_on = long >= least(usual)
            && meanwhile >= FEWEST / 2
            && meanwhile.saturating_mul(2) >= u64::try_from(long / usual).ok()?;
        went_on.then(|| (who(of.task, pid), meanwhile, until))
    }
}
