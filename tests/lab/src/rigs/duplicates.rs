//! Segments that are sent again without need: the way back now and then keeps every ACK for longer than the sender's timers
//! last, so probes and timeouts send what the receiver has. TCP throws these copies away, and none of them is a unit that is
//! read. Only where the kernel has netem.

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::{Bench, Rig, late};
use crate::actors::{Gate, Place, join, planned, spawn, tcp_pair};
use crate::runner::NotHere;

pub(super) const RIG: Rig = Rig {
    name: "duplicates",
    what: "late ACKs make the sender send again what arrived; reads are linked to the units that were kept",
    cpus: 2,
    run,
};

/// How long ACKs are kept, and between two such times not.
const KEPT: &str = "260ms";
const TURN: Duration = Duration::from_millis(400);
const MESSAGES: usize = 120;

fn run(bench: &mut Bench) -> anyhow::Result<()> {
    let (a, b) = bench.pair()?;
    a.offloads("va", "tso off gso off")?;
    let delay = |long: &str| b.tc(&format!("qdisc replace dev vb root netem limit 10000 delay {long}"));
    delay("0ms").map_err(|_| NotHere("this kernel has no netem".into()))?;
    bench.record_links()?;
    bench.tap(&b, "vb")?;
    let sizes: Vec<usize> = (0..MESSAGES).map(|n| 300 + n * 5_501 % 12_000).collect();
    let delays: Vec<late::Delay> = (0..MESSAGES).map(|n| naps(n as u64)).collect();
    let session = bench.record(&b)?;
    let (client, server) = tcp_pair(&a, &b, "10.99.1.2:7017".parse()?)?;
    let (next, over) = (Gate::new(), AtomicBool::new(false));
    let reader = std::thread::scope(|s| {
        let reading = || {
            let read = late::read(&server, None, &sizes, &delays, &next);
            over.store(true, Ordering::Release);
            read
        };
        let reader = spawn(s, "lab-reader", &b, Place::ahead(1), reading)?;
        let sender = spawn(s, "lab-sender", &a, Place::ahead(0), || {
            for &n in &sizes {
                (&client).write_all(&vec![0x5a; n])?;
                std::thread::sleep(Duration::from_millis(20));
            }
            Ok(())
        })?;
        while !over.load(Ordering::Acquire) {
            delay(KEPT)?;
            std::thread::sleep(TURN);
            delay("0ms")?;
            std::thread::sleep(TURN);
        }
        join(sender)?;
        join(reader)
    })?;
    bench.close(session, &client, &server)?;
    bench.truth.reads = reader.calls;
    Ok(())
}

/// Every fifth message is read late, so that units gather in the receive queue.
fn naps(n: u64) -> late::Delay {
    match n % 5 {
        4 => late::Delay::Sleep(planned(9_000 + 1_000 * (n % 7))),
        _ => late::Delay::None,
    }
}
