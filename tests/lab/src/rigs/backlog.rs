//! The socket lock is held: a thread's send call waits, in the copy, for a page that is not there, and holds the lock
//! meanwhile. What arrives goes to the socket's backlog.

use std::io::{Read, Write};
use std::time::Duration;

use super::{Bench, Rig};
use crate::actors::{Gate, Place, join, spawn, tcp_pair};
use crate::runner::NotHere;
use crate::sys::{Fault, now_ns, tid};
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
                std::thread::sleep(Duration::from_micros(3_000 + 500 * n as u64));
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
            let (mut message, mut at) = ([0u8; 100], vec![]);
            for _ in 0..MESSAGES {
                (&server).read_exact(&mut message)?;
                at.push(now_ns());
                done.open();
            }
            Ok((tid(), at))
        })?;
        let sender = spawn(s, "lab-sender", &a, Place::ahead(0), || {
            let mut sent = vec![];
            for _ in 0..MESSAGES {
                std::thread::sleep(Duration::from_millis(2));
                go.open();
                held.pass()?;
                let before = now_ns();
                (&client).write_all(&[1; 100])?;
                sent.push((before, now_ns()));
                done.pass()?;
            }
            Ok(sent)
        })?;
        let (served, sent, read) = (join(serving)?, join(sender)?, join(reader)?);
        join(holder)?;
        anyhow::Ok((served, sent, read))
    })?;
    bench.socket(&client)?;
    bench.socket(&server)?;
    bench.finish(session)?;
    for ((served, sent), read_ns) in served.iter().zip(sent).zip(reads) {
        let case = Case {
            table: "rx".into(),
            sport: client.local_addr()?.port(),
            dport: 7005,
            from_ns: sent.0,
            to_ns: read_ns,
            stage: "backlog".into(),
            // It arrives inside the send call.
            ns: served - sent.1,
            why: "a send call held the socket lock until its page was there".into(),
            pid: Some(pid),
            ..Case::default()
        };
        bench.plant(case.unless_disturbed(None, read_ns - sent.1));
    }
    Ok(())
}
