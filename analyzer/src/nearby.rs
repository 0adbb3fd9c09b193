//! Places in sorted rows, looked for from where the last was found: who makes rows in order of time asks in order of time.

use std::cell::Cell;

/// Sorted rows, and where the answer to the last question was.
#[derive(Debug)]
pub struct Nearby<'s, T> {
    rows: &'s [T],
    last: Cell<usize>,
}

impl<'s, T> Nearby<'s, T> {
    /// Of sorted rows.
    pub fn of(rows: &'s [T]) -> Nearby<'s, T> {
        let last = Cell::new(0);
        Nearby { rows, last }
    }
    /// The first place at which `early` is false, all before it being early.
    #[inline]
    pub fn place(&self, early: impl Fn(&T) -> bool) -> usize {
        let early = |i: usize| self.rows.get(i).is_some_and(&early);
        let place = place_near(self.last.get(), self.rows.len(), early);
        self.last.set(place);
        place
    }
    /// The row at that place.
    #[inline]
    pub fn row(&self, early: impl Fn(&T) -> bool) -> Option<&'s T> {
        self.rows.get(self.place(early))
    }
    /// All of them.
    pub fn rows(&self) -> &'s [T] {
        self.rows
    }
}

/// The first of `[from, to)` for which `early` is false, all before it being early.
pub fn place_between(mut from: usize, mut to: usize, early: impl Fn(usize) -> bool) -> usize {
    while from < to {
        let middle = from + (to - from) / 2;
        match early(middle) {
            true => from = middle + 1,
            false => to = middle,
        }
    }
    from
}

/// The same of `[0, len)`, in steps that double from a place near it.
pub fn place_near(near: usize, len: usize, early: impl Fn(usize) -> bool) -> usize {
    let near = near.min(len);
    let mut step = 1;
    if near < len && early(near) {
        let mut from = near + 1;
        while from + step < len && early(from + step) {
            from += step + 1;
            step *= 2;
        }
        return place_between(from, len.min(from + step), early);
    }
    let mut to = near;
    while to >= step && !early(to - step) {
        to -= step;
        step *= 2;
    }
    place_between(to.saturating_sub(step), to, early)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_is_found_from_every_place() {
        for len in 0..40usize {
            // Runs of equal rows besides.
            for rows in [(0..len).collect::<Vec<_>>(), (0..len).map(|i| i / 3).collect()] {
                for near in 0..=len + 1 {
                    for limit in 0..=len + 1 {
                        let truth = rows.partition_point(|r| *r < limit);
                        let early = |i: usize| rows.get(i).is_some_and(|r| *r < limit);
                        assert_eq!(place_near(near, len, early), truth, "{len} {near} {limit}");
                        let nearby = Nearby::of(&rows);
                        nearby.place(|r| *r < near);
                        assert_eq!(nearby.place(|r| *r < limit), truth, "{len} {near} {limit}");
                    }
                }
            }
        }
    }
}
