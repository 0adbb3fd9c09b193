//! Why a recording could not start or had to end early. Every message says what to do next.

use std::io;
use std::path::PathBuf;

/// The error of the recorder.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// No tracefs is mounted.
    #[error("no tracefs at /sys/kernel/tracing or /sys/kernel/debug/tracing; mount it first")]
    NoTracefs,
    /// The kernel refused because of missing privileges.
    #[error("no permission for {path}: {because}", path = .path.display())]
    NoPermission {
        /// What was refused.
        path: PathBuf,
        /// What is missing, as far as can be told.
        because: String,
    },
    /// Tracefs can be read, not written.
    #[error(
        "{path}: tracefs is mounted read-only here (a container, or ProtectKernelTunables= of systemd); recording needs it writable",
        path = .path.display()
    )]
    ReadOnly {
        /// What was refused.
        path: PathBuf,
    },
    /// A file of tracefs could not be read or written.
    #[error("{doing} {path}: {source}", path = .path.display())]
    Tracefs {
        /// The verb.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// `--dev` names no interface.
    #[error("--dev {name}: there is no such interface, in no network namespace")]
    NoInterface {
        /// What was asked for.
        name: String,
    },
    /// `--cpu` names a CPU without a ring buffer.
    #[error("--cpu {cpu}: there is no such CPU here")]
    NoCpu {
        /// What was asked for.
        cpu: u32,
    },
    /// Not one event of the profile exists on this kernel.
    #[error("not one event of the profile could be enabled; is the kernel built with CONFIG_EVENT_TRACING?")]
    NothingToRecord,
    /// `--on` names what can never come.
    #[error("--on {spec}: {because}")]
    Trigger {
        /// What was asked for.
        spec: String,
        /// Why not.
        because: String,
    },
    /// A flight writes a file for each trigger.
    #[error("--flight writes a bundle for each trigger and cannot write to standard output")]
    FlightToStdout,
    /// The output could not be created, or written before anything was recorded.
    #[error("cannot write {}: {source}", shown(.path))]
    Create {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The output is there already.
    #[error("{path} exists; a recording does not write over a file", path = .path.display())]
    OutputExists {
        /// The file.
        path: PathBuf,
    },
    /// Another recorder writes the output.
    #[error("{path} is being written by another recorder", path = .path.display())]
    OutputInUse {
        /// The file.
        path: PathBuf,
    },
    /// The output is a symbolic link.
    #[error(
        "{path} is a symbolic link; none is followed, on purpose: a link planted under a name that can be guessed would make \
         root overwrite its target",
        path = .path.display()
    )]
    OutputIsLink {
        /// The link.
        path: PathBuf,
    },
    /// Nothing could be recorded for want of room.
    #[error("cannot write into {folder}: {because}", folder = .folder.display())]
    Folder {
        /// Where bundles were to go.
        folder: PathBuf,
        /// Why not.
        because: String,
    },
    /// The output could not be written while it was recorded.
    #[error("cannot write {}: {source}; what was written so far stays readable", shown(.path))]
    Output {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The output would be the user's terminal.
    #[error("refusing to write a bundle to a terminal")]
    OutputIsTerminal,
    /// The command could not be started.
    #[error("cannot run {command}: {source}")]
    Command {
        /// Its name.
        command: String,
        /// The system's error.
        source: io::Error,
    },
    /// Reading a ring buffer failed.
    #[error("reading the ring buffer of CPU {cpu}: {source}")]
    Drain {
        /// CPU number.
        cpu: u32,
        /// The system's error.
        source: io::Error,
    },
    /// Another system call failed.
    #[error("{doing}: {source}")]
    System {
        /// The verb.
        doing: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// The perf backend cannot be used, or not so.
    #[error("{because}")]
    Perf {
        /// Why not, and what to do.
        because: String,
    },
    /// An interface of `--pcap` cannot be recorded.
    #[error("--pcap {tap}: {because}")]
    Packets {
        /// The interface as asked for.
        tap: String,
        /// Why not.
        because: String,
    },
    /// The kernel refused a packet socket.
    #[error("--pcap {tap}: no permission for a packet socket: recording packets needs CAP_NET_RAW (try sudo)")]
    NoPacketPermission {
        /// The interface as asked for.
        tap: String,
    },
    /// A thread that takes packets panicked: a defect of this program.
    #[error("a thread that takes packets died; please report this as a defect")]
    PacketThreadDied,
    /// A drain thread panicked: a defect of this program.
    #[error("the thread that reads CPU {cpu} died; please report this as a defect")]
    ThreadDied {
        /// CPU number.
        cpu: u32,
    },
}

/// The output, as a person knows it.
fn shown(path: &std::path::Path) -> std::borrow::Cow<'_, str> {
    match path.as_os_str() == "-" {
        true => "standard output".into(),
        false => path.to_string_lossy(),
    }
}

impl RecordError {
    /// A refusal, and what is missing.
    pub(crate) fn no_permission(path: impl Into<PathBuf>) -> Self {
        RecordError::NoPermission {
            path: path.into(),
            because: crate::permissions::why_refused(false),
        }
    }

    /// The same, where tracefs is to be read only.
    pub(crate) fn by_perf(self) -> Self {
        match self {
            RecordError::NoPermission { path, .. } => RecordError::NoPermission {
                path,
                because: crate::permissions::why_refused(true),
            },
            e => e,
        }
    }

    /// The bundle could not be written; whoever records knows its path.
    pub(crate) fn output(source: io::Error) -> Self {
        RecordError::Output {
            path: "the bundle".into(),
            source,
        }
    }

    /// An error about a tracefs file; a refusal becomes [`RecordError::NoPermission`].
    pub(crate) fn tracefs(doing: &'static str, path: impl Into<PathBuf>, source: io::Error) -> Self {
        let path = path.into();
        match source.kind() {
            io::ErrorKind::PermissionDenied => RecordError::no_permission(path),
            io::ErrorKind::ReadOnlyFilesystem => RecordError::ReadOnly { path },
            _ => RecordError::Tracefs { doing, path, source },
        }
    }
}
