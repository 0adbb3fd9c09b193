//! `netmortem report`: the postmortem.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use netmortem_analyzer::Facts;
use netmortem_analyzer::analyses::{Answers, answer};
use netmortem_reports::{Colors, html, sections, text, write_pngs};

use crate::args::Global;
use crate::{Outcome, input, output};

const EXAMPLES: &str = "\
Examples:
  netmortem report incident.nmb                                 writes report.html
  netmortem report incident.nmb -o ticket-4711.html --png pics  and every chart as a PNG
  netmortem report trace.dat --json facts.json                  and the same facts for a program
  netmortem report incident.nmb -o - > report.html";

/// Arguments.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// A bundle (.nmb) or trace.dat; - is standard input
    #[arg(value_name = "INPUT")]
    input: PathBuf,
    /// Where to write the page; - is standard output
    #[arg(short, long, value_name = "FILE", default_value = "report.html")]
    output: PathBuf,
    /// Write every chart as a PNG into this folder
    #[arg(long, value_name = "DIR")]
    png: Option<PathBuf>,
    /// Write the facts of the page as JSON; - is standard output
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// The JSON file.
#[derive(serde::Serialize)]
struct Json<'f> {
    /// Version of this layout.
    netmortem_report: u32,
    /// What was read and how well.
    capture: &'f netmortem_analyzer::ingest::CaptureInfo,
    /// What the sections of the page show.
    #[serde(flatten)]
    answers: &'f Answers,
    /// Counters of the analysis itself.
    stats: &'f [netmortem_analyzer::ingest::StatRow],
}

/// Analyzes and writes.
pub fn run(args: &Args, global: &Global) -> anyhow::Result<Outcome> {
    let outputs: Vec<&Path> = [Some(&args.output), args.json.as_ref()]
        .into_iter()
        .flatten()
        .map(PathBuf::as_path)
        .collect();
    output::distinct(&args.input, &outputs)?;
    // Opened before the outputs: what cannot be read should not empty the report of yesterday.
    let capture = input::open(&args.input)?;
    // Before the work: a folder that cannot be written should not cost a minute to find out.
    let mut page = output::writer(Some(&args.output))?;
    let json = args.json.as_deref().map(|p| output::writer(Some(p))).transpose()?;
    let facts = input::facts_of(&capture);
    let answers = answer(&facts);
    let document = sections::document(&facts, &answers);
    page.write_all(html(&document).as_bytes())
        .and_then(|()| page.flush())
        .with_context(|| cannot(&args.output))?;
    let mut written = vec![args.output.clone()];
    if let (Some(out), Some(path)) = (json, &args.json) {
        write_json(&facts, &answers, out).with_context(|| cannot(path))?;
        written.push(path.clone());
    }
    if let Some(dir) = &args.png {
        std::fs::create_dir_all(dir).with_context(|| cannot(dir))?;
        written.extend(write_pngs(&document, dir).with_context(|| cannot(dir))?);
    }
    written.retain(|p| p.as_os_str() != "-");
    let err = std::io::stderr();
    let colors = if global.color.on(&err) {
        Colors::Ansi
    } else {
        Colors::None
    };
    err.lock().write_all(text(&document, &written, colors).as_bytes())?;
    Ok(Outcome::Done)
}

fn write_json(facts: &Facts, answers: &Answers, mut out: Box<dyn Write>) -> anyhow::Result<()> {
    let json = Json {
        netmortem_report: 1,
        capture: &facts.capture,
        answers,
        stats: &facts.stats,
    };
    serde_json::to_writer_pretty(&mut out, &json).map_err(std::io::Error::from)?;
    out.write_all(b"\n")?;
    Ok(out.flush()?)
}

fn cannot(path: &Path) -> String {
    format!("cannot write {}", path.display())
}
