//! A packet tap on one device: TCP segments with payload as they arrive or leave.

use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use anyhow::anyhow;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::net::Netns;
use crate::sys::PacketSocket;

/// A segment with payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// Whether it left by this device.
    pub outgoing: bool,
    /// Source port.
    pub sport: u16,
    /// Destination port.
    pub dport: u16,
    /// Sequence number of its first byte.
    pub seq: u32,
    /// Payload, bytes.
    pub bytes: u32,
}

/// A tap under way.
#[derive(Debug)]
pub struct Tap {
    stop: Arc<AtomicBool>,
    worker: JoinHandle<anyhow::Result<Vec<Segment>>>,
}

impl Tap {
    /// On a device.
    pub fn start(ns: &Netns, dev: &str) -> anyhow::Result<Tap> {
        let socket = ns.inside(|| {
            let socket = PacketSocket::new()?;
            rustix::net::sockopt::set_socket_recv_buffer_size_force(&socket, 16 << 20)?;
            socket.bind(dev)?;
            Ok(socket)
        })?;
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let worker = std::thread::Builder::new().name("lab-tap".into());
        let worker = worker.spawn(move || {
            let (mut all, mut buffer) = (vec![], vec![0u8; 256]);
            let wait = Timespec {
                tv_sec: 0,
                tv_nsec: 20_000_000,
            };
            loop {
                // Asked before the last look, so nothing that came before the end is left.
                let last = stopped.load(Ordering::Acquire);
                while let Some(got) = socket.take(&mut buffer)? {
                    let packet = buffer.get(..got.len.min(256)).unwrap_or(&[]);
                    all.extend(segment(packet, got.outgoing));
                }
                if last {
                    return Ok(all);
                }
                poll(&mut [PollFd::new(&socket, PollFlags::IN)], Some(&wait))?;
            }
        })?;
        Ok(Tap { stop, worker })
    }
    /// Ends it and writes what it saw.
    pub fn finish(self, path: &Path) -> anyhow::Result<()> {
        self.stop.store(true, Ordering::Release);
        let all = self.worker.join().map_err(|_| anyhow!("the tap panicked"))??;
        let mut out = String::from("outgoing,sport,dport,seq,bytes\n");
        for s in all {
            let _ = writeln!(out, "{},{},{},{},{}", s.outgoing, s.sport, s.dport, s.seq, s.bytes);
        }
        Ok(std::fs::write(path, out)?)
    }
}

/// Reads `pcap.csv`.
pub fn load(path: &Path) -> anyhow::Result<Vec<Segment>> {
    let text = std::fs::read_to_string(path)?;
    let line = |l: &str| {
        let mut w = l.split(',');
        Some(Segment {
            outgoing: w.next()?.parse().ok()?,
            sport: w.next()?.parse().ok()?,
            dport: w.next()?.parse().ok()?,
            seq: w.next()?.parse().ok()?,
            bytes: w.next()?.parse().ok()?,
        })
    };
    Ok(text.lines().skip(1).filter_map(line).collect())
}

/// A TCP segment with payload in an Ethernet frame (IPv4, RFC 791 and 9293).
pub fn segment(frame: &[u8], outgoing: bool) -> Option<Segment> {
    let u16_at = |p: &[u8], at: usize| Some(u16::from_be_bytes(p.get(at..at + 2)?.try_into().ok()?));
    let ip = frame.get(14..)?;
    if u16_at(frame, 12)? != 0x0800 || *ip.get(9)? != 6 {
        return None;
    }
    let header = usize::from(*ip.first()? & 15) * 4;
    let tcp = ip.get(header..)?;
    let offset = usize::from(*tcp.get(12)? >> 4) * 4;
    let bytes = usize::from(u16_at(ip, 2)?).checked_sub(header + offset)?;
    (bytes > 0).then_some(Segment {
        outgoing,
        sport: u16_at(tcp, 0)?,
        dport: u16_at(tcp, 2)?,
        seq: u32::from_be_bytes(tcp.get(4..8)?.try_into().ok()?),
        bytes: bytes as u32,
    })
}
