//! `netmortem query`: SQL over all tables of facts.

use std::path::{Path, PathBuf};

use netmortem_analyzer::table::FactTable;

use crate::args::Global;
use crate::failure::{failure, usage};
use crate::output::{self, Format, Look, Sheet};
use crate::{Outcome, input, terminal};
use netmortem_frames::FramesError;

const EXAMPLES: &str = "\
Examples:
  netmortem query incident.nmb 'SELECT reason, location, COUNT(*) AS n FROM drops GROUP BY reason, location ORDER BY n DESC'
  netmortem query incident.nmb 'SELECT task, MAX(total_ns) AS worst_ns FROM rx GROUP BY task' --format csv
  netmortem query incident.nmb 'SELECT * FROM skbs WHERE life_ns > 1000000' --format parquet -o slow.parquet
  netmortem query out 'SELECT bundle, COUNT(*) AS n FROM drops GROUP BY bundle'     all recordings of `netmortem batch -o out`

`netmortem show --list` names the tables and their columns. Unknown values are NULL. :start is the time of the first event:
(time_ns - :start) / 1e9 are the seconds of the report. Without ORDER BY rows may come in any order. POLARS_MAX_THREADS limits the threads of the SQL engine; --threads those of the analysis.";

/// Arguments.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// A bundle (.nmb), trace.dat or perf.data; - is standard input; or the folder a batch wrote
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
    input::in_order(&args.input, &[&args.sql], |file| {
        format!(
            "the file comes first: netmortem query {file} {}",
            quoted_sql(&args.input)
        )
    })?;
    if let Some(to) = args.output.as_deref() {
        output::distinct(&args.input, &[to])?;
    }
    let rows = match dataset(&args.input) {
        Some(dataset) => netmortem_frames::query_dataset(&dataset, &args.sql),
        None => {
            let facts = input::facts(&args.input)?;
            let tables = facts.tables();
            let tables: Vec<&dyn FactTable> = tables.iter().map(|t| t.as_ref()).collect();
            netmortem_frames::query(&tables, &args.sql, facts.capture.start_ns)
        }
    };
    let rows = rows.map_err(|e| {
        let next = "`netmortem show --list` names the tables and their columns";
        match e {
            FramesError::NoSelect => usage(
                e.to_string(),
                format!(
                    "ask with SELECT: netmortem query {} 'SELECT * FROM drops LIMIT 10'",
                    output::quoted(&args.input)
                ),
            ),
            FramesError::NoView { .. } | FramesError::Query { .. } | FramesError::NoStart => usage(e.to_string(), next),
            e => failure(e.to_string(), next),
        }
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

/// What stood first, as it can be typed again; a word for it where that cannot be.
fn quoted_sql(first: &Path) -> String {
    let word = first.to_str().and_then(netmortem_reports::quoted);
    word.map_or_else(|| "SQL".to_owned(), |w| w.to_string())
}

/// The dataset of a batch's folder, or the folder itself if it has tables.
fn dataset(input: &Path) -> Option<PathBuf> {
    let inside = input.join("dataset");
    [inside.as_path(), input]
        .into_iter()
        .find(|p| netmortem_frames::is_dataset(p))
        .map(Path::to_owned)
}
