//! File names with a sequence number. A name is taken by creating it: a flight never writes over a bundle, neither its own
//! of last week nor that of a second flight.

use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// More bundles of one name than this are a mistake.
const MAX: u32 = 999_999;

/// Creates `<stem>-000001.nmb` with the first number that is free. `base` is a file name; its extension is kept.
pub fn take(base: &Path) -> io::Result<PathBuf> {
    let extension = base.extension().map_or("nmb".into(), |e| e.to_string_lossy());
    let stem = base.file_stem().unwrap_or_default().to_string_lossy();
    for n in 1..=MAX {
        let path = base.with_file_name(format!("{stem}-{n:06}.{extension}"));
        match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path) {
            Ok(_) => return Ok(path),
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
            Err(e) => return Err(e),
        }
    }
    Err(io::Error::other(format!("all numbers up to {MAX} are taken")))
}
