//! TCP_CORK: what was written waits, with nothing in flight, until the program takes the cork out.

use std::time::Duration;

use crate::rigs::{Bench, Rig};
use crate::sender::Line;
use crate::sys;

pub(in crate::rigs) const RIG: Rig = Rig {
    name: "tx_cork",
    what: "a message waits in a corked socket until the cork is taken out (nagle)",
    cpus: 1,
    run,
};

const HOLDS: [u64; 5] = [22, 33, 44, 55, 66];

fn run(bench: &mut Bench) -> anyhow::Result<()> {
    let line = Line::new()?;
    let session = bench.record(&line.a)?;
    for hold in HOLDS {
        let s = line.connect()?;
        sys::set(&s.socket, libc::IPPROTO_TCP, libc::TCP_CORK, 1i32)?;
        let corked = s.say(201)?;
        std::thread::sleep(Duration::from_millis(hold));
        sys::set(&s.socket, libc::IPPROTO_TCP, libc::TCP_CORK, 0i32)?;
        // It is sent by setsockopt.
        let case = s.held(corked, "nagle", "the socket was corked")?;
        bench.plant(case.weaker("only the bytes tell whose segment it is that no send call sends"));
    }
    bench.finish(session)
}
