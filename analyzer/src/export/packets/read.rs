//! The packets of a bundle, and how much of them could not be read.

use std::collections::BTreeMap;

use netmortem_formats::bundle::parse_packets_name;
use netmortem_formats::bytes_decode::decode;
use netmortem_formats::pcapng::{AnnotatedInterface, Item, items};
use netmortem_formats::{Capture, Coding, Locus};

/// What a packet was found to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Found {
    /// One event, by its socket too.
    Certain,
    /// One event.
    Strong,
    /// Several events fit.
    Several,
    /// No event fits, or none was looked for.
    #[default]
    None,
}

/// One packet.
pub struct Packet {
    /// Its members are `packets/tap/...`.
    pub tap: u32,
    /// Place among the interfaces.
    pub interface: usize,
    /// When, CLOCK_REALTIME.
    pub realtime_ns: i64,
    /// `None`: its file does not say.
    pub out: Option<bool>,
    /// Its bytes, as many as were kept.
    pub data: Vec<u8>,
    /// Bytes that it had.
    pub original_bytes: u32,
    /// `epb_flags`.
    pub flags: Option<u32>,
    /// Packets lost before it.
    pub dropped_before: Option<u64>,
    /// What it is.
    pub found: Found,
    /// What is said of it.
    pub comment: String,
}

/// All packets of all interfaces; and by `tap` what could not be read: members, blocks, and packets whose interface or time
/// is not told.
pub fn read(capture: &Capture) -> (Vec<AnnotatedInterface>, Vec<Packet>, BTreeMap<u32, u64>) {
    let mut interfaces: Vec<AnnotatedInterface> = vec![];
    let mut packets = vec![];
    let mut errors: BTreeMap<u32, u64> = BTreeMap::new();
    for m in &capture.members {
        let Some(name) = parse_packets_name(&m.name) else {
            continue;
        };
        let errors = errors.entry(name.tap).or_default();
        let range = usize::try_from(m.range.start)
            .ok()
            .zip(usize::try_from(m.range.end).ok());
        let coded = range.and_then(|(a, b)| capture.bytes.get(a..b)).unwrap_or_default();
        let Ok(bytes) = decode(coded, Coding::Zstd { size: None }, Locus::default()) else {
            *errors = errors.saturating_add(1);
            continue;
        };
        let mut section = vec![];
        for item in items(&bytes, Locus::default()) {
            let read = match item {
                Ok(Item::Section) => {
                    section.clear();
                    true
                }
                Ok(Item::Interface(i)) => {
                    let one = AnnotatedInterface {
                        name: i.name.clone(),
                        description: i.description.clone(),
                        link_type: i.link_type,
                        snaplen: i.snaplen,
                    };
                    let at = interfaces.iter().position(|x| *x == one).unwrap_or(interfaces.len());
                    if at == interfaces.len() {
                        interfaces.push(one);
                    }
                    section.push((i, at));
                    true
                }
                Ok(Item::Packet(p)) => {
                    let of = section.get(p.interface as usize);
                    let placed = of.and_then(|(i, at)| Some((*at, i.realtime_ns(p.ts?)?)));
                    packets.extend(placed.map(|(interface, realtime_ns)| Packet {
                        tap: name.tap,
                        interface,
                        realtime_ns,
                        out: p.flags.and_then(direction),
                        data: p.data.to_vec(),
                        original_bytes: p.original_bytes,
                        flags: p.flags,
                        dropped_before: p.dropped_before,
                        found: Found::None,
                        comment: String::new(),
                    }));
                    placed.is_some()
                }
                Ok(Item::Skipped { damaged, .. }) => !damaged,
                Ok(_) => true,
                Err(_) => false,
            };
            *errors = errors.saturating_add(u64::from(!read));
        }
    }
    errors.retain(|_, n| *n > 0);
    (interfaces, packets, errors)
}

/// Whether a packet was sent, by `epb_flags`; `None`: not told, as by what tcpdump writes.
fn direction(flags: u32) -> Option<bool> {
    match flags & 3 {
        1 => Some(false),
        2 => Some(true),
        _ => None,
    }
}
