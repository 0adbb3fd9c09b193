//! A sender held by its pacing rate (SO_MAX_PACING_RATE): by TCP's own timer under cubic and under bbr, and by the fq queueing
//! discipline where the kernel has it.
//!
//! After a pause a segment goes at once and puts the next one off by half of its length over the rate (the other half is
//! forgiven after idleness, `tcp_update_skb_after_send`); fq puts it off likewise.

use std::time::Duration;

use crate::rigs::{Bench, Rig};
use crate::runner::NotHere;
use crate::sender::Line;
use crate::sys;

pub(in crate::rigs) const CUBIC: Rig = Rig {
    name: "tx_pacing",
    what: "cubic with a pacing rate: a segment waits for TCP's pacing timer (pacing)",
    cpus: 1,
    run: |bench| run(bench, *b"cubic", false),
};

pub(in crate::rigs) const BBR: Rig = Rig {
    name: "tx_pacing_bbr",
    what: "bbr with a pacing rate: a segment waits for TCP's pacing timer (pacing)",
    cpus: 1,
    run: |bench| run(bench, *b"bbr\0\0", false),
};

pub(in crate::rigs) const FQ: Rig = Rig {
    name: "tx_pacing_fq",
    what: "bbr with a pacing rate over fq: a segment waits in the queueing discipline for its time (pacing)",
    cpus: 1,
    run: |bench| run(bench, *b"bbr\0\0", true),
};

/// Bytes a second.
const RATES: [i32; 4] = [10_000, 14_000, 20_000, 28_000];

fn run(bench: &mut Bench, congestion: [u8; 5], fq: bool) -> anyhow::Result<()> {
    let line = Line::new()?;
    // Loaded or built in, and allowed in this namespace; else the rig has nothing to show.
    let known = line.a.inside(|| {
        Ok(std::fs::read_to_string(
            "/proc/sys/net/ipv4/tcp_available_congestion_control",
        )?)
    })?;
    let name = String::from_utf8_lossy(&congestion).trim_end_matches('\0').to_owned();
    if !known.split_whitespace().any(|k| k == name) {
        return Err(NotHere(format!("this kernel has no {name}")).into());
    }
    let session = bench.record(&line.a)?;
    // While recorded: its `qdisc_create` says its kind.
    if fq && line.a.tc("qdisc add dev wire0 root fq").is_err() {
        bench.finish(session)?;
        return Err(NotHere("this kernel has no fq".into()).into());
    }
    for rate in RATES {
        let s = line.connect()?;
        sys::set(&s.socket, libc::IPPROTO_TCP, libc::TCP_CONGESTION, congestion)?;
        sys::set(&s.socket, libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, rate)?;
        // The first ten segments of a connection are not paced.
        s.warm(12)?;
        std::thread::sleep(Duration::from_millis(200));
        s.say(1400)?;
        let paced = s.say(1301)?;
        let why = "the pacing rate put this segment off";
        bench.plant(s.held(paced, "pacing", why)?);
    }
    bench.finish(session)
}
