//! What to do next about an error: the line after it, as the other commands have it.

use std::io::ErrorKind;
use std::path::Path;

use crate::error::RecordError;
use crate::output;

impl RecordError {
    /// What to do next, where something can be said that the error itself does not say.
    pub fn next(&self) -> Option<String> {
        let text = match self {
            RecordError::NoTracefs => "mount -t tracefs nodev /sys/kernel/tracing".to_owned(),
            RecordError::NoPermission { .. } => {
                "run it as root, or with the capabilities of docs/recording.md (Permissions)".to_owned()
            }
            RecordError::ReadOnly { .. } => {
                "mount tracefs writable, or record with --backend perf, which only reads it".to_owned()
            }
            RecordError::Create { path, source } => return not_created(path, source.kind()),
            RecordError::OutputExists { .. } => {
                "name another file with -o, or write over it with --force; without -o the name is new each time"
                    .to_owned()
            }
            RecordError::OutputInUse { .. } => "name another file with -o".to_owned(),
            RecordError::OutputIsLink { .. } => "name the file itself, or its folder".to_owned(),
            RecordError::OutputIsTerminal => "redirect it, or name a file with -o".to_owned(),
            RecordError::FlightToStdout => "name a file or a folder with -o".to_owned(),
            RecordError::Folder { folder, .. } => match folder.exists() {
                true => "free some room, or name another folder with -o".to_owned(),
                false => format!("mkdir -p {}", folder.display()),
            },
            RecordError::Output { path, source } => match (path.as_os_str() == "-", source.kind()) {
                (true, ErrorKind::BrokenPipe) => {
                    "its reader ended before the recording did: let it read to the end, or write a file with -o"
                        .to_owned()
                }
                (true, _) => return None,
                (false, _) => format!("`netmortem check {}` says what it holds", path.display()),
            },
            RecordError::Command { source, .. } => match source.kind() {
                ErrorKind::NotFound => "give its whole path, or check PATH (sudo has one of its own)".to_owned(),
                ErrorKind::PermissionDenied => "chmod +x it, or name the program that runs it".to_owned(),
                _ => return None,
            },
            RecordError::NoInterface { .. } => "ip link lists them, `ip netns` the network namespaces".to_owned(),
            RecordError::NoCpu { .. } => "/sys/devices/system/cpu/online lists them".to_owned(),
            _ => return None,
        };
        Some(text)
    }

    /// The error and what to do next, for a terminal.
    pub fn for_terminal(&self) -> String {
        match self.next() {
            Some(next) => format!("{self}\n  next: {next}"),
            None => self.to_string(),
        }
    }
}

fn not_created(path: &Path, kind: ErrorKind) -> Option<String> {
    let folder = output::folder(path);
    let text = match kind {
        ErrorKind::NotFound => format!("create the folder first: mkdir -p {}", folder.display()),
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            "name a file with -o where you may write".to_owned()
        }
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => format!(
            "free some room in {}, name a file elsewhere with -o, or send it away: -o - | ssh HOST 'cat > FILE'",
            folder.display()
        ),
        ErrorKind::BrokenPipe => "its reader went away: let it read to the end, or write a file with -o".to_owned(),
        _ => return None,
    };
    Some(text)
}
