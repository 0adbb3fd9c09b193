//! What the terminal can and wants: colours and width.

use std::io::IsTerminal;

use clap::ValueEnum;
use terminal_size::{Width, terminal_size_of};

/// When to colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal, unless NO_COLOR is set or TERM is dumb.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl Color {
    /// Whether to colour what goes to `stream`. NO_COLOR counts when it is not empty (no-color.org).
    pub fn on(self, stream: &impl IsTerminal) -> bool {
        let is = |name: &str, f: &dyn Fn(&std::ffi::OsStr) -> bool| std::env::var_os(name).is_some_and(|v| f(&v));
        match self {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => stream.is_terminal() && !is("NO_COLOR", &|v| !v.is_empty()) && !is("TERM", &|v| v == "dumb"),
        }
    }
}

/// Columns of the terminal on standard output; `None` when it is not one: then nothing is cut.
pub fn stdout_width() -> Option<usize> {
    terminal_size_of(std::io::stdout())
        .map(|(Width(w), _)| usize::from(w))
        .filter(|w| *w > 0)
}

/// Columns of the terminal on standard error; `None` when it is not one: then no line is broken.
pub fn stderr_width() -> Option<usize> {
    terminal_size_of(std::io::stderr())
        .map(|(Width(w), _)| usize::from(w))
        .filter(|w| *w > 0)
}

/// Bold, when `on`.
pub fn bold(text: &str, on: bool) -> String {
    sgr("1", text, on)
}

/// Red and bold, when `on`.
pub fn red(text: &str, on: bool) -> String {
    sgr("1;31", text, on)
}

/// Yellow, when `on`.
pub fn yellow(text: &str, on: bool) -> String {
    sgr("33", text, on)
}

/// Green, when `on`.
pub fn green(text: &str, on: bool) -> String {
    sgr("32", text, on)
}

fn sgr(code: &str, text: &str, on: bool) -> String {
    if on {
        format!("\x1b[{code}m{text}\x1b[0m")
    } else {
        text.to_owned()
    }
}
