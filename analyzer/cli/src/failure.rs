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
    /// Exit code 2: what was asked for makes no sense, whatever the recording.
    pub usage: bool,
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
        usage: false,
    }
    .into()
}

/// A mistake in the command line that clap cannot see, as an error.
pub fn usage(what: impl Into<String>, next: impl Into<String>) -> anyhow::Error {
    Failure {
        what: what.into(),
        next: next.into(),
        usage: true,
    }
    .into()
}

/// The exit code of an error.
pub fn code(e: &anyhow::Error) -> u8 {
    let usage = e.downcast_ref::<Failure>().is_some_and(|f| f.usage);
    if usage { 2 } else { 1 }
}

/// What happened and why, each cause once: many errors say their cause themselves.
fn told(e: &anyhow::Error) -> String {
    let mut told = String::new();
    for cause in e.chain().map(ToString::to_string) {
        match (told.is_empty(), told.contains(&cause)) {
            (true, _) => told = cause,
            (_, true) => {}
            _ => told = format!("{told}: {cause}"),
        }
    }
    told
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
    let _ = writeln!(err.lock(), "{name} {}", crate::output::clean_lines(&told(e)));
}

#[cfg(test)]
mod tests;
