//! Sends of a socket that asks, which are answers all the same: right behind a datagram for which it had not asked (SIP's INVITE behind the answer to a REGISTER).
//!
//! ```text
//! send ─ read (its answer) ─ wait ─ read (nobody asked for it) ─ at most REPLY_NS ─ send    that one is an answer, nothing comes upon it
//! ```

use rustc_hash::FxHashMap;

use super::tables::{TurnEnd, TurnRow};

/// From the read to the answer, at most, ns.
const REPLY_NS: i64 = 2_000_000;

/// Marks them.
pub(super) fn mark(turns: &mut [TurnRow]) {
    let mut before: FxHashMap<u32, usize> = FxHashMap::default();
    let mut order: Vec<usize> = (0..turns.len()).collect();
    order.sort_by_key(|at| turns.get(*at).map(|t| t.start_ns));
    for at in order {
        let Some(turn) = turns.get(at) else { continue };
        let (socket, start) = (turn.socket, turn.start_ns);
        let unasked = |t: &&TurnRow| t.end == TurnEnd::Answered && t.reads > t.sends;
        let last = before.insert(socket, at).and_then(|b| turns.get(b)).filter(unasked);
        let read = last.and_then(|t| t.last_read_ns);
        let reply = read.is_some_and(|ns| (0..=REPLY_NS).contains(&start.saturating_sub(ns)));
        if let Some(turn) = turns.get_mut(at) {
            turn.reply = reply;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_follows_a_datagram_that_nobody_asked_for_is_an_answer() {
        let turn = |socket, start_ns, reads: u32, last_read: i64| TurnRow {
            sends: 1,
            reads,
            last_read_ns: (reads > 0).then_some(last_read),
            end: if reads > 0 {
                TurnEnd::Answered
            } else {
                TurnEnd::AskedAgain
            },
            ..TurnRow::begin(socket, 7, start_ns)
        };
        let mut turns = vec![
            turn(0, 1_000, 2, 9_000_000),
            // Of another socket.
            turn(1, 9_050_000, 1, 9_060_000),
            turn(0, 9_100_000, 0, 0),
            turn(0, 20_000_000, 2, 30_000_000),
            // Too late for one; behind its own answer alone.
            turn(0, 33_000_000, 1, 33_100_000),
            turn(0, 33_200_000, 0, 0),
        ];
        mark(&mut turns);
        let replies: Vec<bool> = turns.iter().map(|t| t.reply).collect();
        assert_eq!(replies, [false, false, true, false, false, false]);
    }
}
