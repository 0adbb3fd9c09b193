//! trace-cmd's `trace.dat`, versions 6 and 7.

use crate::bytes::Bytes;
use crate::capture::Capture;
use crate::error::{FormatError, FormatErrorKind};
use crate::open::Descriptor;

/// How to open a trace.dat.
pub const DESCRIPTOR: Descriptor = Descriptor {
    name: "trace.dat",
    sniff,
    open,
};

fn sniff(b: &[u8]) -> bool {
    b.starts_with(b"\x17\x08\x44tracing")
}

fn open(_source: &str, _bytes: Bytes) -> Result<Capture, FormatError> {
    Err(FormatError::new(
        FormatErrorKind::Unsupported,
        "trace.dat",
        Default::default(),
    ))
}
