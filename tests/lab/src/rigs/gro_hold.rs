//! GRO holds a packet: with `gro_flush_timeout`, a segment without PSH waits for the timer. Received by a softirq, or by the
//! NAPI thread of the device.

use std::time::Duration;

use rustix::net::{SendFlags, send};

use super::{Bench, Rig};
use crate::actors::{AHEAD, Gate, Place, join, planned, read_all, spawn, tcp_pair, timed};
use crate::net::napi_thread;
use crate::runner::NotHere;
use crate::sys;
use crate::truth::Case;

pub(super) const SOFTIRQ: Rig = Rig {
    name: "gro_hold",
    what: "GRO holds a segment until gro_flush_timeout (gro)",
    cpus: 2,
    run: |bench| run(bench, false),
};

pub(super) const THREADED: Rig = Rig {
    name: "napi_threaded",
    what: "the same where a NAPI thread receives (gro; run_by threaded_napi)",
    cpus: 2,
    run: |bench| run(bench, true),
};

const MESSAGES: usize = 10;

fn run(bench: &mut Bench, threaded: bool) -> anyhow::Result<()> {
    let (a, b) = bench.pair()?;
    a.offloads("va", "tso off gso off")?;
    b.offloads("vb", "gro on")?;
    if threaded {
        let none = || NotHere("this kernel has no NAPI threads".into());
        b.sysfs("/sys/class/net/vb/threaded", "1").map_err(|_| none())?;
        let thread = napi_thread("vb").ok_or_else(none)?;
        sys::pin_other(thread, 0)?;
        sys::fifo_other(thread, AHEAD + 1)?;
    }
    let session = bench.record(&b)?;
    let (client, server) = tcp_pair(&a, &b, "10.99.1.2:7017".parse()?)?;
    // After the handshake: it would be held, too.
    let held = planned(5_000).as_nanos();
    b.sysfs("/sys/class/net/vb/gro_flush_timeout", &held.to_string())?;
    // One full segment, not pushed: more is to come.
    let segment = vec![1u8; 1_448];
    let next = Gate::new();
    let (sent, (pid, reads)) = std::thread::scope(|s| {
        let reader = spawn(s, "lab-reader", &b, Place::ahead(1), || {
            read_all(&server, 1_448, MESSAGES, &next)
        })?;
        let sender = spawn(s, "lab-sender", &a, Place::ahead(0), || {
            let mut sent = vec![];
            for _ in 0..MESSAGES {
                std::thread::sleep(Duration::from_millis(1));
                sent.push(timed(|| send(&client, &segment, SendFlags::MORE).map(drop))?);
                next.pass()?;
            }
            Ok(sent)
        })?;
        anyhow::Ok((join(sender)?, join(reader)?))
    })?;
    bench.close(session, &client, &server)?;
    let ports = (client.local_addr()?.port(), 7017);
    let held = i64::try_from(held)?;
    for (sent, read_ns) in sent.iter().zip(reads) {
        // GRO has it inside the send call; the reader reads as soon as it is flushed.
        let (window, ns) = ((sent.0, read_ns), read_ns - sent.1);
        let why = "GRO held the segment until its timer flushed it";
        let mut case = Case::new("rx", ports, window, "gro", ns, why).by(pid);
        if threaded {
            case.run_by = "threaded_napi".into();
        }
        bench.plant(case.unless_disturbed(Some(held), ns).unless_sending(sent.1 - sent.0));
    }
    Ok(())
}
