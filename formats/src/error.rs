//! The one error of all formats: what was wrong, where, how many bytes were needed and how many there were.

use crate::item::Locus;

/// What was wrong. Copy and comparable, so that tests and counters can name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FormatErrorKind {
    /// No known format starts with these bytes.
    UnknownFormat,
    /// The magic number or a section tag is not what the format says.
    BadMagic,
    /// A version that this reader does not know.
    UnsupportedVersion,
    /// A feature of the format that this reader does not implement.
    Unsupported,
    /// The data end before the item does.
    Truncated,
    /// A length or offset points outside its container, or contradicts another.
    BadLength,
    /// A text (format file, header_page, manifest) does not follow its grammar.
    BadText,
    /// A reserved or impossible value.
    BadValue,
    /// Decompression failed.
    Decompress,
    /// A checksum differs from the recorded one.
    Checksum,
    /// A chain of offsets that comes back to itself.
    Loop,
    /// A size above the limit that protects the reader's memory.
    TooLarge,
    /// A part the format requires is not there.
    Missing,
    /// The operating system refused to read.
    Io,
}

/// Which boundary set `have`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Limit {
    /// The end of the file.
    File,
    /// The end of a bundle member.
    Member,
    /// The end of a section.
    Section,
    /// The end of a ring-buffer sub-buffer.
    SubBuffer,
    /// The end of a record.
    Record,
    /// A limit of this program.
    Configured,
}

/// An error with its place. `what` names the item being read in the format's own words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{what}: {kind:?} at member {} stream {} offset {}: needs {need} bytes, has {have} (limited by {limited_by:?})", locus.member.0, locus.stream, locus.offset)]
pub struct FormatError {
    /// What was wrong.
    pub kind: FormatErrorKind,
    /// The item being read.
    pub what: &'static str,
    /// Where.
    pub locus: Locus,
    /// Bytes (or the value) the item needed; 0 where it has no meaning.
    pub need: u64,
    /// Bytes (or the value) that were there.
    pub have: u64,
    /// Which boundary set `have`.
    pub limited_by: Limit,
}

impl FormatError {
    /// An error without sizes.
    pub fn new(kind: FormatErrorKind, what: &'static str, locus: Locus) -> Self {
        FormatError {
            kind,
            what,
            locus,
            need: 0,
            have: 0,
            limited_by: Limit::File,
        }
    }
    /// The same error with the sizes it is about.
    pub fn sizes(mut self, need: u64, have: u64, limited_by: Limit) -> Self {
        (self.need, self.have, self.limited_by) = (need, have, limited_by);
        self
    }
}
