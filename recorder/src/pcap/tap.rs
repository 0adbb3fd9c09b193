//! One interface: its socket, and the thread that turns blocks into members.

use std::io;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use netmortem_formats::bundle::{self, PacketsName, PagesEncoder, PlannedTap, TapEnd};
use netmortem_formats::pcapng::{SectionHead, SectionWriter};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::netdevice::name_to_index;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

use super::frames::{Frame, frames};
use super::headers::header_bytes;
use super::ring::{Link, Ring, Socket};
use super::{Stop, TapSpec, filter};
use crate::clock::now_ns;
use crate::drain::Shared;
use crate::error::RecordError;
use crate::snapshot::interface_elsewhere;
use crate::snapshot::netns;

/// A member is written when this much is waiting, or the oldest packet has waited this long.
const BATCH_BYTES: usize = 512 << 10;
const BATCH_AGE: Duration = Duration::from_millis(750);
const POLL: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 250_000_000,
};
/// At the end: how long the last block may take to come out of the kernel.
const LAST_BLOCK: Duration = Duration::from_secs(2);
/// What the kernel hands over when only headers are kept: the longest chain of them that is usual, twice.
const HEADERS_SNAPLEN: u32 = 256;
/// "All of it": more than any packet has, and what tools accept.
const WHOLE: u32 = 262_144;

const LINKTYPE_ETHERNET: u16 = 1;
const LINKTYPE_RAW: u16 = 101;

/// An interface being tapped.
pub struct Tap {
    /// For the manifest.
    pub plan: PlannedTap,
    number: u32,
    label: String,
    // Before the socket, so that it is unmapped first.
    ring: Ring,
    socket: Socket,
    ethernet: bool,
    section: SectionWriter,
    encoder: PagesEncoder,
    sequence: u64,
    oldest: Option<Instant>,
    end: TapEnd,
    /// Counters already told in a section.
    told: [u64; 2],
    unread: u64,
    /// The interface was down at some time.
    down: bool,
}

impl Tap {
    /// Opens a socket and a ring; no packet is taken yet.
    pub fn open(
        number: u32,
        spec: &TapSpec,
        snaplen: Option<u32>,
        ports: &[u16],
        ring_kib: u64,
    ) -> Result<Tap, RecordError> {
        let label = spec.to_string();
        let refuse = |because: String| RecordError::Packets {
            tap: label.clone(),
            because,
        };
        if ports.len() > filter::MAX_PORTS {
            let most = filter::MAX_PORTS;
            return Err(refuse(format!("packets can be filtered by at most {most} ports")));
        }
        let failed = |e: io::Error| match e.kind() {
            io::ErrorKind::PermissionDenied => RecordError::NoPacketPermission { tap: label.clone() },
            _ if e.kind() == io::ErrorKind::NotFound && spec.netns.is_none() => {
                refuse(format!("there is no such interface here{}", elsewhere(&spec.name)))
            }
            _ => refuse(e.to_string()),
        };
        let (netns, opened) = match &spec.netns {
            None => (netns::own_inode().unwrap_or(0), open_here(&spec.name)),
            Some(name) => {
                let space = netns::list().into_iter().find(|n| n.is_called(name));
                let space = space.ok_or_else(|| {
                    refuse(format!(
                        "there is no network namespace {name} (ip netns lists those with a name)"
                    ))
                })?;
                let inside = space.inside(|| open_here(&spec.name));
                (
                    space.inode,
                    inside.map_err(|e| refuse(format!("network namespace {name}: {e}")))?,
                )
            }
        };
        let (ifindex, socket) = opened.map_err(failed)?;
        let link = socket.link;
        let (network, loopback) = match link {
            Link::Ethernet { loopback } => (14, loopback),
            Link::Ip => (0, false),
        };
        let kept = match snaplen {
            None => HEADERS_SNAPLEN,
            Some(0) => WHOLE,
            Some(n) => n.min(WHOLE),
        };
        let program = filter::program(ports, network, kept, loopback);
        socket.filter(&program).map_err(failed)?;
        let ring = Ring::map(&socket, ring_kib.saturating_mul(1024)).map_err(failed)?;
        let plan = PlannedTap {
            name: spec.name.clone(),
            ifindex,
            netns,
            netns_name: spec.netns.clone().unwrap_or_default(),
            link_type: if link == Link::Ip {
                LINKTYPE_RAW
            } else {
                LINKTYPE_ETHERNET
            },
            snaplen: snaplen.map(|_| kept),
            filter: filter::text(ports),
            ring_bytes: ring.bytes(),
        };
        let head = SectionHead {
            application: concat!("netmortem-record ", env!("CARGO_PKG_VERSION")).to_owned(),
            os: crate::host::host(0).kernel_release,
            link_type: plan.link_type,
            snaplen: kept,
            name: plan.name.clone(),
            description: plan.netns_text(),
            filter: plan.filter.clone(),
        };
        Ok(Tap {
            end: TapEnd {
                name: plan.name.clone(),
                received: Some(0),
                dropped: Some(0),
                freezes: Some(0),
                ..TapEnd::default()
            },
            plan,
            number,
            label: label.clone(),
            ring,
            socket,
            ethernet: link != Link::Ip,
            section: SectionWriter::new(&head),
            encoder: PagesEncoder::new(1).map_err(|e| refuse(e.to_string()))?,
            sequence: 0,
            oldest: None,
            told: [0; 2],
            unread: 0,
            down: false,
        })
    }

