//! Times one thread spent on a run queue, and who ran instead; or asleep, and who ended it.

/// One of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wait {
    /// Runnable (asleep) since.
    pub from: i64,
    /// Running, or runnable elsewhere (woken), from.
    pub to: i64,
    /// Who ran longest meanwhile (woke it).
    pub who: i32,
}

/// All of them, ascending and disjoint.
#[derive(Debug, Default)]
pub struct Waits {
    of: Vec<Wait>,
    /// A tree of positions in `of`: node i has the longest wait below its children 2i and 2i + 1; leaves begin at `of.len()`.
    longest: Vec<u32>,
}

impl Waits {
    /// One more.
    pub fn push(&mut self, w: Wait) {
        self.of.push(w);
    }
    /// No other will follow.
    pub fn finish(&mut self) {
        self.of.shrink_to_fit();
        let n = self.of.len();
        let mut tree = vec![0u32; 2 * n];
        for (i, slot) in tree.iter_mut().skip(n).enumerate() {
            *slot = i as u32;
        }
        for i in (1..n).rev() {
            let longer = self.longer(tree.get(2 * i).copied(), tree.get(2 * i + 1).copied());
            if let (Some(slot), Some(v)) = (tree.get_mut(i), longer) {
                *slot = v;
            }
        }
        self.longest = tree;
    }
    fn ns(&self, i: u32) -> i64 {
        self.of.get(i as usize).map_or(0, |w| w.to.saturating_sub(w.from))
    }
    fn longer(&self, a: Option<u32>, b: Option<u32>) -> Option<u32> {
        match (a, b) {
            (Some(a), Some(b)) => Some(if self.ns(b) > self.ns(a) { b } else { a }),
            (a, b) => a.or(b),
        }
    }
    /// The longest of positions `from..to`.
    fn longest_of(&self, from: usize, to: usize) -> Option<u32> {
        let n = self.of.len();
        let (mut l, mut r, mut best) = (from + n, to.max(from) + n, None);
        while l < r {
            if l & 1 == 1 {
                best = self.longer(best, self.longest.get(l).copied());
                l += 1;
            }
            if r & 1 == 1 {
                r -= 1;
                best = self.longer(best, self.longest.get(r).copied());
            }
            (l, r) = (l / 2, r / 2);
        }
        best
    }
    /// Who ran in the longest wait of `[from, to)`, counting of each wait only what lies inside; and that, ns.
    pub fn longest_in(&self, from: i64, to: i64) -> Option<(i32, i64)> {
        self.longest_wait(from, to).map(|(w, ns)| (w.who, ns))
    }
    /// The same wait as a whole, and the part of it that lies inside, ns.
    pub fn longest_wait(&self, from: i64, to: i64) -> Option<(Wait, i64)> {
        let first = self.of.partition_point(|w| w.to <= from);
        let end = self.of.partition_point(|w| w.from < to);
        let inside = |i: usize| {
            let w = self.of.get(i)?;
            Some((w.to.min(to).saturating_sub(w.from.max(from)), *w))
        };
        // Only the outer two may be cut.
        let middle = self
            .longest_of(first + 1, end.saturating_sub(1))
            .and_then(|i| inside(i as usize));
        let outer = [Some(first), end.checked_sub(1).filter(|e| *e > first)];
        let all = outer
            .into_iter()
            .flatten()
            .filter(|i| *i < end)
            .filter_map(inside)
            .chain(middle);
        all.filter(|(ns, _)| *ns > 0).max_by_key(|x| x.0).map(|(ns, w)| (w, ns))
    }
}
