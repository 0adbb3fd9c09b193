//! Nothing on this host waits: the wire holds the segment after it left the device.

use crate::rigs::{Bench, Rig};
use crate::sender::Line;
use crate::wire::Way;

pub(in crate::rigs) const RIG: Rig = Rig {
    name: "tx_network",
    what: "the wire holds a lone segment: its time is on the way and at the peer (network)",
    cpus: 1,
    run,
};

const HOLDS: [u64; 5] = [15, 24, 33, 42, 51];

fn run(bench: &mut Bench) -> anyhow::Result<()> {
    let line = Line::new()?;
    let session = bench.record(&line.a)?;
    for hold in HOLDS {
        let s = line.connect()?;
        let ((m, left), on) = line.hold(Way::There, hold, || {
            let m = s.say(201)?;
            Ok((m, s.arrival(m, 0)?.at_ns))
        })?;
        s.last_word()?;
        let why = "the wire held the segment after it had left the host";
        bench.plant(s.case(m, left, "network", on - left, why));
    }
    bench.finish(session)
}
