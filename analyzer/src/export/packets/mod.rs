//! The bundle's packets as pcapng, each with what the kernel did with it as its comment: Wireshark and tshark show where a
//! packet waited.
//!
//! In: a bundle recorded with `--pcap`, and its facts. Out: pcapng. Must not guess: a packet that two skbs could be gets no
//! story, and says so.
//!
//! ```text
//! packet: interface, direction, time, length, addresses, ports
//!   out: net_dev_start_xmit of that device and length within 100 us      in: netif_receive_skb likewise
//!   one fits, and the packet alone fits it: strong; its socket has the packet's addresses and ports: certain
//!   n fit n, all of that socket: the n-th is the n-th (both pass one place in order): strong
//!   one of its socket fits within 10 us, and the packet alone fits it so closely: strong
//! ```

mod headers;
mod joined;
mod matching;
mod read;
mod sights;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::io::{self, Write};

use netmortem_formats::Capture;
use netmortem_formats::pcapng::{AnnotatedInterface, RawPacket, annotated_head, annotated_packet};
use rustc_hash::FxHashMap;

use self::headers::{ends, link_bytes};
pub use self::joined::{JoinedFile, devices, joined};
use self::matching::{Match, Seen, Sockets, matches};
use self::read::{Found, Packet, read};
use self::sights::sights;
use crate::analyses::verdict::{counted, duration};
use crate::explain::stages::{self, Step};
use crate::facts::{Facts, SkbId};
use crate::name::Name;

/// What was written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct Written {
    /// Packets.
    pub packets: u64,
    /// Of these, matched with a sight of the kernel that is theirs by socket, too.
    pub certain: u64,
    /// Matched by device, direction, time and length alone, or by order among others of their socket.
    pub strong: u64,
    /// Several sights fit.
    pub ambiguous: u64,
    /// No sight is known to fit.
    pub unmatched: u64,
    /// What could not be read: members, blocks, packets without an interface or a time.
    pub errors: u64,
}

impl Written {
    /// What the packets are.
    fn of<'p>(packets: impl Iterator<Item = &'p Packet>) -> Written {
        let mut w = Written::default();
        for p in packets {
            w.packets += 1;
            let n = match p.found {
                Found::Certain => &mut w.certain,
                Found::Strong => &mut w.strong,
                Found::Several => &mut w.ambiguous,
                Found::None => &mut w.unmatched,
            };
            *n += 1;
        }
        w
    }
}

/// Why not.
#[derive(Debug, thiserror::Error)]
pub enum PacketsError {
    /// No packets in it.
    #[error("there are no packets in this recording")]
    NoPackets,
    /// Times cannot be compared.
    #[error(
        "the recording has no clock pairs, or another trace clock than mono: times of packets and events cannot be compared"
    )]
    NoClock,
    /// Writing failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Writes the packets, by time.
pub fn write(facts: &Facts, capture: &Capture, mut out: impl Write) -> Result<Written, PacketsError> {
    let (interfaces, packets, errors) = matched(facts, capture)?;
    let w = Written {
        errors: errors.values().fold(0, |sum, n| sum.saturating_add(*n)),
        ..Written::of(packets.iter())
    };
    let unread = match w.errors {
        0 => String::new(),
        n => format!(" {} could not be read and are not here.", counted(n, "part", "parts")),
    };
    let about = format!(
        "Comments by netmortem from the kernel's events of the same recording: {} of {} packets matched ({} also by their socket), {} not because several events fit, {} because none is known to.{unread}",
        w.certain + w.strong,
        w.packets,
        w.certain,
        w.ambiguous,
        w.unmatched
    );
    let application = concat!("netmortem ", env!("CARGO_PKG_VERSION"));
    out.write_all(&annotated_head(
        application,
        &facts.capture.kernel_release,
        &about,
        &interfaces,
    ))?;
    for p in &packets {
        let raw = RawPacket {
            interface: p.interface as u32,
            ts: None,
            data: &p.data,
            original_bytes: p.original_bytes,
            flags: p.flags,
            dropped_before: p.dropped_before,
            offset: 0,
        };
        let ns = p.realtime_ns.max(0) as u64;
        out.write_all(&annotated_packet(raw.interface, ns, &raw, &p.comment))?;
    }
    out.flush()?;
    Ok(w)
}

/// Interfaces, packets, and errors by number of the interface's members.
type Matched = (Vec<AnnotatedInterface>, Vec<Packet>, BTreeMap<u32, u64>);

