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
  netmortem query tables/ 'SELECT COUNT(*) FROM rx'          the Parquet files of `netmortem convert -o tables/`
  netmortem query incident.nmb 'DESCRIBE rx'                 columns, units, meaning; SHOW TABLES: of all tables

`netmortem show --list` names the tables and their columns. Unknown values are NULL, and last in ORDER BY but for NULLS FIRST; in OVER (ORDER BY) they are first.
Percentiles: QUANTILE_CONT(x, 0.99), MEDIAN(x). SUM(x) OVER (ORDER BY t) adds row by row. CAST to an integer cuts.
Not known: in ON of a LEFT JOIN a comparison between both tables but =; a subquery as a value that names a column outside it; frames like 5 PRECEDING;
NTILE; ALL (SELECT ...); (a, b) IN (SELECT ...). The message says what to write in place.
:start is the time of the first event:
(time_ns - :start) / 1e9 are the seconds of the report. Without ORDER BY rows may come in any order. POLARS_MAX_THREADS limits the threads of the SQL engine; --threads those of the analysis.";

/// Arguments.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// A bundle (.nmb), trace.dat or perf.data; - is standard input; or the folder that a batch or convert --to parquet wrote
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
    #[command(flatten)]
    part: input::Part,
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
    output::spare_recordings(args.output.as_deref(), None)?;
    if let Some(view) = netmortem_frames::listing(&args.sql) {
        let list = super::show::Args::list(view, args.format, args.output.clone());
        return super::show::run(&list, global);
    }
    let rows = match dataset(&args.input) {
        Some(dataset) => netmortem_frames::query_dataset(&dataset, &args.sql),
        None => {
            let facts = input::facts(&args.input, &args.part)?;
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
            FramesError::Refused(_) | FramesError::SumOfANumber => {
                usage(e.to_string(), "`netmortem query --help` says what is not known")
            }
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
