//! Questions that are asked again on the same socket, at an address that answers others: they had no answer, whatever else their thread waited for.
//!
//! In: `udp_turns` with destinations. For programs that wait for many sockets at once, of whose polls nothing tells what they wait for. Limits: inferred from the
//! same number of bytes; what is sent again and again on purpose (a heartbeat) goes to an address that answers few.

use std::net::SocketAddr;

use rustc_hash::{FxHashMap, FxHashSet};

use super::WAIT_NS;
use crate::facts::Facts;
use crate::reconstruct::datagrams::sockets::SocketRow;
use crate::reconstruct::datagrams::tables::{Awaited, TurnEnd, TurnRow};

/// Fewest answers of an address that answers, and the part of its questions, of so many.
const ANSWERS: u64 = 5;
const HALF: u64 = 2;
/// Most times that one question is asked on a socket.
const TIMES: u32 = 3;
/// Longest time that one waits before it asks again, ns: what comes more seldom is a sign of life (a keep-alive).
const LONGEST_NS: i64 = 10_500_000_000;

/// What is known of repeated questions.
pub(super) struct Repeated {
    answering: FxHashSet<SocketAddr>,
    /// Begins of turns by socket, of those that the same came before or behind.
    same: FxHashSet<(u32, i64)>,
}

impl Repeated {
    pub(super) fn of(facts: &Facts) -> Repeated {
        let mut by: FxHashMap<SocketAddr, (u64, u64)> = FxHashMap::default();
        let mut last: FxHashMap<u32, (&TurnRow, u32)> = FxHashMap::default();
        let (mut same, mut often) = (FxHashSet::default(), FxHashSet::default());
        for t in &facts.udp_turns {
            if let Some(to) = t.whither(&facts.udp_sockets) {
                let of = by.entry(to).or_default();
                (of.0, of.1) = (of.0 + u64::from(t.ready_ns.is_some()), of.1 + 1);
            }
            let mut times = 1;
            if let Some((before, n)) = last.get(&t.socket) {
                let what = |t: &TurnRow| (t.bytes, t.sends, t.pid, t.whither(&facts.udp_sockets));
                let soon = t.start_ns.saturating_sub(before.start_ns) <= LONGEST_NS;
                let alike = soon && what(before) == what(t);
                if alike && before.end == TurnEnd::AskedAgain && before.ready_ns.is_none() {
                    same.insert((t.socket, before.start_ns));
                    same.insert((t.socket, t.start_ns));
                    times = n + 1;
                }
            }
            if times > TIMES {
                often.insert(t.socket);
            }
            last.insert(t.socket, (t, times));
        }
        same.retain(|(socket, _)| !often.contains(socket));
        let answers = |(_, (n, all)): &(SocketAddr, (u64, u64))| *n >= ANSWERS && n * HALF >= *all;
        Repeated {
            answering: by.into_iter().filter(answers).map(|(to, _)| to).collect(),
            same,
        }
    }

    /// Whether a turn is one of these.
    pub(super) fn in_vain(&self, facts: &Facts, t: &TurnRow, s: &SocketRow) -> bool {
        let ended = matches!(t.end, TurnEnd::AskedAgain | TurnEnd::Closed);
        let to = t.whither(&facts.udp_sockets);
        let asked = to.is_some_and(|to| self.answering.contains(&to)) && self.same.contains(&(t.socket, t.start_ns));
        asked && ended && t.awaited == Awaited::Perhaps && !s.served && t.ready_ns.is_none() && t.waited_ns >= WAIT_NS
    }
}
