//! The command line, declared. One struct per command lies in the command's own file.

use std::num::NonZeroUsize;

use clap::{Args, Parser, Subcommand};

use crate::commands::{
    batch, check, completions, convert, diff, explain, inspect, man, query, record, report, show, tables,
};
use crate::terminal::Color;

const EXAMPLES: &str = "\
Examples:
  sudo netmortem record -d 30s -o incident.nmb     on the host: thirty seconds of its network stack
  netmortem check incident.nmb                     is this recording fit to judge?
  netmortem report incident.nmb -o report.html     the postmortem, one file for the ticket
  netmortem show drops incident.nmb                one table of it
  netmortem batch incidents/ -o out                all recordings of a folder, ranked

INPUT is a bundle (.nmb), a trace.dat of trace-cmd, a perf.data of perf record, or - for standard input.
Exit codes: 0 done, 1 failed, 2 wrong usage, 3 done and the answer is bad (diff, --strict).";

/// Flight recorder and postmortem analyzer for the Linux network stack.
#[derive(Debug, Parser)]
#[command(name = "netmortem", version, after_help = EXAMPLES, max_term_width = 120)]
pub struct Cli {
    /// Options of every command.
    #[command(flatten)]
    pub global: Global,
    /// The command.
    #[command(subcommand)]
    pub command: Command,
}

/// Options of every command.
#[derive(Debug, Args)]
pub struct Global {
    /// Threads to work with [default: one per CPU]; results do not depend on it
    #[arg(long, global = true, value_name = "N")]
    pub threads: Option<NonZeroUsize>,
    /// Colours on a terminal; auto also obeys NO_COLOR
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto, value_name = "WHEN")]
    pub color: Color,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Record this host's network stack into a bundle (needs root)
    Record(Box<record::Args>),
    /// The postmortem: one self-contained HTML file, pictures, a short verdict here
    Report(report::Args),
    /// All recordings of some folders: a report each, one page that ranks them, one dataset
    Batch(batch::Args),
    /// Is the one recording worse than the other? exit code 3 when it is
    Diff(Box<diff::Args>),
    /// One table of facts: packets, receive path, connections, drops, ...
    Show(show::Args),
    /// Every table with its columns, units and meaning, as show --list
    Tables(tables::Args),
    /// SQL over all tables of facts
    Query(query::Args),
    /// What could be read, what was lost where: is this recording fit to judge?
    Check(check::Args),
    /// From an id in the report to its rows, its events and their bytes
    Explain(explain::Args),
    /// The recording in another form: Perfetto trace, Parquet tables, a cut or redacted bundle
    Convert(convert::Args),
    /// Records as they lie in the file: byte offset, event, fields
    Inspect(inspect::Args),
    /// Print a completion script for a shell
    Completions(completions::Args),
    /// Print the manual page, or write one page per command
    Man(man::Args),
}
