//! A Perfetto trace of the facts: what ui.perfetto.dev and trace_processor open.
//!
//! In: facts, and the capture for its clocks. Out: TracePacket messages (protobuf), track events only. Every slice carries
//! the id that `netmortem explain` takes. Must not compute: what it draws are rows of the tables.
//! Spec: github.com/google/perfetto, protos/perfetto/trace/.
//!
//! ```text
//! CPU 0      softirq      [NET_RX ][SCHED]      slices of `softirqs`
//!            napi          [poll]               slices of `polls`
//!            packets       |in  |received       instants of `rx` and `tx`; an arrow (flow) joins those of one skb
//!            lost events  [        ]            gaps: nothing is known here
//! threads    curl (7)     [send]    [copy]      where an skb comes from, and where it is read
//! conn:0     cwnd, srtt, in flight              counters of `tcp_samples`; retransmissions and ACKs as instants
//! ```
//! Slices of a track must nest, so what overlaps (copies of several units by one read) gets a lane more.

mod proto;
mod threads;
mod track;

use std::io::{self, Write};

use netmortem_formats::Capture;
use rustc_hash::FxHashMap;

use self::threads::Threads;
use self::track::{Arg, Packets, What};
use crate::facts::Facts;
use crate::reconstruct::softirq::tables::VECTORS;

/// What was written, for people and for tests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct Written {
    /// TracePacket messages.
    pub packets: u64,
    /// Softirq runs whose end was seen.
    pub softirqs: u64,
    /// Polls whose begin was seen.
    pub polls: u64,
    /// Received units with at least two moments that an arrow joins.
    pub received: u64,
    /// The same of sent ones.
    pub sent: u64,
    /// Drops.
    pub drops: u64,
    /// Retransmissions.
    pub retransmits: u64,
    /// Samples of connections, each three values.
    pub samples: u64,
    /// Gaps.
    pub gaps: u64,
}

/// Tracks by kind; the lower half of a number says which.
const CPU: u64 = 1 << 32;
const SOFTIRQ: u64 = 2 << 32;
const NAPI: u64 = 3 << 32;
const PACKETS: u64 = 4 << 32;
const LOST: u64 = 5 << 32;
const CONNECTION: u64 = 6 << 32;
const CWND: u64 = 7 << 32;
const SRTT: u64 = 8 << 32;
const IN_FLIGHT: u64 = 9 << 32;
const THREADS: u64 = 10 << 32;
/// Flows of ACKs; those of skbs are their numbers plus one.
const ACKS: u64 = 1 << 40;

/// Writes the trace.
pub fn write(facts: &Facts, capture: &Capture, out: impl Write) -> io::Result<Written> {
    let pair = capture.clock_pairs.first().filter(|_| facts.capture.clock == "mono");
    let clock = pair.and_then(|p| Some((p.monotonic_ns, p.realtime_ns?, p.boottime_ns)));
    let mut p = Packets::new(out, clock)?;
    let mut w = Written::default();
    cpus(facts, &mut p, &mut w)?;
    connections(facts, &mut p, &mut w)?;
    let mut threads = Threads::default();
    received(facts, &mut p, &mut threads, &mut w)?;
    sent(facts, &mut p, &mut threads, &mut w)?;
    threads.write(&mut p, THREADS)?;
    w.packets = p.finish()?;
    Ok(w)
}

