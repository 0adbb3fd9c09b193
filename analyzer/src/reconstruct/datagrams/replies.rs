//! Sends of a socket that asks, which are answers all the same: right behind a datagram for which it had not asked (SIP's INVITE behind the answer to a REGISTER).
//!
//! ```text
//! send ─ read (its answer) ─ APART_NS or more ─ read (nobody asked for it) ─ at most REPLY_NS ─ send    that one is an answer, nothing comes upon it
//! ```

use rustc_hash::FxHashMap;

use super::tables::{TurnEnd, TurnRow};

/// From the answer to what nobody asked for, at least, ns: an answer of several datagrams comes at once.
const APART_NS: i64 = 20_000_000;
/// From the read to the answer, at most, ns.
const REPLY_NS: i64 = 2_000_000;

/// Marks them.
pub(super) fn mark(turns: &mut [TurnRow]) {
    let mut by: FxHashMap<u32, Vec<usize>> = FxHashMap::default();
    for (at, t) in turns.iter().enumerate() {
        by.entry(t.socket).or_default().push(at);
    }
    for mut of in by.into_values() {
        of.sort_by_key(|at| turns.get(*at).map(|t| t.start_ns));
        // What was a reply itself tells of the next one.
        let (mut two_before, mut last): (Option<usize>, Option<usize>) = (None, None);
        for at in of {
            let row = |at: Option<usize>| turns.get(at?);
            let read = row(last).and_then(|t| unasked(t, row(two_before)));
            let start = row(Some(at)).map_or(0, |t| t.start_ns);
            let reply = read.is_some_and(|ns| (0..=REPLY_NS).contains(&start.saturating_sub(ns)));
            if let Some(turn) = turns.get_mut(at) {
                turn.reply = reply;
            }
            (two_before, last) = (last, Some(at));
        }
    }
}

/// When a turn read what nobody had asked for, as its last. `before`: the turn before it.
fn unasked(t: &TurnRow, before: Option<&TurnRow>) -> Option<i64> {
    // The first of a question that was asked again may have been answered late; a reply was no question.
    let again = before.is_some_and(|b| b.end == TurnEnd::AskedAgain && !b.reply);
    let (first, last) = (t.read_ns?, t.last_read_ns?);
    // Nothing is asked for by a reply.
    let more = t.reply || t.reads > t.sends && last.saturating_sub(first) >= APART_NS;
    (t.end == TurnEnd::Answered && more && !again).then_some(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_follows_a_datagram_that_nobody_asked_for_is_an_answer() {
        let turn = |socket, start_ns, reads: u32, last_read: i64| TurnRow {
            sends: 1,
            reads,
            read_ns: (reads > 0).then_some(start_ns + 500),
            last_read_ns: (reads > 0).then_some(last_read),
            end: if reads > 0 {
                TurnEnd::Answered
            } else {
                TurnEnd::AskedAgain
            },
            ..TurnRow::begin(socket, 7, start_ns)
        };
        let mut turns = vec![
            turn(0, 1_000, 2, 90_000_000),
            // Of another socket.
            turn(1, 90_050_000, 1, 90_060_000),
            turn(0, 90_100_000, 0, 0),
            // The same again, behind a reply.
            turn(0, 100_000_000, 2, 150_000_000),
            turn(0, 150_100_000, 1, 155_000_000),
            // To what came then.
            turn(0, 155_100_000, 0, 0),
            // A question without an answer.
            turn(0, 160_000_000, 0, 0),
            // It asked again: the second may be the first one's answer.
            turn(0, 200_000_000, 2, 300_000_000),
            turn(0, 300_100_000, 1, 300_200_000),
            turn(0, 310_000_000, 2, 400_000_000),
            // Too late for one; behind its own answer alone; behind an answer of two datagrams.
            turn(0, 403_000_000, 1, 403_100_000),
            turn(0, 403_200_000, 2, 403_300_000),
            turn(0, 403_400_000, 0, 0),
        ];
        mark(&mut turns);
        let replies: Vec<usize> = (0..turns.len()).filter(|at| turns[*at].reply).collect();
        assert_eq!(replies, [2, 4, 5]);
    }
}
