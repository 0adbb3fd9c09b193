//! `netmortem-record`: the recorder alone, for a host that should carry nothing else.

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use netmortem_recorder::cli::{self, RecordArgs};

/// Record what the kernel says about its network stack into one bundle.
#[derive(Debug, Parser)]
#[command(name = "netmortem-record", version, after_help = cli::EXAMPLES)]
struct Args {
    #[command(flatten)]
    record: RecordArgs,
}

fn main() -> ExitCode {
    match cli::run(&Args::try_parse().unwrap_or_else(|e| cli::with_tip(e).exit()).record) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            let _ = writeln!(std::io::stderr(), "netmortem-record: {}", e.for_terminal());
            ExitCode::FAILURE
        }
    }
}
