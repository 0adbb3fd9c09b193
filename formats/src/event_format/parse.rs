//! Grammar of the `format` text.

use super::declaration;
use crate::error::{FormatError, FormatErrorKind, Limit};
use crate::item::Locus;

/// What a field holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FieldKind {
    /// Integer, pointer, enum or bool of 1, 2, 4 or 8 bytes.
    Int,
    /// Fixed array of `count` elements of `size` bytes.
    Array {
        /// Element size; 0 when neither the brackets nor the type say (`unsigned long caller[]`).
        size: u32,
        /// Elements; 0 when the array runs to the end of the record or its element size is not known.
        count: u32,
        /// `char[]`: a text.
        text: bool,
    },
    /// `__data_loc`: offset from record start (low 16 bits), length (high 16 bits); with size 2 offset only, to the end.
    DataLoc {
        /// `char[]`: a text.
        text: bool,
    },
    /// `__rel_loc`: offset counts from the end of this field.
    RelLoc {
        /// `char[]`: a text.
        text: bool,
    },
    /// Anything else: bytes only.
    Opaque,
}

/// One field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldFormat {
    /// Name.
    pub name: String,
    /// C declaration without the name.
    pub declaration: String,
    /// Offset from record start.
    pub offset: u32,
    /// Size in bytes.
    pub size: u32,
    /// Whether the kernel says it is signed.
    pub signed: bool,
    /// What it holds.
    pub kind: FieldKind,
}

/// A `format` text, parsed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EventFormat {
    /// Tracing system (`net`).
    pub system: String,
    /// Event name (`net_dev_queue`).
    pub name: String,
    /// `common_type` of its records in this recording.
    pub id: u16,
    /// Common fields.
    pub common: Vec<FieldFormat>,
    /// Own fields.
    pub fields: Vec<FieldFormat>,
    /// The text after `print fmt:`.
    pub print_fmt: String,
}

impl EventFormat {
    /// Parses the text of `events/<system>/<name>/format`.
    ///
    /// Unknown lines and unknown keys of a field line are ignored, a missing `signed` is unsigned, a missing newline
    /// at the end is normal. Errors: `Missing` without `name:` or `ID:`, `BadText` for a field line without a name,
    /// offset or size, `BadValue` for an ID above 16 bits; the locus' offset is in the text.
    pub fn parse(system: &str, text: &[u8]) -> Result<EventFormat, FormatError> {
        // Four common fields on nearly all kernels, and rarely more than eight own: one allocation each.
        let mut out = EventFormat {
            system: system.to_owned(),
            common: Vec::with_capacity(4),
            fields: Vec::with_capacity(8),
            ..EventFormat::default()
        };
        let (mut has_id, mut blank_lines) = (false, 0u32);
        let mut at = 0usize;
        while let Some(rest) = text.get(at..).filter(|r| !r.is_empty()) {
            let locus = Locus {
                offset: at as u64,
                ..Locus::default()
            };
            let line = rest
                .get(..memchr::memchr(b'\n', rest).unwrap_or(rest.len()))
                .unwrap_or(rest);
            at = at.saturating_add(line.len()).saturating_add(1);
            if let Some(field) = field_key(line) {
                let field = field_after_key(field, locus)?;
                // The blank line splits common from own fields; a name without the prefix is an own field even when
                // the blank line was lost.
                let common = blank_lines == 0 && field.name.starts_with("common_");
                if common { &mut out.common } else { &mut out.fields }.push(field);
            } else if let Some(print_fmt) = line.strip_prefix(b"print fmt:") {
                // All that follows: nothing may come after it, and a print fmt may hold newlines.
                let start = at.saturating_sub(print_fmt.len()).saturating_sub(1);
                let all = text.get(start..).unwrap_or(print_fmt).trim_ascii();
                out.print_fmt = String::from_utf8_lossy(all).into_owned();
                break;
            } else if let Some(name) = line.strip_prefix(b"name:") {
                out.name = String::from_utf8_lossy(name.trim_ascii()).into_owned();
            } else if let Some(id) = line.strip_prefix(b"ID:") {
                let id = number(id).ok_or_else(|| FormatError::new(FormatErrorKind::BadText, "format ID", locus))?;
                out.id = u16::try_from(id).map_err(|_| {
                    FormatError::new(FormatErrorKind::BadValue, "format ID", locus).sizes(
                        id.into(),
                        u16::MAX.into(),
                        Limit::Record,
                    )
                })?;
                has_id = true;
            } else if line.trim_ascii().is_empty() && !out.common.is_empty() {
                blank_lines = blank_lines.saturating_add(1);
            }
        }
        let missing = |what| FormatError::new(FormatErrorKind::Missing, what, Locus::default());
        match (out.name.is_empty(), has_id) {
            (true, _) => Err(missing("format name")),
            (_, false) => Err(missing("format ID")),
            _ => Ok(out),
        }
    }

