//! The copy to the reader lasts: the page it goes to is not there. The reader blocks in recv, polls the device itself, or reads
//! through io_uring.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use super::{Bench, Rig};
use crate::actors::{Gate, Place, join, planned, spawn, tcp_pair, timed};
use crate::runner::NotHere;
use crate::sys::{self, Fault, Ring, tid};
use crate::truth::Case;

pub(super) const RIG: Rig = Rig {
    name: "copy",
    what: "the reader's memory is not there when the kernel copies to it (copy)",
    cpus: 2,
    run: |bench| run(bench, How::Blocking),
};

pub(super) const BUSY_POLL: Rig = Rig {
    name: "busy_poll",
    what: "the same with a reader that polls the device itself, SO_BUSY_POLL (copy; run_by busy_poll)",
    cpus: 2,
    run: |bench| run(bench, How::BusyPoll),
};

pub(super) const URING: Rig = Rig {
    name: "uring_copy",
    what: "the same with a receive that waits in an io_uring (copy)",
    cpus: 2,
    run: |bench| run(bench, How::Uring),
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum How {
    Blocking,
    BusyPoll,
    Uring,
}

const MESSAGES: usize = 10;
const BYTES: usize = 700;
/// How long a receive call polls, µs; every poll is an event, so a late sender must not make it poll for ever.
const POLL_US: i32 = 20_000;

/// Reads one message into a page that is not there.
fn read_one(mut stream: &TcpStream, ring: &mut Option<Ring>, page: &mut [u8]) -> anyhow::Result<()> {
    let mut left = page.get_mut(..BYTES).unwrap_or_default();
    let Some(ring) = ring else {
        return Ok(stream.read_exact(left)?);
    };
    while !left.is_empty() {
        let n = ring.recv(&stream, left)?;
        anyhow::ensure!(n > 0, "the stream ended early");
        left = left.get_mut(n..).unwrap_or_default();
    }
    Ok(())
}

fn run(bench: &mut Bench, how: How) -> anyhow::Result<()> {
    let (a, b) = bench.pair()?;
    let mut fault = Fault::new(MESSAGES).map_err(|e| NotHere(format!("userfaultfd: {e}")))?;
    let mut ring = match how {
        How::Uring => Some(Ring::new().map_err(|e| NotHere(format!("io_uring: {e}")))?),
        How::Blocking | How::BusyPoll => None,
    };
    let server_of_faults = fault.server()?;
    if how == How::BusyPoll {
        // With GRO a veth has a NAPI, whose number the socket learns; it uses it for what comes without offloads.
        a.offloads("va", "tso off gso off")?;
        b.offloads("vb", "gro on")?;
    }
    let session = bench.record(&b)?;
    let (client, server) = tcp_pair(&a, &b, "10.99.1.2:7006".parse()?)?;
    if how == How::BusyPoll {
        let polls = sys::set(&server, libc::SOL_SOCKET, libc::SO_BUSY_POLL, POLL_US);
        polls.map_err(|e| NotHere(format!("SO_BUSY_POLL: {e}")))?;
    }
    let go = Gate::new();
    let (served, sent, (pid, reads)) = std::thread::scope(|s| {
        let serving = spawn(s, "lab-faults", &b, Place::ahead(0), || {
            let long = |n: usize| planned(3_000 + 500 * n as u64);
            (0..MESSAGES).map(|n| Ok(server_of_faults.delay(long(n))?)).collect()
        })?;
        let (fault, ring) = (&mut fault, &mut ring);
        let (go, server) = (&go, &server);
        let reader = spawn(s, "lab-reader", &b, Place::ahead(1), move || {
            let mut reads = vec![];
            for n in 0..MESSAGES {
                go.open();
                reads.push(timed(|| read_one(server, ring, fault.page_mut(n)))?);
            }
            Ok((tid(), reads))
        })?;
        let sender = spawn(s, "lab-sender", &a, Place::ahead(0), || {
            let mut sent = vec![];
            for _ in 0..MESSAGES {
                go.pass()?;
                std::thread::sleep(Duration::from_millis(1));
                sent.push(timed(|| (&client).write_all(&[1; BYTES]))?);
            }
            Ok(sent)
        })?;
        let served: Vec<(i64, i64)> = join(serving)?;
        anyhow::Ok((served, join(sender)?, join(reader)?))
    })?;
    bench.close(session, &client, &server)?;
    let ports = (client.local_addr()?.port(), 7006);
    for ((served, sent), (asked_ns, read_ns)) in served.iter().zip(sent).zip(reads) {
        let (window, ns) = ((sent.0, read_ns), served.1 - served.0);
        let why = "the page that the read copies to came late";
        let mut case = Case::new("rx", ports, window, "copy", ns, why).by(pid);
        if how == How::BusyPoll {
            case.run_by = "busy_poll".into();
        }
        let mut case = case
            .unless_disturbed(None, read_ns - sent.1)
            .unless_sending(sent.1 - sent.0);
        if how == How::BusyPoll && sent.1 - asked_ns > i64::from(POLL_US) * 800 {
            case.void = "the message came after the reader had ceased to poll".into();
        }
        bench.plant(case);
    }
    Ok(())
}
