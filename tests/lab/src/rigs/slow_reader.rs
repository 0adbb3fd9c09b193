//! The reader is late: asleep elsewhere, or busy on its CPU, while the message is in its receive queue.

use super::{Bench, Rig, late};
use crate::actors::{Gate, Place, join, spawn, tcp_pair};

pub(super) const RIG: Rig = Rig {
    name: "slow_reader",
    what: "the reader sleeps (reader_asleep) or computes (reader_running) with the message in its receive queue",
    cpus: 2,
    run,
};

fn run(bench: &mut Bench) -> anyhow::Result<()> {
    let (a, b) = bench.pair()?;
    let session = bench.record(&b)?;
    let (client, server) = tcp_pair(&a, &b, "10.99.1.2:7000".parse()?)?;
    let delays = late::plan(16);
    // Lengths that tell messages apart; the largest are several segments.
    let sizes: Vec<usize> = (0..delays.len()).map(|n| 200 + n * 531).collect();
    let next = Gate::new();
    let (sent, reader) = std::thread::scope(|s| {
        let reader = spawn(s, "lab-reader", &b, Place::ahead(1), || {
            late::read(&server, &sizes, &delays, &next)
        })?;
        let sender = spawn(s, "lab-sender", &a, Place::ahead(0), || {
            late::send(&client, &sizes, &next)
        })?;
        anyhow::Ok((join(sender)?, join(reader)?))
    })?;
    bench.socket(&client)?;
    bench.socket(&server)?;
    bench.finish(session)?;
    for case in late::cases(&client, &sent, &reader, &delays, "the reader was late to read")? {
        bench.plant(case);
    }
    bench.truth.reads = reader.calls;
    Ok(())
}
