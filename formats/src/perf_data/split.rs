//! Finds the runs of records that are of one CPU.
//!
//! perf empties one ring after the other, so a file is made of long runs of one CPU's records. Each run becomes a chunk of that
//! CPU's stream, cut where it is large, so that chunks decode in parallel. Order inside a ring is that of reserving room, which
//! an interrupt can turn round by microseconds: whoever merges sorts a stream by time first. Rounds (FINISHED_ROUND) are
//! then not needed.

use std::collections::BTreeMap;

use super::records::Records;
use super::sample::{Kind, RecordLayout};
use crate::capture::{Chunk, Coding};
use crate::item::Locus;

/// A chunk is closed at this size.
const CHUNK_BYTES: usize = 512 << 10;

/// Where the records of each CPU are.
#[derive(Debug, Default)]
pub(super) struct Split {
    pub cpus: BTreeMap<u32, Vec<Chunk>>,
    /// Events that LOST records count, by CPU.
    pub lost: BTreeMap<u32, u64>,
    /// Samples of other events than tracepoints.
    pub ignored: u64,
    /// Samples whose id no attribute has.
    pub unknown: u64,
    /// Losses and damaged samples in a file without a single readable sample.
    pub nowhere: u64,
}

/// A run that may go on.
struct Run {
    cpu: u32,
    start: usize,
    end: usize,
}

/// A record that does not say its CPU belongs to the run it stands in or before: its ring is that of its neighbours.
#[derive(Default)]
struct Homeless {
    start: Option<usize>,
    end: usize,
    lost: u64,
    records: u64,
}

/// Splits `data`, which begin at `locus` of the file.
pub(super) fn split(layout: &RecordLayout, data: &[u8], locus: Locus) -> Split {
    let mut out = Split::default();
    let mut run: Option<Run> = None;
    let mut waiting = Homeless::default();
    for r in Records::new(data, layout.endian, locus).flatten() {
        let (cpu, lost) = match layout.classify(r.kind, r.body) {
            Kind::Sample { cpu, .. } => (Some(cpu), 0),
            Kind::Lost { count, cpu } => (cpu, count),
            Kind::Short => (None, 0),
            Kind::Ignored => {
                out.ignored = out.ignored.saturating_add(1);
                continue;
            }
            Kind::Unknown => {
                out.unknown = out.unknown.saturating_add(1);
                continue;
            }
            Kind::Other => continue,
        };
        let Some(cpu) = cpu else {
            waiting.start = waiting.start.or(Some(r.at));
            waiting.end = r.end;
            waiting.lost = waiting.lost.saturating_add(lost);
            waiting.records = waiting.records.saturating_add(1);
            continue;
        };
        let waited = std::mem::take(&mut waiting);
        let total = out.lost.entry(cpu).or_default();
        *total = total.saturating_add(lost).saturating_add(waited.lost);
        let start = waited.start.unwrap_or(r.at);
        run = match run {
            Some(mut run) if run.cpu == cpu && r.end.saturating_sub(run.start) <= CHUNK_BYTES => {
                run.end = r.end;
                Some(run)
            }
            before => {
                close(before, locus, &mut out);
                Some(Run { cpu, start, end: r.end })
            }
        };
    }
    match &mut run {
        Some(run) if waiting.start.is_some() => {
            run.end = waiting.end;
            let total = out.lost.entry(run.cpu).or_default();
            *total = total.saturating_add(waiting.lost);
        }
        Some(_) => {}
        None => out.nowhere = waiting.records,
    }
    close(run, locus, &mut out);
    out
}

fn close(run: Option<Run>, locus: Locus, out: &mut Split) {
    let Some(run) = run else { return };
    let at = |n: usize| locus.offset.saturating_add(n as u64);
    out.cpus.entry(run.cpu).or_default().push(Chunk {
        member: locus.member,
        range: at(run.start)..at(run.end),
        coding: Coding::Stored,
    });
}
