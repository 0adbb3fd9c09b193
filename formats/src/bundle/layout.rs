//! The tar layout: one forward walk over headers, nothing trusted. POSIX.1-2001 ustar, GNU `L`, pax `x` (path, size).

use std::ops::Range;

/// Headers and padding come in blocks of this many bytes.
pub const BLOCK: u64 = 512;
/// A long name or a pax header above this is damage, not a name.
const MAX_EXTENSION_BYTES: u64 = 64 << 10;

/// A member found by the walk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TarMember {
    /// Its name, a label only.
    pub name: String,
    /// Its bytes that are in the file.
    pub range: Range<u64>,
    /// Its size as the header states it: more than `range` when the file ends inside.
    pub stated_size: u64,
}

/// How the walk ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WalkEnd {
    /// The two zero blocks were there.
    EndMarker,
    /// The file ends at a member boundary without them, or inside them.
    NoEndMarker,
    /// The file ends inside the member or header that begins at this offset.
    Cut {
        /// Where that header begins.
        at: u64,
    },
    /// The header at this offset is not a tar header.
    BadHeader {
        /// Where.
        at: u64,
        /// What is wrong with it.
        what: &'static str,
    },
}

/// Walks `bytes`; every regular file before the end, the cut or the damage is returned.
pub fn walk(bytes: &[u8]) -> (Vec<TarMember>, WalkEnd) {
    let mut members = Vec::new();
    let mut at = 0u64;
    let mut long_name: Option<String> = None;
    let mut long_size: Option<u64> = None;
    loop {
        let header = match block(bytes, at) {
            Some(h) => h,
            None if rest_is_zero(bytes, at) => return (members, WalkEnd::NoEndMarker),
            None => return (members, WalkEnd::Cut { at }),
        };
        if header.iter().all(|b| *b == 0) {
            let end = match block(bytes, at.saturating_add(BLOCK)) {
                Some(h) if h.iter().all(|b| *b == 0) => WalkEnd::EndMarker,
                _ => WalkEnd::NoEndMarker,
            };
            return (members, end);
        }
        if !checksum_ok(header) {
            return (
                members,
                WalkEnd::BadHeader {
                    at,
                    what: "its checksum is wrong",
                },
            );
        }
        let Some(header_size) = number(field(header, 124, 12)) else {
            return (
                members,
                WalkEnd::BadHeader {
                    at,
                    what: "its size is not a number",
                },
            );
        };
        let kind = header.get(156).copied().unwrap_or(0);
        let stated_size = if is_file(kind) {
            long_size.take().unwrap_or(header_size)
        } else {
            header_size
        };
        let start = at.saturating_add(BLOCK);
        let stated_end = start.checked_add(stated_size).filter(|e| *e <= bytes.len() as u64);
        let end = stated_end.unwrap_or(bytes.len() as u64);
        let data = || slice(bytes, start..end);
        match kind {
            b'L' | b'x' if stated_size > MAX_EXTENSION_BYTES => {
                return (
                    members,
                    WalkEnd::BadHeader {
                        at,
                        what: "its extended header is too large",
                    },
                );
            }
            b'L' => long_name = Some(text(data())),
            b'x' => pax(data(), &mut long_name, &mut long_size),
            k if is_file(k) => {
                let name = long_name.take().unwrap_or_else(|| header_name(header));
                members.push(TarMember {
                    name,
                    range: start..end,
                    stated_size,
                });
            }
            _ => (long_name, long_size) = (None, None),
        }
        let padded = stated_end.and_then(|e| e.checked_next_multiple_of(BLOCK));
        match padded.filter(|e| *e <= bytes.len() as u64) {
            Some(next) => at = next,
            // Only the padding is missing: the member itself is whole.
            None if stated_end.is_some() => return (members, WalkEnd::NoEndMarker),
            None => return (members, WalkEnd::Cut { at }),
        }
    }
}

