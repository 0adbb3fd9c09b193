//! GRO holds a packet: with `gro_flush_timeout`, a segment without PSH waits for the timer.

use std::time::Duration;

use rustix::net::{SendFlags, send};

use super::{Bench, Rig};
use crate::actors::{Gate, Place, join, read_all, spawn, tcp_pair, timed};
use crate::truth::Case;

pub(super) const RIG: Rig = Rig {
    name: "gro_hold",
    what: "GRO holds a segment until gro_flush_timeout (gro)",
    cpus: 2,
    run,
};

const MESSAGES: usize = 10;

fn run(bench: &mut Bench) -> anyhow::Result<()> {
    let (a, b) = bench.pair()?;
    a.offloads("va", "tso off gso off")?;
    b.offloads("vb", "gro on")?;
    let session = bench.record(&b)?;
    let (client, server) = tcp_pair(&a, &b, "10.99.1.2:7017".parse()?)?;
    // After the handshake: it would be held, too.
    b.sysfs("/sys/class/net/vb/gro_flush_timeout", "5000000")?;
    // One full segment, not pushed: more is to come.
    let segment = vec![1u8; 1_448];
    let next = Gate::new();
    let (sent, (pid, reads)) = std::thread::scope(|s| {
        let reader = spawn(s, "lab-reader", &b, Place::ahead(1), || {
            read_all(&server, 1_448, MESSAGES, &next)
        })?;
        let sender = spawn(s, "lab-sender", &a, Place::ahead(0), || {
            let mut sent = vec![];
            for _ in 0..MESSAGES {
                std::thread::sleep(Duration::from_millis(1));
                sent.push(timed(|| send(&client, &segment, SendFlags::MORE).map(drop))?);
                next.pass()?;
            }
            Ok(sent)
        })?;
        anyhow::Ok((join(sender)?, join(reader)?))
    })?;
    bench.close(session, &client, &server)?;
    for (sent, read_ns) in sent.iter().zip(reads) {
        // GRO has it inside the send call; the reader reads as soon as it is flushed.
        let (window, ns) = ((sent.0, read_ns), read_ns - sent.1);
        let why = "GRO held the segment until its timer flushed it";
        let ports = (client.local_addr()?.port(), 7017);
        let case = Case::new("rx", ports, window, "gro", ns, why).by(pid);
        bench.plant(case.unless_disturbed(None, read_ns - sent.1));
    }
    Ok(())
}
