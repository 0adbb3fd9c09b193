//! The two ways a packet's size changes on its way: the receiver's GRO merges what a peer without offloads sends, and the
//! sender's stack segments in software what its device cannot.

use super::{Bench, Rig, late};

pub(super) const GRO: Rig = Rig {
    name: "gro_merge",
    what: "GRO merges the segments of a peer without offloads; some are read late (reader_asleep, reader_running)",
    cpus: 2,
    run: |bench| run(bench, "tso off gso off", "gro on", 7015),
};

pub(super) const GSO: Rig = Rig {
    name: "gso_software",
    what: "segments built in software in front of the driver; some are read late (reader_asleep, reader_running)",
    cpus: 2,
    run: |bench| run(bench, "tso off gso on", "gro off", 7016),
};

fn run(bench: &mut Bench, sender: &str, receiver: &str, port: u16) -> anyhow::Result<()> {
    let (a, b) = bench.pair()?;
    a.offloads("va", sender)?;
    b.offloads("vb", receiver)?;
    bench.record_links()?;
    bench.tap(&b, "vb")?;
    let mut delays = late::plan(10);
    delays.extend(vec![late::Delay::None; 60]);
    // From less than a segment to twenty of them.
    let sizes: Vec<usize> = (0..delays.len()).map(|n| 500 + n * 5_501 % 30_000).collect();
    let server = ([10, 99, 1, 2], port);
    let why = "the reader was late to read";
    late::play(bench, (&a, &b), server, (&sizes, &delays), None, why)
}
