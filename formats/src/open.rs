//! Looks at the first bytes of an input and hands it to the format that knows them.

use std::path::Path;

use crate::bytes::Bytes;
use crate::capture::{Capture, Problem};
use crate::error::{FormatError, FormatErrorKind};
use crate::item::Locus;
use crate::packed::{self, Unpacked};
use crate::{bundle, pcapng, perf_data, trace_dat};

/// How to recognise and open one format. One line in [`FORMATS`] registers a format.
pub struct Descriptor {
    /// Name shown to users.
    pub name: &'static str,
    /// Whether these first bytes are of this format.
    pub sniff: fn(&[u8]) -> bool,
    /// Opens it: `source` is only a label.
    pub open: fn(source: &str, bytes: Bytes) -> Result<Capture, FormatError>,
}

/// All input formats, in the order they are asked.
pub const FORMATS: &[Descriptor] = &[
    bundle::DESCRIPTOR,
    trace_dat::DESCRIPTOR,
    perf_data::DESCRIPTOR,
    pcapng::PCAPNG_DESCRIPTOR,
    pcapng::PCAP_DESCRIPTOR,
];

/// Opens bytes already in memory; those of a file that was compressed are unpacked first.
pub fn open_bytes(source: &str, bytes: Bytes) -> Result<Capture, FormatError> {
    bytes_within(source, bytes, packed::MOST)
}

/// Opens a file; `-` is standard input. The outer error is the operating system's.
pub fn open_path(path: &Path) -> std::io::Result<Result<Capture, FormatError>> {
    open_within(path, packed::MOST)
}

/// Opens a file that may unpack to `most` bytes, where it is compressed.
pub fn open_within(path: &Path, most: u64) -> std::io::Result<Result<Capture, FormatError>> {
    let bytes = Bytes::read(path)?;
    Ok(bytes_within(&path.to_string_lossy(), bytes, most))
}

fn bytes_within(source: &str, bytes: Bytes, most: u64) -> Result<Capture, FormatError> {
    match packed::unpack(&bytes, most) {
        None => sniffed(source, bytes),
        Some(unpacked) => {
            let Unpacked { bytes, error } = unpacked?;
            let enough = bytes.len() >= ENOUGH;
            with_end(sniffed(source, Bytes::Owned(bytes)), error, enough)
        }
    }
}

/// Every format is known by so many bytes.
const ENOUGH: usize = 1024;

/// What was unpacked, and that it ends early where it does; `enough`: there are bytes to tell what it is.
fn with_end(
    opened: Result<Capture, FormatError>,
    ended: Option<FormatError>,
    enough: bool,
) -> Result<Capture, FormatError> {
    let Some(ended) = ended else { return opened };
    // Of what does not even begin, the cut is what there is to tell.
    let mut capture = opened.map_err(|e| if enough { e } else { ended })?;
    capture.complete = false;
    let how = match ended.kind {
        FormatErrorKind::Truncated => "cut",
        _ => "damaged",
    };
    capture.problems.push(Problem {
        error: Some(ended),
        message: format!(
            "the compressed file is {how}: {} bytes came out of it before that place, and what follows is not known",
            ended.have
        ),
        member: String::new(),
    });
    Ok(capture)
}

fn sniffed(source: &str, bytes: Bytes) -> Result<Capture, FormatError> {
    match FORMATS.iter().find(|f| (f.sniff)(&bytes)) {
        Some(f) => (f.open)(source, bytes),
        None => Err(FormatError::new(
            FormatErrorKind::UnknownFormat,
            "input",
            Locus::default(),
        )),
    }
}
