//! A black hole: every segment is dropped until the retransmission timer has fired twice, a tail loss probe before it. The head's
//! recovery is from its first transmission to its last; probes and timeouts equal the kernel's counters.

use crate::rigs::{Bench, Rig};
use crate::sender::Line;
use crate::wire::{Mode, Way};

pub(in crate::rigs) const RIG: Rig = Rig {
    name: "tx_rto",
    what: "segments and probe are lost until the second retransmission timeout (recovery by rto)",
    cpus: 1,
    run,
};

fn run(bench: &mut Bench) -> anyhow::Result<()> {
    let line = Line::new()?;
    line.a.write("/proc/sys/net/ipv4/tcp_early_retrans", "3")?;
    let session = bench.record(&line.a)?;
    let s = line.connect()?;
    s.warm(5)?;
    line.wire.set(Way::There, Mode::Drop(u32::MAX))?;
    let head = s.say(201)?;
    s.say(202)?;
    // First copy, then the one of each timeout: the second of these must come through.
    s.arrival(head, 1)?;
    line.wire.set(Way::There, Mode::Pass)?;
    let why = "the wire was a black hole: a tail loss probe, then two retransmission timeouts";
    bench.plant(s.repaired(head, 2, why)?);
    bench.finish(session)
}
