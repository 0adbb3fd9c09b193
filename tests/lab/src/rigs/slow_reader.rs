//! The reader is late: asleep elsewhere, or busy on its CPU, while the message is in its receive queue.

use super::{Bench, Rig, late};

pub(super) const RIG: Rig = Rig {
    name: "slow_reader",
    what: "the reader sleeps (reader_asleep) or computes (reader_running) with the message in its receive queue",
    cpus: 2,
    run,
};

fn run(bench: &mut Bench) -> anyhow::Result<()> {
    let (a, b) = bench.pair()?;
    let delays = late::plan(16);
    // Lengths that tell messages apart; the largest are several segments.
    let sizes: Vec<usize> = (0..delays.len()).map(|n| 200 + n * 531).collect();
    let server = ([10, 99, 1, 2], 7000);
    late::play(
        bench,
        (&a, &b),
        server,
        (&sizes, &delays),
        "the reader was late to read",
    )
}
