//! `netmortem batch`: every recording of some folders: a report each, one page that ranks them, one dataset of all their tables.
//!
//! ```text
//! find.rs: files of the folders -> queue (largest first) -> workers, each waits for its memory (budget.rs)
//!   -> one.rs: open, analyze, report, Parquet, summary -> state/<recording>.json, written last and at once (store.rs)
//! store.rs: all state files of OUT -> fleet -> index.html, index.json
//! ```
//! A recording is done when its state file is there: a batch that was stopped goes on with the others, and folders written by several
//! machines (`--shard`) are put together by copying. Nothing one recording does stops the others.

mod budget;
mod find;
mod one;
mod store;
#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use anyhow::Context;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use netmortem_reports::batch;

use self::budget::Budget;
use self::find::{Found, Shard};
use self::one::Wanted;
use self::store::{Outcome as Stored, Store};
use crate::Outcome;
use crate::args::Global;
use crate::failure::failure;
use crate::output::{self, clean, group_digits};
use crate::said::{Said, unless_gone, wrote};

const EXAMPLES: &str = "\
Examples:
  netmortem batch incidents/ -o out                     out/index.html ranks them, out/reports has each
  netmortem batch incidents/ -o out                     again: only what is new or changed
  netmortem query out 'SELECT bundle, COUNT(*) AS n FROM drops GROUP BY bundle'
  netmortem batch incidents/ -o part1 --shard 1/4       one of four machines; then
  cp -r part*/. all/ && netmortem batch -o all          the index of all of them

The dataset is out/dataset/<table>/bundle=<recording>/part-0.parquet, Hive partitioned: docs/scale.md has DuckDB, polars and Spark.
Exit codes: 0 done, 1 failed, or nothing of what was named could be read, 2 wrong usage, 3 with --strict: some could not.";

/// Arguments.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Folders (searched to the bottom) and files; none: only make the index of OUT anew
    #[arg(value_name = "DIR")]
    inputs: Vec<PathBuf>,
    /// Folder to write to; what an earlier batch left there is kept
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,
    /// Recordings at the same time [default: one per CPU]
    #[arg(long, value_name = "N")]
    jobs: Option<std::num::NonZeroUsize>,
    /// Memory that the recordings at work may need together, by estimate from their size; of one that needs more a part is analyzed
    #[arg(long, value_name = "SIZE", default_value = "2G", value_parser = crate::memory::size)]
    memory: u64,
    /// Only the recordings of part I of N, as 2/4; every recording is in one part
    #[arg(long, value_name = "I/N")]
    shard: Option<Shard>,
    /// Analyze again what is already done
    #[arg(long)]
    again: bool,
    /// Write no report per recording
    #[arg(long)]
    no_reports: bool,
    /// Write no Parquet dataset
    #[arg(long)]
    no_dataset: bool,
    /// Print the index as JSON (docs/batch.schema.json)
    #[arg(long)]
    json: bool,
    /// Exit with code 3 when a recording could not be read
    #[arg(long)]
    strict: bool,
}

/// What a run did.
#[derive(Debug, Default)]
struct Tally {
    read: usize,
    bad: usize,
    kept: usize,
    other: usize,
}

/// Analyzes what is new, then makes the index.
pub fn run(args: &Args, global: &Global) -> anyhow::Result<Outcome> {
    let began = Instant::now();
    let store = Store::open(&args.output, args.wanted())?;
    let found = find::all(&args.inputs, &args.output, args.shard)?;
    if !args.inputs.is_empty() && found.files.is_empty() && args.shard.is_none() {
        return Err(failure(
            "no file in what was named",
            "name a folder with recordings: bundles (.nmb) or trace.dat files",
        ));
    }
    let tally = work(args, &store, &found)?;
    let entries = store.entries()?;
    let index = store.write_index(entries)?;
    if args.json {
        let mut out = output::writer(None)?;
        serde_json::to_writer_pretty(&mut out, &index).map_err(std::io::Error::from)?;
        out.write_all(b"\n")?;
        out.flush()?;
    }
    unless_gone(tell(&found, &tally, &index, began.elapsed()))?;
    wrote(&[args.output.join("index.html")], global)?;
    one_read(args, &found, &index)?;
    let json: &[&Path] = if args.json { &[Path::new("-")] } else { &[] };
    let said = Said::beside(json);
    said.write(&batch::terminal(&index.fleet, said.colors(global), said.width()))?;
    Ok(if args.strict && !index.bad.is_empty() {
        Outcome::Bad
    } else {
        Outcome::Done
    })
}

