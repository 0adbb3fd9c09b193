//! When a walk in time order comes past the beginnings and ends of gaps.

use crate::ingest::GapRow;

/// Gaps still ahead of a walk.
pub struct Gaps<'t> {
    begins: std::iter::Peekable<std::vec::IntoIter<&'t GapRow>>,
    ends: std::iter::Peekable<std::vec::IntoIter<&'t GapRow>>,
}

impl<'t> Gaps<'t> {
    /// Of gaps in order of start.
    pub fn of(gaps: Vec<&'t GapRow>) -> Gaps<'t> {
        let mut ends: Vec<&GapRow> = gaps.iter().copied().filter(|g| g.end_ns.is_some()).collect();
        ends.sort_by_key(|g| g.end_ns);
        Gaps {
            begins: gaps.into_iter().peekable(),
            ends: ends.into_iter().peekable(),
        }
    }
    /// Tells the gaps that begin before, or end until, an event at `ts`: each twice.
    #[inline]
    pub fn until(&mut self, ts: i64, mut tell: impl FnMut(&GapRow)) {
        while let Some(g) = self.begins.next_if(|g| g.start_ns.is_none_or(|s| s < ts)) {
            tell(g);
        }
        while let Some(g) = self.ends.next_if(|g| g.end_ns.is_some_and(|t| t <= ts)) {
            tell(g);
        }
    }
    /// Tells the gaps that begin behind the last event.
    pub fn rest(self, mut tell: impl FnMut(&GapRow)) {
        for g in self.begins {
            tell(g);
        }
    }
}
