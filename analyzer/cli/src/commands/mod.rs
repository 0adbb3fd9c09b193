//! One file per command: its arguments, its examples, and what it does with the libraries.
//!
//! ```text
//! Args (clap) -> run(&Args, &Global) -> Outcome; results to standard output or to -o
//! ```

pub mod batch;
pub mod check;
pub mod completions;
pub mod convert;
pub mod diff;
pub mod explain;
pub mod inspect;
pub mod man;
pub mod query;
pub mod record;
pub mod report;
pub mod show;
pub mod tables;

use crate::Outcome;
use crate::args::{Cli, Command};

/// Runs the command that was asked for.
pub fn run(cli: &Cli) -> anyhow::Result<Outcome> {
    match &cli.command {
        Command::Record(a) => record::run(a),
        Command::Report(a) => report::run(a, &cli.global),
        Command::Batch(a) => batch::run(a, &cli.global),
        Command::Diff(a) => diff::run(a, &cli.global),
        Command::Show(a) => show::run(a, &cli.global),
        Command::Tables(a) => tables::run(a, &cli.global),
        Command::Query(a) => query::run(a, &cli.global),
        Command::Check(a) => check::run(a, &cli.global),
        Command::Explain(a) => explain::run(a),
        Command::Convert(a) => convert::run(a),
        Command::Inspect(a) => inspect::run(a),
        Command::Completions(a) => completions::run(a),
        Command::Man(a) => man::run(a),
    }
}
