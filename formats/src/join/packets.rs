//! A file of packets as members of a bundle: cut between packets, because a member is decoded as a whole.
//!
//! A file that names its interfaces is passed on as it is when it is small. Else every section, interface, packet and counter
//! is written again as it was, but for the name of the interface.
//!
//! ```text
//! SHB IDB EPB EPB EPB EPB ISB  ->  SHB IDB EPB EPB ISB(0) | SHB IDB EPB EPB ISB     the counters of both sections are added up
//! ```

use std::collections::BTreeMap;

use crate::capture::Capture;
use crate::item::Locus;
use crate::pcapng::{Item, Statistics, annotated_head, interface_block, items, packet_block, statistics_block};

/// A member is cut before it holds more bytes of packets than this; well below [`crate::capture::MAX_CHUNK_BYTES`].
pub(super) const MEMBER_BYTES: usize = 64 << 20;

/// Gives `put` the members of a file of packets, each pcapng, in order. `None` when `put` says so, or when the interfaces alone
/// take more than `limit`. What cannot be read is left out: [`crate::pcapng::taps`] of the file says what.
pub(super) fn members(
    more: &Capture,
    device: Option<&str>,
    limit: usize,
    mut put: impl FnMut(&[u8]) -> Option<()>,
) -> Option<()> {
    if more.format == "pcapng" && device.is_none() && more.bytes.len() <= limit {
        return put(&more.bytes);
    }
    // Where a part is lost, what was counted of the whole cannot be compared with what is left.
    let unread = |i| matches!(i, Err(_) | Ok(Item::Skipped { damaged: true, .. }));
    let counted = !items(&more.bytes, Locus::default()).any(unread);
    let mut w = Cutter::default();
    if more.format == "pcap" {
        w.section();
    }
    for item in items(&more.bytes, Locus::default()).flatten() {
        match item {
            Item::Section => {
                w.counters();
                if w.out.len() > limit {
                    put(&std::mem::take(&mut w.out))?;
                }
                w.section();
            }
            Item::Interface(i) => {
                let block = interface_block(&i, device.unwrap_or(&i.name));
                w.out.extend_from_slice(&block);
                w.head.extend(block);
                w.interfaces = w.interfaces.saturating_add(1);
                if w.head.len() > limit {
                    return None;
                }
            }
            Item::Packet(p) => {
                let block = packet_block(&p);
                let body = w.out.len().saturating_sub(w.again);
                if w.packets && body.saturating_add(block.len()) > limit {
                    put(&w.cut(counted))?;
                }
                w.out.extend(block);
                w.packets = true;
            }
            Item::Statistics(s) if counted && s.interface < w.interfaces => {
                w.last.insert(s.interface, s);
            }
            Item::Statistics(_) | Item::Skipped { .. } => {}
        }
    }
    w.counters();
    if w.out.is_empty() {
        w.section();
    }
    put(&w.out)
}

/// A member being made.
#[derive(Default)]
struct Cutter {
    out: Vec<u8>,
    /// Head of the section being read, with its interfaces.
    head: Vec<u8>,
    /// Interfaces of the section.
    interfaces: u32,
    /// Bytes the member began with because the one before was cut.
    again: usize,
    /// The member has packets.
    packets: bool,
    /// The last counters of each interface of the section.
    last: BTreeMap<u32, Statistics>,
}

impl Cutter {
    /// Begins a section.
    fn section(&mut self) {
        self.head = annotated_head("netmortem", "", "", &[]);
        self.interfaces = 0;
        if self.out.is_empty() {
            (self.again, self.packets) = (0, false);
        }
        self.out.extend_from_slice(&self.head);
    }

    /// Ends the section with its counters.
    fn counters(&mut self) {
        for s in std::mem::take(&mut self.last).values() {
            self.out.extend(statistics_block(s));
        }
    }

    /// Ends the member inside the section and begins the next. What the section's end counts is said there, in a later member;
    /// a reader adds up both.
    fn cut(&mut self, counted: bool) -> Vec<u8> {
        for interface in (0..self.interfaces).filter(|_| counted) {
            self.out.extend(statistics_block(&Statistics {
                interface,
                received: Some(0),
                os_dropped: Some(0),
                ..Statistics::default()
            }));
        }
        (self.again, self.packets) = (self.head.len(), false);
        std::mem::replace(&mut self.out, self.head.clone())
    }
}
