//! Datagrams that are read late: fragmented UDP, and the replies to a ping.

use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketType, bind, connect, ipproto, recv, send, socket, sockopt,
};

use super::{Bench, Rig};
use crate::actors::{Gate, Place, join, planned, readable, sleep, spawn, timed};
use crate::events;
use crate::net::Netns;
use crate::sys::{now_ns, tid};
use crate::truth::Case;

pub(super) const FRAGMENTS: Rig = Rig {
    name: "udp_fragments",
    what: "datagrams of many fragments, read late (reader_asleep)",
    cpus: 2,
    run: fragments,
};

pub(super) const PING: Rig = Rig {
    name: "ping",
    what: "replies to a ping, read late from a raw socket (reader_asleep)",
    cpus: 2,
    run: ping,
};

const MESSAGES: usize = 12;

fn nap(n: usize) -> Duration {
    planned(3_000 + 600 * n as u64)
}

/// When it was sent (before, after), the reader's sleep, when it was read.
type Late = ((i64, i64), (i64, i64), i64);

/// `sender` sends `message(n)` on `out`; `reader` finds it readable on `input`, sleeps, reads it.
fn late(
    (sender, out): (&Netns, &OwnedFd),
    (reader, input): (&Netns, &OwnedFd),
    message: impl Fn(usize) -> Vec<u8> + Send + Sync,
) -> anyhow::Result<(i32, Vec<Late>)> {
    let next = Gate::new();
    std::thread::scope(|s| {
        let reading = spawn(s, "lab-reader", reader, Place::ahead(1), || {
            let (mut buffer, mut naps) = (vec![0u8; 65_536], vec![]);
            for n in 0..MESSAGES {
                readable(input)?;
                let nap = sleep(nap(n));
                recv(input, &mut buffer[..], RecvFlags::empty())?;
                naps.push((nap, now_ns()));
                next.open();
            }
            Ok((tid(), naps))
        })?;
        let sending = spawn(s, "lab-sender", sender, Place::ahead(0), || {
            let mut sent = vec![];
            for n in 0..MESSAGES {
                std::thread::sleep(Duration::from_millis(1));
                let message = message(n);
                sent.push(timed(|| send(out, &message, SendFlags::empty()).map(drop))?);
                next.pass()?;
            }
            Ok(sent)
        })?;
        let (sent, (pid, naps)) = (join(sending)?, join(reading)?);
        let late = sent.into_iter().zip(naps).map(|(s, (nap, read))| (s, nap, read));
        anyhow::Ok((pid, late.collect()))
    })
}

fn plant(bench: &mut Bench, pid: i32, all: &[Late], dev: &str, why: &str) {
    for (n, (sent, slept, read_ns)) in all.iter().enumerate() {
        let (window, ns) = ((sent.0, *read_ns), slept.1 - slept.0);
        let case = Case::on_device("rx", dev, window, "reader_asleep", ns, why)
            .by(pid)
            .weaker(events::readable());
        bench.plant(case.unless_disturbed(Some(nap(n).as_nanos() as i64), read_ns - sent.1));
    }
}

fn fragments(bench: &mut Bench) -> anyhow::Result<()> {
    let (a, b) = bench.pair()?;
    let input = b.inside(|| {
        let s = socket(AddressFamily::INET, SocketType::DGRAM, None)?;
        bind(&s, &"10.99.1.2:7011".parse::<std::net::SocketAddrV4>()?)?;
        Ok(s)
    })?;
    let out = a.inside(|| {
        let s = socket(AddressFamily::INET, SocketType::DGRAM, None)?;
        connect(&s, &"10.99.1.2:7011".parse::<std::net::SocketAddrV4>()?)?;
        Ok(s)
    })?;
    let session = bench.record(&b)?;
    let (pid, all) = late((&a, &out), (&b, &input), |n| vec![1; 2_000 + 700 * n])?;
    bench.finish(session)?;
    plant(bench, pid, &all, "vb", "the reader slept before it read the datagram");
    Ok(())
}

/// ICMP echo request number `n` with its checksum (RFC 792).
fn echo(n: usize) -> Vec<u8> {
    let mut packet = vec![8, 0, 0, 0, 0x4e, 0x4d, (n >> 8) as u8, n as u8];
    packet.extend([0x5a; 56]);
    let words = packet
        .chunks(2)
        .map(|w| w.iter().fold(0u32, |sum, b| sum << 8 | u32::from(*b)));
    let mut sum: u32 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    let checksum = !(sum as u16);
    packet.splice(2..4, checksum.to_be_bytes());
    packet
}

fn ping(bench: &mut Bench) -> anyhow::Result<()> {
    let (a, b) = bench.pair()?;
    let raw = a.inside(|| {
        let s = socket(AddressFamily::INET, SocketType::RAW, Some(ipproto::ICMP))?;
        connect(&s, &"10.99.1.2:0".parse::<std::net::SocketAddrV4>()?)?;
        sockopt::set_socket_recv_buffer_size(&s, 65_536)?;
        Ok(s)
    })?;
    let session = bench.record(&b)?;
    let (pid, all) = late((&a, &raw), (&a, &raw), echo)?;
    bench.finish(session)?;
    plant(bench, pid, &all, "va", "the reader slept before it read the reply");
    Ok(())
}
