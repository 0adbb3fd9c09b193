//! gzip: members one after the other, and zeros behind them, which fill up a block of a tape or a disk and are no damage.
//!
//! In: the bytes of a file. Out: what its members held. Must not take what is behind the last member, and no zero, for nothing.

use std::io::{BufRead, Read, Result};

use flate2::bufread::GzDecoder;

/// Reads all members; `None`: none is left.
pub(super) struct Members<R>(Option<GzDecoder<R>>);

impl<R: BufRead> Members<R> {
    pub(super) fn new(packed: R) -> Members<R> {
        Members(Some(GzDecoder::new(packed)))
    }
}

impl<R: BufRead> Read for Members<R> {
    fn read(&mut self, out: &mut [u8]) -> Result<usize> {
        if out.is_empty() {
            return Ok(0);
        }
        while let Some(member) = &mut self.0 {
            match member.read(out)? {
                0 => self.0 = next(self.0.take())?,
                n => return Ok(n),
            }
        }
        Ok(0)
    }
}

/// The member behind one that has ended.
fn next<R: BufRead>(ended: Option<GzDecoder<R>>) -> Result<Option<GzDecoder<R>>> {
    let Some(mut packed) = ended.map(GzDecoder::into_inner) else {
        return Ok(None);
    };
    loop {
        let ahead = packed.fill_buf()?;
        let (zeros, all) = (ahead.iter().take_while(|b| **b == 0).count(), ahead.len());
        packed.consume(zeros);
        match (all, zeros < all) {
            (0, _) => return Ok(None),
            (_, true) => return Ok(Some(GzDecoder::new(packed))),
            (_, false) => {}
        }
    }
}
