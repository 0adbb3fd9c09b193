//! `netmortem show`: one table of facts, filtered, in any format; and the list of all tables.

mod absent;
mod filter;
mod ids;
mod list;
#[cfg(test)]
mod tests;

use std::io::Write;
use std::path::{Path, PathBuf};

use netmortem_analyzer::Facts;
use netmortem_analyzer::fleet::SummaryTable;
use netmortem_analyzer::table::{Cell, ColumnInfo, FactTable};
use netmortem_analyzer::words;

use self::filter::Filter;
use self::ids::Told;
use crate::args::Global;
use crate::failure::{failure, usage};
use crate::output::{self, Format, Look, Sheet};
use crate::{Outcome, input, terminal};

const EXAMPLES: &str = "\
Examples:
  netmortem show --list                                     every table, its columns, units and meaning
  netmortem show drops incident.nmb
  netmortem show clients incident.nmb                       who asked whom, how often, how long it took, when it was slow
  netmortem show rx incident.nmb --filter 'total_ns>=1000000' --filter dev=eth0 --limit 20
  netmortem show rx incident.nmb --columns task,start_ns,total_ns
  netmortem show skbs incident.nmb --format csv -o skbs.csv
  netmortem show tcp_samples incident.nmb --format parquet -o samples.parquet

A filter is COLUMN, one of = != < <= > >= ~ (contains), VALUE; COLUMN= keeps rows where it is unknown. Rows must pass all filters; an unknown value passes no other one.
A value that a column of few words never has (end, kind, confidence, ...) is an error; one that it has not in this recording is an empty table.
Rows that `netmortem explain` knows begin with their id (drop:3), and a table for reading has at_s, seconds since the first event; Parquet and SQL have neither.";

/// Arguments.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, override_usage = "netmortem show <VIEW> <INPUT> [OPTIONS]\n       netmortem show --list [VIEW]")]
pub struct Args {
    /// Which table: see --list
    #[arg(value_name = "VIEW", required_unless_present = "list")]
    view: Option<String>,
    /// A bundle (.nmb), trace.dat or perf.data; - is standard input
    #[arg(value_name = "INPUT")]
    input: Option<PathBuf>,
    /// List every table with its columns, units and meaning (with VIEW: that one)
    #[arg(long)]
    list: bool,
    /// How to print [default: what the name of FILE says, else table]
    #[arg(long, value_enum, value_name = "FORMAT")]
    format: Option<Format>,
    /// Only these columns, in this order, separated by commas
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    columns: Vec<String>,
    /// Print at most this many rows
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Only rows where this holds, like dev=eth0 or 'life_ns>1000000'; may be repeated
    #[arg(long, value_name = "FILTER")]
    filter: Vec<String>,
    /// Where to write; - is standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    part: input::Part,
}

impl Args {
    /// As `show --list`, of one table or all.
    pub fn list(view: Option<String>, format: Option<Format>, output: Option<PathBuf>) -> Args {
        Args {
            view,
            input: None,
            list: true,
            format,
            columns: vec![],
            limit: None,
            filter: vec![],
            output,
            part: input::Part::default(),
        }
    }
}

/// Shows.
pub fn run(args: &Args, global: &Global) -> anyhow::Result<Outcome> {
    let to = args.output.as_deref();
    let format = output::table_format(args.format, to)?;
    refuse_binary_on_terminal(format, to)?;
    let color = global.color.on(&std::io::stdout()) && to.is_none();
    let look = Look {
        width: terminal::stdout_width().filter(|_| to.is_none()),
        color,
    };
    let none = Facts::empty();
    let mut known = none.tables();
    // A table of batches, not of recordings.
    known.push(Box::new(SummaryTable(None)));
    if let (Some(view), Some(input)) = (&args.view, &args.input)
        && known.iter().all(|t| t.name() != view)
    {
        input::in_order(input, &[view], |file| {
            format!("the table comes first: netmortem show VIEW {file}; `netmortem show --list` lists them")
        })?;
    }
    if let (Some(view), None, false) = (&args.view, &args.input, args.list) {
        return Err(one_word(view, &known));
    }
    // Mistakes in names are told before the recording is read.
    let described = args.view.as_deref().map(|v| find(&known, v)).transpose()?;
    if args.list {
        output::spare_recordings(to, None)?;
        list::write(&known, described, format, look, &mut output::writer(to)?)?;
        return Ok(Outcome::Done);
    }
    let (Some(described), Some(input)) = (described, &args.input) else {
        return Ok(Outcome::Done);
    };
    if described.name() == SummaryTable(None).name() {
        return Err(usage(
            "bundles is a table of a batch's dataset, not of a recording",
            "ask the dataset: netmortem query OUT 'SELECT * FROM bundles'",
        ));
    }
    let told = Told::new(described, None);
    let filters = filters(&told, &args.filter)?;
    let columns = match args.columns.as_slice() {
        [] => told.usual(format == Format::Table, format != Format::Parquet),
        given => columns(&told, given)?,
    };
    if let Some(to) = to {
        output::distinct(input, &[to])?;
    }
    output::spare_recordings(to, None)?;
    let facts = input::facts(input, &args.part)?;
    let tables = facts.tables();
    let table = &Told::new(find(&tables, described.name())?, facts.capture.start_ns);
    let wanted = (0..table.len()).filter(|row| filters.iter().all(|f| f.keeps(&table.cell(*row, f.column))));
    let rows = wanted.take(args.limit.unwrap_or(usize::MAX)).collect();
    let chosen = Chosen { table, rows, columns };
    let mut out = output::writer(to)?;
    if format == Format::Parquet {
        netmortem_frames::to_parquet(&chosen, &mut out)?;
        out.flush()?;
    } else {
        output::print(&Sheet::of_table(&chosen), format, look, &mut out)?;
    }
    if chosen.rows.is_empty() {
        for line in absent::notes(table, &filters) {
            writeln!(std::io::stderr(), "{line}")?;
        }
    }
    Ok(Outcome::Done)
}

