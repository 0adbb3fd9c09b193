//! The one place where text from a recording becomes text of a report.
//!
//! Process, device and file names are chosen by whoever made the recording's traffic. `Text` can only be made here, so that what
//! holds for it holds everywhere: no control byte, no bidirectional override, no invisible character, bounded length. What was
//! there is shown as an escape (`\x1b`), not dropped. Escaping of `<`, `&` and quotes is the writers' (maud; the SVG backend).

use std::fmt;

/// Longest name (process, device, file, reason), in characters; the rest becomes `…`.
pub const MAX_NAME_CHARS: usize = 60;
/// Longest text of any other kind, in characters.
pub const MAX_TEXT_CHARS: usize = 4_000;

/// Text that is safe to show: see the module.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Text(String);

impl Text {
    /// A name from the recording: cleaned and cut to [`MAX_NAME_CHARS`].
    #[must_use]
    pub fn name(raw: &str) -> Self {
        Self(clean(raw, MAX_NAME_CHARS))
    }

    /// A name from the recording as bytes; those that are not UTF-8 are shown as `\xNN`.
    #[must_use]
    pub fn name_bytes(raw: &[u8]) -> Self {
        let mut shown = String::new();
        for chunk in raw.utf8_chunks() {
            shown.push_str(chunk.valid());
            for byte in chunk.invalid() {
                shown.push_str(&format!("\\x{byte:02x}"));
            }
            if shown.len() > 4 * MAX_NAME_CHARS {
                break; // already longer than what is kept
            }
        }
        Self(clean(&shown, MAX_NAME_CHARS))
    }

    /// The clean text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// True when there is nothing to show.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl From<&str> for Text {
    fn from(raw: &str) -> Self {
        Self(clean(raw, MAX_TEXT_CHARS))
    }
}

impl From<String> for Text {
    fn from(raw: String) -> Self {
        Self(clean(&raw, MAX_TEXT_CHARS))
    }
}

impl From<&String> for Text {
    fn from(raw: &String) -> Self {
        Self(clean(raw, MAX_TEXT_CHARS))
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn clean(raw: &str, limit: usize) -> String {
    let mut out = String::with_capacity(raw.len().min(4 * limit));
    for (at, c) in raw.chars().enumerate() {
        if at == limit {
            out.push('…');
            break;
        }
        match c {
            '\n' | '\t' | '\r' => out.push(' '),
            c if c.is_ascii_control() => out.push_str(&format!("\\x{:02x}", u32::from(c))),
            c if is_hidden(c) => out.push_str(&format!("\\u{{{:x}}}", u32::from(c))),
            c => out.push(c),
        }
    }
    out
}

/// Characters that change how their neighbours are read, or cannot be seen, or are not allowed in XML.
fn is_hidden(c: char) -> bool {
    matches!(c,
        '\u{80}'..='\u{9f}' // C1 controls
        | '\u{ad}' // soft hyphen
        | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' // marks, overrides, isolates
        | '\u{2028}' | '\u{2029}' // separators
        | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{fffe}' | '\u{ffff}'
        | '\u{e0000}'..='\u{e007f}' // tags
    )
}
