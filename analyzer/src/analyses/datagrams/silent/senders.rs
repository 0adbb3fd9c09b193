//! The one sender of what came to a socket, and whether it sent on while nothing came.
//!
//! In: `udp_turns`, `tx`, silences. Out: who, how much, until when. No event tells where a datagram went that came to no socket of the recording: it must
//! have sent nearly all to this one outside of the silence, and nearly all that came, and by one socket within it.

use rustc_hash::{FxHashMap, FxHashSet};

use super::{FEWEST, Gap, distance, least};
use crate::analyses::datagrams::who;
use crate::facts::Facts;
use crate::reconstruct::datagrams::sockets::SocketRow;
use crate::reconstruct::datagrams::tables::TurnRow;
use crate::reconstruct::transmit::tables::TxKind;

/// Of what it sent outside of the silence so much came at least, and of what came it sent so much, of 100.
const CAME: u64 = 95;

/// What threads sent by UDP that sent to sockets with a silence.
pub(super) struct Senders<'f> {
    /// Threads whose datagrams came to a socket.
    of: FxHashMap<u32, FxHashSet<i32>>,
    /// Their turns.
    turns: FxHashMap<i32, Vec<&'f TurnRow>>,
    /// When they sent, in order.
    sent: FxHashMap<i32, Vec<i64>>,
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
            turns: FxHashMap::default(),
            sent: FxHashMap::default(),
        };
        if gaps.is_empty() {
            return out;
        }
        for t in &facts.udp_turns {
            if let Some(there) = t.there {
                out.of.entry(there).or_default().insert(t.pid);
            }
        }
        let wanted: FxHashSet<i32> = gaps.iter().filter_map(|g| out.one(g)).collect();
        for t in facts.udp_turns.iter().filter(|t| wanted.contains(&t.pid)) {
            out.turns.entry(t.pid).or_default().push(t);
        }
        for t in facts
            .tx
            .iter()
            .filter(|t| t.kind == TxKind::Udp && wanted.contains(&t.pid))
        {
            out.sent.entry(t.pid).or_default().push(t.start_ns);
        }
        out.sent.values_mut().for_each(|of| of.sort_unstable());
        out
    }

    fn turns(&self, pid: i32) -> &[&'f TurnRow] {
        self.turns.get(&pid).map_or(&[], Vec::as_slice)
    }

    /// The one thread whose datagrams came to the socket.
    fn one(&self, gap: &Gap) -> Option<i32> {
        let of = self.of.get(&u32::try_from(gap.socket).ok()?)?;
        of.iter().next().copied().filter(|_| of.len() == 1)
    }

    /// Who sent on, how much in the silence, and until when. `all`: the socket's silences.
    pub(super) fn went_on(&self, gap: &Gap, s: &SocketRow, all: &[Gap]) -> Option<(String, u64, i64)> {
        let pid = self.one(gap)?;
        let turns = self.turns(pid);
        let here = u32::try_from(gap.socket).ok()?;
        let by = turns.iter().find(|t| t.there == Some(here))?;
        // A turn has one place, the first: what of it came elsewhere later is among what landed.
        let landed = turns.iter().map(|t| u64::from(t.landed)).fold(0, u64::saturating_add);
        let elsewhere = |t: &&&TurnRow| t.there.is_some_and(|n| n != here);
        let otherwise = |t: &&&TurnRow| t.socket != by.socket && t.start_ns < gap.to && t.sent_ns > gap.from;
        if landed > s.arrived || turns.iter().any(|t| elsewhere(&t) || otherwise(&t)) {
            return None;
        }
        let sent = self.sent.get(&pid)?;
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
        went_on.then(|| (who(&by.task, pid), meanwhile, until))
    }
}
