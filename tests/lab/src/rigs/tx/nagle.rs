//! Nagle: with a small segment unacknowledged the next small message waits; the wire holds the first.

use crate::rigs::{Bench, Rig};
use crate::sender::Line;
use crate::wire::Way;

pub(in crate::rigs) const RIG: Rig = Rig {
    name: "tx_nagle",
    what: "a small message waits for the ACK of the one before, as Nagle asks (nagle)",
    cpus: 1,
    run,
};

const HOLDS: [u64; 5] = [18, 26, 34, 42, 50];

fn run(bench: &mut Bench) -> anyhow::Result<()> {
    let line = Line::new()?;
    let session = bench.record(&line.a)?;
    for hold in HOLDS {
        let s = line.connect()?;
        s.socket.set_nodelay(false)?;
        let (second, _) = line.hold(Way::There, hold, || {
            s.say(201)?;
            s.say(202)
        })?;
        let why = "Nagle: a small segment was unacknowledged until the wire let it go";
        bench.plant(s.held(second, "nagle", why)?);
    }
    bench.finish(session)
}