fn work(args: &Args, store: &Store, found: &Found) -> anyhow::Result<Tally> {
    let mut tally = Tally::default();
    let mut todo = vec![];
    for file in &found.files {
        if !args.again && store.is_done(file, args.wanted(), args.memory) {
            tally.kept += 1;
        } else {
            todo.push(file);
        }
    }
    // The largest first: at the end there is no long one that works alone.
    todo.sort_by_key(|f| (std::cmp::Reverse(f.bytes), f.name.clone()));
    let budget = Budget::new(args.memory);
    let bar = bar(todo.len() as u64);
    let jobs = args.jobs.map_or_else(cpus, std::num::NonZeroUsize::get).min(todo.len());
    let queue = Mutex::new(todo.into_iter());
    let done: Mutex<(Tally, Option<anyhow::Error>)> = Mutex::new((tally, None));
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                // Not while another worker has met a full disk.
                while done.lock().is_ok_and(|d| d.1.is_none()) {
                    let next = queue.lock().ok().and_then(|mut q| q.next());
                    let Some(file) = next else { break };
                    let outcome = one::analyze(file, store, &budget, args.wanted());
                    let stored = store.keep(file, &outcome, args.wanted(), args.memory);
                    bar.inc(1);
                    let Ok(mut done) = done.lock() else { break };
                    match outcome {
                        Stored::Read(_) => done.0.read += 1,
                        Stored::Bad { .. } => done.0.bad += 1,
                        Stored::NoRecording => done.0.other += 1,
                    }
                    // A full disk stops the batch: every other recording would fail the same way.
                    if let Err(e) = stored {
                        done.1 = Some(e);
                        break;
                    }
                }
            });
        }
    });
    bar.finish_and_clear();
    let (tally, failed) = done.into_inner().map_err(|_| anyhow::anyhow!("a worker died"))?;
    failed.map_or(Ok(tally), |e| {
        Err(e).context("the batch stopped; the same command goes on where it was")
    })
}

/// That of the files named at least one was read, now or by an earlier batch; a part of them (`--shard`) may have none.
fn one_read(args: &Args, found: &Found, index: &store::Index) -> anyhow::Result<()> {
    let named: HashSet<&str> = found.files.iter().map(|f| f.name.as_str()).collect();
    let read = index.fleet.ranked.iter().any(|s| named.contains(s.name.as_str()));
    if read || named.is_empty() || args.shard.is_some() {
        return Ok(());
    }
    Err(failure(
        match named.len() {
            1 => "the only file that was named is no recording that can be read".to_owned(),
            n => format!(
                "none of the {} files that were named is a recording that can be read",
                group_digits(n as u64)
            ),
        },
        "`netmortem check FILE` says why of one of them",
    ))
}

fn cpus() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get)
}

fn bar(n: u64) -> ProgressBar {
    if !std::io::stderr().is_terminal() || n == 0 {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::with_draw_target(Some(n), ProgressDrawTarget::stderr());
    let style = ProgressStyle::with_template("recordings [{bar:30}] {pos}/{len}, {eta} left");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

fn tell(found: &Found, tally: &Tally, index: &store::Index, took: Duration) -> std::io::Result<()> {
    let mut err = std::io::stderr().lock();
    for problem in &found.problems {
        writeln!(err, "not searched: {}", clean(problem))?;
    }
    let n = |n: usize| group_digits(n as u64);
    writeln!(
        err,
        "{} analyzed, {} already done, {} that cannot be read, {} that are no recordings; {:.1} s",
        n(tally.read),
        n(tally.kept),
        n(tally.bad),
        n(tally.other),
        took.as_secs_f64()
    )?;
    for bad in &index.bad {
        writeln!(err, "  cannot be read: {}: {}", clean(&bad.name), clean(&bad.because))?;
    }
    Ok(())
}

impl Args {
    fn wanted(&self) -> Wanted {
        Wanted {
            report: !self.no_reports,
            dataset: !self.no_dataset,
        }
    }
}
