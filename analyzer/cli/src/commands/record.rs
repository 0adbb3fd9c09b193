//! `netmortem record`: the recorder's own command line.

use netmortem_recorder::cli::{self, RecordArgs};

use crate::Outcome;
use crate::failure::failure;

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
    match cli::run(&args.record) {
        Ok(()) => Ok(Outcome::Done),
        // As words: a reader of `-o -` that went away has not got what it wanted, whatever it is for other commands.
        Err(e) => Err(match e.next() {
            Some(next) => failure(e.to_string(), next),
            None => anyhow::Error::msg(e.to_string()),
        }),
    }
}
