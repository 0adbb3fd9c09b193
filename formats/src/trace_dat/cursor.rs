//! A bounded forward reader: every read checks the rest first and says where it failed.

use crate::endian::Endian;
use crate::error::{FormatError, FormatErrorKind, Limit};
use crate::item::Locus;

/// Reads integers and texts from a slice, front to back.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cursor<'a> {
    rest: &'a [u8],
    pub endian: Endian,
    /// Where `rest` starts: offset in the file, or in the section's decoded bytes.
    pub locus: Locus,
    limit: Limit,
}

impl<'a> Cursor<'a> {
    pub fn new(bytes: &'a [u8], endian: Endian, locus: Locus, limit: Limit) -> Self {
        Cursor {
            rest: bytes,
            endian,
            locus,
            limit,
        }
    }

    /// A cursor over `file` from `offset` on; `None` when the offset is past its end.
    pub fn in_file(file: &'a [u8], offset: u64, endian: Endian) -> Option<Self> {
        let rest = file.get(usize::try_from(offset).ok()?..)?;
        Some(Cursor::new(
            rest,
            endian,
            Locus {
                offset,
                ..Locus::default()
            },
            Limit::File,
        ))
    }

    /// The same bytes with another name for their place.
    pub fn at(self, locus: Locus) -> Self {
        Cursor { locus, ..self }
    }

    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub fn left(&self) -> u64 {
        self.rest.len() as u64
    }

    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    pub fn offset(&self) -> u64 {
        self.locus.offset
    }

    pub fn error(&self, kind: FormatErrorKind, what: &'static str) -> FormatError {
        FormatError::new(kind, what, self.locus)
    }

    /// The next `n` bytes.
    pub fn take(&mut self, n: u64, what: &'static str) -> Result<&'a [u8], FormatError> {
        let split = usize::try_from(n).ok().and_then(|n| self.rest.split_at_checked(n));
        let (head, tail) = split.ok_or_else(|| {
            self.error(FormatErrorKind::Truncated, what)
                .sizes(n, self.rest.len() as u64, self.limit)
        })?;
        self.rest = tail;
        self.locus.offset = self.locus.offset.saturating_add(n);
        Ok(head)
    }

    pub fn u8(&mut self, what: &'static str) -> Result<u8, FormatError> {
        Ok(self.take(1, what)?.first().copied().unwrap_or(0))
    }

    pub fn u16(&mut self, what: &'static str) -> Result<u16, FormatError> {
        let endian = self.endian;
        Ok(endian.u16(self.take(2, what)?, 0).unwrap_or(0))
    }

    pub fn u32(&mut self, what: &'static str) -> Result<u32, FormatError> {
        let endian = self.endian;
        Ok(endian.u32(self.take(4, what)?, 0).unwrap_or(0))
    }

    pub fn u64(&mut self, what: &'static str) -> Result<u64, FormatError> {
        let endian = self.endian;
        Ok(endian.u64(self.take(8, what)?, 0).unwrap_or(0))
    }

    /// Bytes up to a NUL, which is consumed and not returned.
    pub fn cstr(&mut self, what: &'static str) -> Result<&'a [u8], FormatError> {
        let Some(n) = memchr::memchr(0, self.rest) else {
            let have = self.rest.len() as u64;
            return Err(self
                .error(FormatErrorKind::Truncated, what)
                .sizes(have.saturating_add(1), have, self.limit));
        };
        let text = self.take(n as u64, what)?;
        self.take(1, what)?;
        Ok(text)
    }

    /// u32 length, then that many bytes.
    pub fn sized32(&mut self, what: &'static str) -> Result<&'a [u8], FormatError> {
        let n = self.u32(what)?;
        self.take(u64::from(n), what)
    }

    /// u64 length, then that many bytes.
    pub fn sized64(&mut self, what: &'static str) -> Result<&'a [u8], FormatError> {
        let n = self.u64(what)?;
        self.take(n, what)
    }
}

/// The text before the first NUL, as it is where it is UTF-8, with replacement characters where not.
pub(super) fn text(b: &[u8]) -> String {
    let end = memchr::memchr(0, b).unwrap_or(b.len());
    String::from_utf8_lossy(b.get(..end).unwrap_or(b)).into_owned()
}
