//! A sender at its congestion window: the route grants two segments, the wire holds both, the third waits for their ACK.

use crate::rigs::{Bench, Rig};
use crate::sender::Line;
use crate::wire::Way;

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
        let (third, _) = line.hold(Way::There, hold, || {
            s.say(201)?;
            s.say(202)?;
            s.say(203)
        })?;
        let why = "the congestion window was full until the wire let the first two segments go";
        bench.plant(s.held(third, "cwnd", why)?);
    }
    bench.finish(session)
}
