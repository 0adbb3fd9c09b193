//! PREEMPT_RT: the softirq that receives a message runs in the sender's thread, and a thread of a higher rank takes its CPU away.
//!
//! The message costs milliseconds on its way to the socket (many packet sockets), inside the send call; in them the competitor wakes up. Its own
//! stamps say for how long it had the CPU.

use std::io::Write;
use std::time::Duration;

use super::{Bench, Rig};
use crate::actors::{COMPETITOR, Gate, Place, burn, join, planned, read_all, spawn, tcp_pair, timed};
use crate::burner::Burner;
use crate::runner::NotHere;
use crate::truth::Case;

pub(super) const RIG: Rig = Rig {
    name: "softirq_preempted",
    what: "a thread of a higher rank takes the CPU from NET_RX, on PREEMPT_RT (preempted)",
    cpus: 2,
    run,
};

const MESSAGES: u64 = 12;
/// Longer than what the burner lets pass for free; acknowledgements are not.
const LONG: usize = 1_300;

fn run(bench: &mut Bench) -> anyhow::Result<()> {
    if std::fs::read_to_string("/sys/kernel/realtime").map_or(true, |t| t.trim() != "1") {
        return Err(NotHere("this kernel has no PREEMPT_RT".into()).into());
    }
    let (a, b) = bench.pair()?;
    // On an emulated machine each of them costs ten times as much.
    let sockets = if planned(1) > Duration::from_micros(1) { 20 } else { 200 };
    let burner = Burner::new(&b, "vb", sockets)?;
    let session = bench.record(&b)?;
    let (client, server) = tcp_pair(&a, &b, "10.99.1.2:7005".parse()?)?;
    let (begins, read) = (Gate::new(), Gate::new());
    let competitor = Place {
        cpu: 1,
        fifo: COMPETITOR,
    };
    let ((pid, reads), bursts, sent) = std::thread::scope(|s| {
        let reader = spawn(s, "lab-reader", &b, Place::ahead(0), || {
            read_all(&server, LONG, MESSAGES as usize, &read)
        })?;
        let competing = spawn(s, "lab-competitor", &b, competitor, || {
            let mut bursts = vec![];
            for n in 0..MESSAGES {
                begins.pass()?;
                // The message gets on its way to the packet sockets.
                std::thread::sleep(planned(500));
                bursts.push(burn(planned(5_000 + 400 * n)));
            }
            Ok(bursts)
        })?;
        let sender = spawn(s, "lab-sender", &a, Place::ahead(1), || {
            let mut sent = vec![];
            for _ in 0..MESSAGES {
                begins.open();
                sent.push(timed(|| (&client).write_all(&[1; LONG]))?);
                read.pass()?;
                std::thread::sleep(planned(2_000));
            }
            Ok(sent)
        })?;
        anyhow::Ok((join(reader)?, join(competing)?, join(sender)?))
    })?;
    bench.close(session, &client, &server)?;
    drop(burner);
    let ports = (client.local_addr()?.port(), 7005);
    for ((sent, burst), read_ns) in sent.into_iter().zip(bursts).zip(reads) {
        // Begun behind the send call it took nothing from it.
        let ns = if burst.1 <= sent.1 { burst.1 - burst.0 } else { 0 };
        let why = "a thread of a higher rank had the CPU of NET_RX";
        let case = Case::new("rx", ports, (sent.0, read_ns), "preempted", ns, why).by(pid);
        bench.plant(case.unless_disturbed(None, read_ns - sent.0));
    }
    Ok(())
}
