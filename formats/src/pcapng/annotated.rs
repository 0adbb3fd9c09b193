//! One section of several interfaces whose packets carry comments: what an analysis hands to Wireshark.
//! Times are ns of CLOCK_REALTIME (if_tsresol 9), numbers little-endian.

use super::layout;
use super::reader::RawPacket;
use super::writer::{block, end_of_options, option, padding_of};

/// An interface of the section.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AnnotatedInterface {
    /// Its name.
    pub name: String,
    /// A text about it; empty for none.
    pub description: String,
    /// LINKTYPE number.
    pub link_type: u16,
    /// Most bytes kept of a packet; 0 is no limit.
    pub snaplen: u32,
}

/// The head of a file: the program, the host's system, a comment on the whole, and the interfaces, numbered from 0.
pub fn annotated_head(application: &str, os: &str, comment: &str, interfaces: &[AnnotatedInterface]) -> Vec<u8> {
    let mut shb = layout::BYTE_ORDER_MAGIC.to_le_bytes().to_vec();
    shb.extend(1u16.to_le_bytes());
    shb.extend(0u16.to_le_bytes());
    shb.extend([0xff; 8]);
    option(&mut shb, layout::OPT_COMMENT, comment.as_bytes());
    option(&mut shb, layout::SHB_OS, os.as_bytes());
    option(&mut shb, layout::SHB_USERAPPL, application.as_bytes());
    end_of_options(&mut shb);
    let mut out = Vec::new();
    block(&mut out, u32::from_le_bytes(layout::SHB_TYPE), &[&shb]);
    for i in interfaces {
        let mut idb = i.link_type.to_le_bytes().to_vec();
        idb.extend([0; 2]);
        idb.extend(i.snaplen.to_le_bytes());
        option(&mut idb, layout::IF_NAME, i.name.as_bytes());
        option(&mut idb, layout::IF_DESCRIPTION, i.description.as_bytes());
        option(&mut idb, layout::IF_TSRESOL, &[9]);
        end_of_options(&mut idb);
        block(&mut out, layout::IDB, &[&idb]);
    }
    out
}

/// A packet with its comment (empty for none); `ns` of CLOCK_REALTIME, `interface` as numbered in the head.
pub fn annotated_packet(interface: u32, ns: u64, packet: &RawPacket<'_>, comment: &str) -> Vec<u8> {
    let captured = u32::try_from(packet.data.len()).unwrap_or(u32::MAX);
    let mut epb = Vec::new();
    for n in [interface, (ns >> 32) as u32, ns as u32, captured, packet.original_bytes] {
        epb.extend(n.to_le_bytes());
    }
    epb.extend(packet.data);
    epb.resize(epb.len().saturating_add(padding_of(packet.data.len())), 0);
    option(&mut epb, layout::OPT_COMMENT, comment.as_bytes());
    if let Some(flags) = packet.flags {
        option(&mut epb, layout::EPB_FLAGS, &flags.to_le_bytes());
    }
    if let Some(n) = packet.dropped_before {
        option(&mut epb, layout::EPB_DROPCOUNT, &n.to_le_bytes());
    }
    end_of_options(&mut epb);
    let mut out = Vec::new();
    block(&mut out, layout::EPB, &[&epb]);
    out
}
