//! netem: the queueing discipline itself keeps every packet for a time. Only where the kernel has it.

use crate::rigs::{Bench, Rig};
use crate::runner::NotHere;
use crate::sender::Line;

pub(in crate::rigs) const RIG: Rig = Rig {
    name: "tx_netem",
    what: "an emulated delay in the queueing discipline (qdisc)",
    cpus: 1,
    run,
};

const DELAYS: [u64; 3] = [15, 30, 45];

fn run(bench: &mut Bench) -> anyhow::Result<()> {
    let line = Line::new()?;
    let session = bench.record(&line.a)?;
    for delay in DELAYS {
        if line
            .a
            .tc(&format!("qdisc replace dev wire0 root netem delay {delay}ms"))
            .is_err()
        {
            bench.finish(session)?;
            return Err(NotHere("this kernel has no netem".into()).into());
        }
        let s = line.connect()?;
        for size in [201, 1401] {
            let m = s.say(size)?;
            bench.plant(s.held(m, "qdisc", "netem kept the segment")?);
        }
    }
    bench.finish(session)
}
