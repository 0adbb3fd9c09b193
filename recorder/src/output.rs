//! Where the bundle goes.

use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, BufWriter, IsTerminal, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::drain::Sink;
use crate::error::RecordError;
use crate::limits::free_bytes;
use crate::options::Output;
use crate::pipe::Pipe;

/// Told when the recording stops: from then on a reader that takes nothing is not waited for.
#[derive(Debug, Clone, Default)]
pub struct Patience(Arc<AtomicBool>);

impl Patience {
    /// The recording has stopped.
    pub fn stop(&self) {
        self.0.store(true, Ordering::Release);
    }
}

/// An output that is open.
pub struct Opened {
    /// What is written to it.
    pub sink: Sink,
    /// Its file; `None` is standard output.
    pub path: Option<PathBuf>,
    /// Of the sink.
    pub patience: Patience,
    /// The file that was made for it.
    pub made: Made,
}

/// The file of a bundle. One that was made goes again unless something is recorded: a failed start leaves no stub, and the bundle that it was told to
/// replace as it was.
#[derive(Debug, Default)]
pub struct Made {
    path: Option<PathBuf>,
    new: bool,
    kept: bool,
    replaces: Option<Replaced>,
}

/// A bundle that another one is to take the place of.
#[derive(Debug)]
struct Replaced {
    path: PathBuf,
    /// Its lock: nobody else replaces it meanwhile.
    _held: File,
}

impl Made {
    /// One that was just made.
    pub fn of(path: PathBuf) -> Made {
        Made {
            path: Some(path),
            new: true,
            kept: false,
            replaces: None,
        }
    }

    /// The file, where it is one.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Whether something is recorded.
    pub fn is_kept(&self) -> bool {
        self.kept
    }

    /// Something is recorded: from here on it has its name.
    pub fn keep(&mut self) -> Result<(), RecordError> {
        if let Some((part, old)) = self.path.as_ref().zip(self.replaces.as_ref()) {
            std::fs::rename(part, &old.path).map_err(|source| RecordError::Create {
                path: old.path.clone(),
                source,
            })?;
        }
        if let Some(old) = self.replaces.take() {
            self.path = Some(old.path);
        }
        self.kept = true;
        Ok(())
    }

