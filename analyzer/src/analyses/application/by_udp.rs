//! Questions by UDP that threads wait for: answers, and that none comes.
//!
//! In: `udp_turns`, `udp_sockets`. Out: by thread, when it waited for whom.

use rustc_hash::FxHashMap;

use super::spans::Spans;
use super::waited::by_thread;
use crate::analyses::datagrams::{questions, turns_in_vain, whom};
use crate::facts::Facts;

/// A thread's question: whom, from when to when; whether it was answered.
pub(super) struct Asked {
    pub(super) pid: i32,
    pub(super) to: String,
    pub(super) span: (i64, i64),
    pub(super) answered: bool,
}

/// All of them.
pub(super) fn asked(facts: &Facts) -> Vec<Asked> {
    let answered = questions(facts).map(|q| Asked {
        pid: q.turn.pid,
        to: whom(facts, q.turn),
        span: (q.turn.start_ns, q.ready_ns),
        answered: true,
    });
    let vain = turns_in_vain(facts).map(|t| Asked {
        pid: t.pid,
        to: whom(facts, t),
        span: (t.start_ns, t.end_ns),
        answered: false,
    });
    answered.chain(vain).collect()
}

/// By thread and whom it asked.
pub(super) struct ByUdp {
    all: FxHashMap<i32, Vec<(String, Spans)>>,
    in_vain: FxHashMap<i32, Vec<(String, Spans)>>,
}

impl ByUdp {
    pub(super) fn of(asked: &[Asked]) -> ByUdp {
        // Two that are asked at once are waited for once.
        let of = |in_vain: bool| {
            let mut spans: FxHashMap<(i32, String), Vec<(i64, i64)>> = FxHashMap::default();
            for a in asked.iter().filter(|a| !in_vain || !a.answered) {
                spans.entry((a.pid, a.to.clone())).or_default().push(a.span);
            }
            by_thread(spans)
        };
        ByUdp {
            all: of(false),
            in_vain: of(true),
        }
    }

    /// Who was asked most in these times of threads, for how long, and how much of it was in vain, ns.
    pub(super) fn most(&self, times: &[(i32, i64, i64)]) -> Option<(&str, i64, i64)> {
        let mut sums: FxHashMap<&str, (i64, i64)> = FxHashMap::default();
        for (pid, from, until) in times {
            for (to, spans) in self.all.get(pid).into_iter().flatten() {
                let sum = sums.entry(to).or_default();
                sum.0 = sum.0.saturating_add(spans.within(*from, *until));
            }
            for (to, spans) in self.in_vain.get(pid).into_iter().flatten() {
                let sum = sums.entry(to).or_default();
                sum.1 = sum.1.saturating_add(spans.within(*from, *until));
            }
        }
        let most = sums.into_iter().max_by_key(|(to, sum)| (sum.0, std::cmp::Reverse(*to)));
        most.map(|(to, (ns, in_vain))| (to, ns, in_vain))
    }
}
