//! TCP small queues: the connection may have little in the queue below; a message waits in TCP until the one before has left
//! the token bucket.

use std::time::Duration;

use crate::rigs::{Bench, Rig};
use crate::sender::Line;

pub(in crate::rigs) const RIG: Rig = Rig {
    name: "tx_tsq",
    what: "a segment waits until the one before has left the shaped queue (tsq)",
    cpus: 1,
    run,
};

/// Bytes a second of the bucket.
const RATES: [u32; 4] = [30_000, 40_000, 50_000, 60_000];

fn run(bench: &mut Bench) -> anyhow::Result<()> {
    let line = Line::new()?;
    line.a.write("/proc/sys/net/ipv4/tcp_limit_output_bytes", "1000")?;
    let session = bench.record(&line.a)?;
    for rate in RATES {
        line.shape(rate, 100_000)?;
        let s = line.connect()?;
        std::thread::sleep(Duration::from_millis(60));
        s.say(1400)?;
        let large = s.say(1390)?;
        // Two segments of the connection are below TCP: the rule lets one through whatever the limit.
        s.say(100)?;
        let held = s.say(101)?;
        let freed = s.arrival(large, 0)?.at_ns;
        s.arrival(held, 0)?;
        s.last_word()?;
        let why = "what the connection had in the queue below was above its limit until the large segment left";
        // Its tasklet may come too late: the ACK of the large one then released it.
        let case = s.case(held, freed, "tsq", freed - held.from_ns, why);
        bench.plant(case.weaker("an ACK releases what small queues held, too"));
    }
    bench.finish(session)
}
