//! From the smallest latency of each ordered pair of CPUs to what these say of every other pair.

use rustc_hash::FxHashMap;

/// Relaxations after which only direct pairs count: a machine of 128 CPUs with pairs between all of them needs a few times
/// 128 * 128 * 128.
const MOST_RELAXATIONS: u64 = 50_000_000;

/// Shortest paths: `(a, b)` -> largest value that clock b minus clock a can have.
#[derive(Debug, Default)]
pub struct Paths {
    /// By (from, to).
    pub dist: FxHashMap<(u16, u16), i64>,
    /// CPUs on a cycle of latencies that sum to less than 0: no constant offsets explain them.
    pub contradicted: Vec<u16>,
}

/// Bellman-Ford from every CPU. `least` holds the smallest latency of each pair, as (cause's CPU, effect's CPU, ns).
pub fn paths(least: &[(u16, u16, i64)]) -> Paths {
    let mut cpus: Vec<u16> = least.iter().flat_map(|e| [e.0, e.1]).collect();
    cpus.sort_unstable();
    cpus.dedup();
    let at = |cpu: u16| cpus.binary_search(&cpu).unwrap_or(0);
    let edges: Vec<(usize, usize, i64)> = least.iter().map(|e| (at(e.0), at(e.1), e.2)).collect();
    let mut out = Paths::default();
    let mut left = MOST_RELAXATIONS;
    for (i, from) in cpus.iter().enumerate() {
        let mut dist: Vec<Option<i64>> = vec![None; cpus.len()];
        if let Some(d) = dist.get_mut(i) {
            *d = Some(0);
        }
        // n - 1 rounds suffice without a negative cycle; a change in round n shows one.
        let mut contradicted = false;
        for round in 0..cpus.len() {
            left = left.saturating_sub(edges.len() as u64);
            let mut changed = false;
            for (a, b, w) in &edges {
                let Some(via) = dist.get(*a).copied().flatten().map(|d| d.saturating_add(*w)) else {
                    continue;
                };
                if let Some(d) = dist.get_mut(*b)
                    && d.is_none_or(|d| via < d)
                {
                    (*d, changed) = (Some(via), true);
                }
            }
            contradicted = changed && round + 1 == cpus.len();
            if !changed || left == 0 {
                break;
            }
        }
        if contradicted || dist.get(i).copied().flatten().is_some_and(|d| d < 0) {
            out.contradicted.push(*from);
        }
        for (cpu, d) in cpus.iter().zip(dist) {
            if let Some(d) = d.filter(|_| cpu != from) {
                out.dist.insert((*from, *cpu), d);
            }
        }
        if left == 0 {
            break;
        }
    }
    // Where the search was cut, the direct pairs still hold.
    for (a, b, w) in least {
        out.dist.entry((*a, *b)).or_insert(*w);
    }
    out
}
