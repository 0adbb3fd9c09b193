//! How many ns an event adds.

use rayon::prelude::*;

use crate::ingest::Trace;

/// Share of neighbours whose gap is taken for the cost of an event.
const SHARE: f64 = 0.05;
/// Gaps that are compared; with fewer the quantile is chance.
const LEAST_GAPS: u64 = 1_000;
/// A gap from which on it is not the recording that fills it, ns.
pub const MOST_NS: usize = 3_000;

/// ns that one event adds; `None` when the recording does not tell.
pub fn per_event(trace: &Trace<'_>) -> Option<i64> {
    if !trace.info.clock_is_ns {
        return None;
    }
    let of_cpu = |cpu: u16| {
        // Gaps by ns; the last place counts all longer ones.
        let mut by_ns = vec![0u64; MOST_NS + 1];
        for stream in trace.recs.of_cpu(cpu) {
            let later = stream.iter().skip(1);
            for (a, b) in stream.iter().zip(later) {
                let gap = usize::try_from(b.ts.saturating_sub(a.ts))
                    .unwrap_or(MOST_NS)
                    .min(MOST_NS);
                if let Some(n) = by_ns.get_mut(gap) {
                    *n += 1;
                }
            }
        }
        by_ns
    };
    let add = |mut a: Vec<u64>, b: Vec<u64>| {
        a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
        a
    };
    let by_ns = trace
        .recs
        .cpus()
        .into_par_iter()
        .map(of_cpu)
        .reduce(Vec::new, |a, b| match a.is_empty() {
            true => b,
            false => add(a, b),
        });
    let gaps: u64 = by_ns.iter().sum();
    if gaps < LEAST_GAPS {
        return None;
    }
    let most = (gaps as f64 * SHARE) as u64;
    let mut below = 0u64;
    let at = by_ns.iter().position(|n| {
        below += n;
        below > most
    })?;
    (at < MOST_NS).then(|| i64::try_from(at).unwrap_or(0))
}
