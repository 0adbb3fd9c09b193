//! A client behind a TUN device: a program writes each packet, and its write call routes it on to a server in another namespace.
//! One life from the write to the server's socket, whose way is planted.

use super::{Bench, Rig, late};
use crate::net::{Netns, veth};
use crate::truth::Way;
use crate::wire::Wire;

pub(super) const RIG: Rig = Rig {
    name: "vpn",
    what: "packets that a program writes to a TUN device, routed on in its call and read late: each one life with its whole way (reader_asleep, reader_running)",
    cpus: 2,
    run,
};

fn run(bench: &mut Bench) -> anyhow::Result<()> {
    let (a, r, b) = (Netns::new("a")?, Netns::new("r")?, Netns::new("b")?);
    let _wire = Wire::new(&a, &r)?;
    r.write("/proc/sys/net/ipv4/ip_forward", "1")?;
    veth((&r, "dmz0", "10.97.2.1/24"), (&b, "eth0", "10.97.2.2/24"))?;
    a.ip("route add 10.97.2.0/24 via 10.66.1.2")?;
    b.ip("route add default via 10.97.2.1")?;
    bench.record_links()?;
    let delays = late::plan(12);
    let sizes: Vec<usize> = (0..delays.len()).map(|n| 300 + n * 911).collect();
    let server = ([10, 97, 2, 2], 7026);
    bench.truth.ways.push(Way {
        dport: server.1,
        devices: ["wire0", "dmz0", "eth0"].map(str::to_owned).to_vec(),
    });
    let why = "the reader behind the VPN was late";
    late::play(bench, (&a, &b), server, (&sizes, &delays), None, why)
}
