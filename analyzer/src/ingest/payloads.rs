//! The bytes that records point into, shared by the walks that still read them: the last two walks run at once and need most
//! memory for their rows, so each lets go of a block when it is past its last record, and who is last gives its memory back.

use std::ops::Range;
use std::sync::Arc;

use memmap2::MmapMut;

use super::decode::Rec;

/// The decoded bytes of a chunk.
#[derive(Debug, Clone)]
pub enum Block<'c> {
    /// As they lie in the file.
    Stored(&'c [u8]),
    /// Of the allocator.
    Owned(Arc<Vec<u8>>),
    /// Some of pages that several blocks share. The machine has them back when the last of these is dropped, where an
    /// allocator would keep them.
    Part(Arc<MmapMut>, Range<usize>),
}

impl Default for Block<'_> {
    fn default() -> Self {
        Block::Stored(&[])
    }
}

/// Blocks by number.
#[derive(Debug, Clone, Default)]
pub struct Payloads<'c>(Vec<Block<'c>>);

impl<'c> Payloads<'c> {
    /// Adds the next block.
    pub(super) fn push(&mut self, block: Block<'c>) {
        self.0.push(block);
    }
    /// The number of the next block.
    pub(super) fn next(&self) -> u32 {
        u32::try_from(self.0.len()).unwrap_or(u32::MAX)
    }
    /// The bytes of a block; none of one that is not there.
    #[inline]
    pub(super) fn block(&self, number: u32) -> &[u8] {
        match self.0.get(number as usize) {
            Some(Block::Stored(b)) => b,
            Some(Block::Owned(v)) => v,
            Some(Block::Part(pages, range)) => pages.get(range.clone()).unwrap_or(&[]),
            None => &[],
        }
    }
    /// The payload of a record.
    #[inline]
    pub(super) fn of(&self, r: &Rec) -> &[u8] {
        let (at, len) = (r.offset as usize, r.len as usize);
        self.block(r.block).get(at..).and_then(|b| b.get(..len)).unwrap_or(&[])
    }
    /// Nothing of it will be read any more here.
    pub(super) fn leave(&mut self, number: u32) {
        if let Some(b) = self.0.get_mut(number as usize) {
            *b = Block::default();
        }
    }
}
