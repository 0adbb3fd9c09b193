//! What there is of each interface: packets, bytes, when, and what was lost. Reads every packet's head, no packet.

use std::collections::BTreeMap;

use super::reader::{Interface, Item, items};
use crate::bundle::{self, PlannedTap};
use crate::bytes_decode::decode;
use crate::capture::{Capture, Coding, MemberId, Problem};
use crate::error::FormatError;
use crate::item::Locus;

/// More different interfaces in one capture are damage, not a machine.
const MAX_TAPS: usize = 4096;

/// The packets of one interface of a capture.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tap {
    /// Name of the interface; empty when not recorded.
    pub name: String,
    /// A text about it: its network namespace in a bundle; empty when not recorded.
    pub description: String,
    /// LINKTYPE number.
    pub link_type: u16,
    /// Packets.
    pub packets: u64,
    /// Of these, sent by the host.
    pub outbound: u64,
    /// Bytes of packets that were kept.
    pub captured_bytes: u64,
    /// Bytes that these packets had.
    pub original_bytes: u64,
    /// First and last timestamp, ns of CLOCK_REALTIME.
    pub first_last_ns: Option<(i64, i64)>,
    /// Packets that reached the tap, lost ones included; `None` when a section does not say.
    pub received: Option<u64>,
    /// Packets lost before they could be read; `None` when a section does not say.
    pub dropped: Option<u64>,
    /// What could not be read.
    pub problems: Vec<Problem>,
    /// Statistics of the section being read.
    counted: Option<(Option<u64>, Option<u64>)>,
    /// A section of it was read before.
    seen: bool,
}

impl Tap {
    /// Ends a section: its last statistics are added.
    fn conclude(&mut self) {
        let (received, dropped) = self.counted.take().unwrap_or_default();
        let add = |sum: Option<u64>, n: Option<u64>, seen| match seen {
            true => Some(sum?.saturating_add(n?)),
            false => n,
        };
        self.received = add(self.received, received, self.seen);
        self.dropped = add(self.dropped, dropped, self.seen);
        self.seen = true;
    }
}

/// Every interface of a bundle's `packets/` members, or of a pcapng or pcap file, in the order of the capture.
/// Interfaces of several sections that agree in number, name and description are one.
pub fn taps(capture: &Capture) -> Vec<Tap> {
    match capture.format {
        super::PCAP | super::PCAPNG => {
            let mut one = Reading::default();
            one.read(&capture.bytes, Locus::default(), capture.format);
            one.finish()
        }
        _ => of_bundle(capture),
    }
}

fn of_bundle(capture: &Capture) -> Vec<Tap> {
    let plan = capture.manifest.as_ref().and_then(|m| m.get("plan")?.get("packets"));
    let plan: Vec<PlannedTap> = plan
        .and_then(|p| serde::Deserialize::deserialize(p).ok())
        .unwrap_or_default();
    let mut by_tap: BTreeMap<u32, (u64, Reading)> = BTreeMap::new();
    for (n, _) in plan.iter().enumerate() {
        by_tap.entry(u32::try_from(n).unwrap_or(u32::MAX)).or_default();
    }
    for (i, m) in capture.members.iter().enumerate() {
        let Some(name) = bundle::parse_packets_name(&m.name) else {
            continue;
        };
        let (expected, reading) = by_tap.entry(name.tap).or_default();
        *expected = expected.saturating_add(1);
        if name.sequence != *expected {
            let message = format!(
                "packets/{}: member {} where {expected} was due; what lies between is lost",
                name.tap, name.sequence
            );
            reading.problem(None, message, "");
            *expected = name.sequence;
        }
        let locus = Locus {
            member: MemberId(u32::try_from(i).unwrap_or(u32::MAX)),
            stream: name.tap,
            offset: 0,
        };
        let coded = usize::try_from(m.range.start)
            .ok()
            .zip(usize::try_from(m.range.end).ok())
            .and_then(|(a, b)| capture.bytes.get(a..b))
            .unwrap_or_default();
        let size = zstd::zstd_safe::get_frame_content_size(coded).ok().flatten();
        match decode(coded, Coding::Zstd { size }, locus) {
            Ok(bytes) => reading.read(&bytes, locus, &m.name),
            Err(e) => {
                reading.unknown = true;
                reading.problem(Some(e), format!("{}: its packets are lost ({e})", m.name), &m.name);
            }
        }
    }
    let mut out = Vec::new();
    for (n, (_, reading)) in by_tap {
        let planned = plan.get(n as usize);
        let mut of_tap = reading.finish();
        if let (true, Some(p)) = (of_tap.iter().all(|t| t.name.is_empty() && t.packets == 0), planned) {
            // Nothing was written before the cut.
            let problems = of_tap.into_iter().flat_map(|t| t.problems).collect();
            of_tap = vec![Tap {
                name: p.name.clone(),
                description: p.netns_text(),
                link_type: p.link_type,
                problems,
                ..Tap::default()
            }];
        }
        out.extend(of_tap);
    }
    out
}

