//! The common start of both versions: magic, version, word sizes, and in v7 the compression and the first OPTIONS section.

use super::cursor::{Cursor, text};
use super::layout::MAGIC;
use crate::endian::Endian;
use crate::error::{FormatError, FormatErrorKind, Limit};
use crate::item::Locus;

/// How compressed sections and chunks are coded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Compression {
    None,
    Zlib,
    Zstd,
    /// A name this reader does not know: compressed parts cannot be read, the others can.
    Unknown,
}

/// The common start.
#[derive(Debug, Clone)]
pub(super) struct Prologue {
    pub version: u32,
    pub endian: Endian,
    /// Page size of the recording host, bytes; in v6 also the size of sub-buffers.
    pub page_size: u32,
    pub compression: Compression,
    /// Name of the compression as the file states it; empty in v6.
    pub compression_name: String,
    /// Offset of the first OPTIONS section (v7); 0 in v6.
    pub options_offset: u64,
    /// Offset of the first byte after this.
    pub end: u64,
}

/// Reads the start of a file. An error here means that nothing of the file can be read.
pub(super) fn read(file: &[u8]) -> Result<Prologue, FormatError> {
    let mut c = Cursor::new(file, Endian::Little, Locus::default(), Limit::File);
    if c.take(MAGIC.len() as u64, "magic")? != MAGIC {
        return Err(FormatError::new(FormatErrorKind::BadMagic, "magic", Locus::default()));
    }
    let at_version = c;
    let version_text = text(c.cstr("version")?);
    let unsupported = |what| at_version.error(FormatErrorKind::UnsupportedVersion, what);
    let version: u32 = version_text.trim().parse().map_err(|_| unsupported("version"))?;
    if !(6..=7).contains(&version) {
        return Err(unsupported("version").sizes(u64::from(version), 7, Limit::Configured));
    }
    let endian = match c.u8("endian")? {
        0 => Endian::Little,
        1 => Endian::Big,
        _ => return Err(c.error(FormatErrorKind::BadValue, "endian")),
    };
    c.endian = endian;
    // The long size of user space, not of the kernel: header_page has that one.
    c.u8("long size")?;
    let page_size = c.u32("page size")?;
    let (mut compression, mut compression_name, mut options_offset) = (Compression::None, String::new(), 0);
    if version >= 7 {
        compression_name = text(c.cstr("compression name")?);
        c.cstr("compression version")?;
        compression = match compression_name.as_str() {
            "none" => Compression::None,
            "zlib" => Compression::Zlib,
            "zstd" => Compression::Zstd,
            _ => Compression::Unknown,
        };
        options_offset = c.u64("offset of the first OPTIONS section")?;
    }
    Ok(Prologue {
        version,
        endian,
        page_size,
        compression,
        compression_name,
        options_offset,
        end: c.offset(),
    })
}
