//! The layout of a sub-buffer as the recording's own `header_page` text states it.

use crate::endian::Endian;
use crate::error::FormatError;

/// Where the parts of a sub-buffer lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageLayout {
    /// Byte order.
    pub endian: Endian,
    /// Offset of the u64 timestamp.
    pub timestamp_offset: u32,
    /// Offset of `commit`.
    pub commit_offset: u32,
    /// Width of `commit`: the kernel's long, 4 or 8.
    pub commit_size: u32,
    /// Offset of the first record.
    pub data_offset: u32,
    /// Size of the whole sub-buffer.
    pub size: u32,
}

impl PageLayout {
    /// Reads a `header_page` text. `size` of the sub-buffer is data offset + data size.
    pub fn parse(_header_page: &[u8], _endian: Endian) -> Result<PageLayout, FormatError> {
        Err(FormatError::new(
            crate::error::FormatErrorKind::Unsupported,
            "header_page",
            Default::default(),
        ))
    }
    /// The same layout with another sub-buffer size (trace.dat v7 BUFFER option, `buffer_subbuf_size_kb`).
    pub fn with_size(self, size: u32) -> PageLayout {
        PageLayout { size, ..self }
    }
}
