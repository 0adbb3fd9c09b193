//! Blocks of what was read, written again: interfaces, packets and statistics with the times they had, in their own units, so
//! that nothing of them is rounded or dropped. Numbers little-endian.

use super::layout;
use super::reader::{Interface, RawPacket, Resolution, Statistics};
use super::writer::{block, end_of_options, option, padding_of};

/// An Interface Description Block; `name` is put in place of its own.
pub fn interface_block(i: &Interface, name: &str) -> Vec<u8> {
    let mut idb = i.link_type.to_le_bytes().to_vec();
    idb.extend([0; 2]);
    idb.extend(i.snaplen.to_le_bytes());
    option(&mut idb, layout::IF_NAME, name.as_bytes());
    option(&mut idb, layout::IF_DESCRIPTION, i.description.as_bytes());
    let unit = match i.resolution {
        Resolution::Decimal(n) => n,
        Resolution::Binary(n) => n | 0x80,
    };
    option(&mut idb, layout::IF_TSRESOL, &[unit]);
    if i.ts_offset_s != 0 {
        option(&mut idb, layout::IF_TSOFFSET, &i.ts_offset_s.to_le_bytes());
    }
    end_of_options(&mut idb);
    let mut out = Vec::new();
    block(&mut out, layout::IDB, &[&idb]);
    out
}

/// An Enhanced Packet Block, or a Simple Packet Block where the packet has no time.
pub fn packet_block(p: &RawPacket<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    let padding = [0u8; 3];
    let padding = padding.get(..padding_of(p.data.len())).unwrap_or_default();
    let Some(ts) = p.ts else {
        block(
            &mut out,
            layout::SPB,
            &[&p.original_bytes.to_le_bytes(), p.data, padding],
        );
        return out;
    };
    let captured = u32::try_from(p.data.len()).unwrap_or(u32::MAX);
    let mut head = Vec::new();
    for n in [p.interface, (ts >> 32) as u32, ts as u32, captured, p.original_bytes] {
        head.extend(n.to_le_bytes());
    }
    let mut options = Vec::new();
    if let Some(flags) = p.flags {
        option(&mut options, layout::EPB_FLAGS, &flags.to_le_bytes());
    }
    if let Some(n) = p.dropped_before {
        option(&mut options, layout::EPB_DROPCOUNT, &n.to_le_bytes());
    }
    if !options.is_empty() {
        end_of_options(&mut options);
    }
    block(&mut out, layout::EPB, &[&head, p.data, padding, &options]);
    out
}

/// An Interface Statistics Block.
pub fn statistics_block(s: &Statistics) -> Vec<u8> {
    let mut isb = Vec::new();
    for n in [s.interface, (s.ts >> 32) as u32, s.ts as u32] {
        isb.extend(n.to_le_bytes());
    }
    let counters = [
        (layout::ISB_IFRECV, s.received),
        (layout::ISB_IFDROP, s.interface_dropped),
        (layout::ISB_OSDROP, s.os_dropped),
        (layout::ISB_USRDELIV, s.delivered),
    ];
    for (code, n) in counters {
        if let Some(n) = n {
            option(&mut isb, code, &n.to_le_bytes());
        }
    }
    end_of_options(&mut isb);
    let mut out = Vec::new();
    block(&mut out, layout::ISB, &[&isb]);
    out
}
