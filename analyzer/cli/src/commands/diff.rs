//! `netmortem diff`: is the one recording worse than the other?

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use netmortem_analyzer::Facts;
use netmortem_analyzer::diff::{
    Diff, DiffOptions, Outcome as Answer, RuleState, Rules, State, Window, compare, devices, empty_window,
};
use netmortem_analyzer::fit;
use netmortem_formats::Capture;
use netmortem_reports::{diff, html, text, write_pngs};

use crate::args::Global;
use crate::failure::{failure, usage};
use crate::said::{Said, wrote};
use crate::{Outcome, input, output, times};

const EXAMPLES: &str = "\
Examples:
  netmortem diff monday.nmb tuesday.nmb                          writes diff.html; exit code 3 when worse
  netmortem diff old.nmb new.nmb -o - --json diff.json > d.html  the page to standard output, and for a program
  netmortem diff old.nmb new.nmb --fail-on 'rx.total.p50,drops'  exit code 3 only for these
  netmortem diff --before a1.nmb a2.nmb a3.nmb --after b1.nmb b2.nmb b3.nmb
                                                                 groups: what varies from run to run is known then
  netmortem diff a.nmb a.nmb --before-time ..5s --after-time 5s..
                                                                 one recording before and after a moment

Rules for --fail-on, separated by commas: worse (the default), changed, incomparable, or a metric: app, rx,
app.response.p90, tx.qdisc, rx.total.p50, tx.total.p50>200us, drops, tcp.retransmits. Only what is significant fails; a size
in a rule stands in for the practical threshold of the comparison. A rule of which nothing was compared fails, too: it watches
nothing. Counts of events (drops, retransmissions, ...) that neither side has hold. What each rule says is told.
With one recording a side leave the size out, or compare groups: what varies from run to run exceeds a small one (docs/diff.md).
In a build use worse,incomparable: what cannot be compared ends with 0 else.
Exit codes: 0 nothing failed, 3 a rule failed, 2 wrong usage, 1 could not be read or written.";

/// What to do about a file of packets.
const PACKETS: &str = "compare bundles (.nmb) or trace.dat files: record with `netmortem record`; packets go beside the bundle of their time in `netmortem report`";

/// Arguments.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The recording before and the one after
    #[arg(value_name = "INPUT", num_args = 1..=2, value_names = ["BEFORE", "AFTER"], required_unless_present = "before")]
    inputs: Vec<PathBuf>,
    /// Recordings before; the recording is the unit when there are two or more a side
    #[arg(long, value_name = "INPUT", num_args = 1.., requires = "after", conflicts_with = "inputs")]
    before: Vec<PathBuf>,
    /// Recordings after
    #[arg(long, value_name = "INPUT", num_args = 1.., requires = "before", conflicts_with = "inputs")]
    after: Vec<PathBuf>,
    /// Where to write the page; - is standard output
    #[arg(short, long, value_name = "FILE", default_value = "diff.html")]
    output: PathBuf,
    /// Write every chart as a PNG into this folder
    #[arg(long, value_name = "DIR")]
    png: Option<PathBuf>,
    /// Write the comparison as JSON (docs/diff.schema.json); - is standard output
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// What exit code 3 is for, see below
    #[arg(long, value_name = "RULES", default_value = "worse")]
    fail_on: Rules,
    /// Only this part of the recordings before, from their start: 1s..3s, ..5s, 5s..
    #[arg(long, value_name = "FROM..TO", value_parser = window)]
    before_time: Option<Window>,
    /// Only this part of the recordings after
    #[arg(long, value_name = "FROM..TO", value_parser = window)]
    after_time: Option<Window>,
    /// Only traffic of these devices; softirq figures, which belong to none, are left out then
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    dev: Vec<String>,
    /// Memory that the comparison may take; of recordings that need more, parts are compared, and it says which [default: what
    /// is free]
    #[arg(long, value_name = "SIZE", value_parser = crate::memory::size)]
    memory: Option<u64>,
    /// Chance of a false alarm in the whole comparison
    #[arg(long, value_name = "P", default_value = "0.05", value_parser = level)]
    level: f64,
}

