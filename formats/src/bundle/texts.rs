//! Texts in members: snapshots and names of tasks.

use super::names;
use crate::bytes_decode::decode;
use crate::capture::Coding;
use crate::error::{FormatError, FormatErrorKind, Limit};
use crate::item::Locus;
use crate::kallsyms;

/// All decompressed snapshots together.
const MAX_SNAPSHOT_BYTES: u64 = 128 << 20;

/// A snapshot's text; all texts together take at most [`MAX_SNAPSHOT_BYTES`] when they are compressed.
pub(super) fn snapshot_text(data: &[u8], coded: bool, before: u64, locus: Locus) -> Result<Vec<u8>, FormatError> {
    if !coded {
        return Ok(data.to_vec());
    }
    let stated = zstd::zstd_safe::get_frame_content_size(data).ok().flatten();
    let need = stated.unwrap_or(u64::MAX).saturating_add(before);
    if need > MAX_SNAPSHOT_BYTES {
        let error = FormatError::new(FormatErrorKind::TooLarge, "snapshots", locus);
        return Err(error.sizes(need, MAX_SNAPSHOT_BYTES, Limit::Configured));
    }
    Ok(decode(data, Coding::Zstd { size: stated }, locus)?.into_owned())
}

/// The text of kallsyms.
pub(super) fn symbols(name: &str, data: &[u8], locus: Locus) -> Result<Vec<u8>, FormatError> {
    let text = decode(data, Coding::Zstd { size: None }, locus)?;
    if name != names::SYMBOLS {
        return Ok(text.into_owned());
    }
    let bad = || FormatError::new(FormatErrorKind::BadText, "symbols", locus);
    kallsyms::expand(&text).ok_or_else(bad)
}

/// `pid comm` lines.
pub(super) fn comms(text: &[u8]) -> Vec<(i32, String)> {
    let lines = String::from_utf8_lossy(text);
    let pairs = lines.lines().filter_map(|l| l.split_once(' '));
    pairs
        .filter_map(|(pid, comm)| Some((pid.parse().ok()?, comm.to_owned())))
        .collect()
}
