//! `netmortem-record`: the recorder alone, for a host that should carry nothing else.

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use netmortem_recorder::cli::{self, Standalone};

fn main() -> ExitCode {
    match cli::run(
        &Standalone::try_parse()
            .unwrap_or_else(|e| cli::with_tip(e).exit())
            .record,
    ) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            let _ = writeln!(std::io::stderr(), "netmortem-record: {}", e.for_terminal());
            ExitCode::FAILURE
        }
    }
}
