//! Opens an INPUT, and says what to do when it cannot be opened.

use std::io::ErrorKind;
use std::path::Path;

use netmortem_analyzer::ingest::Options;
use netmortem_analyzer::{Facts, analyze};
use netmortem_formats::open::FORMATS;
use netmortem_formats::{Capture, FormatErrorKind, open_path};

use crate::failure::failure;
use crate::progress::Progress;

/// Opens `path` (`-` is standard input).
pub fn open(path: &Path) -> anyhow::Result<Capture> {
    let shown = if path.as_os_str() == "-" {
        "standard input".to_owned()
    } else {
        path.display().to_string()
    };
    let opened = open_path(path).map_err(|e| {
        let next = match e.kind() {
            ErrorKind::NotFound => "check the path; `netmortem record -o FILE` makes a recording",
            ErrorKind::PermissionDenied => {
                "a recording made as root belongs to root: sudo chown it, or read it with sudo"
            }
            ErrorKind::IsADirectory => "name a file: a bundle (.nmb) or a trace.dat",
            _ => "see whether the file can be read at all, for example with `cat FILE >/dev/null`",
        };
        failure(format!("cannot read {shown}: {e}"), next)
    })?;
    opened.map_err(|e| {
        if std::fs::metadata(path).is_ok_and(|m| m.is_file() && m.len() == 0) {
            return failure(
                format!("{shown} is empty"),
                "copy it again; an empty file has nothing to read",
            );
        }
        if e.kind == FormatErrorKind::UnknownFormat {
            let known: Vec<&str> = FORMATS.iter().map(|f| f.name).collect();
            let what = format!(
                "{shown} is not a recording: its first bytes are of none of: {}",
                known.join(", ")
            );
            return failure(what, format!("see what it is: file {shown}"));
        }
        let next = match e.kind {
            FormatErrorKind::Truncated => "the file is cut before anything can be read from it: copy it again",
            _ => "if another tool reads this file, its first kilobytes belong in a bug report",
        };
        failure(format!("{shown} is not a recording that can be read: {e}"), next)
    })
}

/// Opens `path`, which must have events of the kernel and not only packets.
pub fn open_events(path: &Path) -> anyhow::Result<Capture> {
    let capture = open(path)?;
    if ["pcap", "pcapng"].contains(&capture.format) {
        return Err(failure(
            format!(
                "{} has packets, and no event of the kernel: there is nothing to reconstruct",
                path.display()
            ),
            "`netmortem check` counts its packets; `netmortem record --pcap IF` records both",
        ));
    }
    Ok(capture)
}

/// Opens `path` and analyzes it, with a progress bar.
pub fn facts(path: &Path) -> anyhow::Result<Facts> {
    Ok(facts_of(&open_events(path)?))
}

/// Analyzes, with a progress bar.
pub fn facts_of(capture: &Capture) -> Facts {
    let progress = Progress::of_bytes(coded_bytes(capture));
    analyze(
        capture,
        &Options {
            progress: &|n| progress.add(n),
        },
    )
}

/// Coded bytes of all chunks: what a progress bar counts.
pub fn coded_bytes(capture: &Capture) -> u64 {
    let chunks = capture.streams.iter().flat_map(|s| &s.chunks);
    chunks
        .map(|c| c.range.end.saturating_sub(c.range.start))
        .fold(0, u64::saturating_add)
}
