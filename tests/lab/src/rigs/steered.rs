//! Receive packet steering to a CPU that is at work: ours comes while a packet that costs milliseconds is on its way there.
//! Where that packet burns in the sender, its task has bottom halves off and NET_RX cannot run; where it burns in the
//! receiver, NET_RX runs and ours waits in its poll.

use std::io::Write;
use std::net::UdpSocket;
use std::time::Duration;

use super::{Bench, Rig};
use crate::actors::{Gate, Place, burn, join, planned, read_all, spawn, tcp_pair, timed};
use crate::burner::Burner;
use crate::net::{Netns, veth};
use crate::truth::Case;

pub(super) const TASK: Rig = Rig {
    name: "rps",
    what: "RPS steers to a CPU on which a task has bottom halves off (rps)",
    cpus: 2,
    run: |bench| {
        let why = "the CPU it was steered to had bottom halves off until its task's send call ended";
        run(bench, 7002, false, "rps", why)
    },
};

pub(super) const POLL: Rig = Rig {
    name: "softirq_burn",
    what: "another flow's packet burns NET_RX on the receiving CPU (poll_wait)",
    cpus: 2,
    run: |bench| {
        let why = "NET_RX of its CPU was at work on another flow's packet";
        run(bench, 7004, true, "poll_wait", why)
    },
};

const MESSAGES: usize = 10;

fn run(bench: &mut Bench, port: u16, at_receiver: bool, stage: &str, why: &str) -> anyhow::Result<()> {
    let (a, b) = bench.pair()?;
    b.sysfs("/sys/class/net/vb/queues/rx-0/rps_cpus", "2")?;
    let (c, d) = (Netns::new("c")?, Netns::new("d")?);
    veth((&c, "vc", "10.99.2.1/24"), (&d, "vd", "10.99.2.2/24"))?;
    let burner = if at_receiver {
        Burner::new(&d, "vd", 200)
    } else {
        Burner::new(&c, "vc", 200)
    }?;
    // Nobody reads it: an answer of ICMP would be noise.
    let sink = d.inside(|| Ok(UdpSocket::bind("10.99.2.2:9")?))?;
    let session = bench.record(&b)?;
    let (client, server) = tcp_pair(&a, &b, std::net::SocketAddr::from(([10, 99, 1, 2], port)))?;
    let (start, again, read) = (Gate::new(), Gate::new(), Gate::new());
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
                burns.push(timed(|| socket.send_to(&[0; 1400], "10.99.2.2:9").map(drop))?);
            }
            Ok(burns)
        })?;
        let sender = spawn(s, "lab-sender", &a, Place::ahead(0), || {
            let mut sent = vec![];
            for _ in 0..MESSAGES {
                again.open();
                start.pass()?;
                // Woken while the packet is still on its way: let it reach the taps.
                burn(planned(300));
                sent.push(timed(|| (&client).write_all(&[1; 100]))?);
                read.pass()?;
                std::thread::sleep(Duration::from_millis(5));
            }
            Ok(sent)
        })?;
        let reader = spawn(s, "lab-reader", &b, Place::ahead(0), || {
            read_all(&server, 100, MESSAGES, &read)
        })?;
        anyhow::Ok((join(busy)?, join(sender)?, join(reader)?))
    })?;
    bench.close(session, &client, &server)?;
    drop((burner, sink));
    for ((burn, sent), read_ns) in burns.iter().zip(sent).zip(reads) {
        // Queued inside the send call. NET_RX begins, or comes to it, when the burning send call ends.
        let (window, ns) = ((sent.0, read_ns), burn.1 - sent.1);
        let case = Case::new("rx", (client.local_addr()?.port(), port), window, stage, ns, why);
        bench.plant(
            case.by(pid)
                .unless_disturbed(None, read_ns - sent.1)
                .unless_sending(sent.1 - sent.0),
        );
    }
    Ok(())
}
