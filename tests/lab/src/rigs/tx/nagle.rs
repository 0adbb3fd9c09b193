//! Nagle: with a small segment unacknowledged the next small message waits; the wire holds the first.

use std::time::Duration;

use crate::rigs::{Bench, Rig};
use crate::sender::Line;
use crate::wire::{Mode, Way};

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
        line.wire.set(Way::There, Mode::Hold)?;
        s.say(201)?;
        let second = s.say(202)?;
        std::thread::sleep(Duration::from_millis(hold));
        line.wire.set(Way::There, Mode::Pass)?;
        let left = s.arrival(second, 0)?.at_ns;
        s.last_word()?;
        let why = "Nagle: a small segment was unacknowledged until the wire let it go";
        bench.plant(s.case(second, left, "nagle", left - second.from_ns, why));
    }
    bench.finish(session)
}
