//! A task with bottom halves off delays NET_RX on its own CPU: it sends through a bridge that floods, first to the
//! receiver (which raises NET_RX), then to a device that costs milliseconds; only then may the softirq run.

use std::io::{Read, Write};
use std::time::Duration;

use super::{Bench, Rig};
use crate::actors::{Place, join, spawn, tcp_pair, timed};
use crate::burner::Burner;
use crate::net::Netns;
use crate::sys::{now_ns, tid};
use crate::truth::Case;

pub(super) const RIG: Rig = Rig {
    name: "softirq_task",
    what: "NET_RX is raised on a CPU whose task has bottom halves off (softirq_wait)",
    cpus: 2,
    run,
};

const MESSAGES: usize = 10;
/// Messages that cost nothing, before the others: what the send call takes besides.
const FREE: usize = 11;
/// Longer than what the burner lets pass for free; acknowledgements are not.
const LONG: usize = 1_300;
const SHORT: usize = 500;

fn run(bench: &mut Bench) -> anyhow::Result<()> {
    let (h, b, far) = (Netns::new("h")?, Netns::new("b")?, Netns::new("p")?);
    h.ip("link add br0 type bridge")?;
    crate::net::veth((&h, "burn0", ""), (&far, "burn1", ""))?;
    crate::net::veth((&h, "port", ""), (&b, "vb", "10.99.1.2/24"))?;
    // The bridge floods to its newest port first. Without learning it floods for ever.
    for dev in ["burn0", "port"] {
        h.ip(&format!("link set {dev} master br0 up"))?;
        h.exec(&format!("bridge link set dev {dev} learning off"))?;
    }
    h.ip("addr add 10.99.1.1/24 dev br0")?;
    h.ip("link set br0 up")?;
    let burner = Burner::new(&h, "burn0", 250)?;
    let session = bench.record(&b)?;
    let (client, server) = tcp_pair(&h, &b, "10.99.1.2:7003".parse()?)?;
    let (sent, (pid, reads)) = std::thread::scope(|s| {
        let reader = spawn(s, "lab-reader", &b, Place::ahead(0), || {
            let (mut message, mut at) = ([0u8; LONG], vec![]);
            for n in 0..FREE + MESSAGES {
                let size = if n < FREE { SHORT } else { LONG };
                (&server).read_exact(message.get_mut(..size).unwrap_or(&mut []))?;
                at.push(now_ns());
            }
            Ok((tid(), at))
        })?;
        let sender = spawn(s, "lab-sender", &h, Place::ahead(1), || {
            let mut sent = vec![];
            for n in 0..FREE + MESSAGES {
                std::thread::sleep(Duration::from_millis(5));
                let size = if n < FREE { SHORT } else { LONG };
                sent.push(timed(|| (&client).write_all([1; LONG].get(..size).unwrap_or(&[])))?);
            }
            Ok(sent)
        })?;
        anyhow::Ok((join(sender)?, join(reader)?))
    })?;
    bench.close(session, &client, &server)?;
    drop(burner);
    let mut free: Vec<i64> = sent.iter().take(FREE).map(|s| s.1 - s.0).collect();
    free.sort_unstable();
    let besides = free.get(FREE / 4).copied().unwrap_or(0);
    for (sent, read_ns) in sent.iter().zip(reads).skip(FREE) {
        let (window, ns) = ((sent.0, read_ns), sent.1 - sent.0 - besides);
        let why = "the sending task kept bottom halves off in the bridge's second port";
        let ports = (client.local_addr()?.port(), 7003);
        let case = Case::new("rx", ports, window, "softirq_wait", ns, why).by(pid);
        bench.plant(case.unless_disturbed(None, read_ns - sent.0 - besides));
    }
    Ok(())
}