/// The JSON file.
#[derive(serde::Serialize)]
struct Json<'d> {
    /// Version of this layout.
    netmortem_diff: u32,
    #[serde(flatten)]
    diff: &'d Diff,
    /// Rules that failed.
    failed: &'d [String],
    /// What each rule says.
    rules: &'d [RuleState],
}

fn level(text: &str) -> Result<f64, String> {
    let p: f64 = text.parse().map_err(|_| "a number between 0 and 1, for example 0.05")?;
    match p > 0.0 && p < 1.0 {
        true => Ok(p),
        false => Err("a number between 0 and 1, for example 0.05".into()),
    }
}

fn window(text: &str) -> Result<Window, String> {
    let (from, to) = times::window(text)?;
    let end = |ns: Option<u64>, open: i64| ns.map_or(open, |ns| i64::try_from(ns).unwrap_or(i64::MAX));
    let (from_ns, to_ns) = (end(from, 0), end(to, i64::MAX));
    match from_ns < to_ns {
        true => Ok(Window { from_ns, to_ns }),
        false => Err("it ends before it begins".into()),
    }
}

/// Compares and writes.
pub fn run(args: &Args, global: &Global) -> anyhow::Result<Outcome> {
    let (before, after) = match args.inputs.as_slice() {
        [b, a] => (vec![b.clone()], vec![a.clone()]),
        [_] => {
            return Err(usage(
                "one recording is no comparison",
                "name two, the one before and the one after; of one alone: netmortem report FILE, or its parts: netmortem diff FILE FILE --before-time ..5s --after-time 5s..",
            ));
        }
        _ => (args.before.clone(), args.after.clone()),
    };
    let outputs: Vec<&Path> = [Some(&args.output), args.json.as_ref()]
        .into_iter()
        .flatten()
        .map(PathBuf::as_path)
        .collect();
    let inputs = || before.iter().chain(&after);
    for path in inputs() {
        output::distinct(path, &outputs)?;
    }
    output::spare_recordings(Some(&args.output), args.json.as_deref())?;
    let next = "name a page: -o FILE.html; --json FILE writes the comparison, --png DIR its charts";
    output::page_format(Some(&args.output), &[("html", ()), ("htm", ())], next)?;
    if inputs().filter(|p| p.as_os_str() == "-").count() > 1 {
        return Err(failure(
            "standard input can be only one of the recordings",
            "name files for the others",
        ));
    }
    // Opened before the outputs: what cannot be read should not empty the page of yesterday.
    let open = |paths: &[PathBuf]| {
        paths
            .iter()
            .map(|p| input::with_an_event(input::open_in(p, args.memory)?, PACKETS))
            .collect::<anyhow::Result<Vec<_>>>()
    };
    let (b, a) = (open(&before)?, open(&after)?);
    // All are in memory together, each by its size.
    let all = input::rings(b.iter().chain(&a));
    let (b, before_window) = facts(b, args.before_time, args.memory, all)?;
    let (a, after_window) = facts(a, args.after_time, args.memory, all)?;
    let (b, a): (Vec<&Facts>, Vec<&Facts>) = (b.iter().collect(), a.iter().collect());
    selects_something(args, (&b, before_window), (&a, after_window))?;
    let mut page = output::writer(Some(&args.output))?;
    let json = args.json.as_deref().map(|p| output::writer(Some(p))).transpose()?;
    let options = DiffOptions {
        level: args.level,
        before_window,
        after_window,
        devices: args.dev.clone(),
        ..match b.len() > 1 && a.len() > 1 {
            true => DiffOptions::groups(),
            false => DiffOptions::default(),
        }
    };
    let of = compare(&b, &a, &options);
    let rules = args.fail_on.states(&of);
    let failed: Vec<String> = rules
        .iter()
        .filter(|r| r.state != State::Held)
        .map(RuleState::line)
        .collect();
    let document = diff::document(&of);
    page.write_all(html(&document).as_bytes())
        .and_then(|()| page.flush())
        .with_context(|| cannot(&args.output))?;
    let mut written = vec![args.output.clone()];
    if let (Some(mut out), Some(path)) = (json, &args.json) {
        let json = Json {
            netmortem_diff: 1,
            diff: &of,
            failed: &failed,
            rules: &rules,
        };
        serde_json::to_writer_pretty(&mut out, &json)
            .map_err(std::io::Error::from)
            .and_then(|()| out.write_all(b"\n"))
            .and_then(|()| out.flush())
            .with_context(|| cannot(path))?;
        written.push(path.clone());
    }
    if let Some(dir) = &args.png {
        std::fs::create_dir_all(dir).with_context(|| cannot(dir))?;
        written.extend(write_pngs(&document, dir).with_context(|| cannot(dir))?);
    }
    let to = Said::beside(&outputs);
    let colors = to.colors(global);
    let mut said = text(&document, colors, to.width());
    said.push_str(&diff::terminal(&of, colors));
    // The default alone says no more than the answer does.
    let tells = args.fail_on.name_metrics();
    for rule in rules.iter().filter(|r| tells || r.state == State::Failed) {
        let word = match rule.state {
            State::Failed => "failed   ",
            State::Held => "held     ",
            State::NotCompared => "failed   rule ",
        };
        said.push_str(&format!("{word}{}\n", rule.line()));
    }
    if let Some(note) = args.fail_on.too_small(&of) {
        said.push_str(&format!("note     {note}\n"));
    }
    if of.verdict.outcome == Answer::NotComparable {
        said.push_str(
            "next     see \"Are they comparable?\" on the page; --fail-on incomparable makes this a failure\n",
        );
    }
    to.write(&said)?;
    wrote(&written, global)?;
    Ok(match failed.is_empty() {
        true => Outcome::Done,
        false => Outcome::Bad,
    })
}

