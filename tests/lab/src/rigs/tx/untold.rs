//! A sender whose own device drops frames without its being told: netem loses some and answers that all is well, a device loses its carrier,
//! a queue drops its head to take another packet. TCP takes them for sent, and merges small neighbours when it sends again; what it merged it frees in
//! silence, and the next message lies there. Whose life each original's address then has, the slab allocator tells.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::actors::{Place, join, spawn, tcp_pair};
use crate::counters;
use crate::net::Netns;
use crate::rigs::{Bench, Rig};
use crate::runner::NotHere;

pub(in crate::rigs) const RIG: Rig = Rig {
    name: "tx_untold",
    what: "small messages of which the sender's own device drops some untold: netem's loss, no carrier, a head that is dropped",
    cpus: 2,
    run,
};

/// Connections.
const STREAMS: u16 = 6;
/// Bytes of a message.
const MESSAGE: usize = 100;
/// Between two messages of a connection.
const PAUSE: Duration = Duration::from_millis(4);
/// How long each way lasts, as far as the kernel has it.
const LONG: Duration = Duration::from_millis(3_000);
/// How long a carrier is lost, and between two such times not.
const AWAY: Duration = Duration::from_millis(450);
/// What the namespace must have counted, or nothing was played.
const HAPPENED: &str = "TcpRetransSegs";

fn run(bench: &mut Bench) -> anyhow::Result<()> {
    let (a, b) = bench.pair()?;
    bench.record_links()?;
    let session = bench.record(&a)?;
    let before = counters::read(&a)?;
    let mut pairs: Vec<(TcpStream, TcpStream)> = vec![];
    for n in 0..STREAMS {
        pairs.push(tcp_pair(&a, &b, ([10, 99, 1, 2], 7130 + n).into())?);
    }
    let over = &AtomicBool::new(false);
    std::thread::scope(|s| {
        let mut actors = vec![];
        for (client, server) in &pairs {
            let other = Place { cpu: 1, fifo: 0 };
            actors.push(spawn(s, "lab-reader", &b, other, move || {
                let (mut buffer, mut server) = (vec![0; 4096], server);
                while server.read(&mut buffer)? > 0 {}
                Ok(())
            })?);
            let own = Place { cpu: 0, fifo: 0 };
            actors.push(spawn(s, "lab-sender", &a, own, move || {
                let mut client = client;
                while !over.load(Ordering::Acquire) {
                    client.write_all(&[b'x'; MESSAGE])?;
                    std::thread::sleep(PAUSE);
                }
                Ok(client.shutdown(std::net::Shutdown::Write)?)
            })?);
        }
        let ways = ways(&a, &b);
        over.store(true, Ordering::Release);
        actors.into_iter().try_for_each(join)?;
        ways
    })?;
    let since = counters::delta(&before, &counters::read(&a)?);
    bench.finish(session)?;
    match since.contains_key(HAPPENED) {
        true => Ok(()),
        false => Err(NotHere("nothing was sent again".into()).into()),
    }
}

/// Each in its turn; what this kernel lacks is passed over.
fn ways(a: &Netns, b: &Netns) -> anyhow::Result<()> {
    if a.tc("qdisc add dev va root netem loss 5%").is_ok() {
        std::thread::sleep(LONG);
        a.tc("qdisc del dev va root")?;
    }
    for _ in 0..4 {
        b.ip("link set vb down")?;
        std::thread::sleep(AWAY);
        b.ip("link set vb up")?;
        std::thread::sleep(AWAY);
    }
    if a.tc("qdisc add dev va root handle 1: tbf rate 800kbit burst 1600 limit 30kb")
        .is_ok()
    {
        if a.tc("qdisc add dev va parent 1:1 pfifo_head_drop limit 4").is_ok() {
            std::thread::sleep(LONG);
        }
        a.tc("qdisc del dev va root")?;
        std::thread::sleep(AWAY);
    }
    Ok(())
}
