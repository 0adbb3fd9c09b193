//! Bytes of a pcapng or pcap file to items, in file order. Ends at the first byte that cannot be read, with an error
//! that says where; a block that is whole but not understood is passed over and said.

use pcap_parser::pcapng::{Block, parse_block_be, parse_block_le, parse_sectionheaderblock};
use pcap_parser::traits::PcapNGPacketBlock;
use pcap_parser::{PcapHeader, parse_pcap_frame, parse_pcap_frame_be, parse_pcap_frame_modified, parse_pcap_header};

use super::{layout, options};
use crate::endian::Endian;
use crate::error::{FormatError, FormatErrorKind, Limit};
use crate::item::Locus;

/// The unit of an interface's timestamps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resolution {
    /// 10^-n seconds.
    Decimal(u8),
    /// 2^-n seconds.
    Binary(u8),
}

impl Resolution {
    /// Of the option's byte.
    pub fn of(if_tsresol: u8) -> Resolution {
        match if_tsresol & 0x80 {
            0 => Resolution::Decimal(if_tsresol),
            _ => Resolution::Binary(if_tsresol & 0x7f),
        }
    }

    /// `ts` units in ns, rounded down; `None` when that is no 64-bit number.
    pub fn ns(self, ts: u64) -> Option<i64> {
        let ts = u128::from(ts);
        let ns = match self {
            Resolution::Decimal(n @ 0..=9) => ts.checked_mul(10u128.checked_pow(9u32.checked_sub(u32::from(n))?)?)?,
            Resolution::Decimal(n) => match 10u128.checked_pow(u32::from(n).checked_sub(9)?) {
                Some(d) => ts.checked_div(d)?,
                None => 0,
            },
            // 64 bits of units and 30 of 10^9 fit into 128.
            Resolution::Binary(n) => ts.checked_mul(1_000_000_000)?.checked_shr(u32::from(n)).unwrap_or(0),
        };
        i64::try_from(ns).ok()
    }
}

/// An interface as its section describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interface {
    /// Number of the section in the file, from 0.
    pub section: u32,
    /// Number of the interface in its section, from 0.
    pub index: u32,
    /// LINKTYPE number (1 Ethernet, 101 raw IP, 276 Linux cooked).
    pub link_type: u16,
    /// Most bytes kept of a packet; 0 is no limit.
    pub snaplen: u32,
    /// `if_name`; empty when not recorded.
    pub name: String,
    /// `if_description`; empty when not recorded.
    pub description: String,
    /// Unit of its timestamps.
    pub resolution: Resolution,
    /// Seconds to add to its timestamps.
    pub ts_offset_s: i64,
}

impl Interface {
    /// A timestamp of this interface as ns of CLOCK_REALTIME; `None` when that is no 64-bit number.
    pub fn realtime_ns(&self, ts: u64) -> Option<i64> {
        let offset_ns = self.ts_offset_s.checked_mul(1_000_000_000)?;
        self.resolution.ns(ts)?.checked_add(offset_ns)
    }
}

/// A packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawPacket<'a> {
    /// Number of its interface in the section.
    pub interface: u32,
    /// In units of its interface; `None` in a Simple Packet Block.
    pub ts: Option<u64>,
    /// The bytes that were kept.
    pub data: &'a [u8],
    /// Bytes it had.
    pub original_bytes: u32,
    /// `epb_flags`: bits 0-1 direction (1 in, 2 out), bits 2-4 reception (1 unicast, 2 multicast, 3 broadcast, 4 promiscuous).
    pub flags: Option<u32>,
    /// `epb_dropcount`: packets lost just before it.
    pub dropped_before: Option<u64>,
    /// Byte offset of its block.
    pub offset: u64,
}

/// Counters of an interface (Interface Statistics Block); `None` where the block has none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Number of the interface in the section.
    pub interface: u32,
    /// When, in units of the interface.
    pub ts: u64,
    /// `isb_ifrecv`.
    pub received: Option<u64>,
    /// `isb_ifdrop`.
    pub interface_dropped: Option<u64>,
    /// `isb_osdrop`.
    pub os_dropped: Option<u64>,
    /// `isb_usrdeliv`.
    pub delivered: Option<u64>,
}

