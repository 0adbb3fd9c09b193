//! A veth whose reader stops: the peer's NAPI thread may not run, its ring fills, the driver stops the queue, datagrams wait
//! in the queueing discipline. Kernels whose veth drops instead cannot show it.

use std::net::UdpSocket;
use std::sync::mpsc::channel;
use std::time::Duration;

use crate::actors::{COMPETITOR, Place, burn, join, planned, spawn};
use crate::net::napi_thread;
use crate::rigs::{Bench, Rig};
use crate::runner::NotHere;
use crate::sys;
use crate::sys::{now_ns, tid};
use crate::truth::Case;

pub(in crate::rigs) const RIG: Rig = Rig {
    name: "tx_ring_veth",
    what: "the ring of a veth is full because its reader may not run, datagrams wait above (ring)",
    cpus: 2,
    run,
};

/// `VETH_RING_SIZE` of drivers/net/veth.c.
const RING: usize = 256;
const DATAGRAMS: usize = 400;
const BURSTS: [u64; 4] = [20, 27, 34, 41];

fn run(bench: &mut Bench) -> anyhow::Result<()> {
    let (a, b) = bench.pair()?;
    a.offloads("va", "tso off gso off")?;
    // GRO makes veth use NAPI and a ring; a thread of its own can be kept off the CPU.
    b.offloads("vb", "gro on")?;
    b.sysfs("/sys/class/net/vb/threaded", "1")?;
    a.tc("qdisc add dev va root pfifo limit 1000")?;
    let thread = napi_thread("vb").ok_or_else(|| NotHere("this kernel has no NAPI threads".into()))?;
    sys::pin_other(thread, 1)?;
    let udp = a.inside(|| Ok(UdpSocket::bind("10.99.1.1:0")?))?;
    udp.connect("10.99.1.2:9")?;
    // What waits above the ring must not block the sender.
    sys::set(&udp, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, 4i32 << 20)?;
    let sink = b.inside(|| Ok(UdpSocket::bind("10.99.1.2:9")?))?;
    sink.set_read_timeout(Some(Duration::from_secs(5)))?;
    udp.send(&[0; 10])?; // the neighbour is known from here on
    std::thread::sleep(Duration::from_millis(20));
    let session = bench.record(&a)?;
    for burst in BURSTS {
        let (began, go) = channel();
        sink.set_nonblocking(true)?;
        while sink.recv(&mut [0; 200]).is_ok() {}
        sink.set_nonblocking(false)?;
        let (held, heard, (pid, stamps)) = std::thread::scope(|s| {
            let competitor = Place {
                cpu: 1,
                fifo: COMPETITOR,
            };
            let competing = spawn(s, "lab-competitor", &b, competitor, move || {
                began.send(())?;
                Ok(burn(planned(burst * 1_000)))
            })?;
            let (udp, sink) = (&udp, &sink);
            // The first datagram comes out when the ring's reader runs again.
            let listener = spawn(s, "lab-listener", &b, Place::ahead(0), move || {
                sink.recv(&mut [0; 200])?;
                Ok(now_ns())
            })?;
            let sender = spawn(s, "lab-sender", &a, Place::ahead(0), move || {
                go.recv_timeout(Duration::from_secs(20))?;
                let mut stamps = vec![];
                for _ in 0..DATAGRAMS {
                    stamps.push(now_ns());
                    udp.send(&[b'r'; 100])?;
                }
                Ok((tid(), stamps))
            })?;
            let (held, sent) = (join(competing)?, join(sender)?);
            anyhow::Ok((held, join(listener)?, sent))
        })?;
        std::thread::sleep(Duration::from_millis(20));
        let (Some(first), Some(last)) = (stamps.get(RING), stamps.last()) else {
            continue;
        };
        let void = if *last > held.1 {
            "the datagrams took longer than the competitor: not all waited for the ring".into()
        } else if heard < held.1 {
            "the ring's reader ran in spite of the competitor".into()
        } else {
            String::new()
        };
        let (window, ns) = ((*first, *last + 1_000_000), heard - first);
        let why = "the ring of the veth was full until its reader ran again";
        let case = Case::on_device("tx", "va", window, "ring", ns, why).by(pid);
        bench.plant(Case { void, ..case });
    }
    bench.finish(session)?;
    let dropped = a.inside(|| Ok(std::fs::read_to_string("/proc/thread-self/net/dev")?))?;
    let dropped = dropped.lines().find_map(|l| {
        l.trim()
            .strip_prefix("va:")?
            .split_whitespace()
            .nth(11)?
            .parse::<u64>()
            .ok()
    });
    if dropped.is_some_and(|d| d > 0) {
        return Err(NotHere("this kernel's veth drops when its ring is full".into()).into());
    }
    Ok(())
}
