//! Where the bundle goes.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, IsTerminal};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::PathBuf;

use crate::drain::Sink;
use crate::error::RecordError;
use crate::options::Output;

/// Creates it, before anything is recorded; the path is `None` for standard output.
pub fn open(output: &Output) -> Result<(Sink, Option<PathBuf>), RecordError> {
    let buffered = |f: File| -> Sink { Box::new(BufWriter::with_capacity(256 << 10, f)) };
    match output {
        Output::Stdout => {
            let stdout = io::stdout();
            if stdout.is_terminal() {
                return Err(RecordError::OutputIsTerminal);
            }
            let fd = rustix::io::dup(&stdout);
            let fd = fd.map_err(|e| RecordError::Output {
                path: "-".into(),
                source: e.into(),
            })?;
            Ok((buffered(File::from(fd)), None))
        }
        Output::File(path) => {
            let opened = OpenOptions::new()
                .write(true)
                .create(true)
                .truncate(true)
                .mode(0o600)
                // A link planted under a name that can be guessed must not make root overwrite its target.
                .custom_flags(libc::O_NOFOLLOW)
                .open(path);
            // A file that existed keeps its mode unless told otherwise.
            let opened = opened.and_then(|f| match f.metadata()?.is_file() {
                true => f.set_permissions(std::fs::Permissions::from_mode(0o600)).map(|()| f),
                false => Ok(f),
            });
            let file = opened.map_err(|source| RecordError::Output {
                path: path.clone(),
                source,
            })?;
            Ok((buffered(file), Some(path.clone())))
        }
    }
}
