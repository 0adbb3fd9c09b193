//! Neighbour resolution: the far end of the device is this program, which answers ARP late.

use std::time::Duration;

use crate::net::Netns;
use crate::rigs::{Bench, Rig};
use crate::sys::{Layer, attach};
use crate::sys::{now_ns, tid};
use crate::truth::Case;
use std::fs::File;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, UdpSocket};

pub(in crate::rigs) const RIG: Rig = Rig {
    name: "tx_neighbour",
    what: "datagrams wait until the neighbour answers who has their address (neighbour)",
    cpus: 1,
    run,
};

const DELAYS: [u64; 6] = [12, 19, 26, 33, 40, 47];

/// A locally administered address for all neighbours.
const MAC: [u8; 6] = [2, 0, 0, 0, 0x10, 0x67];

fn run(bench: &mut Bench) -> anyhow::Result<()> {
    let a = Netns::new("a")?;
    let mut tap = a.inside(|| Ok(attach("tap0", Layer::Ethernet)?))?;
    a.ip("addr add 10.67.1.1/24 dev tap0")?;
    a.ip("link set tap0 up")?;
    let session = bench.record(&a)?;
    let udp = a.inside(|| Ok(UdpSocket::bind("10.67.1.1:0")?))?;
    for (n, delay) in (10u8..).zip(DELAYS) {
        let from_ns = now_ns();
        udp.send_to(&[b'n'; 200], (Ipv4Addr::new(10, 67, 1, n), 9))?;
        let to_ns = now_ns();
        let request = frame(&mut tap, |f| f.get(12..14) == Some(&[8, 6]) && f.get(41) == Some(&n))?;
        std::thread::sleep(Duration::from_millis(delay));
        tap.write_all(&answer(&request).ok_or_else(|| anyhow::anyhow!("a short ARP request"))?)?;
        frame(&mut tap, |f| f.get(12..14) == Some(&[8, 0]) && f.get(33) == Some(&n))?;
        let (window, ns) = ((from_ns, to_ns), now_ns() - from_ns);
        let case = Case::on_device("tx", "tap0", window, "neighbour", ns, "the neighbour answered late");
        bench.plant(case.by(tid()).unless_sending(to_ns - from_ns));
    }
    bench.finish(session)
}

/// The next frame from the device that is wanted.
fn frame(tap: &mut File, wanted: impl Fn(&[u8]) -> bool) -> anyhow::Result<Vec<u8>> {
    let mut buffer = vec![0; 2048];
    loop {
        let n = tap.read(&mut buffer)?;
        let bytes = buffer.get(..n).unwrap_or_default();
        if wanted(bytes) {
            return Ok(bytes.to_vec());
        }
    }
}

/// The ARP answer to a request (RFC 826): "its target is at MAC".
fn answer(request: &[u8]) -> Option<Vec<u8>> {
    let (mac, ip, target) = (request.get(22..28)?, request.get(28..32)?, request.get(38..42)?);
    // Ethernet; hardware Ethernet, protocol IPv4, lengths 6 and 4, operation 2.
    let head: [&[u8]; 4] = [mac, &MAC, &[8, 6], &[0, 1, 8, 0, 6, 4, 0, 2]];
    Some([&head[..], &[&MAC, target, mac, ip]].concat().concat())
}
