//! Accessors: a field resolved once to offset, width and sign, then read from any payload.

use super::{EventFormat, FieldKind};
use crate::endian::Endian;

/// Reads an integer field of 1, 2, 4 or 8 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IntAccess {
    offset: u32,
    size: u8,
    signed: bool,
    endian: Endian,
}

/// Reads a text: `char[N]`, `__data_loc char[]` or `__rel_loc char[]`, up to its NUL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StrAccess(BytesAccess);

/// Reads the bytes of any field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BytesAccess {
    offset: u32,
    size: u32,
    place: Place,
    endian: Endian,
}

/// Where a field's bytes are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// At the field's offset, `size` of them.
    Here,
    /// From the field's offset to the payload's end (`char buf[]`, size 0).
    ToEnd,
    /// Where the word at the field's offset says, counted from the payload's start.
    DataLoc,
    /// Where the word at the field's offset says, counted from that word's end.
    RelLoc,
}

impl IntAccess {
    /// Binds the field; `None` when absent or not an integer.
    pub fn bind(f: &EventFormat, name: &str, endian: Endian) -> Option<IntAccess> {
        let field = f.field(name).filter(|f| f.kind == FieldKind::Int)?;
        Some(IntAccess {
            offset: field.offset,
            size: u8::try_from(field.size).ok()?,
            signed: field.signed,
            endian,
        })
    }

    /// Bytes from the payload's start to its end.
    pub fn end(&self) -> usize {
        let read = match self.size {
            1 | 2 | 4 => self.size,
            _ => 8,
        };
        (self.offset as usize).saturating_add(usize::from(read))
    }

    /// Zero-extended (or sign-extended when signed) to 64 bits; `None` past the payload's end.
    #[inline]
    pub fn u64(&self, payload: &[u8]) -> Option<u64> {
        let at = self.offset as usize;
        Some(match (self.size, self.signed) {
            (1, false) => u64::from(*payload.get(at)?),
            (1, true) => *payload.get(at)? as i8 as u64,
            (2, false) => u64::from(self.endian.u16(payload, at)?),
            (2, true) => self.endian.u16(payload, at)? as i16 as u64,
            (4, false) => u64::from(self.endian.u32(payload, at)?),
            (4, true) => self.endian.u32(payload, at)? as i32 as u64,
            _ => self.endian.u64(payload, at)?,
        })
    }

    /// As signed.
    #[inline]
    pub fn i64(&self, payload: &[u8]) -> Option<i64> {
        self.u64(payload).map(|v| v as i64)
    }
}

impl StrAccess {
    /// Binds the field; `None` when absent or not a text.
    pub fn bind(f: &EventFormat, name: &str, endian: Endian) -> Option<StrAccess> {
        let text = match f.field(name)?.kind {
            FieldKind::Array { text, .. } | FieldKind::DataLoc { text } | FieldKind::RelLoc { text } => text,
            _ => false,
        };
        if text {
            BytesAccess::bind(f, name, endian).map(StrAccess)
        } else {
            None
        }
    }

    /// The text without its NUL (all its bytes when it has none); `None` when its range leaves the payload.
    #[inline]
    pub fn bytes<'a>(&self, payload: &'a [u8]) -> Option<&'a [u8]> {
        let all = self.0.bytes(payload)?;
        // Names are short, and where nobody looks at one no search is left.
        all.get(..all.iter().position(|b| *b == 0).unwrap_or(all.len()))
    }
}

impl BytesAccess {
    /// Binds the field; `None` when absent.
    pub fn bind(f: &EventFormat, name: &str, endian: Endian) -> Option<BytesAccess> {
        let field = f.field(name)?;
        let place = match field.kind {
            FieldKind::DataLoc { .. } => Place::DataLoc,
            FieldKind::RelLoc { .. } => Place::RelLoc,
            FieldKind::Array { .. } if field.size == 0 => Place::ToEnd,
            _ => Place::Here,
        };
        Some(BytesAccess {
            offset: field.offset,
            size: field.size,
            place,
            endian,
        })
    }

    /// The bytes (for `__data_loc`/`__rel_loc` the bytes it points to); `None` when they leave the payload.
    #[inline]
    pub fn bytes<'a>(&self, payload: &'a [u8]) -> Option<&'a [u8]> {
        let at = self.offset as usize;
        match self.place {
            Place::Here => payload.get(at..)?.get(..self.size as usize),
            Place::ToEnd => payload.get(at..),
            Place::DataLoc => self.pointed(payload, 0),
            Place::RelLoc => self.pointed(payload, at.saturating_add(self.size as usize)),
        }
    }

    /// The bytes that the word at the field's offset points to, counted from `base`.
    #[inline]
    fn pointed<'a>(&self, payload: &'a [u8], base: usize) -> Option<&'a [u8]> {
        let at = self.offset as usize;
        if self.size == 2 {
            // Offset only: to the end of the record.
            return payload.get(base.saturating_add(self.endian.u16(payload, at)?.into())..);
        }
        let word = self.endian.u32(payload, at)?;
        let start = base.saturating_add((word & 0xffff) as usize);
        payload.get(start..)?.get(..(word >> 16) as usize)
    }
}
