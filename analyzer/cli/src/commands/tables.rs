//! `netmortem tables`: what `netmortem show --list` prints, under the name that one looks for.

use std::path::PathBuf;

use super::show;
use crate::Outcome;
use crate::args::Global;
use crate::output::Format;

const EXAMPLES: &str = "\
Examples:
  netmortem tables                            every table, its columns, units and meaning; as netmortem show --list
  netmortem tables drops                      one of them
  netmortem tables --format json              for programs";

/// Arguments.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Only this table
    #[arg(value_name = "VIEW")]
    view: Option<String>,
    /// How to print [default: what the name of FILE says, else table]
    #[arg(long, value_enum, value_name = "FORMAT")]
    format: Option<Format>,
    /// Where to write; - is standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Lists.
pub fn run(args: &Args, global: &Global) -> anyhow::Result<Outcome> {
    let list = show::Args::list(args.view.clone(), args.format, args.output.clone());
    show::run(&list, global)
}
