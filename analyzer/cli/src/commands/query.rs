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
#[command(after_help = EXAMPLES, override_usage = "netmortem query <INPUT> <SQL> [OPTIONS]")]
pub struct Args {
    /// A bundle (.nmb), trace.dat or perf.data; - is standard input; or the folder that a batch or convert --to parquet wrote
    #[arg(value_name = "INPUT")]
    input: PathBuf,
    /// One SELECT statement
    #[arg(value_name = "SQL")]
    sql: Option<String>,
    /// How to print the result [default: what the name of FILE says, else table]
    #[arg(long, value_enum, value_name = "FORMAT")]
    format: Option<Format>,
    /// Where to write; - is standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    part: input::Part,
}

/// Runs the statement.
pub fn run(args: &Args, global: &Global) -> anyhow::Result<Outcome> {
    let Some(sql) = args.sql.as_deref() else {
        return Err(one_word(&args.input));
    };
    let format = output::table_format(args.format, args.output.as_deref())?;
    super::show::refuse_binary_on_terminal(format, args.output.as_deref())?;
    input::in_order(&args.input, &[sql], |file| {
        format!(
            "the file comes first: netmortem query {file} {}",
            quoted_sql(&args.input)
        )
    })?;
    if let Some(to) = args.output.as_deref() {
        output::distinct(&args.input, &[to])?;
    }
    output::spare_recordings(args.output.as_deref(), None)?;
    if let Some(view) = netmortem_frames::listing(sql) {
        let list = super::show::Args::list(view, args.format, args.output.clone());
        return super::show::run(&list, global);
    }
    let rows = match dataset(&args.input) {
        Some(dataset) => netmortem_frames::query_dataset(&dataset, sql),
        None => {
            let facts = input::facts(&args.input, &args.part)?;
            let tables = facts.tables();
            let tables: Vec<&dyn FactTable> = tables.iter().map(|t| t.as_ref()).collect();
            netmortem_frames::query(&tables, sql, facts.capture.start_ns)
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
            FramesError::NoView { .. } if !begins_as_a_question(sql) => usage(
                format!(
                    "the statement begins with `{}`: a question begins with SELECT",
                    output::clean(sql.split_whitespace().next().unwrap_or_default())
                ),
                format!(
                    "netmortem query {} 'SELECT * FROM drops LIMIT 10'; {next}",
                    output::quoted(&args.input)
                ),
            ),
            FramesError::NoView { .. } | FramesError::Query { .. } | FramesError::NoStart => usage(e.to_string(), next),
            e => failure(e.to_string(), next),
        }
    })?;
    let mut out = output::writer(args.output.as_deref())?;
    if format == Format::Parquet {
        netmortem_frames::rows_to_parquet(&rows, &mut out)?;
        out.flush()?;
    } else {
        let color = global.color.on(&std::io::stdout()) && args.output.is_none();
        let look = Look {
            width: terminal::stdout_width().filter(|_| args.output.is_none()),
            color,
        };
        output::print(&Sheet::of_rows(&rows), format, look, &mut out)?;
    }
    Ok(Outcome::Done)
}

/// Of a recording and a question one was left out.
fn one_word(word: &Path) -> anyhow::Error {
    match word.exists() {
        true => usage(
            format!("what is asked of {}?", word.display()),
            format!(
                "netmortem query {} 'SELECT * FROM drops LIMIT 10'; `netmortem show --list` names the tables and their columns",
                output::quoted(word)
            ),
        ),
        false => usage(
            format!("{} is no file, and nothing stands behind it", word.display()),
            "a recording and a question: netmortem query INPUT 'SELECT * FROM drops LIMIT 10'",
        ),
    }
}

/// Whether the first word is one that a question may have.
fn begins_as_a_question(sql: &str) -> bool {
    let no_letter = |c: char| !c.is_ascii_alphabetic();
    let first = sql
        .trim_start_matches(no_letter)
        .split(no_letter)
        .next()
        .unwrap_or_default();
    ["select", "with", "explain", "from", "values", "table"]
        .iter()
        .any(|w| first.eq_ignore_ascii_case(w))
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
