//! `netmortem inspect`: records as they lie in the file, in the order of each stream, with byte offsets.
//!
//! ```text
//! Capture.streams -> chunks -> sub-buffers -> records -> one line: time, CPU, member+offset, event, fields
//! ```
//! It must not merge, reconstruct or leave anything out: losses and errors are lines too.

mod lines;

use std::path::PathBuf;

use netmortem_analyzer::explain::fields::FieldReader;
use netmortem_analyzer::ingest::TraceClock;
use netmortem_formats::{Capture, Endian, EventFormat};

use self::lines::Lines;
use crate::{Outcome, input, output};

const EXAMPLES: &str = "\
Examples:
  netmortem inspect incident.nmb --limit 20
  netmortem inspect trace.dat --event skb:kfree_skb --cpu 1
  netmortem inspect incident.nmb --event tcp_probe --json | jq .fields.snd_cwnd

The offset is that of the record's payload in the decoded bytes of its chunk; the chunk is named by its member and, when the member has several, by the byte where it begins in the file. The order is that of each CPU.";

/// Arguments.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// A bundle (.nmb), trace.dat or perf.data; - is standard input
    #[arg(value_name = "INPUT")]
    input: PathBuf,
    /// Stop after this many records
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
    /// Only this event: system:name, or the name alone
    #[arg(long, value_name = "EVENT")]
    event: Option<String>,
    /// Only this CPU
    #[arg(long, value_name = "N")]
    cpu: Option<u32>,
    /// One JSON object per line
    #[arg(long)]
    json: bool,
}

/// Inspects.
pub fn run(args: &Args) -> anyhow::Result<Outcome> {
    let capture = input::open(&args.input)?;
    let readers = Readers::new(&capture, args.event.as_deref())?;
    if let Some(cpu) = args.cpu.filter(|c| capture.streams.iter().all(|s| s.cpu != *c)) {
        return Err(crate::failure::failure(
            format!("this recording has no CPU {cpu}"),
            "`netmortem check INPUT` lists the ring buffers that it has",
        ));
    }
    let clock = TraceClock::of(&capture);
    let mut out = output::writer(None)?;
    let mut left = args.limit.unwrap_or(u64::MAX);
    for stream in capture.streams.iter().filter(|s| args.cpu.is_none_or(|c| c == s.cpu)) {
        for chunk in &stream.chunks {
            if left == 0 {
                break;
            }
            let lines = Lines {
                capture: &capture,
                stream,
                chunk,
                clock: &clock,
                readers: &readers,
                json: args.json,
            };
            left = lines.write(left, &mut out)?;
        }
    }
    out.flush()?;
    Ok(Outcome::Done)
}

/// Readers of the fields of the events that are asked for, by event id.
struct Readers<'c> {
    by_id: Vec<Option<(&'c EventFormat, Vec<FieldReader>)>>,
    /// Whether records of other events are shown too.
    all: bool,
}

impl<'c> Readers<'c> {
    fn new(capture: &'c Capture, event: Option<&str>) -> anyhow::Result<Readers<'c>> {
        let endian = capture.streams.first().map_or(Endian::Little, |s| s.page.endian);
        let mut by_id = vec![];
        for f in capture
            .event_formats
            .iter()
            .filter(|f| event.is_none_or(|e| e == f.name || e == f.key()))
        {
            let id = usize::from(f.id);
            if by_id.len() <= id {
                by_id.resize_with(id + 1, || None);
            }
            if let Some(slot) = by_id.get_mut(id) {
                *slot = Some((f, FieldReader::all_of(f, endian)));
            }
        }
        match event.filter(|_| by_id.is_empty()) {
            None => Ok(Readers {
                by_id,
                all: event.is_none(),
            }),
            Some(e) => Err(crate::failure::failure(
                format!("this recording has no event {e}"),
                "`netmortem check INPUT` lists the events that it has",
            )),
        }
    }

    fn of(&self, id: u16) -> Option<&(&'c EventFormat, Vec<FieldReader>)> {
        self.by_id.get(usize::from(id)).and_then(|r| r.as_ref())
    }
}
