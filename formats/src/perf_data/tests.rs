//! Against perf script, on files written here byte by byte, and on damaged ones.
#![allow(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

mod hostile;
mod recorded;
mod synthetic;
mod writer;

use std::path::PathBuf;

use crate::{Bytes, Capture, FormatError, Locus, StreamItem};

/// A record as it was read.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Event {
    ts: u64,
    cpu: u32,
    payload: Vec<u8>,
}

/// What all chunks hold.
#[derive(Debug, Default)]
struct Read {
    events: Vec<Event>,
    /// (CPU, count) in order.
    lost: Vec<(u32, Option<u64>)>,
    errors: Vec<FormatError>,
}

fn open(bytes: Vec<u8>) -> Capture {
    super::open("test", Bytes::Owned(bytes)).unwrap()
}

fn messages(c: &Capture) -> String {
    let all: Vec<&str> = c.problems.iter().map(|p| p.message.as_str()).collect();
    all.join("; ")
}

fn read(c: &Capture) -> Read {
    let mut out = Read::default();
    for s in &c.streams {
        for chunk in &s.chunks {
            let locus = Locus {
                member: chunk.member,
                stream: s.cpu,
                offset: 0,
            };
            let bytes = c.chunk_bytes(chunk).unwrap();
            let mut streamed = Vec::new();
            s.for_each(&bytes, locus, |item| {
                streamed.push(item.map_err(|e| e.kind));
                match item {
                    Ok(StreamItem::Record(r)) => {
                        let at = r.offset as usize;
                        assert_eq!(bytes.get(at..at + r.payload.len()), Some(r.payload));
                        out.events.push(Event {
                            ts: r.ts,
                            cpu: s.cpu,
                            payload: r.payload.to_vec(),
                        });
                    }
                    Ok(StreamItem::Lost(l)) => out.lost.push((s.cpu, l.count)),
                    Err(e) => out.errors.push(e),
                }
            });
            let pulled: Vec<_> = s.items(&bytes, locus).map(|i| i.map_err(|e| e.kind)).collect();
            assert_eq!(streamed, pulled);
        }
    }
    out
}

fn sample(name: &str) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../sample-data/perf-loopback")
        .join(name);
    let bytes = std::fs::read(path).unwrap();
    match name.ends_with(".zst") {
        true => zstd::decode_all(&bytes[..]).unwrap(),
        false => bytes,
    }
}

fn sample_text(name: &str) -> String {
    String::from_utf8(sample(name)).unwrap()
}