    /// Takes packets until told to stop; what became of it. The only error is of the output.
    pub fn run(&mut self, shared: &Shared, stop: &Stop) -> Result<TapEnd, RecordError> {
        let mut open = match self.socket.begin() {
            Ok(()) => true,
            Err(e) => {
                self.note(format!("could not begin: {e}"));
                false
            }
        };
        while !stop.told.load(Ordering::Acquire) {
            self.take(shared)?;
            if self.oldest.is_some_and(|t| t.elapsed() >= BATCH_AGE) {
                self.flush(shared)?;
                shared.writer().flush().map_err(RecordError::output)?;
            }
            let mut fds = vec![PollFd::new(&stop.wake, PollFlags::IN)];
            if open {
                fds.push(PollFd::new(&self.socket, PollFlags::IN | PollFlags::ERR));
            }
            let polled = poll(&mut fds, Some(&POLL));
            let error = fds.get(1).is_some_and(|f| f.revents().contains(PollFlags::ERR));
            match polled {
                Ok(_) | Err(Errno::INTR) if error => self.judge_error(),
                Ok(_) | Err(Errno::INTR) => {}
                Err(e) => {
                    self.note(format!("waiting for packets failed: {e}"));
                    // They are looked for four times a second from here.
                    std::thread::sleep(Duration::from_millis(250));
                }
            }
            open = open && !self.has_gone();
        }
        // What happened since the last look.
        if open {
            self.judge_error();
            open = !self.has_gone();
        }
        if open && self.down {
            self.note("the interface was down for a while".to_owned());
        }
        self.finish(shared)?;
        Ok(std::mem::take(&mut self.end))
    }

    /// An interface is taken down first, and away a little later, which the socket is not told.
    fn has_gone(&mut self) -> bool {
        let gone = self.down && self.socket.interface_is_gone();
        if gone {
            self.note("the interface is gone; its packets up to then are recorded".to_owned());
        }
        gone
    }

    /// The interface went down, or another error waits at the socket.
    fn judge_error(&mut self) {
        match self.socket.take_error() {
            0 => {}
            libc::ENETDOWN => self.down = true,
            e => self.note(io::Error::from_raw_os_error(e).to_string()),
        }
    }

    fn note(&mut self, what: String) {
        let sentence = format!("--pcap {}: {what}", self.label);
        if !self.end.notes.contains(&sentence) {
            self.end.notes.push(sentence);
        }
    }

    /// Reads the blocks that are ours; returns whether there was one.
    fn take(&mut self, shared: &Shared) -> Result<bool, RecordError> {
        let (ethernet, cut) = (self.ethernet, self.plan.snaplen.is_none());
        let mut any = false;
        loop {
            let (section, end) = (&mut self.section, &mut self.end);
            let read = |block: &[u8]| frames(block, ethernet, &mut |f| put(section, end, &f, ethernet, cut));
            let Some(unread) = self.ring.next_block(read) else {
                return Ok(any);
            };
            any = true;
            self.unread += unread;
            if !self.section.is_empty() {
                self.oldest.get_or_insert_with(Instant::now);
            }
            if self.section.len() >= BATCH_BYTES {
                self.flush(shared)?;
            }
        }
    }

    /// Adds the kernel's counters.
    fn count(&mut self) {
        match self.socket.counted() {
            Ok(c) => {
                let add = |sum: &mut Option<u64>, n| *sum = sum.map(|s| s.saturating_add(n));
                add(&mut self.end.received, c.packets);
                add(&mut self.end.dropped, c.drops);
                add(&mut self.end.freezes, c.freezes);
            }
            Err(e) => {
                (self.end.received, self.end.dropped, self.end.freezes) = (None, None, None);
                self.note(format!("its losses are unknown: {e}"));
            }
        }
    }