/// All packets by time, each with what it is.
fn matched(facts: &Facts, capture: &Capture) -> Result<Matched, PacketsError> {
    let (interfaces, mut packets, errors) = read(capture);
    if packets.is_empty() {
        return Err(PacketsError::NoPackets);
    }
    if facts.capture.clock != "mono" || capture.clock_pairs.is_empty() {
        return Err(PacketsError::NoClock);
    }
    packets.sort_by_key(|p| p.realtime_ns);
    comment(facts, capture, &interfaces, &mut packets);
    Ok((interfaces, packets, errors))
}

/// What a packet is whose direction is not told: it is taken when one direction alone has a sight for it.
fn either(sent: Match, received: Match) -> (bool, Match) {
    let count = |m: Match| match m {
        Match::None => 0,
        Match::One(..) => 1,
        Match::Several(n) | Match::Unsure(n) => n,
    };
    match (sent, received) {
        (Match::Unsure(a), Match::Unsure(b)) => (false, Match::Unsure(a.saturating_add(b))),
        (Match::None, other) => (false, other),
        (other, Match::None) => (true, other),
        (a, b) => (false, Match::Several(count(a).saturating_add(count(b)))),
    }
}

/// Trace clock of a moment of CLOCK_REALTIME, by the nearest clock pair.
fn trace_ns(capture: &Capture, realtime: i64) -> Option<i64> {
    let pairs = capture.clock_pairs.iter();
    let pairs = pairs.filter_map(|p| Some((p.realtime_ns?, p.monotonic_ns)));
    let (r, m) = pairs.min_by_key(|(r, _)| r.abs_diff(realtime))?;
    Some(realtime.saturating_sub(r).saturating_add(m))
}

/// Whether several network namespaces have a device of that name.
fn doubtful(capture: &Capture, dev: &str) -> bool {
    let links = capture.snapshots.iter().filter(|s| s.what == "links");
    let mut of: Vec<String> = vec![];
    for s in links {
        for line in String::from_utf8_lossy(&s.text).lines() {
            let word = |key: &str| line.split(' ').find_map(|w| w.strip_prefix(key)?.strip_prefix('='));
            if word("name") == Some(dev) {
                of.extend(word("netns").map(str::to_owned));
            }
        }
    }
    of.sort();
    of.dedup();
    of.len() > 1
}

fn comment(facts: &Facts, capture: &Capture, interfaces: &[AnnotatedInterface], packets: &mut [Packet]) {
    let (sights, sockets) = (sights(capture), Sockets::of(facts));
    let stories = Stories::of(facts);
    for (at, i) in interfaces.iter().enumerate() {
        let doubt = doubtful(capture, &i.name);
        let none = vec![];
        let of_way = |out: bool| sights.get(&(Name::new(i.name.as_bytes()), out)).unwrap_or(&none);
        // By packet: what it is as one sent, and as one received.
        let mut found: BTreeMap<usize, [Option<Match>; 2]> = BTreeMap::new();
        for out in [false, true] {
            let of: Vec<usize> = packets
                .iter()
                .enumerate()
                .filter(|(_, p)| p.interface == at && p.out.is_none_or(|o| o == out))
                .map(|(k, _)| k)
                .collect();
            let link = if out { 0 } else { link_bytes(i.link_type) };
            let seen: Vec<Seen> = of
                .iter()
                .filter_map(|k| packets.get(*k))
                .map(|p| Seen {
                    ts: trace_ns(capture, p.realtime_ns).unwrap_or(i64::MIN),
                    bytes: p.original_bytes.saturating_sub(link),
                    ends: ends(i.link_type, &p.data),
                })
                .collect();
            for (k, m) in of.iter().zip(matches(&seen, of_way(out), &sockets, doubt)) {
                if let Some(slot) = found.entry(*k).or_default().get_mut(usize::from(out)) {
                    *slot = Some(m);
                }
            }
        }
        for (k, [received, sent]) in found {
            let Some(p) = packets.get_mut(k) else { continue };
            let (out, m) = match (sent, received) {
                (Some(sent), Some(received)) => either(sent, received),
                (Some(m), None) => (true, m),
                (_, m) => (false, m.unwrap_or(Match::None)),
            };
            (p.found, p.comment) = match m {
                Match::One(s, agree) => {
                    let (word, found) = match agree {
                        true => ("certain", Found::Certain),
                        false => ("strong", Found::Strong),
                    };
                    let sight = of_way(out).get(s);
                    (
                        found,
                        stories.tell(sight.and_then(|s| s.skb), out, sight.map(|s| s.ts), word),
                    )
                }
                Match::None => (Found::None, "netmortem: no event of the kernel fits this packet".into()),
                Match::Unsure(n) => (
                    Found::None,
                    format!("netmortem: no event of the kernel is known to be this packet's ({n} could be: several network namespaces have a device of this name)"),
                ),
                Match::Several(n) => (
                    Found::Several,
                    match n {
                        1 => "netmortem: an event of the kernel fits this packet, and another packet as well; it is not taken".into(),
                        _ => format!("netmortem: {n} events of the kernel fit this packet; none is taken"),
                    },
                ),
            };
        }
    }
}

