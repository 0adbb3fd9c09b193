//! Helpers: the sample recording, and all items of a capture.

use std::path::PathBuf;

use crate::sub_buffer::sub_buffers;
use crate::{Bytes, Capture, FormatError, Stream, StreamItem, open_bytes};

/// A file of the sample.
pub fn sample_path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../sample-data/tracedat-loopback")
        .join(name)
}

/// A text of the sample.
pub fn sample_text(name: &str) -> String {
    std::fs::read_to_string(sample_path(name)).unwrap()
}

/// The bytes of the sample's trace.dat.
pub fn sample_bytes() -> Vec<u8> {
    std::fs::read(sample_path("trace.dat")).unwrap()
}

/// The sample, opened.
pub fn sample() -> Capture {
    open(sample_bytes())
}

/// Opens bytes that have a readable prologue.
pub fn open(bytes: Vec<u8>) -> Capture {
    open_bytes("test", Bytes::Owned(bytes)).unwrap()
}

/// One item with its own copy of the payload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Item {
    Record { ts: u64, payload: Vec<u8> },
    Lost(Option<u64>),
}

/// Calls `f` with every item of a stream; chunks and sub-buffers that fail are returned.
pub fn each<'a>(capture: &'a Capture, stream: &Stream, mut f: impl FnMut(&StreamItem<'_>)) -> Vec<FormatError> {
    let mut errors = Vec::new();
    for chunk in &stream.chunks {
        let locus = crate::Locus {
            member: chunk.member,
            stream: stream.cpu,
            offset: 0,
        };
        let bytes: std::borrow::Cow<'a, [u8]> = match capture.chunk_bytes(chunk) {
            Ok(b) => b,
            Err(e) => {
                errors.push(e);
                continue;
            }
        };
        for sub_buffer in sub_buffers(stream.page, &bytes, locus) {
            match sub_buffer {
                Ok(s) => {
                    for item in s.records(stream.page, locus) {
                        match item {
                            Ok(item) => f(&item),
                            Err(e) => errors.push(e),
                        }
                    }
                }
                Err(e) => errors.push(e),
            }
        }
    }
    errors
}

/// All items of a stream; the test fails on any error.
pub fn items(capture: &Capture, stream: &Stream) -> Vec<Item> {
    let mut out = Vec::new();
    let errors = each(capture, stream, |item| {
        out.push(match item {
            StreamItem::Record(r) => Item::Record {
                ts: r.ts,
                payload: r.payload.to_vec(),
            },
            StreamItem::Lost(l) => Item::Lost(l.count),
        })
    });
    assert_eq!(errors, []);
    out
}
