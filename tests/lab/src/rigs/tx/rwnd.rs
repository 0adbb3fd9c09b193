//! A sender at its peer's window: the reader stops reading, the window fills, one more message waits until it reads again.

use std::time::Duration;

use crate::rigs::{Bench, Rig};
use crate::sender::Line;
use crate::sys::tcp_info;
use std::sync::atomic::Ordering;

pub(in crate::rigs) const RIG: Rig = Rig {
    name: "tx_rwnd",
    what: "the reader does not read, its window is full, a message waits for it (rwnd)",
    cpus: 1,
    run,
};

const HOLDS: [u64; 5] = [25, 36, 47, 58, 69];

fn run(bench: &mut Bench) -> anyhow::Result<()> {
    let line = Line::new()?;
    let session = bench.record(&line.a)?;
    // They stay open, so that the snapshot at the end has the kernel's clocks.
    let (mut limited_us, mut open) = (0, vec![]);
    for hold in HOLDS {
        let s = line.connect()?;
        // The reader is in its read by now: one byte takes it out, and it stays deaf.
        std::thread::sleep(Duration::from_millis(2));
        s.deaf.store(true, Ordering::Relaxed);
        s.say(1)?;
        loop {
            s.say(1400)?;
            std::thread::sleep(Duration::from_micros(200));
            let info = tcp_info(&s.socket)?;
            if info.notsent_bytes > 0 && info.unacked == 0 {
                break;
            }
        }
        let last = s.say(301)?;
        std::thread::sleep(Duration::from_millis(hold));
        s.deaf.store(false, Ordering::Relaxed);
        let why = "the receive window was full until the reader read";
        let case = s.held(last, "rwnd", why)?;
        limited_us += i64::try_from(tcp_info(&s.socket)?.rwnd_limited_us)?;
        bench.plant(case);
        open.push(s);
    }
    bench.truth.counters.insert("tcpi_rwnd_limited_us".into(), limited_us);
    bench.finish(session)
}
