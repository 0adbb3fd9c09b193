//! A segment comes before the one in front of it: the wire keeps the first and lets the second pass. Nothing is lost, and the
//! ACKs that tell of the hole are held, so nothing is sent again.

use super::{Bench, Rig};
use crate::events;
use crate::sender::Line;
use crate::sys::now_ns;
use crate::truth::Case;
use crate::wire::{Mode, Way};

pub(super) const RIG: Rig = Rig {
    name: "out_of_order",
    what: "a segment waits in TCP for the one in front of it, which the wire keeps (out_of_order)",
    cpus: 1,
    run,
};

const HOLDS: [u64; 6] = [15, 22, 29, 36, 43, 50];

fn run(bench: &mut Bench) -> anyhow::Result<()> {
    let line = Line::new()?;
    let session = bench.record(&line.b)?;
    for hold in HOLDS {
        let s = line.connect()?;
        s.warm(5)?;
        line.wire.set(Way::There, Mode::Keep(1))?;
        let ((second, came, filled), _) = line.hold(Way::Back, 0, || {
            s.say(201)?;
            let second = s.say(202)?;
            let came = s.arrival(second, 0)?.at_ns;
            std::thread::sleep(std::time::Duration::from_millis(hold));
            let until = now_ns();
            Ok((second, came, (until, line.wire.set(Way::There, Mode::Pass)?)))
        })?;
        s.last_word()?;
        // The first one arrives after the window: it is not meant.
        let (ports, window) = ((s.sport, s.dport), (second.from_ns, filled.0));
        let why = "the wire kept the segment in front of it";
        let case = Case::new("rx", ports, window, "out_of_order", filled.1 - came, why).weaker(events::readable());
        bench.plant(case.unless_disturbed(None, filled.1 - came));
    }
    bench.finish(session)
}
