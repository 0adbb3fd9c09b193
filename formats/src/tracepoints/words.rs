//! Field type of a fixed array of `unsigned long` (`args[6]`, `hist[4]`, `sysctl_mem[3]`).

use crate::endian::Endian;
use crate::event_format::{BytesAccess, EventFormat, FieldKind};
use crate::tracepoints::FieldType;

/// Marker of a field that is an array of `N` machine words (4 or 8 bytes each, as the recording says).
pub struct Words<const N: usize>;

/// Accessor of a [`Words`] field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WordsAccess {
    bytes: BytesAccess,
    width: usize,
    endian: Endian,
}

impl<const N: usize> FieldType for Words<N> {
    type Access = WordsAccess;
    type Value<'a> = [u64; N];
    fn bind(format: &EventFormat, names: &[&str], endian: Endian) -> Option<WordsAccess> {
        names.iter().find_map(|name| {
            let field = format.field(name)?;
            let FieldKind::Array { size, count, .. } = field.kind else {
                return None;
            };
            let width = usize::try_from(size).ok()?;
            let fits = usize::try_from(count).ok()? == N && (width == 4 || width == 8);
            fits.then_some(WordsAccess {
                bytes: BytesAccess::bind(format, name, endian)?,
                width,
                endian,
            })
        })
    }
    #[inline]
    fn get(access: &WordsAccess, payload: &[u8]) -> Option<[u64; N]> {
        let bytes = access.bytes.bytes(payload)?;
        let mut words = [0u64; N];
        let mut chunks = bytes.chunks_exact(access.width);
        for word in &mut words {
            let chunk = chunks.next()?;
            *word = match access.width {
                4 => u64::from(access.endian.u32(chunk, 0)?),
                _ => access.endian.u64(chunk, 0)?,
            };
        }
        Some(words)
    }
}