/// Of a view and a recording one was left out.
fn one_word(word: &str, known: &[Box<dyn FactTable + '_>]) -> anyhow::Error {
    let path = Path::new(word);
    let is_view = known.iter().any(|t| t.name() == word);
    let is_file = path.exists()
        || path
            .extension()
            .is_some_and(|e| e == "nmb" || e == "dat" || e == "data");
    match (is_view, is_file) {
        (false, true) => usage(
            format!("which view of {word}?"),
            format!(
                "netmortem show VIEW {}, such as drops; netmortem show --list names all",
                output::quoted(path)
            ),
        ),
        (true, _) => usage(
            format!("{word} of which recording?"),
            format!("netmortem show {word} INPUT; what its columns mean: netmortem show --list {word}"),
        ),
        (false, false) => usage(
            format!("{word} is neither a view nor a file"),
            "netmortem show VIEW INPUT, such as netmortem show drops incident.nmb; netmortem show --list names all views",
        ),
    }
}

/// Parquet on a terminal helps nobody.
pub fn refuse_binary_on_terminal(format: Format, to: Option<&Path>) -> anyhow::Result<()> {
    if format == Format::Parquet && output::is_terminal(to) {
        return Err(failure(
            "a Parquet file is not for a terminal",
            "name a file: -o FILE.parquet",
        ));
    }
    Ok(())
}

fn find<'t, 'f>(tables: &'t [Box<dyn FactTable + 'f>], name: &str) -> anyhow::Result<&'t (dyn FactTable + 'f)> {
    tables
        .iter()
        .find(|t| t.name() == name)
        .map(|t| t.as_ref())
        .ok_or_else(|| {
            let names: Vec<&str> = tables.iter().map(|t| t.name()).collect();
            let near = netmortem_frames::near(name, &names);
            let meant = match near.is_empty() {
                true => String::new(),
                false => format!("; did you mean {}?", near.join(" or ")),
            };
            usage(
                format!("there is no table {name}{meant}"),
                format!("one of: {}", names.join(", ")),
            )
        })
}

fn filters(table: &dyn FactTable, given: &[String]) -> anyhow::Result<Vec<Filter>> {
    let columns = table.columns();
    given
        .iter()
        .map(|text| {
            let filter = Filter::parse(text, &columns).map_err(|what| no_such(table, what))?;
            let column = columns.get(filter.column).map_or("", |c| c.name);
            if let (Some(word), Some(known)) = (filter.word(), words::of(table.name(), column))
                && !known.contains(&word)
            {
                return Err(no_value(table, column, word, known));
            }
            Ok(filter)
        })
        .collect()
}

fn no_value(table: &dyn FactTable, column: &str, word: &str, known: &[&str]) -> anyhow::Error {
    let near = netmortem_frames::near(word, known);
    let meant = match near.is_empty() {
        true => String::new(),
        false => format!("; did you mean {}?", near.join(" or ")),
    };
    usage(
        format!("{column} of {} is never `{word}`{meant}", table.name()),
        format!("one of: {}; {column}~PART for a part of it", known.join(", ")),
    )
}

/// Indices of the columns asked for.
fn columns(table: &dyn FactTable, given: &[String]) -> anyhow::Result<Vec<usize>> {
    let columns = table.columns();
    let index = |name: &String| columns.iter().position(|c| c.name == name.trim());
    given
        .iter()
        .map(|n| index(n).ok_or_else(|| no_such(table, format!("there is no column {n}"))))
        .collect()
}

fn no_such(table: &dyn FactTable, what: String) -> anyhow::Error {
    let names: Vec<&str> = table.columns().iter().map(|c| c.name).collect();
    usage(what, format!("columns of {}: {}", table.name(), names.join(", ")))
}

/// Chosen rows and columns of a table.
struct Chosen<'t> {
    table: &'t dyn FactTable,
    rows: Vec<usize>,
    columns: Vec<usize>,
}

impl FactTable for Chosen<'_> {
    fn name(&self) -> &'static str {
        self.table.name()
    }
    fn meaning(&self) -> &'static str {
        self.table.meaning()
    }
    fn columns(&self) -> Vec<ColumnInfo> {
        let all = self.table.columns();
        self.columns.iter().filter_map(|c| all.get(*c).copied()).collect()
    }
    fn len(&self) -> usize {
        self.rows.len()
    }
    fn cell(&self, row: usize, column: usize) -> Cell<'_> {
        match (self.rows.get(row), self.columns.get(column)) {
            (Some(r), Some(c)) => self.table.cell(*r, *c),
            _ => Cell::Null,
        }
    }
}
