//! Names and addresses in the payload of an event, replaced where they stand. What is not known to be harmless is emptied, and so
//! is what is in no field: holes of the struct and its end are not written by the kernel and hold bytes of older records.

use std::mem;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use netmortem_formats::event_format::{BytesAccess, FieldKind};
use netmortem_formats::sockaddr::{AF_INET, AF_INET6};
use netmortem_formats::{Capture, Endian, EventFormat};
use rustc_hash::FxHashMap;

use super::names::Names;

/// What a field holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Holds {
    Task,
    Dev,
    Other,
    Address4,
    Address6,
    SockAddr,
    /// A link-layer address of which six bytes are kept.
    Link,
    /// A word of the kernel: kept up to its NUL.
    Word,
    /// Not known: bytes become 0.
    Anything,
}

/// Fields to replace, by event id.
pub struct Payloads {
    by_id: FxHashMap<u16, Layout>,
    endian: Endian,
    /// Places of pointed fields of the payload at hand; kept to not allocate for each.
    pointed: Vec<(usize, usize)>,
}

/// Where the fields of an event are.
struct Layout {
    replaced: Vec<(Holds, BytesAccess)>,
    /// Begin and end of every field of fixed place and size, common ones too, by their begin.
    fixed: Vec<(usize, usize)>,
    /// Fields whose bytes are where the record says, or run to its end.
    pointed: Vec<BytesAccess>,
}

impl Layout {
    fn of(f: &EventFormat, endian: Endian) -> Layout {
        let bind = |name: &str| BytesAccess::bind(f, name, endian);
        let replaced = f
            .fields
            .iter()
            .filter_map(|x| Some((holds(f, &x.name, x.size, x.kind)?, bind(&x.name)?)));
        let all = || f.common.iter().chain(&f.fields);
        let place = |offset: u32, size: u32| (offset as usize, (offset as usize).saturating_add(size as usize));
        // The id is what the payload is read by, whatever the format says of it.
        let mut fixed = vec![(0, 2)];
        fixed.extend(all().map(|x| place(x.offset, x.size)));
        fixed.sort_unstable();
        let moves = |kind: FieldKind, size: u32| match kind {
            FieldKind::DataLoc { .. } | FieldKind::RelLoc { .. } => true,
            FieldKind::Array { .. } => size == 0,
            _ => false,
        };
        let pointed = all().filter(|x| moves(x.kind, x.size)).filter_map(|x| bind(&x.name));
        Layout {
            replaced: replaced.collect(),
            fixed,
            pointed: pointed.collect(),
        }
    }

    /// Empties all that is in no field.
    fn empty_holes(&self, payload: &mut [u8], pointed: &mut Vec<(usize, usize)>) {
        pointed.clear();
        pointed.extend(self.pointed.iter().filter_map(|a| {
            let (at, len) = place(payload, a.bytes(payload)?);
            Some((at, at.saturating_add(len)))
        }));
        pointed.sort_unstable();
        let (mut fixed, mut moved) = (self.fixed.iter().peekable(), pointed.iter().peekable());
        let (mut done, whole) = (0, payload.len());
        loop {
            let next = match (fixed.peek(), moved.peek()) {
                (Some(a), Some(b)) if b < a => moved.next(),
                (Some(_), _) => fixed.next(),
                (None, _) => moved.next(),
            };
            // A field that leaves the payload is not read, and not replaced: it covers nothing.
            let Some((begin, end)) = next.copied() else { break };
            if end > whole {
                continue;
            }
            if let Some(hole) = payload.get_mut(done..begin) {
                hole.fill(0);
            }
            done = done.max(end);
        }
        payload.iter_mut().skip(done).for_each(|b| *b = 0);
    }
}

/// Begin and length of a part of the payload.
fn place(payload: &[u8], part: &[u8]) -> (usize, usize) {
    let at = (part.as_ptr() as usize).wrapping_sub(payload.as_ptr() as usize);
    (at, part.len())
}

impl Payloads {
    /// Of all events that the capture describes.
    pub fn of(capture: &Capture) -> Payloads {
        let mut by_id = FxHashMap::default();
        for f in &capture.event_formats {
            by_id.entry(f.id).or_insert_with(|| Layout::of(f, capture.endian));
        }
        Payloads {
            by_id,
            endian: capture.endian,
            pointed: vec![],
        }
    }

