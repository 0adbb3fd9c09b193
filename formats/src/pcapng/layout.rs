//! Numbers as the specification names them.

/// Section Header Block; the same in both byte orders.
pub const SHB_TYPE: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];
/// Interface Description Block.
pub const IDB: u32 = 1;
/// Simple Packet Block.
pub const SPB: u32 = 3;
/// Interface Statistics Block.
pub const ISB: u32 = 5;
/// Enhanced Packet Block.
pub const EPB: u32 = 6;
/// Byte-order magic of a section.
pub const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;

/// End of options.
pub const OPT_ENDOFOPT: u16 = 0;
/// A text for people.
pub const OPT_COMMENT: u16 = 1;
/// Hardware or software that wrote the section.
pub const SHB_USERAPPL: u16 = 4;
/// Operating system of the host.
pub const SHB_OS: u16 = 3;
/// Name of the interface.
pub const IF_NAME: u16 = 2;
/// A text about the interface.
pub const IF_DESCRIPTION: u16 = 3;
/// Unit of its timestamps: a power of ten, or of two when the first bit is set.
pub const IF_TSRESOL: u16 = 9;
/// What was filtered: a byte 0, then a text in the words of libpcap.
pub const IF_FILTER: u16 = 11;
/// Seconds to add to its timestamps.
pub const IF_TSOFFSET: u16 = 14;
/// Direction and kind of reception.
pub const EPB_FLAGS: u16 = 2;
/// Packets lost between this and the one before.
pub const EPB_DROPCOUNT: u16 = 4;
/// Packets that reached the tap.
pub const ISB_IFRECV: u16 = 4;
/// Packets lost by the interface.
pub const ISB_IFDROP: u16 = 5;
/// Packets lost by the operating system.
pub const ISB_OSDROP: u16 = 7;
/// Packets delivered to the program.
pub const ISB_USRDELIV: u16 = 8;

/// The unit of an interface without IF_TSRESOL: microseconds.
pub const DEFAULT_TSRESOL: u8 = 6;

/// The first bytes of a pcap file: us and ns, both byte orders, and Kuznetzov's with longer records.
pub const PCAP_MAGICS: [[u8; 4]; 5] = [
    [0xd4, 0xc3, 0xb2, 0xa1],
    [0xa1, 0xb2, 0xc3, 0xd4],
    [0x4d, 0x3c, 0xb2, 0xa1],
    [0xa1, 0xb2, 0x3c, 0x4d],
    [0x34, 0xcd, 0xb2, 0xa1],
];
