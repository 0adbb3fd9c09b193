//! When threads were at something: (begin, end), by thread.

use rustc_hash::FxHashMap;

use crate::reconstruct::datagrams::tables::TurnRow;

/// In order of their begin.
#[derive(Default)]
pub(super) struct Times(FxHashMap<i32, Vec<(i64, i64)>>);

impl Times {
    /// Of these turns.
    pub(super) fn of<'t>(turns: impl Iterator<Item = &'t TurnRow>) -> Times {
        let mut of: FxHashMap<i32, Vec<(i64, i64)>> = FxHashMap::default();
        for t in turns {
            of.entry(t.pid).or_default().push((t.start_ns, t.end_ns));
        }
        of.values_mut().for_each(|of| of.sort_unstable());
        Times(of)
    }

    /// Whether a thread was at it then.
    pub(super) fn at(&self, pid: i32, ns: i64) -> bool {
        let of = self.0.get(&pid).map_or(&[][..], Vec::as_slice);
        let before = of.partition_point(|t| t.0 <= ns).checked_sub(1);
        before.and_then(|n| of.get(n)).is_some_and(|t| ns <= t.1)
    }
}