/// One file, or the members of one tap.
#[derive(Default)]
struct Reading {
    taps: Vec<Tap>,
    keys: BTreeMap<(u32, String, String), usize>,
    problems: Vec<Problem>,
    /// A part is missing: no total is known.
    unknown: bool,
}

impl Reading {
    fn problem(&mut self, error: Option<FormatError>, message: String, member: &str) {
        self.problems.push(Problem {
            error,
            message,
            member: member.to_owned(),
        });
    }

    fn read(&mut self, bytes: &[u8], locus: Locus, member: &str) {
        // Interfaces of the section, and where they are in `taps`.
        let mut section: Vec<(Interface, usize)> = Vec::new();
        let (mut homeless, mut damaged) = (0u64, 0u64);
        for item in items(bytes, locus) {
            match item {
                Ok(Item::Section) => self.end_section(&mut section),
                Ok(Item::Interface(i)) => {
                    if let Some(at) = self.tap_of(&i) {
                        section.push((i, at));
                    }
                }
                Ok(Item::Packet(p)) => {
                    let of = section.get(p.interface as usize);
                    let Some((interface, t)) = of.and_then(|(i, at)| Some((i, self.taps.get_mut(*at)?))) else {
                        homeless = homeless.saturating_add(1);
                        continue;
                    };
                    t.packets = t.packets.saturating_add(1);
                    t.outbound = t
                        .outbound
                        .saturating_add(u64::from(p.flags.is_some_and(|f| f & 3 == 2)));
                    t.captured_bytes = t.captured_bytes.saturating_add(p.data.len() as u64);
                    t.original_bytes = t.original_bytes.saturating_add(u64::from(p.original_bytes));
                    if let Some(ns) = p.ts.and_then(|ts| interface.realtime_ns(ts)) {
                        let (first, last) = t.first_last_ns.unwrap_or((ns, ns));
                        t.first_last_ns = Some((first.min(ns), last.max(ns)));
                    }
                }
                Ok(Item::Statistics(s)) => {
                    let at = section.get(s.interface as usize).map(|(_, at)| *at);
                    if let Some(t) = at.and_then(|at| self.taps.get_mut(at)) {
                        let dropped = match (s.interface_dropped, s.os_dropped) {
                            (None, None) => None,
                            (a, b) => Some(a.unwrap_or(0).saturating_add(b.unwrap_or(0))),
                        };
                        t.counted = Some((s.received, dropped));
                    }
                }
                Ok(Item::Skipped { damaged: true, .. }) => damaged = damaged.saturating_add(1),
                Ok(Item::Skipped { .. }) => {}
                Err(e) => {
                    self.unknown = true;
                    self.problem(
                        Some(e),
                        format!("{member}: packets after byte {} are lost ({e})", e.locus.offset),
                        member,
                    );
                }
            }
        }
        self.end_section(&mut section);
        if homeless > 0 {
            self.problem(
                None,
                format!("{member}: {homeless} packets of interfaces that are not described"),
                member,
            );
        }
        if damaged > 0 {
            self.unknown = true;
            self.problem(
                None,
                format!("{member}: {damaged} blocks could not be read, their packets are lost"),
                member,
            );
        }
    }

    fn end_section(&mut self, section: &mut Vec<(Interface, usize)>) {
        for (_, at) in section.drain(..) {
            if let Some(t) = self.taps.get_mut(at) {
                t.conclude();
            }
        }
    }

    fn tap_of(&mut self, i: &Interface) -> Option<usize> {
        let key = (i.index, i.name.clone(), i.description.clone());
        let next = self.taps.len();
        if next >= MAX_TAPS && !self.keys.contains_key(&key) {
            return None;
        }
        let at = *self.keys.entry(key).or_insert(next);
        if at == next {
            self.taps.push(Tap {
                name: i.name.clone(),
                description: i.description.clone(),
                link_type: i.link_type,
                ..Tap::default()
            });
        }
        Some(at)
    }

    fn finish(mut self) -> Vec<Tap> {
        if self.taps.is_empty() && !self.problems.is_empty() {
            self.taps.push(Tap::default());
        }
        for t in &mut self.taps {
            if self.unknown {
                (t.received, t.dropped) = (None, None);
            }
        }
        if let Some(first) = self.taps.first_mut() {
            first.problems = self.problems;
        }
        self.taps
    }
}
