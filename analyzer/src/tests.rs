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

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock};

use netmortem_formats::Capture;

use crate::facts::Facts;

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
/// The whole analysis of a sample, done once for all tests: a copy each, which theirs may change.
pub(crate) fn facts(path: &str) -> Facts {
    static DONE: Mutex<BTreeMap<String, Arc<OnceLock<Facts>>>> = Mutex::new(BTreeMap::new());
    let slot = Arc::clone(DONE.lock().unwrap().entry(path.to_string()).or_default());
    slot.get_or_init(|| crate::analyze(&sample(path), &Default::default()))
        .clone()
}
const SAMPLES: [&str; 2] = ["rpc/rpc.nmb", "tracedat-loopback/trace.dat"];
