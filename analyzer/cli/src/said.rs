//! Where a summary goes: a result on standard output, or on standard error where standard output carries a document (`-o -`, `-o /dev/stdout`).
//!
//! Colours and width are those of the stream that is written to.

use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use netmortem_reports::Colors;

use crate::args::Global;
use crate::output::is_standard;
use crate::terminal::{stderr_width, stdout_width};

/// A stream for what a command sums up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Said {
    /// Standard output.
    Result,
    /// Standard error: standard output carries a document.
    Talk,
}

impl Said {
    /// Beside these outputs, of which one may be standard output by any of its names.
    pub fn beside(outputs: &[&Path]) -> Said {
        match outputs.iter().any(|p| is_standard(p)) {
            true => Said::Talk,
            false => Said::Result,
        }
    }

    /// Whether it is coloured.
    pub fn colors(self, global: &Global) -> Colors {
        let on = match self {
            Said::Result => global.color.on(&std::io::stdout()),
            Said::Talk => global.color.on(&std::io::stderr()),
        };
        match on {
            true => Colors::Ansi,
            false => Colors::None,
        }
    }

    /// Columns; `None` when it is no terminal: then no line is broken.
    pub fn width(self) -> Option<usize> {
        match self {
            Said::Result => stdout_width(),
            Said::Talk => stderr_width(),
        }
    }

    /// Writes all of it. A reader that went away has what it wanted, and the exit code stays that of the answer.
    pub fn write(self, text: &str) -> std::io::Result<()> {
        let written = match self {
            Said::Result => {
                let mut out = std::io::stdout().lock();
                out.write_all(text.as_bytes()).and_then(|()| out.flush())
            }
            Said::Talk => std::io::stderr().lock().write_all(text.as_bytes()),
        };
        unless_gone(written)
    }
}

/// What was written, where a reader that went away is no failure.
pub fn unless_gone(written: std::io::Result<()>) -> std::io::Result<()> {
    match written {
        Err(e) if e.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

/// Says on standard error which files were written; standard output is none. A reader that went away changes no exit code.
pub fn wrote(written: &[PathBuf], global: &Global) -> std::io::Result<()> {
    let files: Vec<PathBuf> = written.iter().filter(|p| !is_standard(p)).cloned().collect();
    let text = netmortem_reports::wrote(&files, Said::Talk.colors(global));
    unless_gone(std::io::stderr().lock().write_all(text.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_on_standard_output_takes_the_place_of_the_summary() {
        let of = |names: &[&str]| Said::beside(&names.iter().map(Path::new).collect::<Vec<_>>());
        assert_eq!(of(&["report.html"]), Said::Result);
        assert_eq!(of(&[]), Said::Result);
        assert_eq!(of(&["-"]), Said::Talk);
        assert_eq!(of(&["report.html", "-"]), Said::Talk);
    }
}
