//! `seconds/NNNNNN.zst`: texts of the host read together while the recording ran, one zstd frame of
//!
//! ```text
//! == clock 152\n{"monotonic_ns": ...}\n== net/netstat 4711\n<4711 bytes>\n== qdiscs 300\n<300 bytes>\n
//! ```
//!
//! A section is `== <what> <bytes>`, its bytes, and a newline. `clock` is a clock pair; the rest are as in `snapshots/`.

use crate::bytes_decode::decode;
use crate::capture::{Capture, ClockPair, Coding, MemberId};
use crate::error::{FormatError, FormatErrorKind, Limit};
use crate::item::Locus;

/// Decoded members above this are not read: a recorder writes some 100 KiB at most.
const MAX_BYTES: usize = 16 << 20;

/// Texts of one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Second {
    /// When they were read: just before the first of them.
    pub clock: ClockPair,
    /// What (`net/netstat`, `qdiscs`) and its text.
    pub texts: Vec<(String, Vec<u8>)>,
}

impl Second {
    /// The member's content before compression.
    pub fn encode(&self) -> std::io::Result<Vec<u8>> {
        let clock = serde_json::to_vec(&self.clock).map_err(std::io::Error::other)?;
        let mut out = Vec::new();
        let sections = self.texts.iter().map(|(what, text)| (what.as_str(), text));
        for (what, text) in std::iter::once(("clock", &clock)).chain(sections) {
            out.extend_from_slice(format!("== {what} {}\n", text.len()).as_bytes());
            out.extend_from_slice(text);
            out.push(b'\n');
        }
        Ok(out)
    }

    /// The inverse of [`Second::encode`]; the error is the byte at which it stopped.
    pub fn parse(bytes: &[u8]) -> Result<Second, usize> {
        let mut out = Second::default();
        let mut rest = bytes;
        let mut clocked = false;
        while !rest.is_empty() {
            let at = bytes.len().saturating_sub(rest.len());
            let (what, text, after) = section(rest).ok_or(at)?;
            rest = after;
            if what == "clock" && !clocked {
                out.clock = serde_json::from_slice(text).map_err(|_| at)?;
                clocked = true;
            } else {
                out.texts.push((what.to_owned(), text.to_vec()));
            }
        }
        if clocked { Ok(out) } else { Err(0) }
    }
}

fn section(bytes: &[u8]) -> Option<(&str, &[u8], &[u8])> {
    let end = bytes.iter().position(|b| *b == b'\n')?;
    let line = std::str::from_utf8(bytes.get(..end)?).ok()?;
    let (what, size) = line.strip_prefix("== ")?.rsplit_once(' ')?;
    let rest = bytes.get(end.checked_add(1)?..)?;
    let (text, rest) = rest.split_at_checked(size.parse().ok()?)?;
    Some((what, text, rest.strip_prefix(b"\n")?))
}

/// The members of a capture, in their order; each is decoded when it is asked for. An error is of that member only.
pub fn seconds(capture: &Capture) -> impl Iterator<Item = Result<Second, FormatError>> {
    let members = capture.members.iter().enumerate();
    members
        .filter(|(_, m)| super::names::is_seconds_name(&m.name))
        .map(|(i, m)| {
            let locus = Locus {
                member: MemberId(u32::try_from(i).unwrap_or(u32::MAX)),
                stream: 0,
                offset: m.range.start,
            };
            let coded = usize::try_from(m.range.start)
                .ok()
                .zip(usize::try_from(m.range.end).ok())
                .and_then(|(a, b)| capture.bytes.get(a..b))
                .unwrap_or_default();
            let stated = zstd::zstd_safe::get_frame_content_size(coded).ok().flatten();
            if stated.is_none_or(|n| n > MAX_BYTES as u64) {
                let error = FormatError::new(FormatErrorKind::TooLarge, "seconds member", locus);
                return Err(error.sizes(stated.unwrap_or(u64::MAX), MAX_BYTES as u64, Limit::Configured));
            }
            let text = decode(coded, Coding::Zstd { size: stated }, locus)?;
            Second::parse(&text).map_err(|_| FormatError::new(FormatErrorKind::BadText, "seconds member", locus))
        })
}
