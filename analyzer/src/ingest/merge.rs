//! Merges the streams into one sequence in the order (time, stream, position): a k-way merge that keeps each stream's
//! own order, so that a record with an older time behind a newer one of its CPU stays behind it.
//!
//! The records stay where they are, stream after stream; only their order is new: 4 bytes a record, not another copy, and 2
//! for its event id, so that who looks for some events passes over the others without touching them. A record's place is its
//! position among the records of all streams, its position is the one in the merged order.
//!
//! The sequence is cut at times, each part is merged by a thread of its own: a stream is cut before its first record that
//! is not older than the time, which is where the merge of all has every stream when it comes to the first such record.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rayon::prelude::*;

use super::decode::Rec;

/// Records that are worth a thread.
const WORTH: usize = 65_536;

/// The records of one decoded block, one behind the other.
#[derive(Debug, Clone, Copy)]
pub struct Piece {
    /// Place behind the last.
    pub end: usize,
    /// Number of the block.
    pub block: u32,
    /// The largest time among them, ns.
    pub latest_ns: i64,
}

/// A stream's records.
#[derive(Debug, Default)]
pub struct Source {
    /// Place behind the last.
    pub end: usize,
    /// They were sorted by time: no piece of them is one block's.
    pub sorted: bool,
    /// Its blocks that have records, unless they are sorted.
    pub pieces: Vec<Piece>,
}

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
    /// Behind which position no record lies in which block: ascending, without the blocks of sorted streams.
    left: Vec<(u32, u32)>,
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
    /// Places in merged order.
    pub fn places(&self) -> impl Iterator<Item = u32> {
        self.order.iter().copied()
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
    /// Positions after which no record lies in a block, and the block, by position.
    pub fn left(&self) -> &[(u32, u32)] {
        &self.left
    }
    /// Positions and records of the events whose kind `wanted` says, in order, from a position to before another.
    #[inline]
    pub fn only<'m>(
        &'m self,
        from: usize,
        to: usize,
        wanted: impl Fn(u16) -> bool + 'm,
    ) -> impl Iterator<Item = (u32, &'m Rec)> + 'm {
        let order = self.order.get(from..to).unwrap_or(&[]);
        let kinds = self.kinds.get(from..to).unwrap_or(&[]);
        let first = u32::try_from(from).unwrap_or(u32::MAX);
        let all = order.iter().zip(kinds).zip(first..);
        let of = all.filter(move |((_, kind), _)| wanted(**kind));
        of.filter_map(|((place, _), position)| Some((position, self.records.get(*place as usize)?)))
    }
}

/// Merges `records`, which hold one source after the other.
#[must_use]
pub fn merge(records: Vec<Rec>, sources: &[Source]) -> Merged {
    // Positions are 32 bits everywhere: 4 billion records are 100 GB of them.
    let ends: Vec<usize> = sources.iter().map(|s| s.end.min(u32::MAX as usize)).collect();
    let starts = std::iter::once(0).chain(ends.iter().copied());
    let streams: Vec<(usize, usize)> = starts.zip(ends.iter().copied()).collect();
    let cuts = cuts(&records, sources, &streams);
    let total = ends.last().copied().unwrap_or(0);
    let mut order = vec![0u32; total];
    let mut kinds = vec![0u16; total];
    let (mut orders, mut kinds_left, mut first) = (order.as_mut_slice(), kinds.as_mut_slice(), 0usize);
    let mut parts = Vec::with_capacity(cuts.len());
    for (from, to) in cuts.iter().zip(cuts.iter().skip(1)) {
        let cursors: Vec<(usize, usize)> = from.iter().copied().zip(to.iter().copied()).collect();
        let n: usize = cursors.iter().map(|c| c.1.saturating_sub(c.0)).sum();
        let (order, order_after) = orders.split_at_mut(n.min(orders.len()));
        let (kinds, kinds_after) = kinds_left.split_at_mut(n.min(kinds_left.len()));
        (orders, kinds_left) = (order_after, kinds_after);
        parts.push((cursors, order, kinds, first));
        first = first.saturating_add(n);
    }
    let left: Vec<Vec<(u32, u32)>> = parts
        .into_par_iter()
        .map(|(cursors, order, kinds, first)| part(&records, sources, cursors, order, kinds, first))
        .collect();
    Merged {
        left: left.concat(),
        records,
        order,
        kinds,
        ends,
    }
}

