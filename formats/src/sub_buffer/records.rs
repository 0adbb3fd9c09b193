//! Walks the records of one sub-buffer: the hottest loop of the product.

use super::layout::{
    COMMIT_MASK, MISSED_EVENTS, MISSED_STORED, TIME_DELTA_BITS, TIME_STAMP_BITS, TYPE_DATA_MAX, TYPE_PADDING,
    TYPE_TIME_EXTEND,
};
use super::{PageLayout, SubBuffer};
use crate::endian::Endian;
use crate::error::{FormatError, FormatErrorKind, Limit};
use crate::item::{Locus, LostEvents, RawRecord, StreamItem};

/// Fused iterator over the items of one sub-buffer: a loss (when flagged) first, then records; after an error nothing.
#[derive(Debug, Clone)]
pub struct Records<'a> {
    /// Records not yet given.
    rest: &'a [u8],
    /// Offset of `rest` in the chunk.
    offset: u32,
    /// Running clock, recorded units.
    clock: u64,
    endian: Endian,
    lost: Option<LostEvents>,
    /// Bytes of records that the commit word claims and the chunk does not have.
    torn_bytes: u32,
    locus: Locus,
}

impl<'a> Records<'a> {
    pub(super) fn new(sub: &SubBuffer<'a>, layout: PageLayout, locus: Locus) -> Records<'a> {
        let word = layout.long(sub.bytes, layout.commit_offset as usize).unwrap_or(0) as u32;
        let commit = sub.commit & COMMIT_MASK;
        let data = sub.bytes.get(layout.data_offset as usize..).unwrap_or(&[]);
        let rest = data.get(..commit as usize).unwrap_or(data);
        let lost = (word & (MISSED_EVENTS | MISSED_STORED) != 0).then(|| {
            let stored = word & MISSED_STORED != 0;
            LostEvents {
                count: stored.then(|| layout.long(data, commit as usize)).flatten(),
                offset: sub.offset,
            }
        });
        Records {
            rest,
            offset: sub.offset.saturating_add(layout.data_offset),
            clock: sub.timestamp,
            endian: layout.endian,
            lost,
            torn_bytes: commit.saturating_sub(rest.len() as u32),
            locus,
        }
    }

    /// Ends the iterator, with `error` or with the torn end of the sub-buffer when that is the cause.
    #[cold]
    fn fail(&mut self, what: &'static str, need: usize) -> Option<Result<StreamItem<'a>, FormatError>> {
        let locus = Locus {
            offset: self.locus.offset.saturating_add(self.offset.into()),
            ..self.locus
        };
        let have = self.rest.len() as u64;
        let torn = u64::from(std::mem::take(&mut self.torn_bytes));
        self.rest = &[];
        Some(Err(if torn != 0 {
            FormatError::new(FormatErrorKind::Truncated, "torn sub-buffer", locus).sizes(
                have.saturating_add(torn),
                have,
                Limit::Member,
            )
        } else {
            FormatError::new(FormatErrorKind::BadLength, what, locus).sizes(need as u64, have, Limit::SubBuffer)
        }))
    }

    /// Goes past the first `n` bytes of `rest`; false when there are fewer.
    #[inline]
    fn advance(&mut self, n: usize) -> bool {
        match self.rest.get(n..) {
            Some(rest) => {
                self.rest = rest;
                // Cannot wrap: the whole chunk was checked to fit u32 when it was cut.
                self.offset = self.offset.wrapping_add(n as u32);
                true
            }
            None => false,
        }
    }

    /// `n - 4` payload bytes behind the length word of a record whose type_len is 0.
    fn long_record(&mut self, delta: u64) -> Option<Result<StreamItem<'a>, FormatError>> {
        let Some(n) = self.endian.u32(self.rest, 4) else {
            return self.fail("record length", 8);
        };
        let n = n as usize;
        let end = n.saturating_add(4);
        let Some(payload) = self.rest.get(8..end) else {
            return self.fail("record", end.max(8));
        };
        let offset = self.offset.wrapping_add(8);
        // The kernel rounds every length up to 4; a record that ends the sub-buffer unrounded has no more to skip.
        if !self.advance(end.next_multiple_of(4).min(self.rest.len())) {
            return self.fail("record", end);
        }
        self.clock = self.clock.wrapping_add(delta);
        Some(Ok(StreamItem::Record(RawRecord {
            ts: self.clock,
            offset,
            payload,
        })))
    }

    /// Everything that is not a short data record. `Ok(true)`: go on; `Ok(false)`: nothing more in this sub-buffer;
    /// `Err`: what was cut off, and the bytes it needs.
    fn control(&mut self, type_len: u32, delta: u64) -> Result<bool, (&'static str, usize)> {
        if type_len == TYPE_PADDING && delta == 0 {
            return Ok(false);
        }
        let word = self.endian.u32(self.rest, 4).ok_or(("record", 8usize))?;
        if type_len == TYPE_PADDING {
            let length = (word as usize).saturating_add(4);
            // rb_event_discard() writes 1 where the delta was 0; the kernel's own check of a buffer
            // (rb_read_data_buffer) adds every delta but 1, and so do we.
            if delta != 1 {
                self.clock = self.clock.wrapping_add(delta);
            }
            return if self.advance(length.max(8)) {
                Ok(true)
            } else {
                Err(("discarded record", length))
            };
        }
        let value = u64::from(word) << TIME_DELTA_BITS | delta;
        self.clock = match type_len {
            TYPE_TIME_EXTEND => self.clock.wrapping_add(value),
            _ => absolute(value, self.clock),
        };
        self.advance(8);
        Ok(true)
    }
}

/// The 59-bit `stamp` with the missing bits of the running clock. When that lies more than half its range before the
/// clock, the 59 bits have wrapped; when less, the clock went back and is shown as it did.
fn absolute(stamp: u64, clock: u64) -> u64 {
    let high = clock >> TIME_STAMP_BITS << TIME_STAMP_BITS;
    let ts = high | stamp;
    let half = 1 << TIME_STAMP_BITS.saturating_sub(1);
    if ts < clock && clock.wrapping_sub(ts) > half {
        ts.wrapping_add(1 << TIME_STAMP_BITS)
    } else {
        ts
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<StreamItem<'a>, FormatError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if let Some(lost) = self.lost.take() {
            return Some(Ok(StreamItem::Lost(lost)));
        }
        loop {
            let Some(word) = self.endian.u32(self.rest, 0) else {
                if self.rest.is_empty() && self.torn_bytes == 0 {
                    return None;
                }
                return self.fail("record header", 4);
            };
            let (type_len, delta) = match self.endian {
                Endian::Little => (word & 31, u64::from(word >> 5)),
                Endian::Big => (word >> TIME_DELTA_BITS, u64::from(word & ((1 << TIME_DELTA_BITS) - 1))),
            };
            if type_len.wrapping_sub(1) < TYPE_DATA_MAX {
                let end = 4usize.wrapping_add((type_len as usize).wrapping_mul(4));
                let Some((record, rest)) = self.rest.split_at_checked(end) else {
                    return self.fail("record", end);
                };
                let offset = self.offset.wrapping_add(4);
                self.rest = rest;
                self.offset = self.offset.wrapping_add(end as u32);
                self.clock = self.clock.wrapping_add(delta);
                let payload = record.get(4..).unwrap_or(&[]);
                return Some(Ok(StreamItem::Record(RawRecord {
                    ts: self.clock,
                    offset,
                    payload,
                })));
            }
            if type_len == 0 {
                return self.long_record(delta);
            }
            match self.control(type_len, delta) {
                Ok(true) => {}
                Ok(false) => {
                    self.rest = &[];
                    self.torn_bytes = 0;
                    return None;
                }
                Err((what, need)) => return self.fail(what, need),
            }
        }
    }
}

impl std::iter::FusedIterator for Records<'_> {}
