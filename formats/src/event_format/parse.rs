//! Grammar of the `format` text.

use crate::error::{FormatError, FormatErrorKind};

/// What a field holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FieldKind {
    /// Integer, pointer, enum or bool of 1, 2, 4 or 8 bytes.
    Int,
    /// Fixed array of `count` elements of `size` bytes.
    Array {
        /// Element size.
        size: u32,
        /// Elements.
        count: u32,
        /// `char[]`: a text.
        text: bool,
    },
    /// `__data_loc`: offset from record start (low 16 bits), length (high 16 bits).
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
    pub fn parse(_system: &str, _text: &[u8]) -> Result<EventFormat, FormatError> {
        Err(FormatError::new(
            FormatErrorKind::Unsupported,
            "format",
            Default::default(),
        ))
    }
    /// The field of that name, own fields first, then common.
    pub fn field(&self, name: &str) -> Option<&FieldFormat> {
        self.fields.iter().chain(&self.common).find(|f| f.name == name)
    }
    /// `system:name`.
    pub fn key(&self) -> String {
        format!("{}:{}", self.system, self.name)
    }
}
