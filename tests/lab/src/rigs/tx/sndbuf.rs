//! A sender at its own buffer: SO_SNDBUF is small and full of segments that the wire holds; the next send call blocks until
//! their ACK frees room.

use crate::actors::join;
use crate::rigs::{Bench, Rig};
use crate::sender::Line;
use crate::sys;
use crate::wire::Way;

pub(in crate::rigs) const RIG: Rig = Rig {
    name: "tx_sndbuf",
    what: "a small send buffer is full of segments that are not acknowledged, the send call blocks (sndbuf)",
    cpus: 1,
    run,
};

const HOLDS: [u64; 5] = [20, 31, 42, 53, 64];

fn run(bench: &mut Bench) -> anyhow::Result<()> {
    let line = Line::new()?;
    bench.record_links()?;
    let session = bench.record(&line.a)?;
    for hold in HOLDS {
        let s = line.connect()?;
        sys::set(&s.socket, libc::SOL_SOCKET, libc::SO_SNDBUF, 4096i32)?;
        let (blocked, passed) = std::thread::scope(|scope| {
            let (call, passed) = line.hold(Way::There, hold, || {
                while sys::send(&s.socket, &[b'y'; 1000], libc::MSG_EOR | libc::MSG_DONTWAIT).is_ok() {}
                Ok(scope.spawn(|| s.say(201)))
            })?;
            anyhow::Ok((join(call)?, passed))
        })?;
        let left = s.arrival(blocked, 0)?.at_ns;
        s.last_word()?;
        let why = "the send buffer was full until the wire let the segments in it go";
        let until = left.min(blocked.to_ns);
        let mut case = s.case(blocked, left, "sndbuf", until - blocked.from_ns, why);
        // Woken in time, it had no CPU: that is not the send buffer.
        if until - passed > (case.ns / 20).max(50_000) {
            case.void = format!("the sender went on {} ns after the wire let go", until - passed);
        }
        bench.plant(case);
    }
    bench.finish(session)
}