/// Whether the first bytes are a tar whose first file has this name; extended headers may come before it. A beginning
/// shorter than a header is judged by the name alone.
pub fn starts_with_member(bytes: &[u8], name: &str) -> bool {
    let named = |b: &[u8]| b.strip_prefix(name.as_bytes()).and_then(|r| r.first()) == Some(&0);
    let mut at = 0u64;
    for _ in 0..3 {
        let Some(header) = block(bytes, at) else {
            return at == 0 && named(bytes);
        };
        if !checksum_ok(header) {
            return false;
        }
        match header.get(156) {
            Some(b'x' | b'g' | b'L') => {
                let size = number(field(header, 124, 12)).and_then(|s| s.checked_next_multiple_of(BLOCK));
                let Some(next) = size.and_then(|s| s.checked_add(BLOCK)?.checked_add(at)) else {
                    return false;
                };
                at = next;
            }
            _ => return named(header),
        }
    }
    false
}

fn is_file(kind: u8) -> bool {
    matches!(kind, 0 | b'0' | b'7')
}

fn slice(bytes: &[u8], r: Range<u64>) -> &[u8] {
    usize::try_from(r.start)
        .ok()
        .zip(usize::try_from(r.end).ok())
        .and_then(|(a, b)| bytes.get(a..b))
        .unwrap_or(&[])
}

fn block(bytes: &[u8], at: u64) -> Option<&[u8]> {
    let b = slice(bytes, at..at.checked_add(BLOCK)?);
    (b.len() as u64 == BLOCK).then_some(b)
}

fn rest_is_zero(bytes: &[u8], at: u64) -> bool {
    usize::try_from(at)
        .ok()
        .and_then(|a| bytes.get(a..))
        .is_some_and(|r| r.iter().all(|b| *b == 0))
}

fn field(header: &[u8], at: usize, len: usize) -> &[u8] {
    header.get(at..at.saturating_add(len)).unwrap_or(&[])
}

fn text(b: &[u8]) -> String {
    let end = memchr::memchr(0, b).unwrap_or(b.len());
    String::from_utf8_lossy(b.get(..end).unwrap_or(b)).into_owned()
}

fn header_name(header: &[u8]) -> String {
    let name = text(field(header, 0, 100));
    // The prefix field exists only in POSIX headers; GNU keeps times there.
    let prefix = if field(header, 257, 6) == b"ustar\0" {
        text(field(header, 345, 155))
    } else {
        String::new()
    };
    if prefix.is_empty() {
        name
    } else {
        format!("{prefix}/{name}")
    }
}

/// Octal text, or base 256 when the top bit is set. A negative or too large number is `None`.
fn number(b: &[u8]) -> Option<u64> {
    let (first, rest) = b.split_first()?;
    if first & 0x80 != 0 {
        let seed = u64::from(first & 0x7f);
        return rest
            .iter()
            .try_fold(seed, |n, d| n.checked_mul(256)?.checked_add(u64::from(*d)));
    }
    let digits = b
        .iter()
        .skip_while(|c| **c == b' ')
        .take_while(|c| !matches!(**c, 0 | b' '));
    digits.into_iter().try_fold(0u64, |n, d| match d {
        b'0'..=b'7' => n.checked_mul(8)?.checked_add(u64::from(d.wrapping_sub(b'0'))),
        _ => None,
    })
}

/// Sum of all header bytes with the checksum field taken as spaces.
fn checksum_ok(header: &[u8]) -> bool {
    let sum = header.iter().enumerate().fold(0u64, |s, (i, b)| {
        s.saturating_add(if (148..156).contains(&i) { 32 } else { u64::from(*b) })
    });
    number(field(header, 148, 8)) == Some(sum)
}

/// `LEN key=value\n` records; only `path` and `size` matter here.
fn pax(mut data: &[u8], name: &mut Option<String>, size: &mut Option<u64>) {
    while let Some(space) = memchr::memchr(b' ', data) {
        let len = data
            .get(..space)
            .and_then(|d| std::str::from_utf8(d).ok())
            .and_then(|d| d.parse::<usize>().ok());
        let Some(record) = len.and_then(|l| data.get(space.saturating_add(1)..l)) else {
            return;
        };
        let Some((key, value)) = memchr::memchr(b'=', record).and_then(|e| record.split_at_checked(e)) else {
            return;
        };
        let value = value.get(1..).unwrap_or(&[]);
        let value = value.strip_suffix(b"\n").unwrap_or(value);
        match key {
            b"path" => *name = Some(text(value)),
            b"size" => *size = std::str::from_utf8(value).ok().and_then(|v| v.parse().ok()),
            _ => {}
        }
        data = data.get(len.unwrap_or(data.len())..).unwrap_or(&[]);
    }
}