fn cpus<W: Write>(facts: &Facts, p: &mut Packets<W>, w: &mut Written) -> io::Result<()> {
    let mut cpus: Vec<u64> = facts.capture.streams.iter().map(|s| u64::from(s.cpu)).collect();
    cpus.sort_unstable();
    cpus.dedup();
    for cpu in cpus {
        p.track(CPU | cpu, None, &format!("CPU {cpu}"), cpu as i32)?;
        for (rank, (kind, name)) in [
            (SOFTIRQ, "softirq"),
            (NAPI, "napi"),
            (PACKETS, "packets"),
            (LOST, "lost events"),
        ]
        .into_iter()
        .enumerate()
        {
            p.track(kind | cpu, Some(CPU | cpu), name, rank as i32)?;
        }
    }
    for (i, r) in facts.softirqs.iter().enumerate() {
        let Some(end) = r.end_ns else { continue };
        let mut args = vec![("run_by", Arg::Text(r.run_by.word()))];
        let id = format!("softirq:{i}");
        args.push(("id", Arg::Text(&id)));
        if let Some(raised) = r.raise_ns {
            args.push(("waited_ns", Arg::Int(r.start_ns.wrapping_sub(raised))));
        }
        let what = What {
            name: VECTORS.get(r.vec as usize).copied().unwrap_or("softirq"),
            category: "softirq",
            args,
            ..What::default()
        };
        p.slice(SOFTIRQ | u64::from(r.cpu), (r.start_ns, end), &what)?;
        w.softirqs += 1;
    }
    // Polls of one CPU follow each other; where an inferred begin reaches into the one before, it begins at that one's end.
    let mut last: FxHashMap<u16, i64> = FxHashMap::default();
    for (i, r) in facts.polls.iter().enumerate() {
        let Some(start) = r.start_ns else { continue };
        let free = last.insert(r.cpu, r.end_ns).unwrap_or(i64::MIN);
        let (dev, id) = (r.dev.text(), format!("poll:{i}"));
        let mut args = vec![("id", Arg::Text(&id)), ("run_by", Arg::Text(r.run_by.word()))];
        args.extend(r.work.map(|n| ("work", Arg::Int(n.into()))));
        args.extend(r.budget.map(|n| ("budget", Arg::Int(n.into()))));
        let what = What {
            name: &format!("poll {dev}"),
            category: "napi",
            args,
            ..What::default()
        };
        p.slice(NAPI | u64::from(r.cpu), (start.max(free), r.end_ns), &what)?;
        w.polls += 1;
    }
    for (i, r) in facts.drops.iter().enumerate() {
        let row = crate::explain::row(facts, "drops", i);
        let cell = |name: &str| {
            let of = row.iter().flat_map(|r| &r.cells).find(|c| c.name == name);
            of.and_then(|c| c.value.as_ref())
                .map_or_else(String::new, ToString::to_string)
        };
        let (reason, location, id) = (cell("reason"), cell("location"), format!("drop:{i}"));
        let expected = r.expected.map_or("not known", |e| if e { "yes" } else { "no" });
        let what = What {
            name: &format!("drop {reason}"),
            category: "drop",
            args: vec![
                ("id", Arg::Text(&id)),
                ("location", Arg::Text(&location)),
                ("expected", Arg::Text(expected)),
            ],
            ..What::default()
        };
        p.instant(PACKETS | u64::from(r.cpu), r.time_ns, &what)?;
        w.drops += 1;
    }
    let span = (facts.capture.start_ns.unwrap_or(0), facts.capture.end_ns.unwrap_or(0));
    for g in &facts.gaps {
        let what = What {
            name: g.cause,
            category: "loss",
            args: g
                .lost_events
                .map(|n| ("lost_events", Arg::Int(n as i64)))
                .into_iter()
                .collect(),
            ..What::default()
        };
        let (from, to) = (g.start_ns.unwrap_or(span.0), g.end_ns.unwrap_or(span.1));
        p.slice(LOST | u64::from(g.cpu), (from, to), &what)?;
        w.gaps += 1;
    }
    Ok(())
}

fn connections<W: Write>(facts: &Facts, p: &mut Packets<W>, w: &mut Written) -> io::Result<()> {
    for c in &facts.connections {
        let n = u64::from(c.connection.0);
        let name = format!("conn:{n} {}", crate::analyses::tcp::label(c));
        p.track(CONNECTION | n, None, &name, 0)?;
        if c.samples > 0 {
            p.counter_track(CWND | n, CONNECTION | n, "cwnd", "packets")?;
            p.counter_track(SRTT | n, CONNECTION | n, "srtt", "us")?;
            p.counter_track(IN_FLIGHT | n, CONNECTION | n, "in flight", "bytes")?;
        }
    }
    for s in &facts.tcp_samples {
        let n = u64::from(s.connection.0);
        p.value(CWND | n, s.time_ns, s.snd_cwnd.into())?;
        p.value(SRTT | n, s.time_ns, s.srtt_us.into())?;
        p.value(IN_FLIGHT | n, s.time_ns, s.snd_nxt.wrapping_sub(s.snd_una).into())?;
        w.samples += 1;
    }
    for (i, r) in facts.retransmits.iter().enumerate() {
        // Of no known connection: on a track of their own, never on another's.
        let n = r.connection.map_or(u64::from(u32::MAX), |c| u64::from(c.0));
        let id = format!("retransmit:{i}");
        let what = What {
            name: &format!("retransmit {}", r.class.word()),
            category: "retransmit",
            args: vec![("id", Arg::Text(&id)), ("confidence", Arg::Text(r.confidence.word()))],
            ..What::default()
        };
        p.instant(CONNECTION | n, r.time_ns, &what)?;
        w.retransmits += 1;
    }
    if facts.retransmits.iter().any(|r| r.connection.is_none()) {
        p.track(CONNECTION | u64::from(u32::MAX), None, "sockets not known", 1)?;
    }
    Ok(())
}

