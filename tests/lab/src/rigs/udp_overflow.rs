//! A burst of datagrams for a reader that sleeps, and a receive buffer that does not hold them all.

use std::net::UdpSocket;
use std::time::Duration;

use super::{Bench, Rig};
use crate::actors::{Gate, Place, join, planned, spawn};
use crate::sys::{now_ns, tid};
use crate::truth::Case;

pub(super) const RIG: Rig = Rig {
    name: "udp_overflow",
    what: "datagrams overflow the receive buffer of a sleeping reader (reader_asleep; drops = UdpRcvbufErrors)",
    cpus: 2,
    run,
};

const BURSTS: usize = 10;
const DATAGRAMS: usize = 60;
const BYTES: usize = 900;

fn nap(n: usize) -> Duration {
    planned(8_000 + 700 * n as u64)
}

fn run(bench: &mut Bench) -> anyhow::Result<()> {
    let (a, b) = bench.pair()?;
    let server = b.inside(|| Ok(UdpSocket::bind("10.99.1.2:7010")?))?;
    rustix::net::sockopt::set_socket_recv_buffer_size(&server, 16 * 1024)?;
    server.set_read_timeout(Some(Duration::from_millis(5)))?;
    let session = bench.record(&b)?;
    let (asleep, drained) = (Gate::new(), Gate::new());
    let (sent, (pid, naps, read)) = std::thread::scope(|s| {
        let reader = spawn(s, "lab-reader", &b, Place::ahead(1), || {
            let (mut naps, mut read, mut buffer) = (vec![], 0i64, [0u8; 2_000]);
            for n in 0..BURSTS {
                asleep.open();
                naps.push(crate::actors::sleep(nap(n)));
                while server.recv(&mut buffer).is_ok() {
                    read += 1;
                }
                drained.open();
            }
            Ok((tid(), naps, read))
        })?;
        let sender = spawn(s, "lab-sender", &a, Place::ahead(0), || {
            let socket = UdpSocket::bind("10.99.1.1:0")?;
            socket.connect("10.99.1.2:7010")?;
            let mut sent = vec![];
            for _ in 0..BURSTS {
                asleep.pass()?;
                std::thread::sleep(Duration::from_millis(1));
                let before = now_ns();
                socket.send(&[0; BYTES])?;
                let first = now_ns();
                for _ in 1..DATAGRAMS {
                    socket.send(&[0; BYTES])?;
                }
                sent.push((before, first, now_ns()));
                drained.pass()?;
            }
            Ok(sent)
        })?;
        anyhow::Ok((join(sender)?, join(reader)?))
    })?;
    bench.finish(session)?;
    bench.truth.counters.insert("LabUdpRead".into(), read);
    for (n, ((before, first, last), slept)) in sent.iter().zip(naps).enumerate() {
        // The first of the burst waits longest.
        let (window, ns) = ((*before, *last), slept.1 - first);
        let why = "the reader slept while the burst came";
        let case = Case::on_device("rx", "vb", window, "reader_asleep", ns, why).by(pid);
        // What the nap took beyond what was asked is somebody else's, as is what delayed it.
        let late = slept.1 - slept.0 - nap(n).as_nanos() as i64;
        let mut case = case.unless_disturbed(Some(ns - late), ns);
        if *first < slept.0 {
            case.void = "the burst came before the reader slept".into();
        }
        bench.plant(case);
    }
    Ok(())
}
