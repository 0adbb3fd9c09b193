//! Cuts bytes into records, and a chunk of one CPU into items.

use super::layout::*;
use super::sample::{Kind, RecordLayout};
use crate::endian::Endian;
use crate::error::{FormatError, FormatErrorKind, Limit};
use crate::item::{Locus, LostEvents, RawRecord, StreamItem};

/// One record as it lies in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Record<'a> {
    /// `PERF_RECORD_*`.
    pub kind: u32,
    /// Flags.
    pub misc: u16,
    /// What follows the header.
    pub body: &'a [u8],
    /// What follows the record and belongs to it (tracing data).
    pub extra: &'a [u8],
    /// Offset of its header in the bytes walked.
    pub at: usize,
    /// Offset after the record and what belongs to it.
    pub end: usize,
}

/// Iterator over records. After an error there is nothing more: where the next record begins is unknown.
#[derive(Debug, Clone)]
pub(super) struct Records<'a> {
    bytes: &'a [u8],
    at: usize,
    endian: Endian,
    locus: Locus,
}

impl<'a> Records<'a> {
    /// Walks `bytes`, which begin at `locus`.
    pub fn new(bytes: &'a [u8], endian: Endian, locus: Locus) -> Records<'a> {
        Records {
            bytes,
            at: 0,
            endian,
            locus,
        }
    }

    #[inline]
    fn read(&self) -> Result<Record<'a>, FormatError> {
        let have = self.bytes.len().saturating_sub(self.at) as u64;
        let error = |kind, what, need| {
            let locus = Locus {
                offset: self.locus.offset.saturating_add(self.at as u64),
                ..self.locus
            };
            FormatError::new(kind, what, locus).sizes(need, have, Limit::Member)
        };
        let rest = self.bytes.get(self.at..).unwrap_or(&[]);
        let header = || {
            Some((
                self.endian.u32(rest, 0)?,
                self.endian.u16(rest, 4)?,
                self.endian.u16(rest, 6)?,
            ))
        };
        let (kind, misc, size) =
            header().ok_or_else(|| error(FormatErrorKind::Truncated, "record header", RECORD_HEADER as u64))?;
        let size = usize::from(size);
        if size < RECORD_HEADER {
            return Err(error(FormatErrorKind::BadLength, "record size", RECORD_HEADER as u64));
        }
        let cut = |need: usize| error(FormatErrorKind::Truncated, "record", need as u64);
        let body = rest.get(RECORD_HEADER..size).ok_or_else(|| cut(size))?;
        let more = match kind {
            RECORD_HEADER_TRACING_DATA => self.endian.u32(body, 0).map(u64::from),
            RECORD_AUXTRACE => self.endian.u64(body, 0),
            _ => None,
        };
        let end = usize::try_from(more.unwrap_or(0))
            .ok()
            .and_then(|m| size.checked_add(m));
        let extra = end.and_then(|end| rest.get(size..end));
        let extra = extra.ok_or_else(|| cut(end.unwrap_or(usize::MAX)))?;
        Ok(Record {
            kind,
            misc,
            body,
            extra,
            at: self.at,
            end: self.at.saturating_add(size).saturating_add(extra.len()),
        })
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<Record<'a>, FormatError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.at >= self.bytes.len() {
            return None;
        }
        let record = self.read();
        self.at = match &record {
            Ok(r) => r.end,
            Err(_) => self.bytes.len(),
        };
        Some(record)
    }
}

impl std::iter::FusedIterator for Records<'_> {}

/// Iterator over the items of a chunk.
#[derive(Debug, Clone)]
pub struct Items<'l, 'a> {
    layout: &'l RecordLayout,
    records: Records<'a>,
    locus: Locus,
}

/// The tracepoints and losses in `chunk`, the decoded bytes of one CPU's chunk that begin at `locus`. Other records are
/// passed over: what they say of the whole recording was read when it was opened.
pub fn items<'l, 'a>(layout: &'l RecordLayout, chunk: &'a [u8], locus: Locus) -> Items<'l, 'a> {
    Items {
        layout,
        records: Records::new(chunk, layout.endian, locus),
        locus,
    }
}

impl<'a> Iterator for Items<'_, 'a> {
    type Item = Result<StreamItem<'a>, FormatError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let r = match self.records.next()? {
                Ok(r) => r,
                Err(e) => return Some(Err(e)),
            };
            let (at, body) = (r.at as u64, r.body);
            let error = |kind| {
                let locus = Locus {
                    offset: self.locus.offset.saturating_add(at),
                    ..self.locus
                };
                Some(Err(FormatError::new(kind, "sample", locus).sizes(
                    0,
                    body.len() as u64,
                    Limit::Record,
                )))
            };
            match self.layout.classify(r.kind, r.body) {
                Kind::Sample { ts, raw, .. } => {
                    let offset = at.saturating_add(RECORD_HEADER as u64).saturating_add(raw.start as u64);
                    // Chunks are far smaller than 4 GiB; only a caller with bytes of its own can get here.
                    let Ok(offset) = u32::try_from(offset) else {
                        return error(FormatErrorKind::TooLarge);
                    };
                    let payload = r.body.get(raw).unwrap_or(&[]);
                    return Some(Ok(StreamItem::Record(RawRecord { ts, offset, payload })));
                }
                Kind::Lost { count, .. } => {
                    return Some(Ok(StreamItem::Lost(LostEvents {
                        count: Some(count),
                        offset: u32::try_from(at).unwrap_or(u32::MAX),
                    })));
                }
                Kind::Short => return error(FormatErrorKind::BadLength),
                Kind::Ignored | Kind::Unknown | Kind::Other => {}
            }
        }
    }
}
