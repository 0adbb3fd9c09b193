//! A wire between two namespaces that this program carries packet by packet: two tun devices, a thread each way.
//!
//! ```text
//!   namespace a            this program              namespace b
//!   10.66.1.1  wire0 --read--> [pass|hold|drop] --write--> wire0  10.66.1.2
//!                    <-write-- [pass|hold|drop] <--read---
//! ```
//!
//! Every packet is stamped when it comes off a device, so a rig plants a cause by holding or dropping packets and states its
//! size from the stamps, not from the time it meant to sleep. Works alike on every kernel: no netem, no driver.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{Read, Result, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use crate::actors::{AHEAD, await_some};
use crate::net::Netns;
use crate::sys::{self, Layer, now_ns};

/// A way along the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// From the first namespace to the second.
    There,
    /// From the second to the first.
    Back,
}

/// What happens to the packets of one way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Written on at once.
    Pass,
    /// Kept in order until the mode is changed.
    Hold,
    /// The next so many with payload are dropped, the others pass.
    Drop(u32),
    /// The next so many with payload are kept until the mode is changed, the others pass: they come out of order.
    Keep(u32),
}

/// One packet that came off a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    /// When it was read, CLOCK_MONOTONIC ns.
    pub at_ns: i64,
    /// Which way.
    pub way: Way,
    /// Ports and sequence number (0 for UDP), network order undone.
    pub sport: u16,
    /// Destination port.
    pub dport: u16,
    /// First byte's sequence number.
    pub seq: u32,
    /// Payload bytes.
    pub payload: u32,
    /// Whether it was dropped.
    pub dropped: bool,
}

#[derive(Debug)]
struct Side {
    mode: Mode,
    held: VecDeque<Vec<u8>>,
    to: File,
}

#[derive(Debug)]
struct Shared {
    sides: [Mutex<Side>; 2],
    seen: Mutex<Vec<Seen>>,
}

/// The wire; it is gone, with its devices, when the program ends.
#[derive(Debug, Clone)]
pub struct Wire(Arc<Shared>);

fn lock<T>(m: &Mutex<T>) -> MutexGuard<'_, T> {
    m.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Wire {
    /// Makes device `wire0` in both namespaces, 10.66.1.1 and 10.66.1.2, and begins to carry.
    pub fn new(a: &Netns, b: &Netns) -> anyhow::Result<Wire> {
        let at_a = a.inside(|| Ok(sys::attach("wire0", Layer::Ip)?))?;
        let at_b = b.inside(|| Ok(sys::attach("wire0", Layer::Ip)?))?;
        let side = |to: &File| -> Result<Mutex<Side>> {
            Ok(Mutex::new(Side {
                mode: Mode::Pass,
                held: VecDeque::new(),
                to: to.try_clone()?,
            }))
        };
        let shared = Arc::new(Shared {
            sides: [side(&at_b)?, side(&at_a)?],
            seen: Mutex::default(),
        });
        for (way, from) in [(Way::There, at_a), (Way::Back, at_b)] {
            let shared = Arc::clone(&shared);
            thread::Builder::new()
                .name(format!("wire-{way:?}"))
                .spawn(move || carry(&shared, way, from))?;
        }
        for (ns, mine, peer) in [(a, "10.66.1.1", "10.66.1.2"), (b, "10.66.1.2", "10.66.1.1")] {
            ns.ip(&format!("addr add {mine} peer {peer} dev wire0"))?;
            ns.ip("link set wire0 up")?;
            // Every segment is acknowledged at once: a delayed ACK would be a wait of its own.
            ns.ip(&format!("route replace {peer} dev wire0 src {mine} quickack 1"))?;
        }
        Ok(Wire(shared))
    }

    /// Changes what happens to one way; what was held is written on first. Returns when that was done.
    pub fn set(&self, way: Way, mode: Mode) -> Result<i64> {
        let mut side = lock(&self.0.sides[way as usize]);
        side.mode = mode;
        while let Some(packet) = side.held.pop_front() {
            side.to.write_all(&packet)?;
        }
        Ok(now_ns())
    }

    /// Packets with payload that came by so far, in order.
    pub fn seen(&self) -> Vec<Seen> {
        lock(&self.0.seen).clone()
    }

    /// Waits until a packet satisfies `f`.
    pub fn wait(&self, f: impl Fn(&Seen) -> bool) -> anyhow::Result<Seen> {
        await_some("the packet waited for", || {
            Ok(lock(&self.0.seen).iter().find(|s| f(s)).copied())
        })
    }
}

fn carry(shared: &Shared, way: Way, mut from: File) {
    // Its stamps are the truth: nobody else's work should delay them. Without the right to it they are only less sharp.
    let _ = sys::fifo(AHEAD);
    let mut packet = vec![0; 1 << 16];
    // A read ends with an error when the namespace goes.
    while let Ok(n) = from.read(&mut packet) {
        let at_ns = now_ns();
        let bytes = packet.get(..n).unwrap_or_default();
        let seen = parse(bytes, at_ns, way);
        let mut side = lock(&shared.sides[way as usize]);
        let mut dropped = false;
        match (side.mode, seen) {
            (Mode::Hold, _) => side.held.push_back(bytes.to_vec()),
            (Mode::Drop(more), Some(_)) if more > 0 => {
                side.mode = Mode::Drop(more - 1);
                dropped = true;
            }
            (Mode::Keep(more), Some(_)) if more > 0 => {
                side.mode = Mode::Keep(more - 1);
                side.held.push_back(bytes.to_vec());
            }
            _ => drop(side.to.write_all(bytes)),
        }
        if let Some(s) = seen {
            lock(&shared.seen).push(Seen { dropped, ..s });
        }
    }
}

/// An IPv4 TCP or UDP packet that has payload.
fn parse(packet: &[u8], at_ns: i64, way: Way) -> Option<Seen> {
    let u16_at = |at: usize| Some(u16::from_be_bytes(packet.get(at..at + 2)?.try_into().ok()?));
    let first = *packet.first()?;
    if first >> 4 != 4 {
        return None;
    }
    let ip = usize::from(first & 15) * 4;
    let (head, seq) = match packet.get(9)? {
        6 => (
            usize::from(packet.get(ip + 12)? >> 4) * 4,
            u32::from_be_bytes(packet.get(ip + 4..ip + 8)?.try_into().ok()?),
        ),
        17 => (8, 0),
        _ => return None,
    };
    let payload = u32::try_from(usize::from(u16_at(2)?).checked_sub(ip + head)?).ok()?;
    (payload > 0).then_some(Seen {
        at_ns,
        way,
        sport: u16_at(ip)?,
        dport: u16_at(ip + 2)?,
        seq,
        payload,
        dropped: false,
    })
}
