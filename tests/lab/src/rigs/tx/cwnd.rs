//! A sender at its congestion window: the route grants two segments, the wire holds both, the third waits for their ACK.

use std::time::Duration;

use crate::rigs::{Bench, Rig};
use crate::sender::Line;
use crate::wire::{Mode, Way};

pub(in crate::rigs) const RIG: Rig = Rig {
    name: "tx_cwnd",
    what: "two segments fill the congestion window, the third waits for their ACK (cwnd)",
    cpus: 1,
    run,
};

/// Each connection's segments are held a little longer than those of the one before.
const HOLDS: [u64; 6] = [20, 27, 34, 41, 48, 55];

fn run(bench: &mut Bench) -> anyhow::Result<()> {
    let line = Line::new()?;
    line.a.ip("route replace 10.66.1.2 dev wire0 initcwnd 2")?;
    let session = bench.record(&line.a)?;
    for hold in HOLDS {
        let s = line.connect()?;
        line.wire.set(Way::There, Mode::Hold)?;
        s.say(201)?;
        s.say(202)?;
        let third = s.say(203)?;
        std::thread::sleep(Duration::from_millis(hold));
        line.wire.set(Way::There, Mode::Pass)?;
        let left = s.arrival(third, 0)?.at_ns;
        s.last_word()?;
        let why = "the congestion window was full until the wire let the first two segments go";
        bench.plant(s.case(third, left, "cwnd", left - third.from_ns, why));
    }
    bench.finish(session)
}
