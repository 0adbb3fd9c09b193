//! The bytes that records point into, shared by the walks that still read them: the last two walks run at once and need most
//! memory for their rows, so each lets go of a block when it is past its last record, and who is last gives its memory back.

use std::borrow::Cow;
use std::sync::Arc;

use super::decode::Rec;

/// The decoded bytes of a chunk.
#[derive(Debug, Clone)]
enum Block<'c> {
    /// As they lie in the file.
    Stored(&'c [u8]),
    /// Decompressed.
    Decoded(Arc<Vec<u8>>),
}

/// Blocks by number.
#[derive(Debug, Clone, Default)]
pub struct Payloads<'c>(Vec<Block<'c>>);

impl<'c> Payloads<'c> {
    /// Adds the next block.
    pub(super) fn push(&mut self, bytes: Cow<'c, [u8]>) {
        self.0.push(match bytes {
            Cow::Borrowed(b) => Block::Stored(b),
            Cow::Owned(v) => Block::Decoded(Arc::new(v)),
        });
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
            Some(Block::Decoded(v)) => v,
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
            *b = Block::Stored(&[]);
        }
    }
}