fn received<W: Write>(facts: &Facts, p: &mut Packets<W>, threads: &mut Threads, w: &mut Written) -> io::Result<()> {
    use crate::reconstruct::receive::tables::{RxEnd, Stage};
    for r in &facts.rx {
        let (id, dev) = (format!("rx:{}", r.skb_id.0), r.dev.text());
        let flow = u64::from(r.skb_id.0) + 1;
        let args = || {
            let mut of = vec![
                ("id", Arg::Text(&id)),
                ("dev", Arg::Text(&dev)),
                ("total_ns", Arg::Int(r.total_ns)),
                ("confidence", Arg::Text(r.confidence.word())),
            ];
            of.extend(r.bytes.map(|b| ("bytes", Arg::Int(b.into()))));
            of
        };
        let what = |name| What {
            name,
            category: "receive",
            flows: vec![flow],
            args: args(),
        };
        let track = PACKETS | u64::from(r.cpu);
        p.instant(track, r.start_ns, &what(r.start.word()))?;
        if r.end != RxEnd::Read {
            continue;
        }
        let end = r.start_ns.saturating_add(r.total_ns);
        let known = |s| r.stage(s).unwrap_or(0);
        let taken = end.wrapping_sub(known(Stage::Copy)).wrapping_sub(known(Stage::Return));
        if let Some(queue) = r.rcvq_ns {
            p.instant(track, taken.wrapping_sub(queue), &what("readable"))?;
        }
        threads.add(r.pid, r.task, (taken, end), "read", flow, &id);
        w.received += 1;
    }
    Ok(())
}

fn sent<W: Write>(facts: &Facts, p: &mut Packets<W>, threads: &mut Threads, w: &mut Written) -> io::Result<()> {
    use crate::reconstruct::transmit::tables::TxStart;
    for r in &facts.tx {
        let (id, dev) = (format!("tx:{}", r.skb_id.0), r.dev.text());
        let (flow, ack) = (u64::from(r.skb_id.0) + 1, ACKS | u64::from(r.skb_id.0));
        let what = |name, flows| {
            let mut args = vec![
                ("id", Arg::Text(&id)),
                ("dev", Arg::Text(&dev)),
                ("total_ns", Arg::Int(r.total_ns)),
                ("confidence", Arg::Text(r.confidence.word())),
            ];
            args.extend(r.bytes.map(|b| ("bytes", Arg::Int(b.into()))));
            What {
                name,
                category: "transmit",
                flows,
                args,
            }
        };
        let track = PACKETS | u64::from(r.cpu);
        if r.start == TxStart::Sendmsg && r.pid > 0 {
            threads.add(r.pid, r.task, (r.start_ns, r.start_ns), "send", flow, &id);
        }
        let acked = r.t_ack_ns.zip(r.connection);
        let queued = match (acked.is_some(), r.t_snd_ns) {
            (true, None) => vec![flow, ack],
            _ => vec![flow],
        };
        p.instant(track, r.t_sched_ns, &what("queue", queued))?;
        if let Some(t) = r.t_snd_ns {
            let flows = match acked {
                Some(_) => vec![flow, ack],
                None => vec![flow],
            };
            p.instant(track, t, &what("xmit", flows))?;
        }
        if let Some((t, c)) = acked {
            p.instant(CONNECTION | u64::from(c.0), t, &what("acked", vec![ack]))?;
        }
        w.sent += 1;
    }
    Ok(())
}
