//! Three namespaces joined by a bridge, with a packet tap on it: every packet goes over four devices and is cloned for the
//! tap, and reads are late.

use super::{Bench, Rig, late};
use crate::net::{Netns, veth};

pub(super) const RIG: Rig = Rig {
    name: "bridge_tap",
    what: "packets forwarded by a bridge under a packet tap, read late (reader_asleep, reader_running)",
    cpus: 2,
    run,
};

fn run(bench: &mut Bench) -> anyhow::Result<()> {
    let (a, r, b) = (Netns::new("a")?, Netns::new("r")?, Netns::new("b")?);
    r.ip("link add br0 type bridge")?;
    veth((&a, "va", "10.99.1.1/24"), (&r, "pa", ""))?;
    veth((&b, "vb", "10.99.1.2/24"), (&r, "pb", ""))?;
    r.ip("link set pa master br0")?;
    r.ip("link set pb master br0")?;
    r.ip("link set br0 up")?;
    bench.record_links()?;
    bench.tap(&r, "pb")?;
    let delays = late::plan(12);
    let sizes: Vec<usize> = (0..delays.len()).map(|n| 300 + n * 911).collect();
    let server = ([10, 99, 1, 2], 7014);
    let why = "the reader behind the bridge was late";
    late::play(bench, (&a, &b), server, (&sizes, &delays), None, why)
}
