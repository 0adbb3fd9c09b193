//! The copy to the reader lasts: the page it goes to is not there.

use std::io::{Read, Write};
use std::time::Duration;

use super::{Bench, Rig};
use crate::actors::{Gate, Place, join, spawn, tcp_pair};
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
                let before = now_ns();
                (&client).write_all(&[1; 700])?;
                sent.push((before, now_ns()));
            }
            Ok(sent)
        })?;
        let served: Vec<(i64, i64)> = join(serving)?;
        anyhow::Ok((served, join(sender)?, join(reader)?))
    })?;
    bench.socket(&client)?;
    bench.socket(&server)?;
    bench.finish(session)?;
    for ((served, sent), read_ns) in served.iter().zip(sent).zip(reads) {
        let case = Case {
            table: "rx".into(),
            sport: client.local_addr()?.port(),
            dport: 7006,
            from_ns: sent.0,
            to_ns: read_ns,
            stage: "copy".into(),
            ns: served.1 - served.0,
            why: "the page that the read copies to came late".into(),
            pid: Some(pid),
            ..Case::default()
        };
        bench.plant(case.unless_disturbed(None, read_ns - sent.1));
    }
    Ok(())
}
