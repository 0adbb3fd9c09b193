//! The netmortem bundle (`.nmb`): a plain tar.

use crate::bytes::Bytes;
use crate::capture::Capture;
use crate::error::{FormatError, FormatErrorKind};
use crate::open::Descriptor;

/// How to open a bundle.
pub const DESCRIPTOR: Descriptor = Descriptor {
    name: "bundle",
    sniff,
    open,
};

fn sniff(_b: &[u8]) -> bool {
    false
}

fn open(_source: &str, _bytes: Bytes) -> Result<Capture, FormatError> {
    Err(FormatError::new(
        FormatErrorKind::Unsupported,
        "bundle",
        Default::default(),
    ))
}
