//! Merges the streams into one sequence in the order (time, stream, position): a k-way merge that keeps each stream's
//! own order, so that a record with an older time behind a newer one of its CPU stays behind it.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::decode::Rec;

/// One stream's records as the list of its chunks' records.
pub type StreamRecs = Vec<Vec<Rec>>;

/// Merges; chunks are freed as they are used up.
pub fn merge(streams: Vec<StreamRecs>) -> Vec<Rec> {
    let total: usize = streams.iter().flatten().map(Vec::len).sum();
    let mut out = Vec::with_capacity(total);
    let mut cursors: Vec<Cursor> = streams.into_iter().map(Cursor::new).collect();
    let mut heap: BinaryHeap<Reverse<(i64, usize)>> = cursors
        .iter()
        .enumerate()
        .filter_map(|(i, c)| Some(Reverse((c.head()?.ts, i))))
        .collect();
    while let Some(Reverse((_, i))) = heap.pop() {
        let limit = heap.peek().map(|Reverse(k)| *k);
        let Some(cursor) = cursors.get_mut(i) else { continue };
        while let Some(rec) = cursor.head() {
            if limit.is_some_and(|l| (rec.ts, i) > l) {
                heap.push(Reverse((rec.ts, i)));
                break;
            }
            out.push(rec);
            cursor.advance();
        }
    }
    out
}

struct Cursor {
    chunks: std::vec::IntoIter<Vec<Rec>>,
    current: Vec<Rec>,
    at: usize,
}

impl Cursor {
    fn new(chunks: StreamRecs) -> Cursor {
        let mut c = Cursor {
            chunks: chunks.into_iter(),
            current: Vec::new(),
            at: 0,
        };
        c.refill();
        c
    }
    fn refill(&mut self) {
        while self.at >= self.current.len() {
            match self.chunks.next() {
                Some(next) => (self.current, self.at) = (next, 0),
                None => {
                    self.current = Vec::new();
                    return;
                }
            }
        }
    }
    #[inline]
    fn head(&self) -> Option<Rec> {
        self.current.get(self.at).copied()
    }
    #[inline]
    fn advance(&mut self) {
        self.at = self.at.saturating_add(1);
        if self.at >= self.current.len() {
            self.refill();
        }
    }
}
