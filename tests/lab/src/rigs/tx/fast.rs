//! Fast retransmit: the first of six segments is dropped, the wire holds the ACKs that say so.

use std::time::Duration;

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
    let session = bench.record(&line.a)?;
    for hold in HOLDS {
        let s = line.connect()?;
        for n in 0..5 {
            s.say(20 + n)?;
            s.settle()?;
        }
        line.wire.set(Way::There, Mode::Drop(1))?;
        line.wire.set(Way::Back, Mode::Hold)?;
        let lost = s.say(201)?;
        for n in 0..5 {
            s.say(202 + n)?;
        }
        std::thread::sleep(Duration::from_millis(hold));
        line.wire.set(Way::Back, Mode::Pass)?;
        let (first, last) = (s.arrival(lost, 0)?.at_ns, s.arrival(lost, 1)?.at_ns);
        s.last_word()?;
        let why = "dropped once; the wire held the ACKs that told";
        bench.plant(s.case(lost, lost.to_ns, "recovery", last - first, why));
    }
    bench.finish(session)
}
