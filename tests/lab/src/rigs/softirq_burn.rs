//! Somebody else's packet costs milliseconds in NET_RX on the receiving CPU; ours comes meanwhile, steered there by RPS,
//! and waits in the running poll.

use std::io::{Read, Write};
use std::net::UdpSocket;
use std::time::Duration;

use super::{Bench, Rig};
use crate::actors::{Gate, Place, join, spawn, tcp_pair};
use crate::burner::Burner;
use crate::net::{Netns, veth};
use crate::sys::{now_ns, tid};
use crate::truth::Case;

pub(super) const RIG: Rig = Rig {
    name: "softirq_burn",
    what: "another flow's packet burns NET_RX on the receiving CPU (poll_wait)",
    cpus: 2,
    run,
};

const MESSAGES: usize = 10;

fn run(bench: &mut Bench) -> anyhow::Result<()> {
    let (a, b) = bench.pair()?;
    b.sysfs("/sys/class/net/vb/queues/rx-0/rps_cpus", "2")?;
    let (c, d) = (Netns::new("c")?, Netns::new("d")?);
    veth((&c, "vc", "10.99.2.1/24"), (&d, "vd", "10.99.2.2/24"))?;
    let burner = Burner::new(&d, "vd", 200)?;
    // Nobody reads it: an answer of ICMP would be noise.
    let sink = d.inside(|| Ok(UdpSocket::bind("10.99.2.2:9")?))?;
    let session = bench.record(&b)?;
    let (client, server) = tcp_pair(&a, &b, "10.99.1.2:7004".parse()?)?;
    let (start, again) = (Gate::new(), Gate::new());
    let (burns, sent, (pid, reads)) = std::thread::scope(|s| {
        let busy = spawn(s, "lab-burner", &c, Place::ahead(1), || {
            let socket = UdpSocket::bind("10.99.2.1:0")?;
            // Resolves the neighbour.
            socket.send_to(&[0; 10], "10.99.2.2:9")?;
            let mut burns = vec![];
            for _ in 0..MESSAGES {
                again.pass()?;
                std::thread::sleep(Duration::from_millis(1));
                start.open();
                let before = now_ns();
                socket.send_to(&[0; 1400], "10.99.2.2:9")?;
                burns.push((before, now_ns()));
            }
            Ok(burns)
        })?;
        let sender = spawn(s, "lab-sender", &a, Place::ahead(0), || {
            let mut sent = vec![];
            for _ in 0..MESSAGES {
                again.open();
                start.pass()?;
                let (_, _) = crate::actors::burn(Duration::from_micros(300));
                let before = now_ns();
                (&client).write_all(&[1; 100])?;
                sent.push((before, now_ns()));
                std::thread::sleep(Duration::from_millis(15));
            }
            Ok(sent)
        })?;
        let reader = spawn(s, "lab-reader", &b, Place::ahead(0), || {
            let (mut message, mut at) = ([0u8; 100], vec![]);
            for _ in 0..MESSAGES {
                (&server).read_exact(&mut message)?;
                at.push(now_ns());
            }
            Ok((tid(), at))
        })?;
        anyhow::Ok((join(busy)?, join(sender)?, join(reader)?))
    })?;
    bench.socket(&client)?;
    bench.socket(&server)?;
    bench.finish(session)?;
    drop((burner, sink));
    for ((burn, sent), read_ns) in burns.iter().zip(sent).zip(reads) {
        let case = Case {
            table: "rx".into(),
            sport: client.local_addr()?.port(),
            dport: 7004,
            from_ns: sent.0,
            to_ns: read_ns,
            stage: "poll_wait".into(),
            // Queued inside the send call; the burning packet was received inside the burner's send call, and ours after it.
            ns: burn.1 - sent.1,
            why: "NET_RX of its CPU was at work on another flow's packet".into(),
            pid: Some(pid),
            ..Case::default()
        };
        bench.plant(case.unless_disturbed(None, read_ns - sent.1));
    }
    Ok(())
}
