//! Records that `perf record -z` compressed: one zstd stream over the whole file, in pieces, so they are all decompressed
//! when the file is opened.

use zstd::stream::raw::{Decoder, InBuffer, Operation, OutBuffer};

use super::layout::*;
use super::records::{Record, Records};
use crate::endian::Endian;
use crate::error::{FormatError, FormatErrorKind, Limit};
use crate::item::Locus;

/// Decompressed bytes a file may have for each of its bytes; real ones have 4 to 20.
const PER_BYTE: u64 = 100;
/// Decompressed bytes that any file may have.
const FLOOR: u64 = 64 << 20;
/// Decompressed at a time.
const BLOCK: usize = 128 << 10;

/// All records in the order of the file, none of them compressed.
#[derive(Debug, Default)]
pub(super) struct Plain {
    pub bytes: Vec<u8>,
    /// What ended the decompression.
    pub error: Option<FormatError>,
    /// Compressed bytes that were not decompressed because of it.
    pub skipped: u64,
    /// Bytes at the end of the stream that are no whole record.
    pub torn: u64,
}

/// Whether any record is compressed.
pub(super) fn is_used(data: &[u8], endian: Endian) -> bool {
    Records::new(data, endian, Locus::default())
        .flatten()
        .any(|r| is_compressed(r.kind))
}

fn is_compressed(kind: u32) -> bool {
    matches!(kind, RECORD_COMPRESSED | RECORD_COMPRESSED2)
}

/// Decompresses. `data` begins at `locus`.
pub(super) fn expand(data: &[u8], endian: Endian, locus: Locus) -> Plain {
    let limit = (data.len() as u64).saturating_mul(PER_BYTE).max(FLOOR);
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let mut out = Plain::default();
    let mut decoder = Decoder::new().ok();
    // A record may begin in one piece and end in the next, while whole records stand between the pieces.
    let mut carry: Vec<u8> = Vec::new();
    for record in Records::new(data, endian, locus) {
        let r = match record {
            Ok(r) => r,
            Err(e) => {
                // Whoever walks the result will not see this place.
                out.error = out.error.or(Some(e));
                break;
            }
        };
        if !is_compressed(r.kind) {
            let whole = data.get(r.at..r.end).unwrap_or(&[]);
            out.bytes.extend_from_slice(whole);
            continue;
        }
        let piece = piece(&r, endian);
        let left = limit.saturating_sub(out.bytes.len()).saturating_sub(carry.len());
        let done = match &mut decoder {
            Some(d) => decompress(d, piece, &mut carry, left),
            None => Err(FormatErrorKind::Decompress),
        };
        if let Err(kind) = done {
            out.skipped = out.skipped.saturating_add(piece.len() as u64);
            // Without what is missing here, nothing after it can be decompressed.
            decoder = None;
            let at = Locus {
                offset: locus.offset.saturating_add(r.at as u64),
                ..locus
            };
            let error = FormatError::new(kind, "compressed records", at);
            out.error = out.error.or(Some(error.sizes(0, limit as u64, Limit::Configured)));
        }
        let whole = whole_records(&carry, endian);
        out.bytes.extend_from_slice(carry.get(..whole).unwrap_or(&[]));
        carry.drain(..whole);
    }
    out.torn = carry.len() as u64;
    out
}

/// The compressed bytes of a record.
fn piece<'a>(r: &Record<'a>, endian: Endian) -> &'a [u8] {
    if r.kind == RECORD_COMPRESSED {
        return r.body;
    }
    let size = endian.u64(r.body, 0).and_then(|n| usize::try_from(n).ok());
    size.and_then(|n| r.body.get(8..n.checked_add(8)?)).unwrap_or(&[])
}

/// Bytes of whole records at the front.
fn whole_records(b: &[u8], endian: Endian) -> usize {
    let records = Records::new(b, endian, Locus::default());
    records.map_while(Result::ok).last().map_or(0, |r| r.end)
}

fn decompress(
    decoder: &mut Decoder<'_>,
    piece: &[u8],
    out: &mut Vec<u8>,
    mut left: usize,
) -> Result<(), FormatErrorKind> {
    let mut input = InBuffer::around(piece);
    let mut block = vec![0u8; BLOCK];
    loop {
        let before = input.pos();
        let mut output = OutBuffer::around(&mut block[..]);
        let run = decoder.run(&mut input, &mut output);
        run.map_err(|_| FormatErrorKind::Decompress)?;
        let made = output.as_slice();
        left = left.checked_sub(made.len()).ok_or(FormatErrorKind::TooLarge)?;
        out.extend_from_slice(made);
        // A full block may have left something inside the decoder.
        match (input.pos() >= piece.len(), made.len()) {
            (true, n) if n < BLOCK => return Ok(()),
            (false, 0) if input.pos() == before => return Err(FormatErrorKind::Decompress),
            _ => {}
        }
    }
}
