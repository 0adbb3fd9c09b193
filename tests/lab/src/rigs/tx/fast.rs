//! Fast retransmit: the first of six segments is dropped, the wire holds the ACKs that say so.

use crate::rigs::{Bench, Rig};
use crate::sender::Line;
use crate::wire::{Mode, Way};

pub(in crate::rigs) const RIG: Rig = Rig {
    name: "tx_fast",
    what: "one of six segments is lost and the ACKs that tell are held (recovery by fast retransmit)",
    cpus: 1,
    run,
};

const HOLDS: [u64; 5] = [20, 28, 36, 44, 52];

fn run(bench: &mut Bench) -> anyhow::Result<()> {
    let line = Line::new()?;
    bench.record_links()?;
    let session = bench.record(&line.a)?;
    for hold in HOLDS {
        let s = line.connect()?;
        s.warm(5)?;
        line.wire.set(Way::There, Mode::Drop(1))?;
        let (lost, _) = line.hold(Way::Back, hold, || {
            let lost = s.say(201)?;
            for n in 0..5 {
                s.say(202 + n)?;
            }
            Ok(lost)
        })?;
        let why = "dropped once; the wire held the ACKs that told";
        bench.plant(s.repaired(lost, 1, why)?);
    }
    bench.finish(session)
}
