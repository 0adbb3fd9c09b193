//! One recording of a batch: opened, analyzed, written. Whatever goes wrong is its outcome.

use std::fs::File as StdFile;
use std::io::{BufWriter, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use netmortem_analyzer::analyses::{Answers, answer_told};
use netmortem_analyzer::fit;
use netmortem_analyzer::fleet::{self, Summary};
use netmortem_analyzer::ingest::Options;
use netmortem_analyzer::table::FactTable;
use netmortem_analyzer::{Facts, Told, analyze as facts_of};
use netmortem_formats::open::FORMATS;
use netmortem_formats::packed::{self, Packing};
use netmortem_formats::{Bytes, FormatErrorKind, open_within};
use netmortem_reports::{html, sections};

use super::budget::{self, Budget};
use super::find::File;
use super::store::{Outcome, Store};
use crate::input;

/// Bytes by which every format is known.
const FIRST: u64 = 64;

/// What is written of each recording besides its summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted {
    /// The HTML page.
    pub report: bool,
    /// The Parquet files.
    pub dataset: bool,
}

/// Analyzes one file.
pub fn analyze(file: &File, store: &Store, budget: &Budget, wanted: Wanted) -> Outcome {
    let bad = |because: String| Outcome::Bad { because };
    // By its name it should be one.
    let packing = input::packing(&file.path);
    let own = match packing {
        Some(_) => file.path.with_extension(""),
        None => file.path.clone(),
    };
    let named = ["nmb", "dat", "data"]
        .iter()
        .any(|e| own.extension().is_some_and(|x| x == *e));
    if file.bytes == 0 {
        return if named {
            bad("it is empty".to_owned())
        } else {
            Outcome::NoRecording
        };
    }
    // Who waits for memory holds none: else two could wait for each other. What needs more than there is has all of it, and a
    // part is analyzed.
    let all = budget.whole();
    let first = head(&file.path);
    if packing.is_some_and(|p| p != Packing::Xz) && !named && !FORMATS.iter().any(|f| (f.sniff)(&first)) {
        // A compressed text is not unpacked to find that out.
        return Outcome::NoRecording;
    }
    let unpacked = match unpacked_bytes(&file.path, packing, all) {
        Ok(n) => n,
        Err(because) => return bad(because),
    };
    // What it is unpacked into stays in memory.
    let all_but = all.saturating_sub(unpacked);
    let to_open = budget::to_open(&first, unpacked.max(file.bytes));
    let mut ask = to_open.saturating_add(unpacked).min(all);
    let (share, capture) = loop {
        let Some(mut share) = budget.take(ask) else {
            return bad("its memory cannot be counted".to_owned());
        };
        let capture = match open_within(&file.path, all) {
            Err(e) => return bad(e.to_string()),
            Ok(Err(e)) if e.kind == FormatErrorKind::UnknownFormat && !named => return Outcome::NoRecording,
            Ok(Err(e)) if e.kind == FormatErrorKind::UnknownFormat && packing == Some(Packing::Xz) => {
                return bad(
                    "it is compressed with xz, which is not read here: unpack it, or pack it with zstd".to_owned(),
                );
            }
            Ok(Err(e)) if e.kind == FormatErrorKind::UnknownFormat => return bad(input::of_no_format(packing)),
            Ok(Err(e)) => return bad(e.to_string()),
            Ok(Ok(c)) => c,
        };
        let needed = fit::needed(&capture).saturating_add(unpacked).min(all);
        if share.shrink(needed) {
            break (share, capture);
        }
        ask = needed; // and it is opened again
    };
    let (capture, selected) = match fit::fit(capture, None, all_but) {
        Ok(fitted) => fitted,
        Err(e) => {
            return bad(format!(
                "it needs more memory than --memory allows ({} MiB), and a part cannot be taken of it: {e}",
                all >> 20
            ));
        }
    };
    // A defect of ours that one recording uncovers must not take the answers about the others away.
    let done = catch_unwind(AssertUnwindSafe(|| {
        let mut facts = facts_of(&capture, &Options::default());
        facts.capture.selected = selected;
        if facts.capture.total_events == 0 {
            return Ok(Err(no_event(&facts)));
        }
        let answers = answer_told(&facts, Told::of(&capture, &facts));
        let summary = fleet::summarize(&file.name, &facts, &answers);
        write(&facts, &answers, &summary, store, wanted).map(|()| Ok(summary))
    }));
    drop(share);
    match done {
        Ok(Ok(Ok(summary))) => Outcome::Read(Box::new(summary)),
        Ok(Ok(Err(because))) => bad(because),
        Ok(Err(e)) => bad(format!("its results cannot be written: {e:#}")),
        Err(_) => bad("the analysis failed: please report this recording as a defect of netmortem".to_owned()),
    }
}

/// Bytes that a compressed file takes in memory when it is unpacked, 0 of any other; or why it is not. It is unpacked twice: who has
/// no share of the budget keeps nothing of it.
fn unpacked_bytes(path: &Path, packing: Option<Packing>, most: u64) -> Result<u64, String> {
    if packing.is_none_or(|p| p == Packing::Xz) {
        return Ok(0);
    }
    let file = Bytes::read(path).map_err(|e| e.to_string())?;
    match packed::unpacked_bytes(&file, most) {
        None => Ok(0),
        Some(n) => n.map_err(|e| input::too_large(&e).unwrap_or_else(|| e.to_string())),
    }
}

/// The first bytes of a file, or of what it holds compressed; fewer when it cannot be read, which opening it tells.
fn head(path: &Path) -> Vec<u8> {
    StdFile::open(path).map_or_else(|_| vec![], |f| packed::beginning(f, FIRST))
}

/// Why there is nothing to rank.
fn no_event(facts: &Facts) -> String {
    let problems = facts.capture.problems.join("; ");
    match problems.is_empty() {
        true => "there is no event in it".to_owned(),
        false => format!("there is no event in it: {problems}"),
    }
}

fn write(facts: &Facts, answers: &Answers, summary: &Summary, store: &Store, wanted: Wanted) -> anyhow::Result<()> {
    if wanted.report {
        let page = html(&sections::document(facts, answers));
        whole(&store.report(&summary.name), |out| Ok(out.write_all(page.as_bytes())?))?;
    }
    if wanted.dataset {
        let table = fleet::SummaryTable(Some(summary));
        let tables = facts.tables();
        let all = tables
            .iter()
            .map(|t| t.as_ref())
            .chain(std::iter::once(&table as &dyn FactTable));
        for t in all {
            let path = store.part(t.name(), &summary.name)?;
            whole(&path, |out| {
                netmortem_frames::to_parquet(t, out)?;
                Ok(())
            })?;
        }
    }
    Ok(())
}

/// Writes a file that is whole or not there.
pub fn whole(path: &Path, fill: impl FnOnce(&mut dyn Write) -> anyhow::Result<()>) -> anyhow::Result<()> {
    let mut part = path.as_os_str().to_owned();
    part.push(".part");
    let mut out = BufWriter::new(StdFile::create(&part)?);
    fill(&mut out)?;
    out.flush()?;
    drop(out);
    Ok(std::fs::rename(&part, path)?)
}
