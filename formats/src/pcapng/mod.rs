//! Packet captures: pcapng and pcap files, and the `packets/` members of a bundle, which are pcapng, too.
//!
//! In: bytes. Out: [`Item`]s in file order (interfaces, packets, statistics), and per interface what there is
//! ([`taps`]). Must not look into packets, join them with events, or put them in order of time.
//! Blocks are parsed by pcap-parser; options and times of blocks are read here, because it takes every value for
//! little-endian and refuses each if_tsresol that is a power of two.
//! Spec: draft-ietf-opsawg-pcapng, draft-ietf-opsawg-pcap.
//!
//! ```text
//! pcapng   SHB | IDB | EPB EPB EPB ... | ISB |  SHB ...       every block: type u32, length u32, body, length u32
//!          EPB body: interface u32, time (high, low), captured u32, original u32, bytes padded to 4, options
//! pcap     magic a1b2c3d4 (us) or a1b23c4d (ns), version, ..., snaplen, link type | s, us|ns, captured, original, bytes | ...
//! bundle   packets/N/NNNNNN.pcapng.zst     each member a section of its own: SHB IDB EPB... ISB
//! ```

mod annotated;
mod copy;
mod layout;
mod options;
mod reader;
mod summary;
#[cfg(test)]
mod tests;
mod writer;

use crate::bytes::Bytes;
use crate::capture::{Capture, Host, Member, Problem};
use crate::endian::Endian;
use crate::error::FormatError;
use crate::kallsyms::Kallsyms;
use crate::open::Descriptor;

pub use annotated::{AnnotatedInterface, annotated_head, annotated_packet};
pub use copy::{interface_block, packet_block, statistics_block};
pub use reader::{Interface, Item, Items, RawPacket, Resolution, Statistics, items};
pub use summary::{Tap, taps};
pub use writer::{Direction, Reception, SectionHead, SectionWriter};

const PCAPNG: &str = "pcapng";
const PCAP: &str = "pcap";

/// How to open a pcapng file.
pub const PCAPNG_DESCRIPTOR: Descriptor = Descriptor {
    name: PCAPNG,
    sniff: |b| b.starts_with(&layout::SHB_TYPE),
    open: |source, bytes| open(source, bytes, PCAPNG, "1"),
};

/// How to open a pcap file.
pub const PCAP_DESCRIPTOR: Descriptor = Descriptor {
    name: PCAP,
    sniff: |b| layout::PCAP_MAGICS.iter().any(|m| b.starts_with(m)),
    open: |source, bytes| open(source, bytes, PCAP, "2.4"),
};

/// A capture without ring buffers: its packets are read by [`taps`] and [`items`].
fn open(source: &str, bytes: Bytes, format: &'static str, version: &str) -> Result<Capture, FormatError> {
    let whole = Member {
        name: format.to_owned(),
        range: 0..bytes.len() as u64,
    };
    let mut capture = Capture {
        source: source.to_owned(),
        format,
        format_version: version.to_owned(),
        bytes,
        endian: Endian::default(),
        host: Host::default(),
        members: vec![whole],
        event_formats: Vec::new(),
        streams: Vec::new(),
        comms: Vec::new(),
        kallsyms: Kallsyms::default(),
        printk_formats: Vec::new(),
        cpu_stats: Vec::new(),
        clock_pairs: Vec::new(),
        clock_conversions: Vec::new(),
        snapshots: Vec::new(),
        manifest: None,
        end: None,
        complete: true,
        problems: Vec::new(),
    };
    let problems: Vec<Problem> = taps(&capture).into_iter().flat_map(|t| t.problems).collect();
    capture.complete = problems.is_empty();
    capture.problems = problems;
    capture.problems.push(Problem {
        error: None,
        message: "a capture of packets holds no kernel events: only its packets can be counted (`netmortem check`)"
            .to_owned(),
        member: String::new(),
    });
    Ok(capture)
}
