//! What is usual with each server, on both sides together: how long its answers and the openings of connections to it take, and which messages to it get no answer.
//!
//! In: answers, openings, payload. Out: times beyond which nobody waits for what is usual; whether a message of that size is one that gets no answer, as an
//! acknowledgement, a window update or a goodbye.
//!
//! ```text
//! client's messages of about that size ── next on its connection is the server's: answered
//!                                      └─ next is the client's own:               not
//! ```

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::attempts::opening;
use super::talks::{names, payload};
use crate::analyses::application::{Role, sockets};
use crate::diff::servers::answers::server;
use crate::diff::sides::{options::Recording, slices};
use crate::facts::ConnectionId;
use crate::reconstruct::opens::tables::OpenEnd;
use crate::stat::nearest_rank;

/// So many times as long as ninety-nine of a hundred took, nobody waits for one that is usual.
pub(in crate::diff) const USUAL: i64 = 2;
/// An opening is never waited for longer than is usual below this, ns.
pub(super) const OPENING_LEAST: i64 = 5_000_000;
/// Messages of a size that must be known for it to tell anything.
const MESSAGES: u64 = 10;
/// So many of them get no answer for each that gets one.
const MUTE: u64 = 9;
/// Sizes within this part of a message's own are alike.
const ALIKE: u32 = 10;
/// What is so many times smaller than the smallest message that was answered is none that asks.
const SMALLER: u32 = 4;

/// Of all servers.
#[derive(Debug, Default)]
pub(in crate::diff) struct Usual {
    answers: BTreeMap<String, i64>,
    openings: BTreeMap<String, i64>,
    /// Where names are pseudonyms, and the other side's answers not known by server: that of all.
    any_answer: Option<i64>,
    /// Messages to each server by size: those that the server spoke after, and those that their client did.
    messages: BTreeMap<String, BTreeMap<u32, (u64, u64)>>,
}

/// Times of answers, by server, as those of most are told: by its clients, or by itself.
fn answers(r: &Recording<'_>) -> BTreeMap<String, Vec<i64>> {
    let mut ends: BTreeMap<String, [Vec<i64>; 2]> = BTreeMap::new();
    for s in sockets(r.facts).iter().filter(|s| s.in_turns) {
        let Some(name) = server(r, s.connection, s.role) else {
            continue;
        };
        let [client, own] = ends.entry(name).or_default();
        match s.role {
            Role::Client => client.extend(s.judged_responses().map(|(ns, _)| ns)),
            Role::Server => own.extend(s.judged_turnarounds().map(|t| t.total_ns())),
        }
    }
    let one = |(name, [client, own]): (String, [Vec<i64>; 2])| (name, if client.is_empty() { own } else { client });
    ends.into_iter().map(one).collect()
}

fn openings(r: &Recording<'_>) -> BTreeMap<String, Vec<i64>> {
    let mut out: BTreeMap<String, Vec<i64>> = BTreeMap::new();
    let stood = r.facts.opens.iter();
    for o in stood.filter(|o| o.end == OpenEnd::Established && o.confidence.is_solid()) {
        if let Some(name) = opening(o) {
            out.entry(name).or_default().push(o.total_ns());
        }
    }
    out
}

/// Twice what ninety-nine of a hundred took.
fn limit(of: &mut [i64]) -> Option<i64> {
    nearest_rank(of, 99).map(|ns| ns.saturating_mul(USUAL))
}

impl Usual {
    pub(in crate::diff) fn of(before: &[Recording<'_>], after: &[Recording<'_>]) -> Usual {
        let mut out = Usual::default();
        for side in [before, after] {
            let (mut took, mut stood): (BTreeMap<String, Vec<i64>>, BTreeMap<String, Vec<i64>>) = Default::default();
            for r in side {
                for (name, of) in answers(r) {
                    took.entry(name).or_default().extend(of);
                }
                for (name, of) in openings(r) {
                    stood.entry(name).or_default().extend(of);
                }
                out.messages(r);
            }
            if slices::hidden(before, after) {
                let mut all: Vec<i64> = took.values().flatten().copied().collect();
                out.any_answer = out.any_answer.max(limit(&mut all));
            }
            longest(&mut out.answers, took, 0);
            longest(&mut out.openings, stood, OPENING_LEAST);
        }
        out
    }

