//! The bytes of an input: a mapped file, or what was read from a pipe. The one file of this crate with `unsafe`.

use std::fs::File;
use std::io::Read;
use std::ops::Deref;
use std::path::Path;

/// Input bytes.
#[derive(Debug)]
pub enum Bytes {
    /// A memory map of a regular file.
    Mapped(memmap2::Mmap),
    /// Bytes in memory.
    Owned(Vec<u8>),
}

impl Deref for Bytes {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        match self {
            Bytes::Mapped(m) => m,
            Bytes::Owned(v) => v,
        }
    }
}

impl Bytes {
    /// Maps `path` when it is a regular file, else reads it to its end; `-` is standard input.
    pub fn read(path: &Path) -> std::io::Result<Bytes> {
        if path.as_os_str() == "-" {
            let mut v = Vec::new();
            std::io::stdin().lock().read_to_end(&mut v)?;
            return Ok(Bytes::Owned(v));
        }
        let mut file = File::open(path)?;
        let meta = file.metadata()?;
        if meta.is_file() && meta.len() > 0 {
            // SAFETY: the map is read-only; a file that another process truncates meanwhile raises SIGBUS, which is
            // the usual contract of offline tools on a file that nobody writes any more.
            #[allow(unsafe_code)]
            let map = unsafe { memmap2::Mmap::map(&file)? };
            return Ok(Bytes::Mapped(map));
        }
        let mut v = Vec::new();
        file.read_to_end(&mut v)?;
        Ok(Bytes::Owned(v))
    }
}
