//! Accessors: a field resolved once to offset, width and sign, then read from any payload.

use crate::endian::Endian;
use crate::event_format::EventFormat;

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
    endian: Endian,
}

impl IntAccess {
    /// Binds the field; `None` when absent or not an integer.
    pub fn bind(_f: &EventFormat, _name: &str, _endian: Endian) -> Option<IntAccess> {
        None
    }
    /// Zero-extended (or sign-extended when signed) to 64 bits; `None` past the payload's end.
    #[inline]
    pub fn u64(&self, _payload: &[u8]) -> Option<u64> {
        None
    }
    /// As signed.
    #[inline]
    pub fn i64(&self, payload: &[u8]) -> Option<i64> {
        self.u64(payload).map(|v| v as i64)
    }
}

impl StrAccess {
    /// Binds the field; `None` when absent or not a text.
    pub fn bind(_f: &EventFormat, _name: &str, _endian: Endian) -> Option<StrAccess> {
        None
    }
    /// The text without its NUL; `None` when its range leaves the payload.
    #[inline]
    pub fn bytes<'a>(&self, payload: &'a [u8]) -> Option<&'a [u8]> {
        self.0.bytes(payload)
    }
}

impl BytesAccess {
    /// Binds the field; `None` when absent.
    pub fn bind(_f: &EventFormat, _name: &str, _endian: Endian) -> Option<BytesAccess> {
        None
    }
    /// The bytes (for `__data_loc`/`__rel_loc` the bytes it points to); `None` when they leave the payload.
    #[inline]
    pub fn bytes<'a>(&self, _payload: &'a [u8]) -> Option<&'a [u8]> {
        None
    }
}
