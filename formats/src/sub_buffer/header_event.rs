//! The `header_event` text: which record grammar the recording kernel wrote.

use crate::error::{FormatError, FormatErrorKind, Limit};
use crate::item::Locus;

/// Whether records are laid out as this reader expects: `type_len` of 5 bits, `time_delta` of 27. Until 2.6.30 there was a
/// `type` of 2 bits and a `len` of 3 instead: such records would be read as nonsense, so they are refused
/// (`UnsupportedVersion`). An empty text (not recorded) is accepted.
pub fn check_header_event(text: &[u8]) -> Result<(), FormatError> {
    let mut offset = 0u64;
    for line in text.split(|b| *b == b'\n') {
        let locus = Locus {
            offset,
            ..Locus::default()
        };
        offset = offset.saturating_add(line.len() as u64).saturating_add(1);
        // `	type_len    :    5 bits`; other lines are about single types.
        let Some((name, bits)) = std::str::from_utf8(line).ok().and_then(|l| l.split_once(':')) else {
            continue;
        };
        let Some(have) = bits
            .trim()
            .strip_suffix("bits")
            .and_then(|n| n.trim().parse::<u64>().ok())
        else {
            continue;
        };
        let need = match name.trim() {
            "type_len" => 5,
            "time_delta" => 27,
            "type" | "len" => 0,
            _ => continue,
        };
        if have != need {
            return Err(
                FormatError::new(FormatErrorKind::UnsupportedVersion, "header_event", locus).sizes(
                    need,
                    have,
                    Limit::Record,
                ),
            );
        }
    }
    Ok(())
}
