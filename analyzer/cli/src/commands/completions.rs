//! `netmortem completions`: a completion script for a shell.

use std::io::Write;

use clap::CommandFactory;
use netmortem_recorder::cli::Standalone;

use crate::Outcome;
use crate::args::Cli;

const EXAMPLES: &str = "\
Examples:
  netmortem completions bash > /etc/bash_completion.d/netmortem
  netmortem completions bash --recorder > /etc/bash_completion.d/netmortem-record
  netmortem completions fish > ~/.config/fish/completions/netmortem.fish";

/// Arguments.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The shell
    #[arg(value_name = "SHELL")]
    shell: clap_complete::Shell,
    /// Of netmortem-record, the recorder alone
    #[arg(long)]
    recorder: bool,
}

/// Prints the script.
pub fn run(args: &Args) -> anyhow::Result<Outcome> {
    let mut script = vec![];
    match args.recorder {
        true => clap_complete::generate(args.shell, &mut Standalone::command(), "netmortem-record", &mut script),
        false => clap_complete::generate(args.shell, &mut Cli::command(), "netmortem", &mut script),
    }
    std::io::stdout().write_all(&script)?;
    Ok(Outcome::Done)
}
