//! When a walk in time order comes past the beginnings and ends of gaps.

use crate::ingest::{GapRow, Trace};

/// Gaps still ahead of a walk.
pub struct Gaps<'t> {
    begins: std::iter::Peekable<std::vec::IntoIter<&'t GapRow>>,
    ends: std::iter::Peekable<std::vec::IntoIter<&'t GapRow>>,
    /// None begins before, or ends until, an event older than this.
    quiet_ns: i64,
}

impl<'t> Gaps<'t> {
    /// Of gaps in order of start.
    pub fn of(gaps: Vec<&'t GapRow>) -> Gaps<'t> {
        let mut ends: Vec<&GapRow> = gaps.iter().copied().filter(|g| g.end_ns.is_some()).collect();
        ends.sort_by_key(|g| g.end_ns);
        Gaps {
            begins: gaps.into_iter().peekable(),
            ends: ends.into_iter().peekable(),
            quiet_ns: i64::MIN,
        }
    }
    /// Those of one CPU.
    pub fn of_cpu(trace: &'t Trace<'_>, cpu: u16) -> Gaps<'t> {
        Gaps::of(trace.gaps.iter().filter(|g| g.cpu == u32::from(cpu)).collect())
    }
    /// Tells the gaps that begin before, or end until, an event at `ts`: each twice.
    #[inline]
    pub fn until(&mut self, ts: i64, mut tell: impl FnMut(&GapRow)) {
        if ts < self.quiet_ns {
            return;
        }
        while let Some(g) = self.begins.next_if(|g| g.start_ns.is_none_or(|s| s < ts)) {
            tell(g);
        }
        while let Some(g) = self.ends.next_if(|g| g.end_ns.is_some_and(|t| t <= ts)) {
            tell(g);
        }
        let begin = self.begins.peek().map_or(i64::MAX, |g| g.start_ns.unwrap_or(i64::MIN));
        let end = self.ends.peek().map_or(i64::MAX, |g| g.end_ns.unwrap_or(i64::MIN));
        self.quiet_ns = begin.min(end);
    }
    /// Tells the gaps that begin behind the last event.
    pub fn rest(self, mut tell: impl FnMut(&GapRow)) {
        for g in self.begins {
            tell(g);
        }
    }
}
