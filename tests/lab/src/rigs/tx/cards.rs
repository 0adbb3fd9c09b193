//! Two virtio cards that look at what was queued only every so often (`boot-kernel -l`): the first packets are theirs, the
//! later ones wait above, because of byte queue limits or because the ring is full.
//!
//! Which cards: `NETMORTEM_LAB_CARDS=eth0,eth1`, said by who made them for that; a rig takes no other card.

use std::net::UdpSocket;
use std::time::Duration;

use crate::actors::planned;
use crate::net::{self, Netns};
use crate::rigs::{Bench, Rig};
use crate::runner::NotHere;
use crate::sys;
use crate::sys::{now_ns, tid};
use crate::truth::Case;

// A packet in the ring is completed at the next look: so many that the last waits for the ring through several looks.
pub(in crate::rigs) const RING: Rig = Rig {
    name: "tx_ring_card",
    what: "the ring of a slow card is full, datagrams wait above (ring)",
    cpus: 1,
    run: |bench| run(bench, "ring", 600, 100),
};

pub(in crate::rigs) const BQL: Rig = Rig {
    name: "tx_bql_card",
    what: "a slow card may have few bytes queued, datagrams wait above (bql)",
    cpus: 1,
    run: |bench| run(bench, "bql", 6, 1000),
};

/// Arrivals nearer than this are of one look of the card, which looks less often than it takes to receive all that it sent.
fn look_ns() -> i64 {
    planned(4_000).as_nanos() as i64
}

fn run(bench: &mut Bench, stage: &str, datagrams: usize, bytes: usize) -> anyhow::Result<()> {
    let cards = std::env::var("NETMORTEM_LAB_CARDS").unwrap_or_default();
    let (from, to) = cards
        .split_once(',')
        .ok_or_else(|| NotHere("NETMORTEM_LAB_CARDS names no cards".into()))?;
    let (a, b) = (Netns::new("a")?, Netns::new("b")?);
    for (ns, dev, address) in [(&a, from, "10.68.1.1/24"), (&b, to, "10.68.1.2/24")] {
        net::run(&["ip", "link", "set", dev, "netns", ns.name()])?;
        ns.ip(&format!("addr add {address} dev {dev}"))?;
        // What waits above the card is not dropped there.
        ns.ip(&format!("link set {dev} txqueuelen 5000 up"))?;
    }
    let limits = format!("/sys/class/net/{from}/queues/tx-0/byte_queue_limits");
    // Another rig may have set them.
    let (least, most) = if stage == "bql" {
        (0, 1_000)
    } else {
        (1_000_000, 1_000_000_000)
    };
    a.sysfs(&format!("{limits}/limit_max"), &most.to_string())?;
    a.sysfs(&format!("{limits}/limit_min"), &least.to_string())?;
    let reader = b.inside(|| Ok(UdpSocket::bind("10.68.1.2:9")?))?;
    reader.set_read_timeout(Some(Duration::from_secs(5)))?;
    let udp = a.inside(|| Ok(UdpSocket::bind("10.68.1.1:0")?))?;
    udp.connect("10.68.1.2:9")?;
    // What waits above the card must not block the sender, nor what waits for the reader be dropped.
    sys::set(&udp, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, 4i32 << 20)?;
    sys::set(&reader, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, 4i32 << 20)?;
    let mut buffer = [0; 2048];
    udp.send(&[0; 10])?; // the neighbour is known from here on
    reader.recv(&mut buffer)?;
    let session = bench.record(&a)?;
    for _ in 0..3 {
        std::thread::sleep(Duration::from_millis(150));
        let (sent, arrived) = std::thread::scope(|s| {
            // The far card may drop some.
            let read = s.spawn(|| {
                let mut buffer = [0; 2048];
                let one = |_| reader.recv(&mut buffer).ok().map(|_| now_ns());
                (0..datagrams).map_while(one).collect::<Vec<i64>>()
            });
            let mut sent = vec![];
            for _ in 0..datagrams {
                sent.push(now_ns());
                udp.send(&vec![b'c'; bytes])?;
            }
            anyhow::Ok((sent, read.join().map_err(|_| anyhow::anyhow!("the reader panicked"))?))
        })?;
        // The last was the card's when the card had looked at those before: it then told that it had sent them.
        let looks: Vec<i64> = arrived
            .windows(2)
            .filter(|w| w[1] - w[0] > look_ns())
            .map(|w| w[0])
            .collect();
        let (Some(look), Some(last)) = (looks.last(), sent.last()) else {
            continue;
        };
        if look > last {
            let why = format!("the card had all it may have ({stage}) until it looked");
            let case = Case::on_device("tx", from, (*last, *last + 1_000_000), stage, look - last, &why);
            bench.plant(case.by(tid()));
        }
    }
    bench.finish(session)?;
    if bench.truth.cases.is_empty() {
        return Err(NotHere(format!("this card never stopped its queue ({stage})")).into());
    }
    Ok(())
}
