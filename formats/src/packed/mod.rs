//! Whole files that were compressed afterwards, as a ticket system does it: recognised by their first bytes, unpacked into memory
//! within a limit.
//!
//! In: the bytes of a file. Out: what it held, and what ended it early. Must not trust a stated size.

mod members;
#[cfg(test)]
mod tests;

use std::io::{BufRead, BufReader, Read};

use crate::error::{FormatError, FormatErrorKind, Limit};
use crate::item::Locus;

/// Bytes that an unpacked file may have for each of its compressed bytes; real recordings have 2 to 30.
pub const PER_BYTE: u64 = 100;
/// Bytes that any unpacked file may have.
pub const FLOOR: u64 = 64 << 20;
/// Bytes that no unpacked file may have more of.
pub const MOST: u64 = 4 << 30;
/// What errors about a whole compressed file are about.
pub const WHAT: &str = "compressed file";
/// What an error is about whose file wants more memory to be unpacked than it may take (`zstd --long=31`, say).
pub const WINDOW: &str = "window of a compressed file";
/// zstd itself needs no option for a window of so many bytes, by its power of two.
const WINDOW_LOG: u32 = 27;
/// The largest that it unpacks at all.
const MOST_WINDOW_LOG: u32 = 31;

/// How a file was compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packing {
    /// zstd; read as it is.
    Zstd,
    /// gzip; read as it is.
    Gzip,
    /// xz; known, not read.
    Xz,
}

impl Packing {
    /// The program that made it.
    pub fn name(self) -> &'static str {
        match self {
            Packing::Zstd => "zstd",
            Packing::Gzip => "gzip",
            Packing::Xz => "xz",
        }
    }
}

/// How a file that begins with these bytes (six are enough) was compressed; `None`: it was not, or not by what is known.
pub fn packing(first: &[u8]) -> Option<Packing> {
    match first {
        // A frame that is skipped may come first: pzstd writes its sizes there.
        [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Some(Packing::Zstd),
        [0x1f, 0x8b, ..] => Some(Packing::Gzip),
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Some(Packing::Xz),
        _ => None,
    }
}

/// What a compressed file held.
#[derive(Debug)]
pub struct Unpacked {
    /// Its bytes; of a file that is cut or damaged, those before that place.
    pub bytes: Vec<u8>,
    /// What ended them before their end.
    pub error: Option<FormatError>,
}

/// Unpacks a whole file into at most `most` bytes (and never more than [`limit`] says). `None`: it is not compressed, or not by
/// what is read here.
pub fn unpack(packed: &[u8], most: u64) -> Option<Result<Unpacked, FormatError>> {
    let mut bytes = vec![];
    let ended = decode(packed, most, |block| bytes.extend_from_slice(block))?;
    Some(match ended {
        Err(e) if e.kind == FormatErrorKind::TooLarge => Err(e),
        ended => Ok(Unpacked {
            bytes,
            error: ended.err(),
        }),
    })
}

/// Bytes that [`unpack`] would give, by unpacking them and keeping none.
pub fn unpacked_bytes(packed: &[u8], most: u64) -> Option<Result<u64, FormatError>> {
    let mut n = 0u64;
    let ended = decode(packed, most, |block| n = n.saturating_add(block.len() as u64))?;
    Some(match ended {
        Err(e) if e.kind == FormatErrorKind::TooLarge => Err(e),
        _ => Ok(n),
    })
}

/// The first `n` bytes of what a file holds, or of the file itself where it is not compressed; fewer where there are fewer.
pub fn beginning(mut file: impl Read, n: u64) -> Vec<u8> {
    let mut first = vec![];
    // Fewer bytes, for whatever reason, are what there is.
    let _ended = file.by_ref().take(n.max(8)).read_to_end(&mut first);
    let Some(packing) = packing(&first) else {
        first.truncate(usize::try_from(n).unwrap_or(usize::MAX));
        return first;
    };
    let mut out = vec![];
    let all = BufReader::new(std::io::Cursor::new(&first).chain(file));
    if let Some(reader) = reader(all, packing, MOST_WINDOW_LOG) {
        let _ended = reader.take(n).read_to_end(&mut out);
    }
    out
}

/// Bytes that a file of `packed` bytes may unpack to.
pub fn limit(packed: u64, most: u64) -> u64 {
    packed.saturating_mul(PER_BYTE).clamp(FLOOR, MOST).min(most)
}

/// The largest window that is unpacked where an unpacked file may have `most` bytes: half of that, as it is beside what was unpacked.
fn window_log(most: u64) -> u32 {
    (most / 2)
        .checked_ilog2()
        .unwrap_or(0)
        .clamp(WINDOW_LOG, MOST_WINDOW_LOG)
}

fn reader<'a>(packed: impl BufRead + 'a, packing: Packing, window_log: u32) -> Option<Box<dyn Read + 'a>> {
    match packing {
        Packing::Zstd => {
            let mut decoder = zstd::stream::read::Decoder::with_buffer(packed).ok()?;
            decoder.window_log_max(window_log).ok()?;
            Some(Box::new(decoder))
        }
        Packing::Gzip => Some(Box::new(members::Members::new(packed))),
        Packing::Xz => None,
    }
}

/// Whether zstd refuses a window, and no byte is wrong.
fn is_window(e: &std::io::Error) -> bool {
    // ZSTD_error_frameParameter_windowTooLarge, as zstd returns it.
    let code = 0usize.wrapping_sub(16);
    e.to_string() == zstd::zstd_safe::get_error_name(code)
}

/// Unpacked at a time.
const BLOCK: usize = 128 << 10;

/// Unpacks block by block; the inner error is what ended it early.
fn decode(packed: &[u8], most: u64, mut keep: impl FnMut(&[u8])) -> Option<Result<(), FormatError>> {
    let window_log = window_log(most);
    let mut reader = reader(packed, packing(packed)?, window_log)?;
    let limit = limit(packed.len() as u64, most);
    let mut left = limit;
    let mut block = vec![0u8; BLOCK];
    let error = |kind| FormatError::new(kind, WHAT, Locus::default());
    let ended = |kind, have| Some(Err(error(kind).sizes(0, have, Limit::File)));
    loop {
        let n = match reader.read(&mut block) {
            Ok(0) => return Some(Ok(())),
            Ok(n) => n,
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(e) if e.kind() == std::io::ErrorKind::UnexpectedEof => {
                return ended(FormatErrorKind::Truncated, limit.saturating_sub(left));
            }
            Err(e) if is_window(&e) => {
                let error = FormatError::new(FormatErrorKind::TooLarge, WINDOW, Locus::default());
                let most = 1u64 << window_log;
                return Some(Err(error.sizes(most, most, Limit::Configured)));
            }
            Err(_) => return ended(FormatErrorKind::Decompress, limit.saturating_sub(left)),
        };
        let Some(rest) = left.checked_sub(n as u64) else {
            return Some(Err(error(FormatErrorKind::TooLarge).sizes(
                limit,
                limit,
                Limit::Configured,
            )));
        };
        left = rest;
        keep(block.get(..n).unwrap_or(&[]));
    }
}
