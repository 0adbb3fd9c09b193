//! Tail loss: two segments are dropped once. The probe sends the second again, its SACK makes the sender repeat the first.

use std::time::Duration;

use crate::rigs::{Bench, Rig};
use crate::sender::Line;
use crate::wire::{Mode, Way};

pub(in crate::rigs) const RIG: Rig = Rig {
    name: "tx_tlp",
    what: "the last two segments are lost: a tail loss probe repairs one, the ACK it brings the other (recovery)",
    cpus: 1,
    run,
};

/// Connections.
const TIMES: usize = 4;

fn run(bench: &mut Bench) -> anyhow::Result<()> {
    let line = Line::new()?;
    line.a.write("/proc/sys/net/ipv4/tcp_early_retrans", "3")?;
    let session = bench.record(&line.a)?;
    for _ in 0..TIMES {
        let s = line.connect()?;
        for n in 0..5 {
            s.say(20 + n)?;
            s.settle()?;
        }
        line.wire.set(Way::There, Mode::Drop(2))?;
        let messages = [s.say(201)?, s.say(202)?];
        s.last_word()?;
        std::thread::sleep(Duration::from_millis(1));
        for m in messages {
            let (first, last) = (s.arrival(m, 0)?.at_ns, s.arrival(m, 1)?.at_ns);
            let why = "the wire dropped it once; a tail loss probe found out";
            bench.plant(s.case(m, m.to_ns, "recovery", last - first, why));
        }
    }
    bench.finish(session)
}
