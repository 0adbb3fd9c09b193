//! The first bytes of a file, in both modes: where attributes, records and features are.

use std::ops::Range;

use super::layout::*;
use super::sample::Attr;
use crate::endian::Endian;
use crate::error::{FormatError, FormatErrorKind, Limit};
use crate::item::Locus;

/// What the header says.
#[derive(Debug, Clone)]
pub(super) struct Header {
    pub endian: Endian,
    /// Attributes of file mode; those of pipe mode are records.
    pub attrs: Vec<Attr>,
    /// Entries of the attribute section that could not be read.
    pub bad_attrs: u64,
    /// The records, inside the file.
    pub data: Range<usize>,
    /// Bytes of records that the header promises and the file does not have.
    pub missing: u64,
    /// File mode without a size of records: whoever wrote it did not come to its end.
    pub unfinished: bool,
    /// Bodies of the features by their bit, inside the file.
    pub features: Vec<(u32, Range<usize>)>,
    /// Features whose place is outside the file.
    pub bad_features: u64,
    /// `file` or `pipe`.
    pub mode: &'static str,
}

/// Reads it. An error here means that nothing of the file can be read.
pub(super) fn read(file: &[u8]) -> Result<Header, FormatError> {
    let endian = match file.get(..8) {
        Some(m) if m == MAGIC => Endian::Little,
        Some(m) if m == MAGIC_SWAPPED => Endian::Big,
        _ => {
            return Err(FormatError::new(FormatErrorKind::BadMagic, "magic", Locus::default()));
        }
    };
    let size = u64_at(file, endian, 8)?;
    if size == PIPE_HEADER {
        return Ok(Header {
            endian,
            attrs: Vec::new(),
            bad_attrs: 0,
            data: 16..file.len(),
            missing: 0,
            unfinished: false,
            features: Vec::new(),
            bad_features: 0,
            mode: "pipe",
        });
    }
    if size != FILE_HEADER {
        let error = FormatError::new(FormatErrorKind::UnsupportedVersion, "header size", Locus::default());
        return Err(error.sizes(size, FILE_HEADER, Limit::Configured));
    }
    let attr_size = u64_at(file, endian, 16)?;
    let (attrs_at, attrs_size) = (u64_at(file, endian, 24)?, u64_at(file, endian, 32)?);
    let (data_at, data_size) = (u64_at(file, endian, 40)?, u64_at(file, endian, 48)?);
    // The bitmap is an array of longs of the machine that wrote it; 64 bits on all that matter.
    let bitmap = [0usize, 8, 16, 24].map(|i| u64_at(file, endian, 72usize.saturating_add(i)));
    let mut words = [0u64; 4];
    for (word, read) in words.iter_mut().zip(bitmap) {
        *word = read?;
    }
    let unfinished = data_size == 0;
    let file_len = file.len() as u64;
    let start = data_at.min(file_len);
    let stated_end = data_at.saturating_add(data_size);
    let end = if unfinished { file_len } else { stated_end.min(file_len) };
    let (mut attrs, mut bad_attrs) = (Vec::new(), 0u64);
    // Ids of two attributes do not share bytes: all together are no more than the file.
    let mut id_bytes = file_len;
    let entries = attrs_size.checked_div(attr_size).unwrap_or(0);
    for i in 0..entries {
        let at = attrs_at.saturating_add(i.saturating_mul(attr_size));
        let entry = slice(file, at, attr_size);
        let Some(entry) = entry.filter(|_| attr_size > 16) else {
            // The table is not in the file: each further entry is missing, too.
            bad_attrs = bad_attrs.saturating_add(entries.saturating_sub(i));
            break;
        };
        match attr(file, entry, endian, &mut id_bytes) {
            Some(a) => attrs.push(a),
            None => bad_attrs = bad_attrs.saturating_add(1),
        }
    }
    let (mut features, mut bad_features) = (Vec::new(), 0u64);
    let mut table = stated_end;
    // An unfinished file has no features, whatever its bitmap says.
    let bits = (0..FEATURE_BITS).filter(|_| !unfinished);
    for bit in bits.filter(|b| is_set(&words, *b)) {
        let entry = usize::try_from(table).ok();
        let place = entry.and_then(|t| Some((endian.u64(file, t)?, endian.u64(file, t.checked_add(8)?)?)));
        match place.and_then(|(at, size)| range(file, at, size)) {
            Some(r) => features.push((bit, r)),
            None => bad_features = bad_features.saturating_add(1),
        }
        table = table.saturating_add(16);
    }
    Ok(Header {
        endian,
        attrs,
        bad_attrs,
        data: usize::try_from(start).unwrap_or(0)..usize::try_from(end.max(start)).unwrap_or(0),
        missing: if unfinished {
            0
        } else {
            stated_end.saturating_sub(file_len)
        },
        unfinished,
        features,
        bad_features,
        mode: "file",
    })
}

fn is_set(words: &[u64; 4], bit: u32) -> bool {
    let word = words.get((bit >> 6) as usize).copied().unwrap_or(0);
    word.checked_shr(bit & 63).unwrap_or(0) & 1 == 1
}

/// An entry of the attribute section: the attribute, and in the last 16 bytes where its ids are. `left` is how many
/// bytes of ids may still be read.
fn attr(file: &[u8], entry: &[u8], endian: Endian, left: &mut u64) -> Option<Attr> {
    let split = entry.len().checked_sub(16)?;
    let mut attr = Attr::parse(entry.get(..split)?, endian)?;
    let (at, size) = (endian.u64(entry, split)?, endian.u64(entry, split.checked_add(8)?)?);
    let ids_of = slice(file, at, size)?;
    *left = left.checked_sub(size)?;
    attr.ids = ids(ids_of, endian);
    Some(attr)
}

/// An array of ids.
pub(super) fn ids(b: &[u8], endian: Endian) -> Vec<u64> {
    b.chunks_exact(8).filter_map(|c| endian.u64(c, 0)).collect()
}

fn range(file: &[u8], at: u64, size: u64) -> Option<Range<usize>> {
    let r = usize::try_from(at).ok()?..usize::try_from(at.checked_add(size)?).ok()?;
    file.get(r.clone()).map(|_| r)
}

fn slice(file: &[u8], at: u64, size: u64) -> Option<&[u8]> {
    file.get(range(file, at, size)?)
}

fn u64_at(file: &[u8], endian: Endian, at: usize) -> Result<u64, FormatError> {
    endian.u64(file, at).ok_or_else(|| {
        FormatError::new(FormatErrorKind::Truncated, "header", Locus::default()).sizes(
            FILE_HEADER,
            file.len() as u64,
            Limit::File,
        )
    })
}
