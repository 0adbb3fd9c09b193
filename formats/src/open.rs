//! Looks at the first bytes of an input and hands it to the format that knows them.

use std::path::Path;

use crate::bytes::Bytes;
use crate::capture::Capture;
use crate::error::{FormatError, FormatErrorKind};
use crate::item::Locus;
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

/// Opens bytes already in memory.
pub fn open_bytes(source: &str, bytes: Bytes) -> Result<Capture, FormatError> {
    match FORMATS.iter().find(|f| (f.sniff)(&bytes)) {
        Some(f) => (f.open)(source, bytes),
        None => Err(FormatError::new(
            FormatErrorKind::UnknownFormat,
            "input",
            Locus::default(),
        )),
    }
}

/// Opens a file; `-` is standard input. The outer error is the operating system's.
pub fn open_path(path: &Path) -> std::io::Result<Result<Capture, FormatError>> {
    let bytes = Bytes::read(path)?;
    Ok(open_bytes(&path.to_string_lossy(), bytes))
}
