//! A queue of the sender's own device that is shorter than what its sockets may send: it refuses frames in the send itself, again
//! and again, and drops pieces of those that it cuts, so that SACKs merge originals and free them. Whose life each original's
//! address then has, the slab allocator tells. The first streams are torn down with bytes in their queues, whose memory the others get.

use std::io::{Read, Write};
use std::time::Duration;

use crate::actors::{Place, join, spawn, tcp_pair};
use crate::counters;
use crate::net::Netns;
use crate::rigs::{Bench, Rig};
use crate::runner::NotHere;
use crate::sys;

pub(in crate::rigs) const RIG: Rig = Rig {
    name: "tx_refused",
    what: "streams through a token bucket shorter than their windows: originals that it refuses, that are sent again, that SACKs merge",
    cpus: 2,
    run,
};

/// Streams at a time.
const STREAMS: u16 = 3;
/// How long they send.
const LONG: Duration = Duration::from_millis(1_200);
/// Bytes of a send call.
const BLOCK: usize = 131_072;
/// How often at most.
const ROUNDS: u16 = 4;
/// What the namespace must have counted, or nothing was played: originals that were sent again, refused, and that a SACK merged.
const HAPPENED: [&str; 3] = ["TcpRetransSegs", "TcpExtTCPRetransFail", "TcpExtTCPSackMerged"];

fn run(bench: &mut Bench) -> anyhow::Result<()> {
    let (a, b) = bench.pair()?;
    a.tc("qdisc add dev va root tbf rate 60mbit burst 20kb limit 60kb")
        .map_err(|_| NotHere("this kernel has no tbf".into()))?;
    bench.record_links()?;
    let session = bench.record(&a)?;
    let before = counters::read(&a)?;
    for round in 0..ROUNDS {
        streams(&a, &b, 7030 + 20 * round, true)?;
        streams(&a, &b, 7040 + 20 * round, false)?;
        let since = counters::delta(&before, &counters::read(&a)?);
        if HAPPENED.iter().all(|name| since.contains_key(*name)) {
            return bench.finish(session);
        }
    }
    let why = format!("the queue was long enough: {HAPPENED:?} are not all counted");
    Err(NotHere(why).into())
}

/// Sends over all for a while. Those that are torn down leave what they did not send; the others send all.
fn streams(a: &Netns, b: &Netns, port: u16, torn: bool) -> anyhow::Result<()> {
    std::thread::scope(|s| {
        let mut actors = vec![];
        for n in 0..STREAMS {
            let (client, mut server) = tcp_pair(a, b, ([10, 99, 1, 2], port + n).into())?;
            let other = Place { cpu: 1, fifo: 0 };
            actors.push(spawn(s, "lab-reader", b, other, move || {
                let mut buffer = vec![0; BLOCK];
                // A stream that is torn down ends with an error.
                while server.read(&mut buffer).is_ok_and(|n| n > 0) {}
                Ok(())
            })?);
            let own = Place { cpu: 0, fifo: 0 };
            actors.push(spawn(s, "lab-sender", a, own, move || {
                let until = sys::now_ns() + LONG.as_nanos() as i64;
                while sys::now_ns() < until {
                    (&client).write_all(&vec![b'x'; BLOCK])?;
                }
                if torn {
                    let at_once = libc::linger {
                        l_onoff: 1,
                        l_linger: 0,
                    };
                    sys::set(&client, libc::SOL_SOCKET, libc::SO_LINGER, at_once)?;
                }
                Ok(())
            })?);
        }
        actors.into_iter().try_for_each(join)
    })
}
