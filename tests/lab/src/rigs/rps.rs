//! Receive packet steering to another CPU, which cannot run softirqs: a task there sends a packet that costs milliseconds
//! with bottom halves off.

use std::io::{Read, Write};
use std::net::UdpSocket;
use std::time::Duration;

use super::{Bench, Rig};
use crate::actors::{Gate, Place, join, spawn, tcp_pair};
use crate::burner::Burner;
use crate::net::Netns;
use crate::sys::{now_ns, tid};
use crate::truth::Case;

pub(super) const RIG: Rig = Rig {
    name: "rps",
    what: "RPS steers to a CPU on which a task has bottom halves off (rps)",
    cpus: 2,
    run,
};

const MESSAGES: usize = 10;

fn run(bench: &mut Bench) -> anyhow::Result<()> {
    let (a, b) = bench.pair()?;
    b.sysfs("/sys/class/net/vb/queues/rx-0/rps_cpus", "2")?;
    let (other, far) = (Netns::new("o")?, Netns::new("p")?);
    crate::net::veth((&other, "burn0", "10.99.2.1/24"), (&far, "burn1", "10.99.2.2/24"))?;
    let burner = Burner::new(&other, "burn0", 200)?;
    // Nobody reads it: an answer of ICMP would be noise.
    let sink = far.inside(|| Ok(UdpSocket::bind("10.99.2.2:9")?))?;
    let session = bench.record(&b)?;
    let (client, server) = tcp_pair(&a, &b, "10.99.1.2:7002".parse()?)?;
    let (start, again) = (Gate::new(), Gate::new());
    let (burns, sent, (pid, reads)) = std::thread::scope(|s| {
        let busy = spawn(s, "lab-bh-off", &other, Place::ahead(1), || {
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
                // Woken while the packet is still on its way: let it reach the taps.
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
            dport: 7002,
            from_ns: sent.0,
            to_ns: read_ns,
            stage: "rps".into(),
            // Queued inside the send call; NET_RX begins when the burning send call enables bottom halves.
            ns: burn.1 - sent.1,
            why: "the CPU it was steered to had bottom halves off until its task's send call ended".into(),
            pid: Some(pid),
            ..Case::default()
        };
        bench.plant(case.unless_disturbed(None, read_ns - sent.1));
    }
    Ok(())
}
