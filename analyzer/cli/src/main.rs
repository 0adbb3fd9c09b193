//! `netmortem`: the command line of the flight recorder and the postmortem analyzer.
//!
//! Arguments become plain options, and every command is one file of `commands/`. Nothing is computed here.
//!
//! ```text
//! args (clap) -> commands::<command>::run(options) -> Outcome | error -> exit code
//! results: standard output, or the file named by -o (what was found is then summed up on standard output)
//! talk, progress, names of files written and errors: standard error
//! ```

mod args;
mod commands;
mod failure;
mod input;
mod memory;
mod output;
mod part;
mod progress;
mod said;
mod terminal;
mod times;

use std::process::ExitCode;

use clap::Parser;

/// How a command that did not fail ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Exit code 0.
    Done,
    /// Exit code 3: done, and the answer is bad.
    Bad,
}

fn main() -> ExitCode {
    // A usage error ends here with exit code 2.
    let cli = args::Cli::try_parse().unwrap_or_else(|e| {
        let recording = std::env::args().any(|a| a == "record");
        if recording {
            netmortem_recorder::cli::with_tip(e)
        } else {
            e
        }
        .exit()
    });
    match run(&cli) {
        Ok(Outcome::Done) => ExitCode::SUCCESS,
        Ok(Outcome::Bad) => ExitCode::from(3),
        // `netmortem show ... | head`: the reader has what it wanted.
        Err(e) if failure::is_broken_pipe(&e) => ExitCode::SUCCESS,
        Err(e) => {
            failure::print(&e, cli.global.color);
            ExitCode::from(failure::code(&e))
        }
    }
}

fn run(cli: &args::Cli) -> anyhow::Result<Outcome> {
    if let Some(n) = cli.global.threads {
        rayon::ThreadPoolBuilder::new().num_threads(n.get()).build_global()?;
    }
    commands::run(cli)
}
