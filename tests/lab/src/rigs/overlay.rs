//! Two pods on two nodes, joined by a VXLAN overlay as flannel makes it: each packet leaves its pod by a veth, goes through the
//! bridge of its node, into the tunnel, over the wire, out of the other tunnel, over the other bridge, into the other pod. All
//! under one address: one life, whose way over ten devices is planted.

use super::{Bench, Rig, late};
use crate::net::{Netns, veth};
use crate::truth::Way;

pub(super) const RIG: Rig = Rig {
    name: "overlay",
    what: "packets of pods through bridges and a VXLAN tunnel, read late: each one life with its whole way (reader_asleep, reader_running)",
    cpus: 2,
    run,
};

/// Makes a node with its pod; the tunnel's address is `10.98.<own>.0`.
fn node((node, pod): (&Netns, &Netns), (own, other): (u8, u8)) -> anyhow::Result<()> {
    node.write("/proc/sys/net/ipv4/ip_forward", "1")?;
    node.ip("link add cni0 type bridge")?;
    node.ip(&format!("addr add 10.98.{own}.1/24 dev cni0"))?;
    node.ip("link set cni0 up")?;
    veth((pod, "eth0", &format!("10.98.{own}.2/24")), (node, "pod", ""))?;
    node.ip("link set pod master cni0")?;
    pod.ip(&format!("route add default via 10.98.{own}.1"))?;
    pod.ip("link set eth0 mtu 1450")?;
    let ends = format!("local 10.97.1.{own} remote 10.97.1.{other}");
    let mac = |n: u8| format!("02:00:00:00:07:{n:02x}");
    let tunnel = format!("link add vx address {} type vxlan id 7 dstport 8472 {ends}", mac(own));
    node.ip(&tunnel)?;
    node.ip("link set vx mtu 1450 up")?;
    node.ip(&format!("addr add 10.98.{own}.0/32 dev vx"))?;
    let far = format!("10.98.{other}.0");
    node.ip(&format!("route add {far}/24 via {far} dev vx onlink"))?;
    node.ip(&format!("neigh add {far} lladdr {} dev vx nud permanent", mac(other)))
}

fn run(bench: &mut Bench) -> anyhow::Result<()> {
    let (a, na, nb, b) = (Netns::new("a")?, Netns::new("na")?, Netns::new("nb")?, Netns::new("b")?);
    // The wire, on devices of one name at both ends, as nodes have.
    veth((&na, "eth0", "10.97.1.1/24"), (&nb, "eth0", "10.97.1.2/24"))?;
    node((&na, &a), (1, 2))?;
    node((&nb, &b), (2, 1))?;
    bench.record_links()?;
    let delays = late::plan(12);
    let sizes: Vec<usize> = (0..delays.len()).map(|n| 300 + n * 911).collect();
    let server = ([10, 98, 2, 2], 7021);
    // From pod to tunnel, over the wire, from tunnel to pod.
    let way = ["eth0", "pod", "cni0", "vx", "eth0", "vx", "cni0", "pod", "eth0"];
    bench.truth.ways.push(Way {
        dport: server.1,
        devices: way.map(str::to_owned).to_vec(),
    });
    let why = "the reader behind the overlay was late";
    late::play(bench, (&a, &b), server, (&sizes, &delays), None, why)
}
