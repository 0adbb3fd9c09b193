//! Request and answer over loopback, thousands of times: a few skb addresses carry them all. Some requests are read late.

use std::io::{Read, Write};
use std::time::Duration;

use super::{Bench, Rig};
use crate::actors::{Place, join, planned, readable, sleep, spawn, tcp_pair};
use crate::net::Netns;
use crate::sys::{now_ns, tid};
use crate::truth::{Case, ReadCall};

pub(super) const RIG: Rig = Rig {
    name: "rpc_busy",
    what: "2,500 requests and answers over loopback, carried by a few addresses; 25 are read late (reader_asleep)",
    cpus: 2,
    run,
};

const REQUESTS: usize = 2_500;

fn request_len(n: usize) -> usize {
    200 + n * 37 % 1_000
}
fn answer_len(n: usize) -> usize {
    300 + n * 53 % 4_000
}

fn nap(n: usize) -> Duration {
    planned(2_000 + 130 * (n / 100) as u64)
}

fn run(bench: &mut Bench) -> anyhow::Result<()> {
    let a = Netns::new("a")?;
    bench.record_links()?;
    let session = bench.record(&a)?;
    let (client, server) = tcp_pair(&a, &a, "127.0.0.1:7013".parse()?)?;
    let (sport, dport) = (client.local_addr()?.port(), 7013);
    let (sent, (pid, naps, calls)) = std::thread::scope(|s| {
        let serving = spawn(s, "lab-server", &a, Place::ahead(1), || {
            let (mut buffer, mut naps, mut calls) = (vec![0u8; 8_192], vec![], vec![]);
            let (pid, mut offset) = (tid(), 0);
            for n in 0..REQUESTS {
                readable(&server)?;
                if n % 100 == 99 {
                    naps.push((n, sleep(nap(n))));
                }
                let mut left = request_len(n);
                while left > 0 {
                    let before_ns = now_ns();
                    let bytes = (&server).read(buffer.get_mut(..left).unwrap_or(&mut []))?;
                    anyhow::ensure!(bytes > 0, "the stream ended early");
                    calls.push(ReadCall {
                        sport,
                        dport,
                        pid,
                        before_ns,
                        after_ns: now_ns(),
                        offset,
                        bytes: bytes as u64,
                    });
                    offset += bytes as u64;
                    left -= bytes;
                }
                (&server).write_all(buffer.get(..answer_len(n)).unwrap_or(&[]))?;
            }
            Ok((pid, naps, calls))
        })?;
        let asking = spawn(s, "lab-client", &a, Place::ahead(0), || {
            let (mut buffer, mut sent) = (vec![0u8; 8_192], vec![]);
            for n in 0..REQUESTS {
                let before = now_ns();
                (&client).write_all(buffer.get(..request_len(n)).unwrap_or(&[]))?;
                sent.push(before);
                (&client).read_exact(buffer.get_mut(..answer_len(n)).unwrap_or(&mut []))?;
            }
            Ok(sent)
        })?;
        anyhow::Ok((join(asking)?, join(serving)?))
    })?;
    bench.close(session, &client, &server)?;
    for (n, slept) in naps {
        let before = sent.get(n).copied().unwrap_or(0);
        let (window, ns) = ((before, slept.0), slept.1 - slept.0);
        let why = "the server slept with the request in its receive queue";
        let ports = (sport, dport);
        let case = Case::new("rx", ports, window, "reader_asleep", ns, why).by(pid);
        bench.plant(case.unless_disturbed(Some(nap(n).as_nanos() as i64), slept.1 - before));
    }
    bench.truth.reads = calls;
    Ok(())
}
