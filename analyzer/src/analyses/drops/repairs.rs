//! What lost segments of TCP cost: how long until what was sent again was acknowledged.

use crate::reconstruct::drops::tables::DropRow;
use crate::reconstruct::whose::Carries;
use crate::stat::nearest_rank;

/// Of a group of drops that lost data of TCP sockets of this recording.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Repairs {
    /// Drops of such data of which it is known which retransmission carried it again.
    pub of: u64,
    /// Others of such data: none did, or which is not known.
    pub unknown: u64,
    /// Those whose segment was seen sent again and acknowledged.
    pub n: u64,
    /// From the drop until then, median.
    pub p50_ns: Option<i64>,
    /// 99th percentile.
    pub p99_ns: Option<i64>,
    /// Worst.
    pub max_ns: Option<i64>,
}

/// `None`: it lost no such data.
pub fn repairs(rows: &[&DropRow]) -> Option<Repairs> {
    let data = |r: &&&DropRow| {
        r.owner
            .is_some_and(|o| matches!(o.carries, Carries::Data | Carries::SynData))
    };
    let all = rows.iter().filter(data).count() as u64;
    let of = rows.iter().filter(|r| data(r) && r.repair.is_some()).count() as u64;
    let mut after: Vec<i64> = rows.iter().filter_map(|r| r.repair?.after_ns).collect();
    (all > 0).then(|| Repairs {
        of,
        unknown: all.saturating_sub(of),
        n: after.len() as u64,
        p50_ns: nearest_rank(&mut after, 50),
        p99_ns: nearest_rank(&mut after, 99),
        max_ns: after.iter().copied().max(),
    })
}
