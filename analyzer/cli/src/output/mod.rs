//! Tables on standard output or in a file: aligned text, CSV, JSON, Parquet.
//!
//! In: a [`Sheet`], cells with heads. Out: bytes. Text from a recording may hold anything; terminals get it escaped.
//!
//! ```text
//! FactTable, query Rows -> Sheet (filtered, limited) -> text | csv | json
//! ```

mod csv;
mod json;
mod sheet;
mod suffix;
mod targets;
#[cfg(test)]
mod tests;
mod text;

use std::fs::{File, OpenOptions, Permissions};
use std::io::{BufWriter, ErrorKind, IsTerminal, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use anyhow::Context;
use clap::ValueEnum;

use crate::failure::failure;

pub use sheet::Sheet;
pub use suffix::{contradiction, page_format, table_format};
pub use targets::{distinct, distinct_from, is_standard, spare_recording, spare_recordings};
pub use text::{Look, clean, clean_lines, group_digits};

/// How a table is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Aligned columns for reading.
    Table,
    /// RFC 4180 with a head; unknown is empty; control characters are escaped.
    Csv,
    /// An array with one object per row; unknown is null.
    Json,
    /// A Parquet file.
    Parquet,
}

/// Standard output, or the file; `-` is standard output.
pub fn writer(path: Option<&Path>) -> anyhow::Result<Box<dyn Write>> {
    match path.filter(|p| p.as_os_str() != "-") {
        None => Ok(Box::new(BufWriter::with_capacity(1 << 16, std::io::stdout().lock()))),
        Some(p) => {
            let file = File::create(p).map_err(|e| cannot_write(p, &e))?;
            Ok(Box::new(BufWriter::with_capacity(1 << 16, file)))
        }
    }
}

/// Why a file cannot be written, and what to do.
fn cannot_write(p: &Path, e: &std::io::Error) -> anyhow::Error {
    let folder = p.parent().filter(|f| !f.as_os_str().is_empty());
    let next = match (e.kind(), folder) {
        (ErrorKind::NotFound, Some(folder)) => format!("make its folder first: mkdir -p {}", quoted(folder)),
        (ErrorKind::PermissionDenied, _) => "name a place that you may write: -o /tmp/FILE".to_owned(),
        (ErrorKind::IsADirectory, _) => "name a file in it".to_owned(),
        _ => "name another place with -o".to_owned(),
    };
    failure(format!("cannot write {}: {e}", p.display()), next)
}

/// A path as a shell takes it, as the page writes it; `INPUT` where it cannot be typed in plain sight.
pub fn quoted(path: &Path) -> String {
    let word = path.to_str().and_then(netmortem_reports::quoted);
    word.map_or_else(|| netmortem_reports::document::INPUT.to_owned(), |w| w.to_string())
}

/// What `fill` writes, to a file that only its owner may read, or to standard output (`-`). The file takes its name when it
/// is whole: where `fill` fails, what was there before stays. A pipe or a device is written as it is.
pub fn whole<T>(path: &Path, fill: impl FnOnce(&mut dyn Write) -> anyhow::Result<T>) -> anyhow::Result<T> {
    let into = |file: &mut dyn Write| {
        let mut out = BufWriter::with_capacity(1 << 16, file);
        let done = fill(&mut out)?;
        out.flush()?;
        Ok(done)
    };
    if path.as_os_str() == "-" {
        return into(&mut std::io::stdout().lock());
    }
    // What a link names is replaced, not the link.
    let path = &std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    if std::fs::metadata(path).is_ok_and(|m| !m.is_file()) {
        return into(&mut private_file(path)?);
    }
    let mut part = path.as_os_str().to_owned();
    part.push(format!(".{}.part", std::process::id()));
    let part = Path::new(&part);
    let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(part);
    let mut file = made.with_context(|| format!("cannot write {}", path.display()))?;
    let done = into(&mut file).and_then(|done| {
        let renamed = std::fs::rename(part, path);
        renamed.with_context(|| format!("cannot write {}", path.display()))?;
        Ok(done)
    });
    if done.is_err() {
        // The error that matters is that of writing.
        let _removed = std::fs::remove_file(part);
    }
    done
}

/// A new file with mode 0600, as the recorder makes its own: what is made of a recording tells as much of the host.
fn private_file(path: &Path) -> anyhow::Result<File> {
    let make = || {
        let mut options = OpenOptions::new();
        let file = options.write(true).create(true).truncate(true).mode(0o600).open(path)?;
        // A file that existed keeps its mode unless told otherwise; a pipe or a device is not ours to change.
        if file.metadata()?.is_file() {
            file.set_permissions(Permissions::from_mode(0o600))?;
        }
        Ok::<File, std::io::Error>(file)
    };
    make().with_context(|| format!("cannot write {}", path.display()))
}

/// Whether `path` (none or `-`: standard output) is a terminal.
pub fn is_terminal(path: Option<&Path>) -> bool {
    path.is_none_or(|p| p.as_os_str() == "-") && std::io::stdout().is_terminal()
}

/// Prints a sheet in one of the text formats (Parquet is the frames crate's, not a sheet's), and tells what a narrow terminal
/// leaves out.
pub fn print(sheet: &Sheet<'_>, format: Format, look: Look, out: &mut dyn Write) -> std::io::Result<()> {
    match format {
        Format::Csv => csv::write(sheet, out)?,
        Format::Json => json::write(sheet, out)?,
        Format::Table | Format::Parquet => {
            let left_out = text::write(sheet, look, out)?;
            out.flush()?;
            if !left_out.is_empty() {
                let list = left_out.join(", ");
                writeln!(
                    std::io::stderr(),
                    "too wide for this terminal, left out: {list}; choose columns, or pipe into less -S"
                )?;
            }
        }
    }
    out.flush()
}
