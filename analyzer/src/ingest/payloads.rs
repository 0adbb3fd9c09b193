//! The bytes that records point into, shared by the walks that still read them: the last two walks run at once and need most
//! memory for their rows, so each lets go of a block when it is past its last record, and who is last gives its memory back.

use std::sync::Arc;

use netmortem_formats::capture::Block;

use super::decode::Rec;

/// Blocks by number.
#[derive(Debug, Clone, Default)]
pub struct Payloads<'c>(Vec<Option<Arc<Block<'c>>>>);

impl<'c> Payloads<'c> {
    /// Adds the next block.
    pub(super) fn push(&mut self, block: Block<'c>) {
        self.0.push(Some(Arc::new(block)));
    }
    /// The number of the next block.
    pub(super) fn next(&self) -> u32 {
        u32::try_from(self.0.len()).unwrap_or(u32::MAX)
    }
    /// The bytes of a block; none of one that is not there.
    #[inline]
    pub(super) fn block(&self, number: u32) -> &[u8] {
        match self.0.get(number as usize) {
            Some(Some(b)) => b,
            _ => &[],
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
            *b = None;
        }
    }
}
