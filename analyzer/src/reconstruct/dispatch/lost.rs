//! Whether events were lost in a span of time, on any CPU.

use crate::ingest::GapRow;

/// Merged intervals in which events of some CPU are missing, ascending.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lost(Vec<(i64, i64)>);

impl Lost {
    /// Of gaps in any order; one without an end lasts for ever.
    pub fn of(gaps: &[GapRow]) -> Lost {
        let span = |g: &GapRow| (g.start_ns.unwrap_or(i64::MIN), g.end_ns.unwrap_or(i64::MAX));
        let mut spans: Vec<(i64, i64)> = gaps.iter().map(span).collect();
        spans.sort_unstable();
        spans.dedup_by(|next, kept| {
            let one = next.0 <= kept.1;
            if one {
                kept.1 = kept.1.max(next.1);
            }
            one
        });
        Lost(spans)
    }
    /// Whether something may be missing between two times, both included.
    #[inline]
    pub fn within(&self, from: i64, to: i64) -> bool {
        let at = self.0.partition_point(|g| g.1 < from);
        self.0.get(at).is_some_and(|g| g.0 <= to)
    }
    /// The intervals.
    pub fn spans(&self) -> &[(i64, i64)] {
        &self.0
    }
}
