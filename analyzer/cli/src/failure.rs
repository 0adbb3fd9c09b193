//! Errors for a person: what, where, and what to do next.

use std::error::Error;
use std::fmt;
use std::io::{ErrorKind, Write};

use crate::terminal::{Color, red};

/// An error with advice.
#[derive(Debug)]
pub struct Failure {
    /// What happened, and where.
    pub what: String,
    /// What to do next; printed on its own line.
    pub next: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n  next: {}", self.what, self.next)
    }
}
impl Error for Failure {}

/// A [`Failure`] as an error.
pub fn failure(what: impl Into<String>, next: impl Into<String>) -> anyhow::Error {
    Failure {
        what: what.into(),
        next: next.into(),
    }
    .into()
}

/// Whether the reader of our output went away.
pub fn is_broken_pipe(e: &anyhow::Error) -> bool {
    e.chain().any(|c| {
        c.downcast_ref::<std::io::Error>()
            .is_some_and(|io| io.kind() == ErrorKind::BrokenPipe)
    })
}

/// Prints an error to standard error. Nothing is left to do when that fails too.
pub fn print(e: &anyhow::Error, color: Color) {
    let err = std::io::stderr();
    let name = red("netmortem:", color.on(&err));
    let _ = writeln!(err.lock(), "{name} {}", crate::output::clean_lines(&format!("{e:#}")));
}
