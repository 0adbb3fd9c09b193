//! Merges the streams into one sequence in the order (time, stream, position): a k-way merge that keeps each stream's
//! own order, so that a record with an older time behind a newer one of its CPU stays behind it.
//!
//! The records stay where they are, stream after stream; only their order is new: 4 bytes a record, not another copy, and 2
//! for its event id, so that who looks for some events passes over the others without touching them. A record's place is its
//! position among the records of all streams, its position is the one in the merged order.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::decode::Rec;

/// Records of all streams, and the order in which they are read.
#[derive(Debug, Default)]
pub struct Merged {
    records: Vec<Rec>,
    /// Places in merged order.
    order: Vec<u32>,
    /// Event ids in merged order.
    kinds: Vec<u16>,
    /// Where each stream ends in `records`.
    ends: Vec<usize>,
}

impl Merged {
    /// Records.
    #[must_use]
    pub fn len(&self) -> usize {
        self.order.len()
    }
    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }
    /// The record at a position of the merged order.
    #[inline]
    pub fn get(&self, position: usize) -> Option<&Rec> {
        self.records.get(*self.order.get(position)? as usize)
    }
    /// The place of the record at a position.
    #[inline]
    pub fn place(&self, position: u32) -> Option<u32> {
        self.order.get(position as usize).copied()
    }
    /// The record at a place.
    #[inline]
    pub fn at(&self, place: u32) -> Option<&Rec> {
        self.records.get(place as usize)
    }
    /// The record at a position, to change it.
    pub fn get_mut(&mut self, position: usize) -> Option<&mut Rec> {
        self.records.get_mut(*self.order.get(position)? as usize)
    }
    /// The records of one CPU, each stream in its own order: one slice, unless several ring buffers of it are used.
    pub fn of_cpu(&self, cpu: u16) -> impl Iterator<Item = &[Rec]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        let streams = starts.zip(self.ends.iter().copied());
        streams
            .filter_map(|(from, to)| self.records.get(from..to))
            .filter(move |s| s.first().is_some_and(|r| r.cpu == cpu))
    }
    /// CPUs that have records, ascending.
    #[must_use]
    pub fn cpus(&self) -> Vec<u16> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        let firsts = starts.zip(self.ends.iter().copied()).filter(|(from, to)| from < to);
        let mut cpus: Vec<u16> = firsts.filter_map(|(i, _)| Some(self.records.get(i)?.cpu)).collect();
        cpus.sort_unstable();
        cpus.dedup();
        cpus
    }
    /// All records in order.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = &Rec> {
        self.order.iter().filter_map(|i| self.records.get(*i as usize))
    }
    /// Positions and records of the events whose kind `wanted` says, in order.
    #[inline]
    pub fn only<'m>(&'m self, wanted: impl Fn(u16) -> bool + 'm) -> impl Iterator<Item = (u32, &'m Rec)> + 'm {
        let all = self.order.iter().zip(&self.kinds).zip(0u32..);
        let of = all.filter(move |((_, kind), _)| wanted(**kind));
        of.filter_map(|((place, _), position)| Some((position, self.records.get(*place as usize)?)))
    }
}

/// Merges `records`, which hold one stream after the other; `ends` says where each stream ends.
#[must_use]
pub fn merge(records: Vec<Rec>, ends: &[usize]) -> Merged {
    // (next, end) of each stream in `records`
    let starts = std::iter::once(0).chain(ends.iter().copied());
    let mut cursors: Vec<(usize, usize)> = starts.zip(ends.iter().copied()).collect();
    let total = records.len();
    let head = |c: &(usize, usize)| if c.0 < c.1 { records.get(c.0) } else { None };
    let mut order: Vec<u32> = Vec::with_capacity(total);
    let mut kinds: Vec<u16> = Vec::with_capacity(total);
    let mut heap: BinaryHeap<Reverse<(i64, usize)>> = cursors
        .iter()
        .enumerate()
        .filter_map(|(i, c)| Some(Reverse((head(c)?.ts, i))))
        .collect();
    while let Some(Reverse((_, i))) = heap.pop() {
        let limit = heap.peek().map(|Reverse(k)| *k);
        let Some(cursor) = cursors.get_mut(i) else { continue };
        while let Some(rec) = head(cursor) {
            if limit.is_some_and(|l| (rec.ts, i) > l) {
                heap.push(Reverse((rec.ts, i)));
                break;
            }
            // Positions are 32 bits everywhere: 4 billion records are 100 GB of them.
            let Ok(at) = u32::try_from(cursor.0) else { break };
            order.push(at);
            kinds.push(rec.kind);
            cursor.0 = cursor.0.saturating_add(1);
        }
    }
    let ends = ends.to_vec();
    Merged {
        records,
        order,
        kinds,
        ends,
    }
}
