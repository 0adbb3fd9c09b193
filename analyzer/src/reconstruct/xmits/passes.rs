//! The result: all passes, found by life and by parent.

use rayon::prelude::*;

use super::tables::{Pass, TxqStop};
use crate::facts::SkbId;

/// All passes over devices.
#[derive(Debug, Default)]
pub struct Passes {
    /// View `xmits`: by life, those without one last; those of a life in time order.
    pub rows: Vec<Pass>,
    /// The lives of the rows, close together: looked for among often.
    lives: Vec<u32>,
    /// View `txq_stops`, in time order.
    pub stops: Vec<TxqStop>,
    /// (parent, row), sorted.
    segments: Vec<(SkbId, u32)>,
    /// What the capture lacks.
    pub missing: Vec<String>,
}

fn key(p: &Pass) -> u32 {
    p.skb_id.map_or(u32::MAX, |s| s.0)
}

impl Passes {
    pub(super) fn new(mut rows: Vec<Pass>, mut stops: Vec<TxqStop>, missing: Vec<String>) -> Passes {
        rows.par_sort_by_cached_key(|p| (key(p), p.first_ns()));
        stops.sort_by_key(|s| (s.from_ns, s.txq));
        let mut segments: Vec<(SkbId, u32)> = rows
            .iter()
            .enumerate()
            .filter_map(|(i, p)| Some((p.parent?, i as u32)))
            .collect();
        segments.sort_unstable();
        Passes {
            lives: rows.iter().map(key).collect(),
            rows,
            stops,
            segments,
            missing,
        }
    }
    /// The passes of a life, in time order.
    pub fn of(&self, id: SkbId) -> &[Pass] {
        let from = self.lives.partition_point(|l| *l < id.0);
        // A life passes over a few devices.
        let rest = self.lives.iter().skip(from);
        let n = rest.take_while(|l| **l == id.0).count();
        self.rows.get(from..from + n).unwrap_or_default()
    }
    /// The passes of the segments that were built of a life, those dropped included.
    pub fn segments(&self, parent: SkbId) -> impl Iterator<Item = &Pass> {
        let from = self.segments.partition_point(|s| s.0 < parent);
        let of = self.segments.iter().skip(from).take_while(move |s| s.0 == parent);
        of.filter_map(|s| self.rows.get(s.1 as usize))
    }
}