    /// What a failed write means. The threads that write know no path.
    pub fn failed(&self, source: io::Error) -> RecordError {
        let path = self.replaces.as_ref().map(|old| &old.path).or(self.path.as_ref());
        let path = path.cloned().unwrap_or_else(|| "-".into());
        match self.kept {
            true => RecordError::Output { path, source },
            false => RecordError::Create { path, source },
        }
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        if let Some(path) = self.path.as_ref().filter(|_| self.new && !self.kept) {
            // On the way out of an error that is already being returned.
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Opens it, before anything is recorded. A bundle that exists is written over only by `force`.
pub fn open(output: &Output, force: bool) -> Result<Opened, RecordError> {
    let patience = Patience::default();
    let mut made = Made::default();
    let (file, path) = match output {
        Output::Stdout => {
            let stdout = io::stdout();
            if stdout.is_terminal() {
                return Err(RecordError::OutputIsTerminal);
            }
            // Not for what is started meanwhile: its reader would wait for the end of that, too.
            let fd = rustix::io::fcntl_dupfd_cloexec(&stdout, 0);
            let fd = fd.map_err(|e| RecordError::Output {
                path: "-".into(),
                source: e.into(),
            })?;
            (File::from(fd), None)
        }
        Output::File(path) => {
            let (file, new) = create(path, force)?;
            (made.new, made.path) = (new, Some(path.clone()));
            let file = match new || !file.metadata().is_ok_and(|m| m.is_file()) {
                true => file,
                // No other file can take the place of one that is mounted (docker -v FILE:FILE): it is emptied, and written.
                false if is_mounted(path) => emptied(file).map_err(|source| RecordError::Create {
                    path: path.clone(),
                    source,
                })?,
                false => beside(path, file, &mut made)?,
            };
            (file, Some(path.clone()))
        }
        Output::Named(first) => {
            let (file, path) = create_numbered(first)?;
            (made.new, made.path) = (true, Some(path.clone()));
            (file, Some(path))
        }
    };
    let stopped = Arc::clone(&patience.0);
    let sink: Sink = match file.metadata().is_ok_and(|m| m.is_file()) {
        true => buffered(file),
        false => Box::new(BufWriter::with_capacity(BUFFER_BYTES, Pipe::new(file, stopped))),
    };
    Ok(Opened {
        sink,
        path,
        patience,
        made,
    })
}

/// Nothing more is written to standard output: who reads it need not wait for this process to end. (Where this fails, it has to.)
pub fn let_go_of_stdout() {
    if let Ok(nowhere) = OpenOptions::new().write(true).open("/dev/null") {
        let _ = rustix::stdio::dup2_stdout(nowhere);
    }
}

const BUFFER_BYTES: usize = 256 << 10;

fn buffered(file: File) -> Sink {
    Box::new(BufWriter::with_capacity(BUFFER_BYTES, file))
}

/// A file that this process made for itself a moment ago.
pub fn open_own(path: &Path) -> Result<(Sink, Patience), RecordError> {
    let (file, _) = create(path, true)?;
    Ok((buffered(file), Patience::default()))
}

/// Whether it could be opened, before anything else is done: what is refused here costs no setup.
pub fn check(output: &Output, force: bool) -> Result<(), RecordError> {
    let (Output::File(path) | Output::Named(path)) = output else {
        return match io::stdout().is_terminal() {
            true => Err(RecordError::OutputIsTerminal),
            false => Ok(()),
        };
    };
    if let Err(source) = std::fs::metadata(folder(path)) {
        return Err(RecordError::Create {
            path: path.clone(),
            source,
        });
    }
    match (output, path.symlink_metadata()) {
        (Output::File(_), Ok(m)) if m.is_symlink() => Err(RecordError::OutputIsLink { path: path.clone() }),
        (Output::File(_), Ok(m)) if m.is_file() && !force => Err(RecordError::OutputExists { path: path.clone() }),
        _ => Ok(()),
    }
}

/// The name that a flight numbers.
pub fn base(output: &Output) -> Result<&Path, RecordError> {
    match output {
        Output::File(path) | Output::Named(path) => Ok(path),
        Output::Stdout => Err(RecordError::FlightToStdout),
    }
}

/// Less is no room for what a bundle holds besides events: symbols, formats, settings.
const LEAST_ROOM: u64 = 4 << 20;
/// Names tried for the file that tells whether a folder can be written.
const PROBES: u32 = 100;
/// Events take this part of their ring in the bundle, or less (2.7 of 46 bytes; docs/recording.md).
const PACKED: u64 = 8;

/// Whether a flight will find its folder when it triggers: it is there, takes a file, and has room. A note when full rings
/// may not fit.
pub fn check_folder(base: &Path, rings_bytes: u64) -> Result<Option<String>, RecordError> {
    let folder = folder(base);
    let error = |because: String| RecordError::Folder {
        folder: folder.into(),
        because,
    };
    match std::fs::metadata(folder) {
        Ok(m) if !m.is_dir() => return Err(error("it is no folder".to_owned())),
        Ok(_) => {}
        Err(e) => return Err(error(e.to_string())),
    }
    probe(folder).map_err(|e| error(e.to_string()))?;
    let Some(free) = free_bytes(base) else { return Ok(None) };
    if free < LEAST_ROOM {
        return Err(error(format!(
            "{} KiB are free, and a bundle needs {} KiB before its first event",
            free >> 10,
            LEAST_ROOM >> 10
        )));
    }
    let full = LEAST_ROOM.saturating_add(rings_bytes / PACKED);
    Ok((free < full).then(|| {
        format!(
            "{} has {} MiB free; a bundle of full rings may need {} MiB",
            folder.display(),
            free >> 20,
            full >> 20
        )
    }))
}

/// Whether a file can be made, written and removed there. A name that is taken is another recorder's, which may have the same number in its pid
/// namespace, or one that was killed.
fn probe(folder: &Path) -> io::Result<()> {
    for n in 0..PROBES {
        let path = folder.join(format!(".netmortem-probe-{}-{n}", std::process::id()));
        match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path) {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => continue,
            Err(e) => return Err(e),
            Ok(mut file) => {
                let written = file.write_all(b"probe");
                return std::fs::remove_file(&path).and(written);
            }
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Whether a bundle of what the rings hold now, and of what comes until they are read, will fit. A refused one leaves the rings as they are.
pub fn check_room(base: &Path, held_bytes: u64, rings_bytes: u64) -> io::Result<()> {
    let Some(free) = free_bytes(base) else { return Ok(()) };
    let need = LEAST_ROOM.saturating_add(held_bytes.saturating_mul(2).min(rings_bytes) / PACKED);
    if free >= need {
        return Ok(());
    }
    let because = format!(
        "{} KiB are free, and this bundle may need {} KiB",
        free >> 10,
        need >> 10
    );
    Err(io::Error::new(io::ErrorKind::StorageFull, because))
}

/// The folder of a file.
pub fn folder(path: &Path) -> &Path {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

fn emptied(file: File) -> io::Result<File> {
    // Another's file cannot be made private.
    let _ = file.set_permissions(Permissions::from_mode(0o600));
    file.set_len(0)?;
    Ok(file)
}

/// Whether a file system is mounted on this file. The fifth word of a line names the place, with spaces and the like in octal.
fn is_mounted(path: &Path) -> bool {
    let (Ok(path), Ok(mounts)) = (path.canonicalize(), std::fs::read("/proc/self/mountinfo")) else {
        return false;
    };
    let mut escaped: Vec<u8> = vec![];
    for b in path.as_os_str().as_bytes() {
        match b {
            b' ' | b'\t' | b'\n' | b'\\' => escaped.extend(format!("\\{b:03o}").bytes()),
            b => escaped.push(*b),
        }
    }
    let place = |line: &[u8]| line.split(|b| *b == b' ').nth(4).is_some_and(|p| p == escaped);
    mounts.split(|b| *b == b'\n').any(place)
}

/// The file, and whether it is new.
fn create(path: &Path, force: bool) -> Result<(File, bool), RecordError> {
    for _ in 1..REPLACED {
        let (file, new) = open_locked(path, force)?;
        // Another --force may have put its file in this one's place before this one was locked.
        let same = |m: std::fs::Metadata| file.metadata().is_ok_and(|f| (f.ino(), f.dev()) == (m.ino(), m.dev()));
        if path.symlink_metadata().is_ok_and(same) {
            return Ok((file, new));
        }
    }
    open_locked(path, force)
}

/// So often another one's file is found in its place.
const REPLACED: u32 = 5;

fn open_locked(path: &Path, force: bool) -> Result<(File, bool), RecordError> {
    let error = |source| RecordError::Create {
        path: path.to_owned(),
        source,
    };
    let mut how = OpenOptions::new();
    // A link planted under a name that can be guessed must not make root overwrite its target.
    how.write(true).mode(0o600).custom_flags(libc::O_NOFOLLOW);
    let (file, new) = match how.clone().create_new(true).open(path) {
        Ok(file) => (file, true),
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
            let is_link = path.symlink_metadata().is_ok_and(|m| m.is_symlink());
            if is_link {
                return Err(RecordError::OutputIsLink { path: path.into() });
            }
            (how.open(path).map_err(error)?, false)
        }
        Err(e) => return Err(error(e)),
    };
    // A pipe or a device holds no bundle that could be lost.
    if !file.metadata().map_err(error)?.is_file() {
        return Ok((file, false));
    }
    if !new && !force {
        return Err(RecordError::OutputExists { path: path.into() });
    }
    // Held as long as it is written: nobody's --force takes it from a recorder that runs.
    if let Err(Errno::WOULDBLOCK) = flock(&file, FlockOperation::NonBlockingLockExclusive) {
        return Err(RecordError::OutputInUse { path: path.into() });
    }
    Ok((file, new))
}

/// A file beside one that exists and that it takes the place of once something is recorded. Hidden, and gone when nothing is.
fn beside(path: &Path, held: File, made: &mut Made) -> Result<File, RecordError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let part = path.with_file_name(format!(".{name}.{}.part", std::process::id()));
    // Of a recorder that was killed, whose process had this number.
    let _ = std::fs::remove_file(&part);
    let (file, _) = create(&part, false)?;
    *made = Made::of(part);
    made.replaces = Some(Replaced {
        path: path.to_owned(),
        _held: held,
    });
    Ok(file)
}

/// More bundles of one second than this are a mistake.
const MOST: u32 = 1000;

/// `<stem>.nmb`, or `<stem>-2.nmb` when that is taken, and so on.
fn create_numbered(first: &Path) -> Result<(File, PathBuf), RecordError> {
    let stem = first.file_stem().unwrap_or_default().to_string_lossy();
    let mut path = first.to_owned();
    for n in 2..MOST {
        match create(&path, false) {
            Ok((file, _)) => return Ok((file, path)),
            Err(
                RecordError::OutputExists { .. } | RecordError::OutputInUse { .. } | RecordError::OutputIsLink { .. },
            ) => {
                path = first.with_file_name(format!("{stem}-{n}.nmb"));
            }
            Err(e) => return Err(e),
        }
    }
    Err(RecordError::OutputExists { path })
}
