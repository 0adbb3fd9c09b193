//! Cuts a chunk into sub-buffers.

use super::PageLayout;
use super::layout::COMMIT_MASK;
use super::records::Records;
use crate::error::{FormatError, FormatErrorKind, Limit};
use crate::item::Locus;

/// One sub-buffer.
#[derive(Debug, Clone, Copy)]
pub struct SubBuffer<'a> {
    /// Base timestamp, recorded clock.
    pub timestamp: u64,
    /// Bytes of records.
    pub commit: u32,
    /// Offset of the sub-buffer in the chunk.
    pub offset: u32,
    /// Its bytes: `PageLayout::size` of them, fewer in a torn last one.
    pub bytes: &'a [u8],
}

/// Iterator over the sub-buffers of a chunk's decoded bytes. Goes on after an error: the next sub-buffer's place is
/// known whatever this one holds.
#[derive(Debug, Clone)]
pub struct SubBuffers<'a> {
    layout: PageLayout,
    rest: &'a [u8],
    offset: u64,
    locus: Locus,
}

/// Walks the sub-buffers in `chunk`, the decoded bytes that begin at `locus` (its offset is added to those of errors).
///
/// A sub-buffer whose commit is larger than the sub-buffer is an error (`BadLength`, `sub-buffer commit`) and none of
/// its records are given: where its records end is unknown and what lies behind is stale. A torn last sub-buffer
/// is given when it has its header; its records then end with `Truncated` if any of them were cut off. One without a
/// header is an error here.
pub fn sub_buffers<'a>(layout: PageLayout, chunk: &'a [u8], locus: Locus) -> SubBuffers<'a> {
    SubBuffers {
        layout,
        rest: chunk,
        offset: 0,
        locus,
    }
}

impl<'a> SubBuffers<'a> {
    fn parse(&self, bytes: &'a [u8]) -> Result<SubBuffer<'a>, FormatError> {
        let locus = Locus {
            offset: self.locus.offset.saturating_add(self.offset),
            ..self.locus
        };
        let header = self.layout.data_offset as usize;
        let torn = |_: ()| {
            FormatError::new(FormatErrorKind::Truncated, "sub-buffer header", locus).sizes(
                header as u64,
                bytes.len() as u64,
                Limit::Member,
            )
        };
        let offset = u32::try_from(self.offset).map_err(|_| {
            FormatError::new(FormatErrorKind::TooLarge, "chunk", locus).sizes(
                self.offset,
                u32::MAX.into(),
                Limit::Configured,
            )
        })?;
        if bytes.len() < header {
            return Err(torn(()));
        }
        let timestamp = self
            .layout
            .endian
            .u64(bytes, self.layout.timestamp_offset as usize)
            .ok_or(())
            .map_err(torn)?;
        let word = self
            .layout
            .long(bytes, self.layout.commit_offset as usize)
            .ok_or(())
            .map_err(torn)?;
        let commit = word as u32 & COMMIT_MASK;
        let room = self.layout.size.saturating_sub(self.layout.data_offset);
        if commit > room {
            return Err(
                FormatError::new(FormatErrorKind::BadLength, "sub-buffer commit", locus).sizes(
                    commit.into(),
                    room.into(),
                    Limit::SubBuffer,
                ),
            );
        }
        Ok(SubBuffer {
            timestamp,
            commit,
            offset,
            bytes,
        })
    }
}

impl<'a> Iterator for SubBuffers<'a> {
    type Item = Result<SubBuffer<'a>, FormatError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let size = self.layout.size as usize;
        // A layout of size 0 (only `with_size` can make one) holds no records: one error for the whole rest.
        let (bytes, rest) = if size == 0 {
            (self.rest, &[][..])
        } else {
            self.rest.split_at(size.min(self.rest.len()))
        };
        let item = self.parse(bytes);
        self.offset = self.offset.saturating_add(bytes.len() as u64);
        self.rest = match &item {
            // Offsets no longer fit RawRecord: say it once, not once per sub-buffer.
            Err(e) if e.kind == FormatErrorKind::TooLarge => &[],
            _ => rest,
        };
        Some(item)
    }
}

impl std::iter::FusedIterator for SubBuffers<'_> {}

impl<'a> SubBuffer<'a> {
    /// Its items: the loss that precedes its first record (when flagged), then its records. `layout` and `locus` are
    /// those given to [`sub_buffers`].
    #[inline]
    pub fn records(&self, layout: PageLayout, locus: Locus) -> Records<'a> {
        Records::new(self, layout, locus)
    }
}
