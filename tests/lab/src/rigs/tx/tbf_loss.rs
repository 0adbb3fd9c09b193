//! A token bucket that cuts large segments (tbf_segment) and whose queue is too short for their pieces: the tail is dropped,
//! nothing after it tells, the retransmission timer finds out.

use std::time::Duration;

use crate::rigs::{Bench, Rig};
use crate::sender::Line;

pub(in crate::rigs) const RIG: Rig = Rig {
    name: "tx_tbf_loss",
    what: "a large segment is cut in a short token bucket and its tail dropped there: the retransmission timer repairs it (recovery)",
    cpus: 1,
    run,
};

fn run(bench: &mut Bench) -> anyhow::Result<()> {
    let line = Line::new()?;
    bench.record_links()?;
    let session = bench.record(&line.a)?;
    for rate in [100_000, 150_000] {
        line.shape(rate, 9_000)?;
        let s = line.connect()?;
        s.warm(5)?;
        std::thread::sleep(Duration::from_millis(30));
        // Ten segments, the initial window: one large one for the queue.
        let message = s.say(14_480)?;
        s.last_word()?;
        let seen: Vec<_> = line
            .wire
            .seen()
            .into_iter()
            .filter(|p| p.at_ns > message.from_ns)
            .collect();
        // What came long after the last piece that fitted was sent again.
        let gap = seen
            .windows(2)
            .max_by_key(|w| w[1].at_ns - w[0].at_ns)
            .map(|w| w[1].at_ns);
        let again = gap.ok_or_else(|| anyhow::anyhow!("nothing was lost"))?;
        let why = "its tail did not fit into the token bucket's queue; the timer repaired it";
        bench.plant(s.case(message, message.to_ns, "recovery", again - message.to_ns, why));
    }
    bench.finish(session)
}
