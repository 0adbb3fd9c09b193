//! Values of options in the byte order of their section. pcap-parser's own accessors are little-endian only.

use pcap_parser::PcapNGOption;

use crate::endian::Endian;

/// The bytes of the first option of this code.
pub fn bytes<'a>(options: &'a [PcapNGOption<'_>], code: u16) -> Option<&'a [u8]> {
    options.iter().find(|o| o.code.0 == code)?.as_bytes().ok()
}

/// A text; bytes that are no UTF-8 become `?`-like marks. Empty when there is none.
pub fn text(options: &[PcapNGOption<'_>], code: u16) -> String {
    let b = bytes(options, code).unwrap_or_default();
    String::from_utf8_lossy(b).trim_end_matches('\0').to_owned()
}

/// A number of eight bytes.
pub fn u64(options: &[PcapNGOption<'_>], code: u16, endian: Endian) -> Option<u64> {
    let b: [u8; 8] = bytes(options, code)?.try_into().ok()?;
    Some(match endian {
        Endian::Little => u64::from_le_bytes(b),
        Endian::Big => u64::from_be_bytes(b),
    })
}

/// A number of four bytes.
pub fn u32(options: &[PcapNGOption<'_>], code: u16, endian: Endian) -> Option<u32> {
    let b: [u8; 4] = bytes(options, code)?.try_into().ok()?;
    Some(match endian {
        Endian::Little => u32::from_le_bytes(b),
        Endian::Big => u32::from_be_bytes(b),
    })
}