    /// Ends the section and writes it.
    fn flush(&mut self, shared: &Shared) -> Result<(), RecordError> {
        self.oldest = None;
        self.count();
        let now = [self.end.received, self.end.dropped].map(|n| n.unwrap_or(0));
        let [received, dropped] = [0, 1].map(|i| {
            let before = self.told.get(i).copied().unwrap_or(0);
            now.get(i).copied().unwrap_or(0).saturating_sub(before)
        });
        self.told = now;
        let ns = u64::try_from(now_ns(rustix::time::ClockId::Realtime)).unwrap_or(0);
        let frame = self
            .encoder
            .encode(&self.section.finish(ns, received, dropped))
            .map_err(RecordError::output)?;
        self.sequence += 1;
        let name = bundle::packets_name(PacketsName {
            tap: self.number,
            sequence: self.sequence,
        });
        let mut writer = shared.writer();
        writer.append(&name, &frame).map_err(RecordError::output)?;
        shared.bundle_bytes.store(writer.bytes_written(), Ordering::Relaxed);
        Ok(())
    }

    /// Closes the gate, takes what is left and writes it. The kernel's count says when that is all.
    fn finish(&mut self, shared: &Shared) -> Result<(), RecordError> {
        if let Err(e) = self.socket.filter(&filter::nothing()) {
            self.note(format!("packets went on while the last were read: {e}"));
        }
        let closed = Instant::now();
        loop {
            self.take(shared)?;
            self.count();
            let due = self
                .end
                .received
                .zip(self.end.dropped)
                .map(|(r, d)| r.saturating_sub(d));
            // A last one may still be on its way through the old filter: the block is retired after a tenth of a second.
            let all = due.is_none_or(|due| self.end.packets + self.unread >= due);
            if all && closed.elapsed() >= Duration::from_millis(20) && !self.take(shared)? {
                break;
            }
            if closed.elapsed() >= LAST_BLOCK {
                let missing = due.unwrap_or(0).saturating_sub(self.end.packets);
                self.note(format!(
                    "{missing} packets stayed in the kernel and are not in the bundle"
                ));
                break;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        if self.unread > 0 {
            self.note(format!("{} packets could not be read out of the ring", self.unread));
        }
        self.flush(shared)?;
        if let Some(n) = self.end.dropped.filter(|n| *n > 0) {
            self.note(format!("{n} packets lost; a larger --pcap-buffer loses fewer"));
        }
        Ok(())
    }
}

/// Puts a frame into the section.
fn put(section: &mut SectionWriter, end: &mut TapEnd, f: &Frame<'_>, ethernet: bool, cut: bool) {
    let kept = match cut {
        true => header_bytes(f.data, ethernet),
        false => f.data.len(),
    };
    let data = f.data.get(..kept).unwrap_or(f.data);
    // The kernel took the tag out; it was behind the two addresses.
    let tag = f
        .vlan
        .map(|[tpid, tci]| ((u32::from(tpid) << 16) | u32::from(tci)).to_be_bytes());
    match (tag, data.split_at_checked(12)) {
        (Some(tag), Some((addresses, rest))) => {
            section.packet(
                f.ns,
                &[addresses, &tag, rest],
                f.original_bytes.saturating_add(4),
                f.way,
            );
            end.captured_bytes += 4;
        }
        _ => section.packet(f.ns, &[data], f.original_bytes, f.way),
    }
    end.packets += 1;
    end.captured_bytes += data.len() as u64;
}

/// Number and socket of an interface of the network namespace that the calling thread is in.
/// What to ask for instead, when other namespaces have an interface of this name.
fn elsewhere(name: &str) -> String {
    let found: Vec<String> = interface_elsewhere(name)
        .iter()
        .map(|(space, _)| format!("--pcap netns:{}/{name}", space.called()))
        .collect();
    match found.is_empty() {
        true => " (ip link lists them)".to_owned(),
        false => format!("; there is in other network namespaces: {}", found.join(", ")),
    }
}

fn open_here(name: &str) -> io::Result<(u32, Socket)> {
    let any = socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
    let ifindex = name_to_index(&any, name).map_err(|e| match e {
        Errno::NODEV => io::Error::new(io::ErrorKind::NotFound, "there is no such interface in it"),
        e => e.into(),
    })?;
    Ok((ifindex, Socket::open(ifindex)?))
}