    /// The field of that name, own fields first, then common.
    pub fn field(&self, name: &str) -> Option<&FieldFormat> {
        self.fields.iter().chain(&self.common).find(|f| f.name == name)
    }

    /// The tracing system, of probes of our recorder without its pid (`netmortem_4242`): by this, and its name, an event is known.
    pub fn group(&self) -> &str {
        let pid = self.system.strip_prefix("netmortem_");
        match pid.is_some_and(|p| !p.is_empty() && p.bytes().all(|b| b.is_ascii_digit())) {
            true => "netmortem",
            false => &self.system,
        }
    }

    /// `system:name`.
    pub fn key(&self) -> String {
        format!("{}:{}", self.system, self.name)
    }
}

/// Parses one field line of a `format` or `header_page` text. `locus` is the line's place, for the error.
pub(crate) fn field_line(line: &[u8], locus: Locus) -> Result<FieldFormat, FormatError> {
    match field_key(line) {
        Some(rest) => field_after_key(rest, locus),
        None => Err(FormatError::new(FormatErrorKind::BadText, "field line", locus)),
    }
}

/// What follows the key of a field line. `field special` was the key of fixed arrays until 2.6.3x.
fn field_key(line: &[u8]) -> Option<&[u8]> {
    let line = line.trim_ascii_start();
    line.strip_prefix(b"field:")
        .or_else(|| line.strip_prefix(b"field special:"))
}

/// `<C declaration>; offset:N; size:N; signed:0|1;`
fn field_after_key(rest: &[u8], locus: Locus) -> Result<FieldFormat, FormatError> {
    let bad = |what| FormatError::new(FormatErrorKind::BadText, what, locus);
    let mut parts = rest.split(|b| *b == b';');
    let declaration = parts.next().unwrap_or(&[]);
    let declaration = std::str::from_utf8(declaration).map_err(|_| bad("field declaration"))?;
    let declaration = declaration::split(declaration).ok_or_else(|| bad("field declaration"))?;
    let (mut offset, mut size, mut signed) = (None, None, false);
    for part in parts {
        let part = part.trim_ascii();
        if let Some(v) = part.strip_prefix(b"offset:") {
            offset = number(v);
        } else if let Some(v) = part.strip_prefix(b"size:") {
            size = number(v);
        } else if let Some(v) = part.strip_prefix(b"signed:") {
            signed = number(v).ok_or_else(|| bad("field signed"))? != 0;
        }
    }
    let offset = offset.ok_or_else(|| bad("field offset"))?;
    let size = size.ok_or_else(|| bad("field size"))?;
    Ok(FieldFormat {
        name: declaration.name.to_owned(),
        declaration: declaration.type_text(),
        offset,
        size,
        signed,
        kind: declaration.kind(size),
    })
}

/// A decimal number that fits u32.
fn number(text: &[u8]) -> Option<u32> {
    std::str::from_utf8(text.trim_ascii()).ok()?.parse().ok()
}
