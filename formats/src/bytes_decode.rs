//! Decompression of one chunk, bounded: zstd frames and zlib streams.

use std::borrow::Cow;
use std::cell::RefCell;
use std::io::Read;

use zstd::zstd_safe::WriteBuf;

use crate::capture::{Coding, MAX_CHUNK_BYTES};
use crate::error::{FormatError, FormatErrorKind, Limit};
use crate::item::Locus;

/// Decodes `coded`; an output above [`MAX_CHUNK_BYTES`] is an error, never an allocation.
pub fn decode(coded: &[u8], coding: Coding, locus: Locus) -> Result<Cow<'_, [u8]>, FormatError> {
    let bad = |what| FormatError::new(FormatErrorKind::Decompress, what, locus);
    if let Coding::Zstd { size: Some(n) } = coding
        && let Some(out) = zstd_frame(coded, n)
    {
        return Ok(Cow::Owned(out));
    }
    let (size, mut reader): (Option<u64>, Box<dyn Read + '_>) = match coding {
        Coding::Stored => return Ok(Cow::Borrowed(coded)),
        Coding::ZstdPrefix { unit } => return Ok(Cow::Owned(zstd_prefix(coded, unit))),
        Coding::Zlib { size } => (size, Box::new(flate2::read::ZlibDecoder::new(coded))),
        Coding::Zstd { size } => (
            size,
            Box::new(zstd::stream::read::Decoder::with_buffer(coded).map_err(|_| bad("zstd frame"))?),
        ),
    };
    if let Some(n) = size.filter(|n| *n > MAX_CHUNK_BYTES) {
        return Err(FormatError::new(FormatErrorKind::TooLarge, "chunk", locus).sizes(
            n,
            MAX_CHUNK_BYTES,
            Limit::Configured,
        ));
    }
    // A stated size is only a hint for the first allocation: a small frame may claim a large one.
    let hint = size
        .unwrap_or(0)
        .min((coded.len() as u64).saturating_mul(64))
        .min(MAX_CHUNK_BYTES);
    let mut out = Vec::with_capacity(usize::try_from(hint).unwrap_or(0));
    reader
        .by_ref()
        .take(MAX_CHUNK_BYTES.saturating_add(1))
        .read_to_end(&mut out)
        .map_err(|_| bad("compressed chunk"))?;
    let have = out.len() as u64;
    if have > MAX_CHUNK_BYTES {
        return Err(FormatError::new(FormatErrorKind::TooLarge, "chunk", locus).sizes(
            have,
            MAX_CHUNK_BYTES,
            Limit::Configured,
        ));
    }
    if let Some(need) = size.filter(|n| *n != have) {
        return Err(FormatError::new(FormatErrorKind::BadLength, "chunk", locus).sizes(need, have, Limit::Member));
    }
    Ok(Cow::Owned(out))
}

thread_local! {
    /// A decompressor is 160 kB that zstd has to set up; a trace.dat has a chunk per 40 kB.
    static DECOMPRESSOR: RefCell<Option<zstd::bulk::Decompressor<'static>>> = const { RefCell::new(None) };
}

/// A frame that decodes to exactly `size` bytes, as undamaged ones of known size do. `None` says nothing about why not:
/// the slow way finds out.
fn zstd_frame(coded: &[u8], size: u64) -> Option<Vec<u8>> {
    // Reserving is not touching: a frame that claims more than it holds takes no memory.
    let mut out = Vec::new();
    let size_or_none = Some(size).filter(|n| *n <= MAX_CHUNK_BYTES);
    out.try_reserve_exact(usize::try_from(size_or_none?).ok()?).ok()?;
    zstd_into(coded, &mut out)?;
    (out.len() as u64 == size).then_some(out)
}

/// Decodes a frame into memory; gives the number of bytes.
pub fn zstd_into(coded: &[u8], out: &mut (impl WriteBuf + ?Sized)) -> Option<usize> {
    DECOMPRESSOR.with_borrow_mut(|slot| {
        if slot.is_none() {
            *slot = zstd::bulk::Decompressor::new().ok();
        }
        slot.as_mut()?.decompress_to_buffer(coded, out).ok()
    })
}

/// What decodes of a frame that was cut, down to a multiple of `unit`; nothing when not even its header is whole.
fn zstd_prefix(coded: &[u8], unit: u32) -> Vec<u8> {
    let mut out = Vec::new();
    if let Ok(reader) = zstd::stream::read::Decoder::with_buffer(coded) {
        // The error is the cut itself; bytes decoded before it stay in `out`.
        let _cut = reader.take(MAX_CHUNK_BYTES).read_to_end(&mut out);
    }
    let rest = out.len().checked_rem(unit as usize).unwrap_or(0);
    out.truncate(out.len().saturating_sub(rest));
    out
}
