//! A token bucket: the first packet takes the tokens, the second waits in the queueing discipline until there are enough.

use std::time::Duration;

use crate::actors::timed;
use crate::rigs::{Bench, Rig};
use crate::sender::Line;
use crate::sys::tid;
use crate::truth::Case;
use std::net::UdpSocket;

pub(in crate::rigs) const RIG: Rig = Rig {
    name: "tx_tbf",
    what: "a token bucket is empty: a TCP segment, then a datagram, wait in it (qdisc)",
    cpus: 1,
    run,
};

/// Bytes a second of the bucket.
const RATES: [u32; 4] = [25_000, 35_000, 45_000, 55_000];

fn run(bench: &mut Bench) -> anyhow::Result<()> {
    let line = Line::new()?;
    let session = bench.record(&line.a)?;
    let udp = line.a.inside(|| Ok(UdpSocket::bind("10.66.1.1:0")?))?;
    for rate in RATES {
        // The bucket is full at the beginning and after each pause.
        line.shape(rate, 100_000)?;
        let full = Duration::from_millis(80);
        let s = line.connect()?;
        std::thread::sleep(full);
        s.say(1400)?;
        let held = s.say(1301)?;
        let why = "the token bucket was empty";
        bench.plant(s.held(held, "qdisc", why)?);
        std::thread::sleep(full);
        let size = 1201 + usize::try_from(rate / 1000)?;
        udp.send_to(&[b'u'; 1400], "10.66.1.2:9")?;
        let window = timed(|| udp.send_to(&vec![b'u'; size], "10.66.1.2:9").map(drop))?;
        let left = line.wire.wait(|p| p.payload as usize == size)?.at_ns;
        let case = Case::on_device("tx", "wire0", window, "qdisc", left - window.0, why);
        bench.plant(case.by(tid()).unless_sending(window.1 - window.0));
    }
    bench.finish(session)
}
