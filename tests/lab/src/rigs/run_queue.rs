//! A competitor on the reader's CPU: the reader is woken, and may not run.
//!
//! The competitor (SCHED_FIFO, ahead of the reader) says when its burst begins; then the message is sent from the other
//! CPU; the competitor says when its burst ends. The reader cannot run before that.

use std::io::Write;
use std::time::Duration;

use super::{Bench, Rig};
use crate::actors::{COMPETITOR, Gate, Place, burn, join, planned, read_all, spawn, tcp_pair, timed};
use crate::truth::Case;

pub(super) const RIG: Rig = Rig {
    name: "run_queue",
    what: "a competitor holds the reader's CPU when the reader is woken (run_queue)",
    cpus: 2,
    run,
};

const BURSTS: u64 = 12;

fn run(bench: &mut Bench) -> anyhow::Result<()> {
    let (a, b) = bench.pair()?;
    let session = bench.record(&b)?;
    let (client, server) = tcp_pair(&a, &b, "10.99.1.2:7001".parse()?)?;
    let (burst, read) = (Gate::new(), Gate::new());
    let competitor = Place {
        cpu: 1,
        fifo: COMPETITOR,
    };
    let (pid, reads, bursts, sent) = std::thread::scope(|s| {
        let reader = spawn(s, "lab-reader", &b, Place::ahead(1), || {
            read_all(&server, 100, BURSTS as usize, &read)
        })?;
        let competing = spawn(s, "lab-competitor", &b, competitor, || {
            let mut bursts = vec![];
            for n in 0..BURSTS {
                // The reader comes to rest in its read.
                std::thread::sleep(Duration::from_millis(2));
                burst.open();
                bursts.push(burn(planned(3_000 + 800 * n)));
                read.pass()?;
            }
            Ok(bursts)
        })?;
        let sender = spawn(s, "lab-sender", &a, Place::ahead(0), || {
            let mut sent = vec![];
            for _ in 0..BURSTS {
                burst.pass()?;
                sent.push(timed(|| (&client).write_all(&[1; 100]))?);
            }
            Ok(sent)
        })?;
        let (pid, reads) = join(reader)?;
        anyhow::Ok((pid, reads, join(competing)?, join(sender)?))
    })?;
    bench.close(session, &client, &server)?;
    for ((read_ns, burst), sent) in reads.iter().zip(bursts).zip(sent) {
        // The delivery, and so the waking, is inside the send call.
        let (window, ns) = ((sent.0, *read_ns), burst.1 - sent.1);
        let why = "a competitor held the reader's CPU until its burst ended";
        let ports = (client.local_addr()?.port(), 7001);
        let case = Case::new("rx", ports, window, "run_queue", ns, why).by(pid);
        bench.plant(
            case.unless_disturbed(None, *read_ns - sent.1)
                .unless_sending(sent.1 - sent.0),
        );
    }
    Ok(())
}