/// An item of a capture of packets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Item<'a> {
    /// A section begins: its interfaces are numbered from 0 again.
    Section,
    /// An interface is described.
    Interface(Interface),
    /// A packet.
    Packet(RawPacket<'a>),
    /// Counters.
    Statistics(Statistics),
    /// A whole block that holds no packet (names, secrets, another program's own), or that does not follow its layout.
    Skipped {
        /// Its type.
        block_type: u32,
        /// It does not follow its layout: what it held is lost.
        damaged: bool,
        /// Its byte offset.
        offset: u64,
    },
}

enum Kind {
    Pcapng,
    Pcap(PcapHeader),
}

/// Iterator over the items of `bytes`; ends after the first error.
pub struct Items<'a> {
    bytes: &'a [u8],
    at: usize,
    locus: Locus,
    kind: Kind,
    endian: Endian,
    sections: u32,
    interfaces: u32,
    first_snaplen: u32,
    pending: Option<Item<'a>>,
    done: bool,
}

/// The items of a pcapng or pcap file; `locus` is where its bytes begin.
pub fn items(bytes: &[u8], locus: Locus) -> Items<'_> {
    let mut this = Items {
        bytes,
        at: 0,
        locus,
        kind: Kind::Pcapng,
        endian: Endian::Little,
        sections: 0,
        interfaces: 0,
        first_snaplen: 0,
        pending: None,
        done: bytes.is_empty(),
    };
    if let Ok((rest, header)) = parse_pcap_header(bytes) {
        this.at = bytes.len().saturating_sub(rest.len());
        let unit = if header.is_nanosecond_precision() { 9 } else { 6 };
        this.pending = Some(Item::Interface(Interface {
            section: 0,
            index: 0,
            // The upper half holds the length of a frame check sequence.
            link_type: u16::try_from(header.network.0 & 0xffff).unwrap_or(0),
            snaplen: header.snaplen,
            name: String::new(),
            description: String::new(),
            resolution: Resolution::Decimal(unit),
            ts_offset_s: 0,
        }));
        this.kind = Kind::Pcap(header);
    }
    this
}

impl<'a> Items<'a> {
    fn error(&mut self, kind: FormatErrorKind, what: &'static str, need: u64) -> FormatError {
        self.done = true;
        let locus = Locus {
            offset: self.locus.offset.saturating_add(self.at as u64),
            ..self.locus
        };
        let have = self.bytes.len().saturating_sub(self.at) as u64;
        FormatError::new(kind, what, locus).sizes(need, have, Limit::File)
    }

    fn u32_at(&self, at: usize) -> Option<u32> {
        self.endian.u32(self.bytes, at)
    }

