//! A token bucket: the first packet takes the tokens, the second waits in the queueing discipline until there are enough.

use std::time::Duration;

use crate::rigs::{Bench, Rig};
use crate::sender::Line;
use crate::sys::{now_ns, tid};
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
        // While recorded: `qdisc_create` names the kind. The bucket is full at the beginning and after each pause.
        line.a.tc(&format!(
            "qdisc replace dev wire0 root tbf rate {}bit burst 1600 limit 100000",
            rate * 8
        ))?;
        let full = Duration::from_millis(80);
        let s = line.connect()?;
        std::thread::sleep(full);
        s.say(1400)?;
        let held = s.say(1301)?;
        let left = s.arrival(held, 0)?.at_ns;
        s.last_word()?;
        let why = "the token bucket was empty";
        bench.plant(s.case(held, left, "qdisc", left - held.from_ns, why));
        std::thread::sleep(full);
        let size = 1201 + usize::try_from(rate / 1000)?;
        udp.send_to(&[b'u'; 1400], "10.66.1.2:9")?;
        let from_ns = now_ns();
        udp.send_to(&vec![b'u'; size], "10.66.1.2:9")?;
        let to_ns = now_ns();
        let left = line.wire.wait(2_000_000_000, |p| p.payload as usize == size)?.at_ns;
        bench.plant(Case {
            table: "tx".into(),
            from_ns,
            to_ns,
            stage: "qdisc".into(),
            ns: left - from_ns,
            why: why.into(),
            dev: Some("wire0".into()),
            pid: Some(tid()),
            ..Case::default()
        });
    }
    bench.finish(session)
}
