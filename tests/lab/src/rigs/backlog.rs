//! The socket lock is held: a thread's send call waits, in the copy, for a page that is not there, and holds the lock
//! meanwhile. What arrives goes to the socket's backlog.

use std::io::Write;
use std::time::Duration;

use super::{Bench, Rig};
use crate::actors::{Gate, Place, join, planned, read_all, spawn, tcp_pair, timed};
use crate::events;
use crate::runner::NotHere;
use crate::sys::{Fault, now_ns};
use crate::truth::Case;

pub(super) const RIG: Rig = Rig {
    name: "backlog",
    what: "a thread holds the socket lock in a blocked send call (backlog)",
    cpus: 2,
    run,
};

const MESSAGES: usize = 10;

fn run(bench: &mut Bench) -> anyhow::Result<()> {
    let (a, b) = bench.pair()?;
    let fault = Fault::new(MESSAGES).map_err(|e| NotHere(format!("userfaultfd: {e}")))?;
    let server_of_faults = fault.server()?;
    let session = bench.record(&b)?;
    let (client, server) = tcp_pair(&a, &b, "10.99.1.2:7005".parse()?)?;
    let (go, held, done) = (Gate::new(), Gate::new(), Gate::new());
    let (served, sent, (pid, reads)) = std::thread::scope(|s| {
        let serving = spawn(s, "lab-faults", &b, Place::ahead(1), || {
            let mut served = vec![];
            for n in 0..MESSAGES {
                let (page, _) = server_of_faults.wait()?;
                held.open();
                std::thread::sleep(planned(3_000 + 500 * n as u64));
                served.push(now_ns());
                server_of_faults.serve(page)?;
            }
            Ok(served)
        })?;
        let holder = spawn(s, "lab-holder", &b, Place::ahead(1), || {
            for n in 0..MESSAGES {
                go.pass()?;
                // The kernel copies from this page with the lock held.
                (&server).write_all(fault.page(n).get(..100).unwrap_or(&[]))?;
            }
            Ok(())
        })?;
        let reader = spawn(s, "lab-reader", &b, Place::ahead(1), || {
            read_all(&server, 100, MESSAGES, &done)
        })?;
        let sender = spawn(s, "lab-sender", &a, Place::ahead(0), || {
            let mut sent = vec![];
            for _ in 0..MESSAGES {
                std::thread::sleep(Duration::from_millis(2));
                go.open();
                held.pass()?;
                sent.push(timed(|| (&client).write_all(&[1; 100]))?);
                done.pass()?;
            }
            Ok(sent)
        })?;
        let (served, sent, read) = (join(serving)?, join(sender)?, join(reader)?);
        join(holder)?;
        anyhow::Ok((served, sent, read))
    })?;
    bench.close(session, &client, &server)?;
    for ((served, sent), read_ns) in served.iter().zip(sent).zip(reads) {
        // It arrives inside the send call.
        let (window, ns) = ((sent.0, read_ns), served - sent.1);
        let why = "a send call held the socket lock until its page was there";
        let ports = (client.local_addr()?.port(), 7005);
        let case = Case::new("rx", ports, window, "backlog", ns, why)
            .by(pid)
            .weaker(events::processed());
        bench.plant(
            case.unless_disturbed(None, read_ns - sent.1)
                .unless_sending(sent.1 - sent.0),
        );
    }
    Ok(())
}