    fn frame(&mut self, rest: &'a [u8], header: &PcapHeader) -> Result<Item<'a>, FormatError> {
        let parse = match (header.is_bigendian(), header.is_modified_format()) {
            (true, _) => parse_pcap_frame_be,
            (_, true) => parse_pcap_frame_modified,
            _ => parse_pcap_frame,
        };
        let offset = self.at as u64;
        match parse(rest) {
            Ok((after, f)) => {
                self.at = self.bytes.len().saturating_sub(after.len());
                let unit = if header.is_nanosecond_precision() {
                    1_000_000_000
                } else {
                    1_000_000
                };
                let ts = u64::from(f.ts_sec)
                    .saturating_mul(unit)
                    .saturating_add(f.ts_usec.into());
                Ok(Item::Packet(RawPacket {
                    interface: 0,
                    ts: Some(ts),
                    data: f.data,
                    original_bytes: f.origlen,
                    flags: None,
                    dropped_before: None,
                    offset,
                }))
            }
            Err(_) => Err(self.error(FormatErrorKind::Truncated, "pcap record", 0)),
        }
    }

    fn block(&mut self, rest: &'a [u8]) -> Result<Item<'a>, FormatError> {
        let offset = self.at;
        if rest.starts_with(&layout::SHB_TYPE) {
            return match parse_sectionheaderblock(rest) {
                Ok((after, shb)) => {
                    self.endian = if shb.big_endian() { Endian::Big } else { Endian::Little };
                    self.at = self.bytes.len().saturating_sub(after.len());
                    self.sections = self.sections.saturating_add(1);
                    self.interfaces = 0;
                    Ok(Item::Section)
                }
                // Its own length says whether the file ends in it.
                Err(_) => {
                    let magic = self.bytes.get(offset.saturating_add(8)..).unwrap_or_default();
                    let big = magic.starts_with(&layout::BYTE_ORDER_MAGIC.to_be_bytes());
                    let endian = if big { Endian::Big } else { Endian::Little };
                    let need = u64::from(endian.u32(self.bytes, offset.saturating_add(4)).unwrap_or(28));
                    let kind = match need > rest.len() as u64 {
                        true => FormatErrorKind::Truncated,
                        false => FormatErrorKind::BadLength,
                    };
                    Err(self.error(kind, "Section Header Block", need))
                }
            };
        }
        if self.sections == 0 {
            return Err(self.error(FormatErrorKind::BadMagic, "pcapng section", 0));
        }
        let (Some(block_type), Some(length)) = (self.u32_at(offset), self.u32_at(offset.saturating_add(4))) else {
            return Err(self.error(FormatErrorKind::Truncated, "pcapng block", 12));
        };
        if length < 12 || length % 4 != 0 {
            return Err(self.error(FormatErrorKind::BadLength, "pcapng block", u64::from(length)));
        }
        let Some(body) = rest.get(..length as usize) else {
            return Err(self.error(FormatErrorKind::Truncated, "pcapng block", u64::from(length)));
        };
        let parsed = match self.endian {
            Endian::Little => parse_block_le(body),
            Endian::Big => parse_block_be(body),
        };
        self.at = offset.saturating_add(body.len());
        let skipped = |damaged| Item::Skipped {
            block_type,
            damaged,
            offset: offset as u64,
        };
        let endian = self.endian;
        Ok(match parsed {
            Ok((_, Block::InterfaceDescription(b))) => {
                let index = self.interfaces;
                if index == 0 {
                    self.first_snaplen = b.snaplen;
                }
                self.interfaces = index.saturating_add(1);
                let unit = options::bytes(&b.options, layout::IF_TSRESOL).and_then(|v| v.first().copied());
                let offset_s = options::u64(&b.options, layout::IF_TSOFFSET, endian).unwrap_or(0);
                Item::Interface(Interface {
                    section: self.sections.saturating_sub(1),
                    index,
                    link_type: u16::try_from(b.linktype.0).unwrap_or(0),
                    snaplen: b.snaplen,
                    name: options::text(&b.options, layout::IF_NAME),
                    description: options::text(&b.options, layout::IF_DESCRIPTION),
                    resolution: Resolution::of(unit.unwrap_or(layout::DEFAULT_TSRESOL)),
                    ts_offset_s: offset_s.cast_signed(),
                })
            }
            Ok((_, Block::EnhancedPacket(b))) => {
                let data = b.data.get(..b.caplen as usize);
                match data {
                    Some(data) => Item::Packet(RawPacket {
                        interface: b.if_id,
                        ts: Some(u64::from(b.ts_high) << 32 | u64::from(b.ts_low)),
                        data,
                        original_bytes: b.origlen,
                        flags: options::u32(&b.options, layout::EPB_FLAGS, endian),
                        dropped_before: options::u64(&b.options, layout::EPB_DROPCOUNT, endian),
                        offset: offset as u64,
                    }),
                    None => skipped(true),
                }
            }
            Ok((_, Block::SimplePacket(b))) => {
                // It has no length of its own: the least of what it had, what the interface keeps, and what is there.
                let limit = if self.first_snaplen == 0 {
                    u32::MAX
                } else {
                    self.first_snaplen
                };
                let kept = b.data.len().min(b.orig_len().min(limit) as usize);
                Item::Packet(RawPacket {
                    interface: 0,
                    ts: None,
                    data: b.data.get(..kept).unwrap_or_default(),
                    original_bytes: b.origlen,
                    flags: None,
                    dropped_before: None,
                    offset: offset as u64,
                })
            }
            Ok((_, Block::InterfaceStatistics(b))) => {
                let number = |code| options::u64(&b.options, code, endian);
                Item::Statistics(Statistics {
                    interface: b.if_id,
                    ts: u64::from(b.ts_high) << 32 | u64::from(b.ts_low),
                    received: number(layout::ISB_IFRECV),
                    interface_dropped: number(layout::ISB_IFDROP),
                    os_dropped: number(layout::ISB_OSDROP),
                    delivered: number(layout::ISB_USRDELIV),
                })
            }
            Ok(_) => skipped(false),
            Err(_) => skipped(true),
        })
    }
}

impl<'a> Iterator for Items<'a> {
    type Item = Result<Item<'a>, FormatError>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(first) = self.pending.take() {
            return Some(Ok(first));
        }
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        if self.done || rest.is_empty() {
            return None;
        }
        Some(match &self.kind {
            Kind::Pcapng => self.block(rest),
            Kind::Pcap(header) => {
                let header = header.clone();
                self.frame(rest, &header)
            }
        })
    }
}