    /// Longer than this no answer of that server takes; `None`: it answers nobody on either side, and nothing tells that anyone waits for it.
    pub(in crate::diff) fn answer(&self, server: &str) -> Option<i64> {
        self.answers.get(server).copied().or(self.any_answer)
    }

    /// Longer than this no opening of a connection to it takes; `None`: none is known.
    pub(in crate::diff) fn opening(&self, server: &str) -> Option<i64> {
        self.openings.get(server).copied()
    }

    /// Whether messages of about that size to it get no answer.
    pub(in crate::diff) fn mute(&self, server: &str, bytes: Option<u32>) -> bool {
        let (Some(of), Some(bytes)) = (self.messages.get(server), bytes) else {
            return false;
        };
        let near = bytes / ALIKE;
        let alike = of.range(bytes.saturating_sub(near)..=bytes.saturating_add(near));
        let (answered, alone) = alike.fold((0u64, 0u64), |sum, (_, n)| (sum.0 + n.0, sum.1 + n.1));
        let all: u64 = of.values().map(|n| n.0).sum();
        let smallest = of.iter().find(|(_, n)| n.0 > 0).map_or(0, |(size, _)| *size);
        let smaller = all >= MESSAGES && bytes < smallest / SMALLER;
        smaller || answered.saturating_add(alone) >= MESSAGES && alone >= answered.saturating_mul(MUTE)
    }

    fn messages(&mut self, r: &Recording<'_>) {
        let names = names(r);
        let mut of: FxHashMap<ConnectionId, Vec<(i64, bool, Option<u32>)>> = FxHashMap::default();
        for p in payload(r, &names) {
            of.entry(p.connection).or_default().push((p.at_ns, p.asks, p.bytes));
        }
        for (c, mut all) in of {
            all.sort_unstable();
            let Some((name, _)) = names.get(&c) else { continue };
            for pair in all.windows(2) {
                let [(_, true, Some(bytes)), (_, again, _)] = pair else {
                    continue;
                };
                let sizes = self.messages.entry(name.clone()).or_default();
                let n = sizes.entry(*bytes).or_default();
                match again {
                    true => n.1 += 1,
                    false => n.0 += 1,
                }
            }
        }
    }
}

fn longest(out: &mut BTreeMap<String, i64>, of: BTreeMap<String, Vec<i64>>, least: i64) {
    for (name, mut took) in of {
        if let Some(ns) = limit(&mut took) {
            let slot = out.entry(name).or_default();
            *slot = ns.max(least).max(*slot);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_mute_where_such_get_no_answer() {
        let mut u = Usual::default();
        let sizes = BTreeMap::from([(100, (30, 1)), (60, (0, 29)), (200, (20, 20))]);
        u.messages.insert("a".into(), sizes);
        let mute = |bytes| u.mute("a", bytes);
        assert!(mute(Some(60)) && !mute(Some(100)) && !mute(Some(200)));
        // They need not be as large to the byte.
        assert!(mute(Some(63)) && !mute(Some(95)));
        // Far smaller than what is answered: a window update.
        assert!(mute(Some(13)));
        // Of sizes that nobody sent, and of other servers, nothing is known.
        assert!(!mute(Some(40)) && !mute(None) && !u.mute("b", Some(13)));
    }

    #[test]
    fn the_longer_side_is_usual() {
        let mut out = BTreeMap::from([("a".to_owned(), 30_000_000)]);
        let of = BTreeMap::from([("a".to_owned(), vec![1_000]), ("b".to_owned(), vec![100_000])]);
        longest(&mut out, of, OPENING_LEAST);
        let all: Vec<i64> = out.into_values().collect();
        assert_eq!(all, [30_000_000, OPENING_LEAST]);
    }
}
