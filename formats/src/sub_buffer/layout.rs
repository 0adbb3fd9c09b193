//! The layout of a sub-buffer as the recording's own `header_page` text states it.

use crate::endian::Endian;
use crate::error::{FormatError, FormatErrorKind, Limit};
use crate::event_format::field_line;
use crate::item::Locus;

/// Bits of the commit word that count bytes of records.
pub(super) const COMMIT_MASK: u32 = (1 << 27) - 1;
/// `RB_MISSED_EVENTS`: events were lost before the first record of this sub-buffer.
pub(super) const MISSED_EVENTS: u32 = 1 << 31;
/// `RB_MISSED_STORED`: their number follows the records as a long.
pub(super) const MISSED_STORED: u32 = 1 << 30;

/// `RINGBUF_TYPE_DATA_TYPE_LEN_MAX`: largest type_len that is a length.
pub(super) const TYPE_DATA_MAX: u32 = 28;
/// `RINGBUF_TYPE_PADDING`.
pub(super) const TYPE_PADDING: u32 = 29;
/// `RINGBUF_TYPE_TIME_EXTEND`.
pub(super) const TYPE_TIME_EXTEND: u32 = 30;
/// Width of `time_delta`.
pub(super) const TIME_DELTA_BITS: u32 = 27;
/// Width of an absolute time stamp; the bits above come from the running clock.
pub(super) const TIME_STAMP_BITS: u32 = 59;

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
    ///
    /// Errors: a line that is not a field line is `BadText`; a part that is not described is `Missing`; a width the
    /// kernel has never had, or parts that overlap, are `BadValue`. The locus' offset is in the text.
    pub fn parse(header_page: &[u8], endian: Endian) -> Result<PageLayout, FormatError> {
        let (mut timestamp, mut commit, mut data) = (None, None, None);
        let mut at = 0u64;
        for line in header_page.split(|b| *b == b'\n') {
            let locus = Locus {
                offset: at,
                ..Locus::default()
            };
            at = at.saturating_add(line.len() as u64).saturating_add(1);
            if line.trim_ascii().is_empty() || line.trim_ascii() == b"\0" {
                continue;
            }
            let field = field_line(line, locus)?;
            match field.name.as_str() {
                "timestamp" => timestamp = Some(field),
                "commit" => commit = Some(field),
                "data" => data = Some(field),
                _ => {}
            }
        }
        let missing = |what| FormatError::new(FormatErrorKind::Missing, what, Locus::default());
        let timestamp = timestamp.ok_or_else(|| missing("header_page timestamp"))?;
        let commit = commit.ok_or_else(|| missing("header_page commit"))?;
        let data = data.ok_or_else(|| missing("header_page data"))?;

        let bad = |what, need: u32, have: u32| {
            FormatError::new(FormatErrorKind::BadValue, what, Locus::default()).sizes(
                need.into(),
                have.into(),
                Limit::SubBuffer,
            )
        };
        if timestamp.size != 8 {
            return Err(bad("header_page timestamp size", 8, timestamp.size));
        }
        if commit.size != 4 && commit.size != 8 {
            return Err(bad("header_page commit size", 8, commit.size));
        }
        if timestamp.offset.saturating_add(8) > data.offset {
            return Err(bad(
                "header_page timestamp offset",
                timestamp.offset.saturating_add(8),
                data.offset,
            ));
        }
        if commit.offset.saturating_add(commit.size) > data.offset {
            return Err(bad(
                "header_page commit offset",
                commit.offset.saturating_add(commit.size),
                data.offset,
            ));
        }
        let size = data.offset.saturating_add(data.size);
        if data.size == 0 || size > COMMIT_MASK {
            return Err(bad("header_page data size", size, COMMIT_MASK));
        }
        Ok(PageLayout {
            endian,
            timestamp_offset: timestamp.offset,
            commit_offset: commit.offset,
            commit_size: commit.size,
            data_offset: data.offset,
            size,
        })
    }

    /// The layout of no sub-buffers: of a stream that has none, for its byte order.
    pub fn none(endian: Endian) -> PageLayout {
        PageLayout {
            endian,
            timestamp_offset: 0,
            commit_offset: 0,
            commit_size: 8,
            data_offset: 0,
            size: 0,
        }
    }

    /// The same layout with another sub-buffer size (trace.dat v7 BUFFER option, `buffer_subbuf_size_kb`), bytes.
    pub fn with_size(self, size: u32) -> PageLayout {
        PageLayout { size, ..self }
    }

    /// The value of the `long` at `at`, 4 or 8 bytes wide.
    #[inline]
    pub(super) fn long(&self, b: &[u8], at: usize) -> Option<u64> {
        if self.commit_size == 4 {
            self.endian.u32(b, at).map(u64::from)
        } else {
            self.endian.u64(b, at)
        }
    }
}
