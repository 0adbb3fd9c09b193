//! `netmortem report`: the postmortem.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use netmortem_analyzer::analyses::{Answers, answer_told};
use netmortem_analyzer::{Facts, Told};
use netmortem_reports::{html, markdown, sections, text, write_pngs};

use crate::args::Global;
use crate::said::{Said, wrote};
use crate::{Outcome, input, output};

const EXAMPLES: &str = "\
Examples:
  netmortem report incident.nmb                                 writes report.html
  netmortem report incident.nmb -o ticket-4711.html --png pics  and every chart as a PNG
  netmortem report incident.nmb eth0=dump.pcap                  with packets of the same time
  netmortem report incident.nmb --time 10s..20s                 of these ten seconds alone
  netmortem report trace.dat --json facts.json                  and the same facts for a program
  netmortem report incident.nmb -o ticket.md                    a summary for a ticket, as Markdown (or --format md)
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
    /// What to write: the page, or a summary for a ticket [default: what the name of FILE says, else html]
    #[arg(long, value_enum)]
    format: Option<Format>,
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

impl Args {
    /// What to write: as `--format` or the name of the output says.
    fn form(&self) -> anyhow::Result<Format> {
        let to = self.output.as_deref();
        let forms = [
            ("html", Format::Html),
            ("htm", Format::Html),
            ("md", Format::Md),
            ("markdown", Format::Md),
        ];
        let next = "name a page: -o FILE.html or -o FILE.md; --json FILE writes its facts, --png DIR its charts";
        let named = output::page_format(to, &forms, next)?;
        match (self.format, named, to) {
            (Some(given), Some(named), Some(to)) if given != named => {
                let word = match given {
                    Format::Html => "--format html",
                    Format::Md => "--format md",
                };
                Err(output::contradiction(word, to))
            }
            (given, named, _) => Ok(given.or(named).unwrap_or(Format::Html)),
        }
    }
}

/// Analyzes and writes.
pub fn run(args: &Args, global: &Global) -> anyhow::Result<Outcome> {
    let format = args.form()?;
    let default = match format {
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
    let text_of_page = match format {
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
    let said = Said::beside(&outputs);
    said.write(&text(&document, said.colors(global), said.width()))?;
    wrote(&written, global)?;
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
