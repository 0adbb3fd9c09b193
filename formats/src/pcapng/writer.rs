//! Builds one section of one interface in memory: SHB, IDB, EPBs, an ISB. What the recorder puts into `packets/` members.
//! Times are ns of CLOCK_REALTIME (if_tsresol 9), numbers little-endian.

use super::layout;

/// Which way a packet went, for `epb_flags`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// To the host.
    Inbound,
    /// From the host.
    Outbound,
}

/// To whom a packet was sent, for `epb_flags`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reception {
    /// Not known (of outbound packets).
    Unspecified,
    /// To this interface.
    Unicast,
    /// To a group.
    Multicast,
    /// To all.
    Broadcast,
    /// To another, seen because the interface takes everything.
    Promiscuous,
}

/// What does not change between the sections of one interface.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SectionHead {
    /// Program that writes.
    pub application: String,
    /// Operating system of the host.
    pub os: String,
    /// LINKTYPE number.
    pub link_type: u16,
    /// Most bytes kept of a packet; 0 is no limit.
    pub snaplen: u32,
    /// Name of the interface.
    pub name: String,
    /// A text about it; empty for none.
    pub description: String,
    /// The filter in the words of libpcap; empty for none.
    pub filter: String,
}

/// A section being built.
#[derive(Debug, Clone, Default)]
pub struct SectionWriter {
    head: Vec<u8>,
    bytes: Vec<u8>,
    packets: u64,
}

impl SectionWriter {
    /// Empty, with its head.
    pub fn new(head: &SectionHead) -> SectionWriter {
        let mut shb = layout::BYTE_ORDER_MAGIC.to_le_bytes().to_vec();
        shb.extend(1u16.to_le_bytes());
        shb.extend(0u16.to_le_bytes());
        // Length of the section: not stated.
        shb.extend([0xff; 8]);
        option(&mut shb, layout::SHB_OS, head.os.as_bytes());
        option(&mut shb, layout::SHB_USERAPPL, head.application.as_bytes());
        end_of_options(&mut shb);
        let mut idb = head.link_type.to_le_bytes().to_vec();
        idb.extend([0; 2]);
        idb.extend(head.snaplen.to_le_bytes());
        option(&mut idb, layout::IF_NAME, head.name.as_bytes());
        option(&mut idb, layout::IF_DESCRIPTION, head.description.as_bytes());
        option(&mut idb, layout::IF_TSRESOL, &[9]);
        if !head.filter.is_empty() {
            let text: Vec<u8> = [0].into_iter().chain(head.filter.bytes()).collect();
            option(&mut idb, layout::IF_FILTER, &text);
        }
        end_of_options(&mut idb);
        let mut bytes = Vec::new();
        block(&mut bytes, u32::from_le_bytes(layout::SHB_TYPE), &[&shb]);
        block(&mut bytes, layout::IDB, &[&idb]);
        SectionWriter {
            head: bytes.clone(),
            bytes,
            packets: 0,
        }
    }

    /// Adds a packet: `data` of its `original_bytes`, seen at `ns` of CLOCK_REALTIME.
    pub fn packet(&mut self, ns: u64, parts: &[&[u8]], original_bytes: u32, way: (Direction, Reception)) {
        let flags: u32 = match way.0 {
            Direction::Inbound => 1,
            Direction::Outbound => 2,
        } | match way.1 {
            Reception::Unspecified => 0,
            Reception::Unicast => 1 << 2,
            Reception::Multicast => 2 << 2,
            Reception::Broadcast => 3 << 2,
            Reception::Promiscuous => 4 << 2,
        };
        let captured = parts.iter().fold(0usize, |n, p| n.saturating_add(p.len()));
        let captured = u32::try_from(captured).unwrap_or(u32::MAX);
        let mut head = [0u8; 20];
        let numbers = [0, (ns >> 32) as u32, ns as u32, captured, original_bytes];
        for (to, n) in head.chunks_exact_mut(4).zip(numbers) {
            to.copy_from_slice(&n.to_le_bytes());
        }
        let padding = [0u8; 3];
        let padding = padding.get(..padding_of(captured as usize)).unwrap_or_default();
        let mut options = [0u8; 12];
        let words = [u32::from(layout::EPB_FLAGS) | 4 << 16, flags, 0];
        for (to, n) in options.chunks_exact_mut(4).zip(words) {
            to.copy_from_slice(&n.to_le_bytes());
        }
        let mut all: Vec<&[u8]> = Vec::with_capacity(parts.len().saturating_add(3));
        all.push(&head);
        all.extend_from_slice(parts);
        all.push(padding);
        all.push(&options);
        block(&mut self.bytes, layout::EPB, &all);
        self.packets = self.packets.saturating_add(1);
    }

    /// Packets since the section began.
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// Bytes so far.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether it holds no packet.
    pub fn is_empty(&self) -> bool {
        self.packets == 0
    }

    /// Ends the section with its counters: packets that passed the filter (`received`, lost ones included) and packets
    /// that were lost (`dropped`), both since the section before. Returns its bytes and begins the next.
    pub fn finish(&mut self, ns: u64, received: u64, dropped: u64) -> Vec<u8> {
        let mut isb = Vec::new();
        for n in [0, (ns >> 32) as u32, ns as u32] {
            isb.extend(n.to_le_bytes());
        }
        option(&mut isb, layout::ISB_IFRECV, &received.to_le_bytes());
        option(&mut isb, layout::ISB_OSDROP, &dropped.to_le_bytes());
        option(&mut isb, layout::ISB_USRDELIV, &self.packets.to_le_bytes());
        end_of_options(&mut isb);
        block(&mut self.bytes, layout::ISB, &[&isb]);
        self.packets = 0;
        std::mem::replace(&mut self.bytes, self.head.clone())
    }
}

pub(super) fn padding_of(length: usize) -> usize {
    length.wrapping_neg() & 3
}

/// Type, length, body, length; the parts of the body together are a multiple of four bytes.
pub(super) fn block(out: &mut Vec<u8>, block_type: u32, parts: &[&[u8]]) {
    let body = parts.iter().fold(0usize, |n, p| n.saturating_add(p.len()));
    let length = u32::try_from(body.saturating_add(12)).unwrap_or(u32::MAX).to_le_bytes();
    out.extend(block_type.to_le_bytes());
    out.extend(length);
    for p in parts {
        out.extend_from_slice(p);
    }
    out.extend(length);
}

pub(super) fn option(out: &mut Vec<u8>, code: u16, value: &[u8]) {
    let value = value.get(..usize::from(u16::MAX)).unwrap_or(value);
    if value.is_empty() {
        return;
    }
    out.extend(code.to_le_bytes());
    out.extend(u16::try_from(value.len()).unwrap_or(u16::MAX).to_le_bytes());
    out.extend_from_slice(value);
    out.resize(out.len().saturating_add(padding_of(value.len())), 0);
}

pub(super) fn end_of_options(out: &mut Vec<u8>) {
    out.extend(layout::OPT_ENDOFOPT.to_le_bytes());
    out.extend([0; 2]);
}
