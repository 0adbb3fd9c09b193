//! The tracefs mount, and small file access below it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use crate::error::RecordError;

const ROOTS: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// Finds the mount; never mounts.
pub fn find() -> Result<PathBuf, RecordError> {
    for root in ROOTS {
        match fs::metadata(Path::new(root).join("events")) {
            Ok(_) => return Ok(root.into()),
            Err(e) if e.kind() == std::io::ErrorKind::PermissionDenied => {
                return Err(RecordError::no_permission(root));
            }
            Err(_) => {}
        }
    }
    Err(RecordError::NoTracefs)
}

/// Reads a kernel file whole. Its stated size is 0 or a lie, and some (`header_page`, `filter`) answer only the first
/// read call: `read_to_end` begins with a call of 32 bytes and would get 32 bytes. So the first call is a large one.
pub fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let (mut out, mut have) = (vec![0; 64 << 10], 0);
    loop {
        match file.read(out.get_mut(have..).unwrap_or_default()) {
            Ok(0) => break,
            Ok(n) => have += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
        if out.len() - have < 32 << 10 {
            out.resize(out.len() * 2, 0);
        }
    }
    out.truncate(have);
    Ok(out)
}

/// [`read_file`] with an error that says what to do.
pub fn read(path: &Path) -> Result<Vec<u8>, RecordError> {
    read_file(path).map_err(|e| RecordError::tracefs("reading", path, e))
}

/// Writes one value. The kernel wants it in one write call, and never creates a file here.
pub fn write(path: &Path, value: &str) -> Result<(), RecordError> {
    let done = OpenOptions::new()
        .write(true)
        .truncate(true)
        .open(path)
        .and_then(|mut f| f.write_all(value.as_bytes()));
    done.map_err(|e| RecordError::tracefs("writing", path, e))
}

/// Names in a folder, sorted; none when it is not there.
pub fn list(path: &Path) -> Vec<String> {
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.filter_map(|e| e.file_name().into_string().ok()).collect();
    names.sort();
    names
}
