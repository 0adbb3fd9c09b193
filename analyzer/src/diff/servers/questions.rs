//! What programs asked, and of whom: requests on connections, and questions by UDP that were answered.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::analyses::datagrams::questions;
use crate::diff::sides::options::Recording;
use crate::reconstruct::datagrams::tables::TurnEnd;

/// What a thread asked.
pub(super) struct Question {
    pub to: String,
    /// Requests: datagrams that were sent with no wait between them are one each.
    pub n: u64,
    pub pid: i32,
    pub at: i64,
    /// Until the answer.
    pub ns: Option<i64>,
    pub by_udp: bool,
}

impl Question {
    /// Those that were answered. Whose address was asked no event tells: the program that got it is named.
    pub fn by_udp(r: &Recording<'_>) -> Vec<Question> {
        // Of pseudonyms that the other side does not share neither has names.
        let named = !r.by_port;
        let asked: FxHashSet<(u32, i64)> = questions(r.facts).map(|q| (q.turn.socket, q.turn.sent_ns)).collect();
        // Two may be asked with a wait between them and answered together, as A and AAAA are.
        let mut before: FxHashMap<u32, u32> = FxHashMap::default();
        let mut out = vec![];
        for row in &r.facts.udp_turns {
            match row.end {
                TurnEnd::AskedAgain => *before.entry(row.socket).or_default() += row.sends,
                TurnEnd::Answered if asked.contains(&(row.socket, row.sent_ns)) => {
                    let there = row.there.and_then(|at| r.facts.udp_sockets.get(at as usize));
                    let who = there.map(|s| s.task.text()).filter(|t| named && !t.is_empty());
                    let asked_before = before.remove(&row.socket).unwrap_or(0);
                    out.push(Question {
                        to: who.map_or_else(|| "others by UDP".into(), |who| format!("{who} by UDP")),
                        n: (row.sends + asked_before.min(row.reads.saturating_sub(row.sends))).into(),
                        pid: row.pid,
                        at: row.sent_ns,
                        ns: row.read_ns.map(|read| read.saturating_sub(row.sent_ns)),
                        by_udp: true,
                    });
                }
                _ => {
                    before.remove(&row.socket);
                }
            }
        }
        out
    }
}
