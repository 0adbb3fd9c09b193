//! Tail loss: two segments are dropped once. The probe sends the second again, its SACK makes the sender repeat the first.

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
    bench.record_links()?;
    let session = bench.record(&line.a)?;
    for _ in 0..TIMES {
        let s = line.connect()?;
        s.warm(5)?;
        line.wire.set(Way::There, Mode::Drop(2))?;
        let messages = [s.say(201)?, s.say(202)?];
        s.settle()?;
        for m in messages {
            bench.plant(s.repaired(m, 1, "the wire dropped it once; a tail loss probe found out")?);
        }
    }
    bench.finish(session)
}
