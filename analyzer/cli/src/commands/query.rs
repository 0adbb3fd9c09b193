//! `netmortem query`: SQL over all tables of facts.

use std::path::PathBuf;

use netmortem_analyzer::table::FactTable;

use crate::args::Global;
use crate::failure::failure;
use crate::output::{self, Format, Look, Sheet};
use crate::{Outcome, input, terminal};

const EXAMPLES: &str = "\
Examples:
  netmortem query incident.nmb 'SELECT reason, location, COUNT(*) AS n FROM drops GROUP BY reason, location ORDER BY n DESC'
  netmortem query incident.nmb 'SELECT task, MAX(total_ns) AS worst_ns FROM rx GROUP BY task' --format csv
  netmortem query incident.nmb 'SELECT * FROM skbs WHERE life_ns > 1000000' --format parquet -o slow.parquet

`netmortem show --list` names the tables and their columns. Unknown values are NULL. Without ORDER BY rows may come in any
order. POLARS_MAX_THREADS limits the threads of the SQL engine; --threads those of the analysis.";

/// Arguments.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// A bundle (.nmb) or trace.dat; - is standard input
    #[arg(value_name = "INPUT")]
    input: PathBuf,
    /// One SELECT statement
    #[arg(value_name = "SQL")]
    sql: String,
    /// How to print the result
    #[arg(long, value_enum, default_value_t = Format::Table, value_name = "FORMAT")]
    format: Format,
    /// Where to write; - is standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Runs the statement.
pub fn run(args: &Args, global: &Global) -> anyhow::Result<Outcome> {
    super::show::refuse_binary_on_terminal(args.format, args.output.as_deref())?;
    if let Some(to) = args.output.as_deref() {
        output::distinct(&args.input, &[to])?;
    }
    let facts = input::facts(&args.input)?;
    let tables = facts.tables();
    let tables: Vec<&dyn FactTable> = tables.iter().map(|t| t.as_ref()).collect();
    let rows = netmortem_frames::query(&tables, &args.sql).map_err(|e| {
        failure(
            e.to_string(),
            "`netmortem show --list` names the tables and their columns",
        )
    })?;
    let mut out = output::writer(args.output.as_deref())?;
    if args.format == Format::Parquet {
        netmortem_frames::rows_to_parquet(&rows, &mut out)?;
        out.flush()?;
    } else {
        let color = global.color.on(&std::io::stdout()) && args.output.is_none();
        let look = Look {
            width: terminal::stdout_width().filter(|_| args.output.is_none()),
            color,
        };
        output::print(&Sheet::of_rows(&rows), args.format, look, &mut out)?;
    }
    Ok(Outcome::Done)
}
