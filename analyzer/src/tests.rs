//! What holds for the whole crate: registration of folders, thread counts, loss of events.

mod by_calls;
mod claims;
mod conserved;
mod folders;
mod hostile;
mod loss;
pub(crate) mod named;
mod older;
mod outside;
mod perf;
mod readers;
mod reasons;
mod sent;
mod threads;

use std::path::PathBuf;

use netmortem_formats::Capture;

/// A real recording of `sample-data`; one that lies there compressed (`.zst`) is unpacked.
pub(crate) fn sample(path: &str) -> Capture {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../sample-data")
        .join(path);
    match path.strip_suffix(".zst") {
        None => netmortem_formats::open_path(&file).unwrap().unwrap(),
        Some(name) => {
            let bytes = zstd::decode_all(std::fs::File::open(file).unwrap()).unwrap();
            netmortem_formats::open_bytes(name, netmortem_formats::Bytes::Owned(bytes)).unwrap()
        }
    }
}
const SAMPLES: [&str; 2] = ["rpc/rpc.nmb", "tracedat-loopback/trace.dat"];