/// Rows by skb.
struct Stories<'f> {
    facts: &'f Facts,
    rx: FxHashMap<SkbId, usize>,
    tx: FxHashMap<SkbId, usize>,
    drops: FxHashMap<SkbId, usize>,
}

impl<'f> Stories<'f> {
    fn of(facts: &'f Facts) -> Stories<'f> {
        let mut tx: FxHashMap<SkbId, usize> = FxHashMap::default();
        tx.extend(facts.tx.iter().enumerate().map(|(i, r)| (r.skb_id, i)));
        for l in &facts.lineage {
            use crate::reconstruct::lineage::tables::LineageKind::{Gso, QdiscSegment};
            if let (Gso | QdiscSegment, Some(i)) = (l.kind, tx.get(&l.parent).copied()) {
                tx.entry(l.child).or_insert(i);
            }
        }
        Stories {
            facts,
            rx: facts.rx.iter().enumerate().map(|(i, r)| (r.skb_id, i)).collect(),
            tx,
            drops: facts
                .drops
                .iter()
                .enumerate()
                .filter_map(|(i, d)| Some((d.skb_id?, i)))
                .collect(),
        }
    }

    fn tell(&self, skb: Option<SkbId>, out: bool, at: Option<i64>, matched: &str) -> String {
        let Some(skb) = skb else {
            return format!("netmortem: seen by the kernel ({matched} match), its skb is not known");
        };
        let f = self.facts;
        let mut said = vec![];
        if let Some(r) = self.tx.get(&skb).filter(|_| out).and_then(|i| f.tx.get(*i)) {
            said.push(format!(
                "tx:{} {}{}, {} from {} on: {}",
                r.skb_id.0,
                r.end.word(),
                by(r.task, r.pid),
                duration(r.total_ns),
                r.start.word(),
                waits(&stages::transmit(r))
            ));
            if r.retransmits > 0 {
                said.push(format!("sent again {} times", r.retransmits));
            }
            said.push(format!("row {}", r.confidence.word()));
        }
        if let Some(r) = self.rx.get(&skb).filter(|_| !out).and_then(|i| f.rx.get(*i)) {
            said.push(format!(
                "rx:{} {}{}, {} from {} on: {}",
                r.skb_id.0,
                r.end.word(),
                by(r.task, r.pid),
                duration(r.total_ns),
                r.start.word(),
                waits(&stages::receive(r, at))
            ));
            said.push(format!("row {}", r.confidence.word()));
        }
        if let Some((i, d)) = self.drops.get(&skb).and_then(|i| Some((*i, f.drops.get(*i)?))) {
            let expected = match d.expected {
                Some(true) => "as expected",
                Some(false) => "lost",
                None => "expected or not is not known",
            };
            said.push(format!("drop:{i} {expected}"));
        }
        if said.is_empty() {
            let class = f.skbs.get(skb.0 as usize).map_or("", |s| s.class.word());
            said.push(format!("skb:{} ({class}): in no ledger", skb.0));
        }
        format!("netmortem {}; match {matched}", said.join("; "))
    }
}

fn by(task: Name, pid: i32) -> String {
    match task.is_empty() {
        true => String::new(),
        // A host may have named it anything: no control characters in a comment.
        false => format!(" by {} ({pid})", task.text().escape_default()),
    }
}

fn waits(steps: &[Step]) -> String {
    let known = steps.iter().filter(|s| s.ns != 0);
    let of: Vec<String> = known.map(|s| format!("{} {}", s.stage, duration(s.ns))).collect();
    of.join(", ")
}
