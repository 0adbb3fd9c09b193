//! `netmortem record`: the recorder's own command line.

use netmortem_recorder::cli::{self, RecordArgs};

use crate::Outcome;

const EXAMPLES: &str = "\
Examples:
  netmortem record -d 30s                       thirty seconds into incident-<host>-<time>.nmb
  netmortem record --dry-run                    what would be recorded, and what it would cost
  netmortem record -o slow.nmb                  until Ctrl-C
  netmortem record -o get.nmb -- curl -s URL    while a command runs
  netmortem record --profile lean --port 443    few events: can stay on for long
  netmortem record -d 10s -o - | ssh laptop 'cat > incident.nmb'

netmortem-record is the same recorder as a small program of its own.";

/// Arguments.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    record: RecordArgs,
}

/// Records.
pub fn run(args: &Args) -> anyhow::Result<Outcome> {
    cli::run(&args.record)?;
    Ok(Outcome::Done)
}
