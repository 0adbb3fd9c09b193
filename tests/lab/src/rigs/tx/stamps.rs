//! The kernel's own stamps, SO_TIMESTAMPING, of segments and datagrams that wait in a token bucket: what it says of SCHED, SND
//! and ACK is what the ledger must say; SND minus SCHED is the size of the wait.

use std::net::UdpSocket;
use std::time::Duration;

use crate::actors::{await_some, timed};
use crate::rigs::{Bench, Rig};
use crate::sender::Line;
use crate::sys::{Stage, Stamp, stamp, stamps, tid};
use crate::truth::{Case, Stamped};

pub(in crate::rigs) const TCP: Rig = Rig {
    name: "tx_stamps_tcp",
    what: "segments in a token bucket, stamped by the kernel itself (qdisc; SCHED, SND, ACK)",
    cpus: 1,
    run: tcp,
};

pub(in crate::rigs) const UDP: Rig = Rig {
    name: "tx_stamps_udp",
    what: "datagrams in a token bucket, stamped by the kernel itself (qdisc; SCHED, SND)",
    cpus: 1,
    run: udp,
};

/// Bytes a second of the bucket.
const RATES: [u32; 4] = [25_000, 35_000, 45_000, 55_000];
/// The bucket is full after it.
const FULL: Duration = Duration::from_millis(80);
const WHY: &str = "the token bucket was empty, from SCM_TSTAMP_SCHED to SCM_TSTAMP_SND";

fn at(all: &[Stamp], id: u32, stage: Stage) -> Option<i64> {
    all.iter().find(|s| (s.id, s.stage) == (id, stage)).map(|s| s.at_ns)
}

fn stamped(all: &[Stamp], id: u32) -> anyhow::Result<Stamped> {
    let of = |stage| at(all, id, stage);
    let both = of(Stage::Sched).zip(of(Stage::Snd));
    let (sched_ns, snd_ns) = both.ok_or_else(|| anyhow::anyhow!("no stamps of {id}: {all:?}"))?;
    let ack_ns = of(Stage::Ack);
    Ok(Stamped {
        sched_ns,
        snd_ns,
        ack_ns,
    })
}

/// Void where the second packet came so late that the bucket had filled again.
fn unless_full(mut case: Case) -> Case {
    if case.ns < 3_000_000 && case.void.is_empty() {
        case.void = format!("it waited only {} ns: the bucket was not empty", case.ns);
    }
    case
}

fn tcp(bench: &mut Bench) -> anyhow::Result<()> {
    let line = Line::new()?;
    let session = bench.record(&line.a)?;
    for rate in RATES {
        line.shape(rate, 100_000)?;
        let s = line.connect()?;
        std::thread::sleep(FULL);
        stamp(&s.socket)?;
        let first = s.say(1400)?;
        let second = s.say(1301)?;
        s.last_word()?;
        let told = stamped(&stamps(&s.socket)?, u32::try_from(first.bytes + second.bytes - 1)?)?;
        let left = s.arrival(second, 0)?.at_ns;
        let case = s.case(second, left, "qdisc", told.snd_ns - told.sched_ns, WHY);
        let case = Case {
            stamped: Some(told),
            ..case
        };
        bench.plant(unless_full(case));
    }
    bench.finish(session)
}

fn udp(bench: &mut Bench) -> anyhow::Result<()> {
    let line = Line::new()?;
    let session = bench.record(&line.a)?;
    let socket = line.a.inside(|| Ok(UdpSocket::bind("10.66.1.1:0")?))?;
    stamp(&socket)?;
    for (n, rate) in (0u32..).zip(RATES) {
        line.shape(rate, 100_000)?;
        std::thread::sleep(FULL);
        socket.send_to(&[b'u'; 1400], "10.66.1.2:9")?;
        let window = timed(|| socket.send_to(&[b'u'; 1302], "10.66.1.2:9").map(drop))?;
        // Each round has two datagrams, numbered from 0.
        let id = 2 * n + 1;
        let mut all = vec![];
        let told = await_some("the stamp of a datagram", || {
            all.extend(stamps(&socket)?);
            Ok(at(&all, id, Stage::Snd).map(|_| stamped(&all, id)))
        })??;
        let case = Case::on_device("tx", "wire0", window, "qdisc", told.snd_ns - told.sched_ns, WHY);
        let case = Case {
            stamped: Some(told),
            ..case
        };
        bench.plant(unless_full(case.by(tid())));
    }
    bench.finish(session)
}
