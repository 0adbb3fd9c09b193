//! `netmortem report`: the postmortem.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use netmortem_analyzer::analyses::{Answers, answer_told};
use netmortem_analyzer::{Facts, Told};
use netmortem_reports::{Colors, html, markdown, sections, text, write_pngs};

use crate::args::Global;
use crate::terminal::stderr_width;
use crate::{Outcome, input, output};

const EXAMPLES: &str = "\
Examples:
  netmortem report incident.nmb                                 writes report.html
  netmortem report incident.nmb -o ticket-4711.html --png pics  and every chart as a PNG
  netmortem report incident.nmb eth0=dump.pcap                  with packets of the same time
  netmortem report incident.nmb --time 10s..20s                 of these ten seconds alone
  netmortem report trace.dat --json facts.json                  and the same facts for a program
  netmortem report incident.nmb --format md                     a summary for a ticket, as Markdown
  netmortem report incident.nmb -o - > report.html";

/// Arguments.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// A bundle (.nmb), trace.dat or perf.data; - is standard input. Of the same time and joined to a bundle: pcap, pcapng (of
    /// eth0 when its file does not say so: eth0=dump.pcap), bundles of the same boot
    #[arg(value_name = "INPUT", required = true)]
    input: Vec<PathBuf>,
    /// Where to write; - is standard output [default: report.html, of md standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// What to write: the page, or a summary for a ticket
    #[arg(long, value_enum, default_value_t = Format::Html)]
    format: Format,
    /// Write every chart as PNGs of two sizes into this folder
    #[arg(long, value_name = "DIR")]
    png: Option<PathBuf>,
    /// Write the facts of the page as JSON (docs/report.schema.json); - is standard output
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    #[command(flatten)]
    part: input::Part,
}

/// What is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// One self-contained page.
    Html,
    /// A summary in Markdown.
    Md,
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
    let default = match args.format {
        Format::Html => "report.html",
        Format::Md => "-",
    };
    let output = args.output.clone().unwrap_or_else(|| PathBuf::from(default));
    let outputs: Vec<&Path> = [Some(&output), args.json.as_ref()]
        .into_iter()
        .flatten()
        .map(PathBuf::as_path)
        .collect();
    output::distinct_from(&args.input, &outputs)?;
    output::spare_recordings(Some(&output), args.json.as_deref())?;
    // Opened before the outputs: what cannot be read should not empty the report of yesterday.
    let opened = input::open_part(&args.input, &args.part, |c| input::with_an_event(c, input::PACKETS))?;
    // Before the work: a folder that cannot be written should not cost a minute to find out.
    let mut page = output::writer(Some(&output))?;
    let json = args.json.as_deref().map(|p| output::writer(Some(p))).transpose()?;
    let facts = opened.facts();
    let answers = answer_told(&facts, Told::of(&opened.capture, &facts));
    let document = sections::document(&facts, &answers);
    let text_of_page = match args.format {
        Format::Html => html(&document),
        Format::Md => markdown(&document),
    };
    page.write_all(text_of_page.as_bytes())
        .and_then(|()| page.flush())
        .with_context(|| cannot(&output))?;
    let mut written = vec![output.clone()];
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
    err.lock()
        .write_all(text(&document, &written, colors, stderr_width()).as_bytes())?;
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