/// The facts of one side, of recordings that need `all` bytes with the other side's, and the window that is still to be applied:
/// where memory does not hold them, their times are cut to it before they are analyzed.
fn facts(
    side: Vec<Capture>,
    window: Option<Window>,
    memory: Option<u64>,
    all: u64,
) -> anyhow::Result<(Vec<Facts>, Option<Window>)> {
    let mut part = input::Part { time: None, memory };
    let is_cut = side.iter().any(|c| fit::needed(c) > part.room(c, all));
    if let Some(w) = window.filter(|_| is_cut) {
        let ns = |ns: i64| u64::try_from(ns).unwrap_or(0);
        // Its end is the first moment behind it.
        let to = (w.to_ns < i64::MAX).then(|| ns(w.to_ns).saturating_sub(1));
        part.time = Some((Some(ns(w.from_ns)), to));
    }
    let each = side.into_iter().map(|c| {
        let opened = part.take(c, all, input::Unasked::Refused);
        opened.map(|o| o.facts())
    });
    Ok((each.collect::<anyhow::Result<_>>()?, window.filter(|_| !is_cut)))
}

/// Whether `--dev` and the windows leave anything: a name mistyped is no comparison that could not be made.
fn selects_something(
    args: &Args,
    (b, before_window): (&[&Facts], Option<Window>),
    (a, after_window): (&[&Facts], Option<Window>),
) -> anyhow::Result<()> {
    let known = devices(&[b, a].concat());
    if let Some(dev) = args.dev.iter().find(|d| !known.contains(*d)) {
        let list: Vec<&str> = known.iter().map(String::as_str).collect();
        return Err(failure(
            format!("--dev {dev}: no recording has traffic of this device"),
            format!("name one or more of: {}", list.join(", ")),
        ));
    }
    for (option, side, window) in [("--before-time", b, before_window), ("--after-time", a, after_window)] {
        if let Some((source, ns)) = empty_window(side, window) {
            return Err(failure(
                format!("{option}: nothing of {source} lies in this window"),
                format!("it is {:.3} s long; times count from its start", ns as f64 / 1e9),
            ));
        }
    }
    Ok(())
}

fn cannot(path: &Path) -> String {
    format!("cannot write {}", path.display())
}
