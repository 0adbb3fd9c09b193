//! The copy to the reader lasts: the page it goes to is not there.

use std::io::{Read, Write};
use std::time::Duration;

use super::{Bench, Rig};
use crate::actors::{Gate, Place, join, spawn, tcp_pair, timed};
use crate::runner::NotHere;
use crate::sys::{Fault, now_ns, tid};
use crate::truth::Case;

pub(super) const RIG: Rig = Rig {
    name: "copy",
    what: "the reader's memory is not there when the kernel copies to it (copy)",
    cpus: 2,
    run,
};

const MESSAGES: usize = 10;

fn run(bench: &mut Bench) -> anyhow::Result<()> {
    let (a, b) = bench.pair()?;
    let mut fault = Fault::new(MESSAGES).map_err(|e| NotHere(format!("userfaultfd: {e}")))?;
    let server_of_faults = fault.server()?;
    let session = bench.record(&b)?;
    let (client, server) = tcp_pair(&a, &b, "10.99.1.2:7006".parse()?)?;
    let go = Gate::new();
    let (served, sent, (pid, reads)) = std::thread::scope(|s| {
        let serving = spawn(s, "lab-faults", &b, Place::ahead(0), || {
            let long = |n: usize| Duration::from_micros(3_000 + 500 * n as u64);
            (0..MESSAGES).map(|n| Ok(server_of_faults.delay(long(n))?)).collect()
        })?;
        let fault = &mut fault;
        let (go, server) = (&go, &server);
        let reader = spawn(s, "lab-reader", &b, Place::ahead(1), move || {
            let mut reads = vec![];
            for n in 0..MESSAGES {
                go.open();
                (&*server).read_exact(fault.page_mut(n).get_mut(..700).unwrap_or(&mut []))?;
                reads.push(now_ns());
            }
            Ok((tid(), reads))
        })?;
        let sender = spawn(s, "lab-sender", &a, Place::ahead(0), || {
            let mut sent = vec![];
            for _ in 0..MESSAGES {
                go.pass()?;
                std::thread::sleep(Duration::from_millis(1));
                sent.push(timed(|| (&client).write_all(&[1; 700]))?);
            }
            Ok(sent)
        })?;
        let served: Vec<(i64, i64)> = join(serving)?;
        anyhow::Ok((served, join(sender)?, join(reader)?))
    })?;
    bench.close(session, &client, &server)?;
    for ((served, sent), read_ns) in served.iter().zip(sent).zip(reads) {
        let (window, ns) = ((sent.0, read_ns), served.1 - served.0);
        let why = "the page that the read copies to came late";
        let ports = (client.local_addr()?.port(), 7006);
        let case = Case::new("rx", ports, window, "copy", ns, why).by(pid);
        bench.plant(case.unless_disturbed(None, read_ns - sent.1));
    }
    Ok(())
}
