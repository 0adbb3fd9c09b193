//! Stretches of time, and how much of another one they cover.

/// Times without gaps between them that are counted twice, ascending, with the sum of those before each.
#[derive(Debug, Default)]
pub(crate) struct Spans {
    of: Vec<(i64, i64, i64)>,
}

impl Spans {
    pub(crate) fn of(mut all: Vec<(i64, i64)>) -> Spans {
        all.sort_unstable();
        let mut of: Vec<(i64, i64, i64)> = vec![];
        for (from, to) in all.into_iter().filter(|s| s.1 > s.0) {
            match of.last_mut() {
                Some(last) if last.1 >= from => last.1 = last.1.max(to),
                last => {
                    let before = last.map_or(0, |l| l.2.saturating_add(l.1.saturating_sub(l.0)));
                    of.push((from, to, before));
                }
            }
        }
        Spans { of }
    }
    /// All of them, ascending.
    pub(crate) fn each(&self) -> impl Iterator<Item = (i64, i64)> + '_ {
        self.of.iter().map(|s| (s.0, s.1))
    }
    /// The first that ends then or later.
    pub(super) fn ending_from(&self, at: i64) -> Option<(i64, i64)> {
        let first = self.of.partition_point(|s| s.1 < at);
        self.of.get(first).map(|s| (s.0, s.1))
    }
    /// ns of it up to a time.
    fn until(&self, at: i64) -> i64 {
        let last = self.of.partition_point(|s| s.0 < at).checked_sub(1);
        let last = last.and_then(|i| self.of.get(i));
        last.map_or(0, |s| s.2.saturating_add(s.1.min(at).saturating_sub(s.0)))
    }
    /// ns of all of it.
    pub(crate) fn sum(&self) -> i64 {
        self.of
            .last()
            .map_or(0, |s| s.2.saturating_add(s.1.saturating_sub(s.0)))
    }
    /// ns of both.
    pub(crate) fn common(&self, other: &Spans) -> i64 {
        let each = other.each().map(|(from, to)| self.within(from, to));
        each.fold(0, i64::saturating_add)
    }
    /// ns of it in `[from, to)`.
    pub(crate) fn within(&self, from: i64, to: i64) -> i64 {
        self.until(to.max(from)).saturating_sub(self.until(from))
    }
}