/// Where each stream is cut into parts of about the same size, as places: first its start, last its end.
fn cuts(records: &[Rec], sources: &[Source], streams: &[(usize, usize)]) -> Vec<Vec<usize>> {
    let mut cuts = vec![streams.iter().map(|s| s.0).collect::<Vec<_>>()];
    let longest = streams.iter().max_by_key(|s| s.1.saturating_sub(s.0)).copied();
    let (from, to) = longest.unwrap_or_default();
    let len = to.saturating_sub(from);
    let n = rayon::current_num_threads()
        .saturating_mul(2)
        .min(len.checked_div(WORTH).unwrap_or(0))
        .max(1);
    let place = |i: usize| from.saturating_add(len.saturating_mul(i).checked_div(n).unwrap_or(0));
    let mut times: Vec<i64> = (1..n).filter_map(|i| Some(records.get(place(i))?.ts)).collect();
    times.sort_unstable();
    for ts in times {
        let of = streams.iter().zip(sources);
        cuts.push(of.map(|(s, source)| cut(records, source, *s, ts)).collect());
    }
    cuts.push(streams.iter().map(|s| s.1).collect());
    cuts
}

/// The place of a stream's first record that is not older than a time.
fn cut(records: &[Rec], source: &Source, (from, to): (usize, usize), ts: i64) -> usize {
    let of = records.get(from..to).unwrap_or(&[]);
    let early = |r: &Rec| r.ts < ts;
    if source.sorted {
        return from.saturating_add(of.partition_point(early));
    }
    let pieces = &source.pieces;
    let Some(at) = pieces.iter().position(|p| p.latest_ns >= ts) else {
        return to;
    };
    let before = at.checked_sub(1).and_then(|i| pieces.get(i)).map_or(from, |p| p.end);
    let of = records.get(before..to).unwrap_or(&[]);
    before.saturating_add(of.iter().take_while(|r| early(r)).count())
}

/// Merges one part of each stream; gives the positions after which blocks are left.
fn part(
    records: &[Rec],
    sources: &[Source],
    mut cursors: Vec<(usize, usize)>,
    order: &mut [u32],
    kinds: &mut [u16],
    first: usize,
) -> Vec<(u32, u32)> {
    let head = |c: &(usize, usize)| if c.0 < c.1 { records.get(c.0) } else { None };
    let of = |(s, c): (&Source, &(usize, usize))| s.pieces.partition_point(|p| p.end <= c.0);
    let mut at: Vec<usize> = sources.iter().zip(&cursors).map(of).collect();
    let mut heap: BinaryHeap<Reverse<(i64, usize)>> = cursors
        .iter()
        .enumerate()
        .filter_map(|(i, c)| Some(Reverse((head(c)?.ts, i))))
        .collect();
    let mut left = Vec::new();
    let mut places = order.iter_mut().zip(kinds).zip(first..);
    while let Some(Reverse((_, i))) = heap.pop() {
        let limit = heap.peek().map(|Reverse(k)| *k);
        let (Some(cursor), Some(piece), Some(source)) = (cursors.get_mut(i), at.get_mut(i), sources.get(i)) else {
            continue;
        };
        let mut end = source.pieces.get(*piece).map_or(usize::MAX, |p| p.end);
        while let Some(rec) = head(cursor) {
            if limit.is_some_and(|l| (rec.ts, i) > l) {
                heap.push(Reverse((rec.ts, i)));
                break;
            }
            let Some(((place, kind), position)) = places.next() else {
                break;
            };
            (*place, *kind) = (cursor.0 as u32, rec.kind);
            cursor.0 = cursor.0.saturating_add(1);
            if cursor.0 == end {
                left.extend(source.pieces.get(*piece).map(|p| (position as u32, p.block)));
                *piece = piece.saturating_add(1);
                end = source.pieces.get(*piece).map_or(usize::MAX, |p| p.end);
            }
        }
    }
    left
}
