//! Which files a command is about to write. Writing starts with emptying: an output that is the recording itself would destroy
//! the only copy of an incident, and two outputs in one file destroy each other. Checked before any of them is opened.

use std::ffi::OsString;
use std::fs::{File, Metadata};
use std::io::IsTerminal;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use netmortem_formats::open::FORMATS;
use netmortem_formats::packed;

use crate::failure::failure;

/// Bytes that tell every format.
const FIRST: u64 = 64;

/// As [`distinct`], of several inputs.
pub fn distinct_from(inputs: &[PathBuf], outputs: &[&Path]) -> anyhow::Result<()> {
    inputs
        .iter()
        .try_for_each(|i| distinct(&crate::input::file_of(i), outputs))
}

/// What a path writes to.
#[derive(PartialEq, Eq)]
enum Target {
    /// Standard output.
    Standard,
    /// A file that exists: device and inode, so that links to it are it.
    Existing(u64, u64),
    /// A file that will be made: its folder without links, and its name.
    New(PathBuf, OsString),
}

/// Fails when an output is the input, or two outputs are one.
pub fn distinct(input: &Path, outputs: &[&Path]) -> anyhow::Result<()> {
    let read = target(input).filter(|t| *t != Target::Standard);
    let mut before: Vec<Target> = vec![];
    for path in outputs {
        let Some(written) = target(path) else { continue };
        if Some(&written) == read.as_ref() {
            return Err(failure(
                format!("{} is the recording: it would be overwritten", path.display()),
                "name another file with -o",
            ));
        }
        if before.contains(&written) {
            return Err(failure(
                format!("two outputs cannot both be {}", path.display()),
                "name a file for each",
            ));
        }
        before.push(written);
    }
    Ok(())
}

/// Fails when an output that is never a recording (a page, a table, JSON) would take the place of one: `report --json A.nmb B.nmb`
/// names A as the file to write, where `check --json A.nmb B.nmb` would read it.
pub fn spare_recordings(output: Option<&Path>, json: Option<&Path>) -> anyhow::Result<()> {
    let refuse = |path: Option<&Path>, next: &str| match path.filter(|p| is_recording(p)) {
        Some(path) => Err(failure(
            format!("{} is a recording: it would be overwritten", path.display()),
            next,
        )),
        None => Ok(()),
    };
    refuse(output, "name another file with -o")?;
    refuse(json, "--json takes the file to write: --json - prints it")
}

/// Fails when an output that may be a recording would take the place of one; `record` says it so.
pub fn spare_recording(output: &Path, force: bool) -> anyhow::Result<()> {
    match !force && output.as_os_str() != "-" && is_recording(output) {
        false => Ok(()),
        true => Err(failure(
            format!("{} exists; a recording does not write over a file", output.display()),
            "name another file with -o, or write over it with --force",
        )),
    }
}

/// Whether a file is there and begins as a recording does; of what cannot be read opening it for writing tells more.
fn is_recording(path: &Path) -> bool {
    if !std::fs::metadata(path).is_ok_and(|m| m.is_file()) {
        return false;
    }
    let first = File::open(path).map(|f| packed::beginning(f, FIRST));
    first.is_ok_and(|first| FORMATS.iter().any(|f| (f.sniff)(&first)))
}

/// Whether what is written to a path comes out where standard output does: `-`, /dev/stdout, /proc/self/fd/1, or the file's own name.
/// What keeps nothing (/dev/null) mixes nothing.
pub fn is_standard(path: &Path) -> bool {
    let same = |out: &Metadata, to: &Metadata| (out.dev(), out.ino()) == (to.dev(), to.ino());
    let keeps = |out: &Metadata| !out.file_type().is_char_device() || std::io::stdout().is_terminal();
    let named = || standard().zip(std::fs::metadata(path).ok());
    path.as_os_str() == "-" || named().is_some_and(|(out, to)| same(&out, &to) && keeps(&out))
}

/// What standard output is.
fn standard() -> Option<Metadata> {
    let fd = std::io::stdout().as_fd().try_clone_to_owned().ok()?;
    File::from(fd).metadata().ok()
}

/// `None`: what can be written twice (/dev/null, a pipe), and what cannot be written at all, which opening it will tell.
fn target(path: &Path) -> Option<Target> {
    if path.as_os_str() == "-" {
        return Some(Target::Standard);
    }
    match std::fs::metadata(path) {
        Ok(m) => m.is_file().then(|| Target::Existing(m.dev(), m.ino())),
        Err(_) => {
            let folder = path.parent().filter(|p| !p.as_os_str().is_empty());
            let folder = folder.unwrap_or(Path::new(".")).canonicalize().ok()?;
            Some(Target::New(folder, path.file_name()?.to_owned()))
        }
    }
}
