//! The reader is late: asleep elsewhere, or busy on its CPU, while the message is in its receive queue.

use super::{Bench, Rig, late};
use crate::runner::NotHere;
use crate::sys::Ring;

pub(super) const CALLS: Rig = Rig {
    name: "slow_reader",
    what: "the reader sleeps (reader_asleep) or computes (reader_running) with the message in its receive queue",
    cpus: 2,
    run: |bench| run(bench, None),
};

pub(super) const URING: Rig = Rig {
    name: "uring_late",
    what: "the same with a reader that reads through io_uring (reader_asleep, reader_running)",
    cpus: 2,
    run: |bench| {
        let ring = Ring::new().map_err(|e| NotHere(format!("io_uring: {e}")))?;
        run(bench, Some(ring))
    },
};

fn run(bench: &mut Bench, ring: Option<Ring>) -> anyhow::Result<()> {
    let (a, b) = bench.pair()?;
    let delays = late::plan(16);
    // Lengths that tell messages apart; the largest are several segments.
    let sizes: Vec<usize> = (0..delays.len()).map(|n| 200 + n * 531).collect();
    let server = ([10, 99, 1, 2], 7000);
    let why = "the reader was late to read";
    late::play(bench, (&a, &b), server, (&sizes, &delays), ring, why)
}
