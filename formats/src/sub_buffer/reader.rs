//! Walks sub-buffers and their records.

use super::PageLayout;
use crate::error::FormatError;
use crate::item::{Locus, StreamItem};

/// One sub-buffer.
#[derive(Debug, Clone, Copy)]
pub struct SubBuffer<'a> {
    /// Base timestamp, recorded clock.
    pub timestamp: u64,
    /// Bytes of records.
    pub commit: u32,
    /// Offset of the sub-buffer in the chunk.
    pub offset: u32,
    /// Its bytes.
    pub bytes: &'a [u8],
}

/// Iterator over the sub-buffers of a chunk's decoded bytes.
#[derive(Debug, Clone)]
pub struct SubBuffers<'a> {
    _rest: &'a [u8],
}

/// Fused iterator over the items of one sub-buffer: a loss (when flagged) first, then records; after an error nothing.
#[derive(Debug, Clone)]
pub struct Records<'a> {
    _rest: &'a [u8],
}

/// Walks the sub-buffers in `chunk`. A trailing piece shorter than a sub-buffer is yielded as an error.
pub fn sub_buffers<'a>(_layout: PageLayout, chunk: &'a [u8], _locus: Locus) -> SubBuffers<'a> {
    SubBuffers { _rest: chunk }
}

impl<'a> Iterator for SubBuffers<'a> {
    type Item = Result<SubBuffer<'a>, FormatError>;
    fn next(&mut self) -> Option<Self::Item> {
        None
    }
}

impl<'a> SubBuffer<'a> {
    /// Its items.
    pub fn records(&self, _layout: PageLayout, _locus: Locus) -> Records<'a> {
        Records { _rest: self.bytes }
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<StreamItem<'a>, FormatError>;
    fn next(&mut self) -> Option<Self::Item> {
        None
    }
}
