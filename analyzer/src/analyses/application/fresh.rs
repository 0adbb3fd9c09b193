//! Slow answers that are the first on new connections: a log-in, a handshake of a protocol, or what else a server does for a connection that it has just taken.
//!
//! Needs `responses`, `opens`. A connection is new where this host opened it in the recording. Told where three fifths of the slow ones are such, five or more, and a third or more of
//! all that are such are slow: else new connections are no more than what there is.

use rustc_hash::{FxHashMap, FxHashSet};

use super::servers::Answer;
use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::opens::tables::OpenEnd;

/// Answers of a connection that are its first.
const FIRST: usize = 2;
/// Slow ones, and of all slow ones so many in five.
const MANY: u64 = 5;
const MOST: u64 = 3;
/// Of all first ones one in so many is slow, at least.
const PART: u64 = 3;

/// Of the slow ones, how many are among the first on new connections; and of all.
pub(super) fn fresh(facts: &Facts, slow: &[Answer<'_>], all: &[Answer<'_>]) -> Option<(u64, u64)> {
    let stood = facts.opens.iter().filter(|o| o.end == OpenEnd::Established);
    let new: FxHashSet<ConnectionId> = stood.filter_map(|o| o.connection).collect();
    let mut sends: FxHashMap<ConnectionId, Vec<i64>> = FxHashMap::default();
    for (_, r) in all.iter().filter(|(_, r)| new.contains(&r.connection)) {
        sends.entry(r.connection).or_default().push(r.send_ns);
    }
    for of in sends.values_mut() {
        of.sort_unstable();
        of.truncate(FIRST);
    }
    let first = |(_, r): &&Answer<'_>| sends.get(&r.connection).is_some_and(|of| of.contains(&r.send_ns));
    let (n, of) = (
        slow.iter().filter(first).count() as u64,
        all.iter().filter(first).count() as u64,
    );
    let mostly = n >= MANY && n.saturating_mul(5) >= (slow.len() as u64).saturating_mul(MOST);
    (mostly && n.saturating_mul(PART) >= of).then_some((n, of))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reconstruct::application::tables::ResponseRow;
    use crate::reconstruct::opens::tables::OpenRow;

    /// Six connections with ten answers each; those below `new` are opened in the recording.
    fn told(new: u32, slow: fn(u32, i64) -> bool) -> Option<(u64, u64)> {
        let mut f = Facts::empty();
        for n in 0..new {
            f.opens.push(OpenRow {
                connection: Some(ConnectionId(n)),
                from: None,
                to: None,
                pid: 8,
                task: Default::default(),
                start_ns: 0,
                end_ns: 1,
                end: OpenEnd::Established,
                error: None,
                message: false,
                syns_again: Some(0),
                confidence: crate::Confidence::Certain,
            });
        }
        let rows: Vec<ResponseRow> = (0..6)
            .flat_map(|c| (0..10).map(move |n| crate::testing::answered(c, n * 10, 1)))
            .collect();
        let all: Vec<Answer<'_>> = rows.iter().map(|r| (1, r)).collect();
        let slow: Vec<Answer<'_>> = all
            .iter()
            .copied()
            .filter(|(_, r)| slow(r.connection.0, r.send_ns))
            .collect();
        fresh(&f, &slow, &all)
    }

    #[test]
    fn the_first_answers_of_new_connections_are_told() {
        assert_eq!(told(6, |_, at| at == 10), Some((6, 12)));
        // Of connections that were there before; later ones; few of the first; fewer than five.
        assert_eq!(told(0, |_, at| at == 10), None);
        assert_eq!(told(6, |_, at| at == 50), None);
        assert_eq!(told(6, |c, at| at == 0 && c < 4), None);
        assert_eq!(told(6, |_, at| at == 0 || at >= 60), None);
    }
}
