//! Two pairs of namespaces with the same addresses, ports and device names: what is late in one must not show in the other.

use super::late::{self, Delay};
use super::{Bench, Rig};
use crate::actors::{Gate, Place, join, spawn, tcp_pair_from};
use crate::net::{Netns, veth};

pub(super) const RIG: Rig = Rig {
    name: "twins",
    what: "two connections with one 4-tuple and one device name in different namespaces; each is late at its own times",
    cpus: 2,
    run,
};

fn run(bench: &mut Bench) -> anyhow::Result<()> {
    let spaces = [
        (Netns::new("a")?, Netns::new("b")?),
        (Netns::new("c")?, Netns::new("d")?),
    ];
    for (a, b) in &spaces {
        veth((a, "va", "10.99.1.1/24"), (b, "vb", "10.99.1.2/24"))?;
    }
    let session = bench.record(&spaces[0].1)?;
    let connect = |s: &(Netns, Netns)| {
        let from = Some("10.99.1.1:40000".parse()?);
        tcp_pair_from(&s.0, &s.1, "10.99.1.2:7012".parse()?, from)
    };
    let streams = [connect(&spaces[0])?, connect(&spaces[1])?];
    let mut plans = [late::plan(10), late::plan(10)];
    // One begins with a message that is on time where the other's is late.
    plans[1].insert(0, Delay::None);
    // The readers share a CPU: only sleeps, or one would wait for the other.
    for d in plans.iter_mut().flatten() {
        if let Delay::Burn(long) = *d {
            *d = Delay::Sleep(long);
        }
    }
    let sizes: Vec<Vec<usize>> = plans.iter().map(|p| vec![900; p.len()]).collect();
    let next = [Gate::new(), Gate::new()];
    let all = std::thread::scope(|s| {
        let mut actors = vec![];
        for n in 0..2 {
            let (client, server) = &streams[n];
            let (sizes, plan, next) = (&sizes[n], &plans[n], &next[n]);
            let reading = move || late::read(server, None, sizes, plan, next);
            let reader = spawn(s, &format!("lab-reader-{n}"), &spaces[n].1, Place::ahead(1), reading)?;
            let sending = move || late::send(client, sizes, next);
            let sender = spawn(s, &format!("lab-sender-{n}"), &spaces[n].0, Place::ahead(0), sending)?;
            actors.push((sender, reader));
        }
        let done = actors.into_iter().map(|(s, r)| anyhow::Ok((join(s)?, join(r)?)));
        done.collect::<anyhow::Result<Vec<_>>>()
    })?;
    bench.finish(session)?;
    for ((stream, plan), (sent, reader)) in streams.iter().zip(&plans).zip(all) {
        for case in late::cases(&stream.0, &sent, &reader, plan, "this twin's reader slept")? {
            bench.plant(case);
        }
        bench.truth.reads.extend(reader.calls);
    }
    Ok(())
}