    /// Replaces; false: the event has no format, and all behind its common fields was emptied.
    pub fn redact(&mut self, names: &mut Names, payload: &mut [u8]) -> bool {
        let id = self.endian.u16(payload, 0).unwrap_or(0);
        let Some(layout) = self.by_id.get(&id) else {
            payload.iter_mut().skip(8).for_each(|b| *b = 0);
            return false;
        };
        let mut pointed = mem::take(&mut self.pointed);
        layout.empty_holes(payload, &mut pointed);
        self.pointed = pointed;
        for (holds, access) in &layout.replaced {
            let Some(found) = access.bytes(payload) else { continue };
            let (at, len) = place(payload, found);
            let Some(bytes) = payload.get_mut(at..at + len) else {
                continue;
            };
            replace(*holds, names, bytes, self.endian);
        }
        true
    }
}

fn holds(f: &EventFormat, name: &str, size: u32, kind: FieldKind) -> Option<Holds> {
    let text = match kind {
        FieldKind::Array { text, .. } | FieldKind::DataLoc { text } | FieldKind::RelLoc { text } => text,
        FieldKind::Int => return None,
        _ => return Some(Holds::Anything),
    };
    if text {
        let network = ["net", "napi", "qdisc", "neigh", "xdp", "skb", "fib", "bridge"].contains(&f.system.as_str());
        return match name {
            // Kinds of qdiscs and drivers' names are the kernel's words, not the host's.
            "kind" | "driver" => Some(Holds::Word),
            n if n.ends_with("comm") => Some(Holds::Task),
            "dev" | "dev_name" | "name" if network => Some(Holds::Dev),
            "name" if f.system == "irq" => Some(Holds::Other),
            _ => Some(Holds::Anything),
        };
    }
    let address = ["saddr", "daddr", "src", "dst", "gw4", "primary_key4"].contains(&name);
    match (kind, size) {
        (_, 4) if address => Some(Holds::Address4),
        (_, 28) if address => Some(Holds::SockAddr),
        (_, 32) if f.system == "neigh" && ["lladdr", "new_lladdr"].contains(&name) => Some(Holds::Link),
        (_, 16) if name.ends_with("_v6") || ["gw", "gw6", "primary_key6", "src", "dst"].contains(&name) => {
            Some(Holds::Address6)
        }
        // Arrays of longs: arguments of system calls.
        (FieldKind::Array { size: 4.., .. }, _) => None,
        _ => Some(Holds::Anything),
    }
}

fn replace(holds: Holds, names: &mut Names, bytes: &mut [u8], endian: Endian) {
    match holds {
        Holds::Task | Holds::Dev | Holds::Other => {
            let end = bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len());
            let name = bytes.get(..end).unwrap_or_default().to_vec();
            let new = match holds {
                Holds::Task => names.task(&name),
                Holds::Dev => names.dev(&name),
                _ => names.other(&name),
            };
            // What stands behind a name may be left of a longer one.
            bytes.fill(0);
            for (to, from) in bytes.iter_mut().zip(new.iter().take(end)) {
                *to = *from;
            }
        }
        Holds::Address4 => v4(names, bytes),
        Holds::Address6 => v6(names, bytes),
        Holds::SockAddr => {
            let family = endian.u16(bytes, 0);
            // Behind an IPv4 address, and in a family that is none, nothing is meant.
            let (keep, end) = match family {
                Some(AF_INET) => (4, 8),
                Some(AF_INET6) => (8, 24),
                _ => (0, 0),
            };
            match family {
                Some(AF_INET) => v4(names, bytes.get_mut(keep..end).unwrap_or_default()),
                Some(AF_INET6) => {
                    v6(names, bytes.get_mut(keep..end).unwrap_or_default());
                }
                _ => {}
            }
            bytes.iter_mut().skip(end).for_each(|b| *b = 0);
        }
        Holds::Link => {
            let old = bytes.first_chunk::<6>().copied().unwrap_or_default();
            // What stands behind an address may be left of an older record.
            bytes.fill(0);
            if let Some(to) = bytes.first_chunk_mut::<6>() {
                *to = names.link(old);
            }
        }
        Holds::Word => {
            let end = bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len());
            bytes.iter_mut().skip(end).for_each(|b| *b = 0);
        }
        Holds::Anything => bytes.fill(0),
    }
}

fn v4(names: &mut Names, bytes: &mut [u8]) {
    let Some(octets) = bytes.first_chunk::<4>().copied() else {
        return bytes.fill(0);
    };
    if let (IpAddr::V4(new), Some(to)) = (names.ip(Ipv4Addr::from(octets).into()), bytes.first_chunk_mut::<4>()) {
        *to = new.octets();
    }
}

fn v6(names: &mut Names, bytes: &mut [u8]) {
    let Some(octets) = bytes.first_chunk::<16>().copied() else {
        return bytes.fill(0);
    };
    if let (IpAddr::V6(new), Some(to)) = (names.ip(Ipv6Addr::from(octets).into()), bytes.first_chunk_mut::<16>()) {
        *to = new.octets();
    }
}
