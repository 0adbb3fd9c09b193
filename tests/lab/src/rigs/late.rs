//! Reads that come late: what many rigs plant, over the path that is theirs.
//!
//! The sender sends message n once message n-1 was read; the reader waits in `poll` until n is there, then does what is
//! planted, then reads. Both stamp what they do.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use super::Bench;
use crate::actors::{Gate, Place, burn, join, planned, readable, sleep, spawn, tcp_pair};
use crate::net::Netns;
use crate::sys::{Ring, now_ns, tid};
use crate::truth::{Case, ReadCall};

/// What the reader does before it reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delay {
    /// Reads at once.
    None,
    /// Sleeps.
    Sleep(Duration),
    /// Keeps its CPU busy.
    Burn(Duration),
}

/// A message as its sender saw it.
#[derive(Debug, Clone, Copy)]
pub struct Sent {
    /// Before the send call.
    pub before_ns: i64,
    /// After it.
    pub after_ns: i64,
}

/// A message as its reader saw it.
#[derive(Debug, Clone, Copy)]
pub struct Got {
    /// `poll` returned.
    pub seen_ns: i64,
    /// The delay began, and ended.
    pub delay_ns: (i64, i64),
    /// Its last byte was read.
    pub read_ns: i64,
}

/// What the reader knows at the end.
#[derive(Debug, Clone, Default)]
pub struct Reader {
    /// Its thread.
    pub pid: i32,
    /// One per message.
    pub got: Vec<Got>,
    /// Every read.
    pub calls: Vec<ReadCall>,
}

/// Sends messages of these sizes, each when `next` says that the one before was read.
pub fn send(mut stream: &TcpStream, sizes: &[usize], next: &Gate) -> anyhow::Result<Vec<Sent>> {
    let data = vec![0x5a; sizes.iter().copied().max().unwrap_or(0)];
    let mut sent = vec![];
    for &n in sizes {
        // Let the reader come to rest in `poll`.
        std::thread::sleep(Duration::from_micros(300));
        let before_ns = now_ns();
        stream.write_all(data.get(..n).unwrap_or(&data))?;
        sent.push(Sent {
            before_ns,
            after_ns: now_ns(),
        });
        next.pass()?;
    }
    Ok(sent)
}

/// Reads them, late as planned; through `ring` when there is one.
pub fn read(
    mut stream: &TcpStream,
    mut ring: Option<Ring>,
    sizes: &[usize],
    delays: &[Delay],
    next: &Gate,
) -> anyhow::Result<Reader> {
    let (sport, dport) = (stream.peer_addr()?.port(), stream.local_addr()?.port());
    let mut reader = Reader {
        pid: tid(),
        ..Reader::default()
    };
    let mut buffer = vec![0; sizes.iter().copied().max().unwrap_or(0)];
    let mut offset = 0;
    for (&size, delay) in sizes.iter().zip(delays) {
        readable(&stream)?;
        let seen_ns = now_ns();
        let delay_ns = match *delay {
            Delay::None => (seen_ns, seen_ns),
            Delay::Sleep(d) => sleep(d),
            Delay::Burn(d) => burn(d),
        };
        let mut left = size;
        while left > 0 {
            let before_ns = now_ns();
            let to = buffer.get_mut(..left).unwrap_or(&mut []);
            let n = match &mut ring {
                Some(ring) => ring.recv(&stream, to)?,
                None => stream.read(to)?,
            };
            anyhow::ensure!(n > 0, "the stream ended {left} bytes early");
            reader.calls.push(ReadCall {
                sport,
                dport,
                pid: reader.pid,
                before_ns,
                after_ns: now_ns(),
                offset,
                bytes: n as u64,
            });
            offset += n as u64;
            left -= n;
        }
        reader.got.push(Got {
            seen_ns,
            delay_ns,
            read_ns: now_ns(),
        });
        next.open();
    }
    Ok(reader)
}

/// The cases of all planted delays.
pub fn cases(
    stream: &TcpStream,
    sent: &[Sent],
    reader: &Reader,
    delays: &[Delay],
    why: &str,
) -> anyhow::Result<Vec<Case>> {
    let (sport, dport) = (stream.local_addr()?.port(), stream.peer_addr()?.port());
    let of = |((s, g), d): ((&Sent, &Got), &Delay)| {
        let stage = match d {
            Delay::None => return None,
            Delay::Sleep(_) => "reader_asleep",
            Delay::Burn(_) => "reader_running",
        };
        let planned = match *d {
            Delay::Sleep(long) | Delay::Burn(long) => i64::try_from(long.as_nanos()).ok(),
            Delay::None => None,
        };
        let (window, ns) = ((s.before_ns, g.read_ns), g.delay_ns.1 - g.delay_ns.0);
        let case = Case::new("rx", (sport, dport), window, stage, ns, why).by(reader.pid);
        Some(
            case.unless_disturbed(planned, g.read_ns - s.after_ns)
                .unless_sending(s.after_ns - s.before_ns),
        )
    };
    Ok(sent.iter().zip(&reader.got).zip(delays).filter_map(of).collect())
}

/// `n` delays of `sleep` and `burn` in turn, growing from 3 ms, with an undelayed message between two.
pub fn plan(n: usize) -> Vec<Delay> {
    let of = |i: usize| {
        let long = planned(3_000 + 700 * (i as u64 % 8));
        match i % 4 {
            1 => Delay::Sleep(long),
            3 => Delay::Burn(long),
            _ => Delay::None,
        }
    };
    (0..2 * n).map(of).collect()
}

/// Plays one connection from `a` to `server` in `b`, whose reader is late as planned; records it, plants what was late.
pub fn play(
    bench: &mut Bench,
    (a, b): (&Netns, &Netns),
    server: ([u8; 4], u16),
    (sizes, delays): (&[usize], &[Delay]),
    ring: Option<Ring>,
    why: &str,
) -> anyhow::Result<()> {
    let session = bench.record(b)?;
    let (client, server) = tcp_pair(a, b, server.into())?;
    let next = Gate::new();
    let (sent, reader) = std::thread::scope(|s| {
        let reading = || read(&server, ring, sizes, delays, &next);
        let reader = spawn(s, "lab-reader", b, Place::ahead(1), reading)?;
        let sender = spawn(s, "lab-sender", a, Place::ahead(0), || send(&client, sizes, &next))?;
        anyhow::Ok((join(sender)?, join(reader)?))
    })?;
    bench.close(session, &client, &server)?;
    for case in cases(&client, &sent, &reader, delays, why)? {
        bench.plant(case);
    }
    bench.truth.reads = reader.calls;
    Ok(())
}
