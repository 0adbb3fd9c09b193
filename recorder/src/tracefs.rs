//! The tracefs mount, and small file access below it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::buffer::spare_capacity;
use rustix::fs::{Mode, OFlags, openat};
use rustix::io::Errno;

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
    let file = File::open(path)?;
    // Never filled with zeros: hundreds of small files are read.
    let mut out = Vec::with_capacity(64 << 10);
    loop {
        match rustix::io::read(&file, spare_capacity(&mut out)) {
            Ok(0) => break,
            Ok(_) | Err(Errno::INTR) => {}
            Err(e) => return Err(e.into()),
        }
        if out.capacity() - out.len() < 32 << 10 {
            out.reserve(out.capacity());
        }
    }
    out.shrink_to_fit();
    Ok(out)
}

/// Reads a file of /proc/sys: it answers the first read call only, and for each call the kernel takes and clears as much
/// memory as is asked for (`proc_sys_call_handler` in fs/proc/proc_sysctl.c). So little is asked for, and more when it was too little.
/// It is named by its folder, because of the hundreds in one the way to it would cost more than they.
pub fn read_sysctl(folder: impl AsFd, name: &str) -> io::Result<Vec<u8>> {
    let mut bytes = 2 << 10;
    loop {
        let mut out = Vec::with_capacity(bytes);
        let file = openat(&folder, name, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
        match rustix::io::read(file, spare_capacity(&mut out)) {
            // Not filled, so nothing was left out. The kernel takes no more than 4 MiB.
            Ok(_) if out.len() < bytes / 2 || bytes >= 1 << 20 => return Ok(out),
            Ok(_) => bytes *= 8,
            Err(Errno::INTR) => {}
            Err(e) => return Err(e.into()),
        }
    }
}

/// A folder, for [`read_sysctl`].
pub fn folder(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(rustix::fs::open(path, flags, Mode::empty())?)
}

/// Appends `more` bytes of a pipe that holds them. Memory that is about to be written is not filled with zeros first.
pub fn append(pipe: impl AsFd, more: usize, out: &mut Vec<u8>) -> io::Result<()> {
    out.reserve(more);
    let end = out.len() + more;
    while out.len() < end {
        match rustix::io::read(&pipe, spare_capacity(out)) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(_) | Err(Errno::INTR) => {}
            Err(e) => return Err(e.into()),
        }
    }
    Ok(())
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
