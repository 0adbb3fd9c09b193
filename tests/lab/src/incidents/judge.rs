//! What the first page says of each recorded incident.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::Context;

use netmortem_analyzer::diff::{DiffOptions, compare};
use netmortem_analyzer::{Facts, analyses, analyze};
use netmortem_reports::{Colors, Document, diff, sections, text};

use super::bundle;
use super::older::Kernel;
use super::scene::{Kind, Scene};

/// Where the cause was named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Said {
    /// In the first sentence (of what is healthy or harmless: it does not alarm).
    First,
    /// On the first page only.
    Page,
    /// Not there, or in part.
    No,
    /// What must not be said.
    False,
    /// There is no recording, or it cannot be opened.
    Absent,
}

impl Said {
    const fn word(self) -> &'static str {
        match self {
            Said::First => "first",
            Said::Page => "page",
            Said::No => "NOT",
            Said::False => "FALSE",
            Said::Absent => "absent",
        }
    }
}

/// One scene judged.
#[derive(Debug, Clone)]
pub struct Judged {
    /// The scene's name.
    pub scene: String,
    /// See there.
    pub kind: Kind,
    /// Where its cause was named.
    pub said: Said,
    /// The first sentence.
    pub sentence: String,
    /// Words that were asked for and are not there.
    pub missing: Vec<String>,
    /// What the page says.
    pub page: String,
}

/// All of them.
#[derive(Debug, Clone, Default)]
pub struct Table(pub Vec<Judged>);

fn facts(path: &Path, older: Option<&Kernel>) -> Option<Facts> {
    let mut capture = netmortem_formats::open_path(path).ok()?.ok()?;
    if let Some(kernel) = older {
        kernel.made(&mut capture);
    }
    Some(analyze(&capture, &Default::default()))
}

/// The first sentence, and the first page as a terminal prints it.
fn said(document: &Document) -> (String, String) {
    let lead = document
        .sections
        .iter()
        .map(|s| s.lead.as_str())
        .find(|l| !l.is_empty());
    (lead.unwrap_or_default().to_owned(), text(document, Colors::None, None))
}

/// The first sentence and the first page of a scene's report, or of its comparison.
pub fn page(out: &Path, scene: &Scene, older: Option<&Kernel>) -> Option<(String, String)> {
    let of = |side: &&str| facts(&bundle(out, &scene.name, side), older);
    let sides: Vec<Facts> = scene.kind.sides().iter().map(of).collect::<Option<_>>()?;
    Some(match sides.as_slice() {
        [before, after] => {
            let compared = compare(&[before], &[after], &DiffOptions::default());
            let (_, page) = said(&diff::document(&compared));
            (
                compared.verdict.sentence.clone(),
                page + &diff::terminal(&compared, Colors::None),
            )
        }
        [one, ..] => said(&sections::document(one, &analyses::answer(one))),
        [] => return None,
    })
}

/// Judges one.
fn one(out: &Path, scene: &Scene, older: Option<&Kernel>) -> Judged {
    let recorded = page(out, scene, older);
    let absent = recorded.is_none();
    let (first, as_printed) = recorded.unwrap_or_default();
    let judged = |said, sentence: String, missing| Judged {
        scene: scene.name.clone(),
        kind: scene.kind,
        said,
        sentence,
        missing,
        page: as_printed.clone(),
    };
    if absent {
        return judged(Said::Absent, String::new(), vec![]);
    }
    // A terminal folds lines.
    let page = as_printed.split_whitespace().collect::<Vec<_>>().join(" ");
    let lacks = |text: &str, of: &[Vec<String>]| -> Vec<String> {
        let missing = of
            .iter()
            .filter(|words| !words.iter().any(|w| text.contains(w.as_str())));
        missing.map(|words| words.join(" | ")).collect()
    };
    if let Some(wrong) = scene.never.iter().find(|w| first.contains(w.as_str())) {
        return judged(Said::False, first.clone(), vec![format!("not {wrong}")]);
    }
    let (in_first, on_page) = (lacks(&first, &scene.first), lacks(&page, &scene.page));
    let named = lacks(&page, &scene.first).is_empty() && on_page.is_empty();
    let where_named = match (in_first.is_empty(), named) {
        (true, true) => Said::First,
        (false, true) => Said::Page,
        (_, false) => Said::No,
    };
    judged(where_named, first, in_first.into_iter().chain(on_page).collect())
}

/// Judges what is recorded, or what of it an older kernel would have recorded.
pub fn judge(out: &Path, scenes: &[Scene], older: Option<&Kernel>) -> Table {
    Table(scenes.iter().map(|s| one(out, s, older)).collect())
}

impl Table {
    /// How many incidents there are, how many are named in the first sentence, how many on the first page (these included).
    pub fn named(&self) -> (usize, usize, usize) {
        let of = |wanted: &[Said]| {
            let incidents = self.0.iter().filter(|j| !j.kind.is_quiet());
            incidents.filter(|j| wanted.contains(&j.said)).count()
        };
        let all = of(&[Said::First, Said::Page, Said::No, Said::False]);
        (all, of(&[Said::First]), of(&[Said::First, Said::Page]))
    }
    /// How many healthy recordings and harmless pairs there are, and of how many a false alarm was raised.
    pub fn alarms(&self) -> (usize, usize) {
        let healthy = self.0.iter().filter(|j| j.kind.is_quiet() && j.said != Said::Absent);
        (
            healthy.clone().count(),
            healthy.filter(|j| j.said == Said::False).count(),
        )
    }
    /// Writes each page to a file of the scene's name.
    pub fn write(&self, folder: &Path) -> anyhow::Result<()> {
        std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        for j in &self.0 {
            let path = folder.join(format!("{}.txt", j.scene));
            std::fs::write(&path, &j.page).with_context(|| path.display().to_string())?;
        }
        Ok(())
    }
    /// For a terminal: a line each, and the figures.
    pub fn text(&self, verbose: bool) -> String {
        let mut out = String::new();
        for j in &self.0 {
            let _ = writeln!(out, "{:<7} {:<22} {}", j.said.word(), j.scene, j.sentence);
            for m in j.missing.iter().filter(|_| verbose) {
                let _ = writeln!(out, "        missing: {m}");
            }
        }
        let (all, first, page) = self.named();
        let (healthy, alarms) = self.alarms();
        let _ = writeln!(
            out,
            "{first} of {all} causes are named in the first sentence, {page} on the first page; {alarms} false alarms in {healthy} healthy recordings"
        );
        out
    }
}
