//! The index page of a batch: recordings ranked, and all of them together. In: a [`Fleet`]. Out: a [`Document`]. It computes nothing.
//!
//! ```text
//! Fleet -> recordings (table, worst first), fleet.rs (verdicts, stages, drops of all), changes.rs (of the hosts), unreadable -> Document
//! ```

mod changes;
mod fleet;
mod terminal;
#[cfg(test)]
mod tests;

pub use terminal::terminal;

use netmortem_analyzer::analyses::verdict::Tone;
use netmortem_analyzer::fleet::{Fleet, SPARK_BINS, Stage, Summary};

use crate::clauses::steps;
use crate::clean::Text;
use crate::document::{Block, Cell, Column, Document, Section, Severity, Table};
use crate::format;
use crate::sections::shared;
use crate::sections::verdict::severity;

/// Rows of the ranking; `index.json` has all.
pub const MAX_ROWS: usize = 2_000;
/// What is worst: characters that stand in a row unfolded.
const WORST_CHARS: usize = 180;
/// Names of files that are no recordings.
const MAX_NAMES: usize = 50;

/// The page. `bad`: name and reason; `link`: where a recording's own page is, if it has one.
#[must_use]
pub fn document(
    fleet: &Fleet,
    bad: &[(&str, &str)],
    no_recordings: &[String],
    link: &dyn Fn(&str) -> Option<String>,
) -> Document {
    let n = fleet.ranked.len();
    let events: u64 = fleet.ranked.iter().fold(0, |n, s| n.saturating_add(s.events));
    let parts = [
        format!("{} recordings", format::count(n as u64)),
        format!("{} events", format::count(events)),
        format!("{} that could not be read", format::count(bad.len() as u64)),
    ];
    let mut sections = vec![recordings(fleet, link)];
    sections.extend(fleet::sections(fleet));
    sections.extend(changes::section(fleet, link));
    sections.extend(unreadable(bad, no_recordings));
    Document {
        title: "Recordings, worst first".into(),
        subtitle: Text::from(parts.join(" · ")),
        sections,
        footer: Text::from(concat!(
            "Made by netmortem ",
            env!("CARGO_PKG_VERSION"),
            " batch; every recording's own page says how its figures came about."
        )),
        input: None,
        one_recording: false,
    }
}

fn recordings(fleet: &Fleet, link: &dyn Fn(&str) -> Option<String>) -> Section {
    let of = |tone| fleet.ranked.iter().filter(|s| s.count(tone) > 0).count();
    let (bad, notice) = (of(Tone::Bad), of(Tone::Notice));
    let lead = match (fleet.ranked.is_empty(), bad, notice) {
        (true, ..) => "No recording was read.".to_owned(),
        (_, 0, 0) => "Nothing wrong was found in any of them.".to_owned(),
        (_, 0, notice) => format!(
            "Nothing is plainly wrong; {} have something worth a look.",
            format::count(notice as u64)
        ),
        (_, bad, _) => format!(
            "{} of {} have something that is plainly wrong.",
            format::count(bad as u64),
            format::count(fleet.ranked.len() as u64)
        ),
    };
    let shown = fleet.ranked.iter().take(MAX_ROWS);
    let left = fleet.ranked.len().saturating_sub(MAX_ROWS);
    let mut note = format!(
        "Order: most lines marked bad, then marked look, then packets lost, then segments sent again. The small charts are {SPARK_BINS} equal parts \
         of the recording, each row scaled to its own largest; a dot is a part without any. p99 of certain and strong units only."
    );
    if left > 0 {
        note.push_str(&format!(" {} more rows are in index.json.", format::count(left as u64)));
    }
    let table = Table {
        caption: "Recordings".into(),
        columns: vec![
            Column::text("recording"),
            Column::text(""),
            Column::text("what is worst"),
            Column::text("lost or sent again"),
            Column::text("slowest receive"),
            Column::time("receive p99"),
            Column::time("transmit p99"),
            Column::number("packets lost"),
            Column::number("segments sent again"),
            Column::number("by calls"),
            Column::number("events lost"),
            Column::text("length"),
            Column::text("began"),
            Column::text("host, kernel"),
        ],
        rows: shown.map(|s| row(s, link)).collect(),
        note: Some(Text::from(note)),
    };
    Section {
        id: "recordings",
        title: "Recordings".into(),
        lead: Text::from(lead),
        blocks: vec![Block::Table(table)],
    }
}

fn row(s: &Summary, link: &dyn Fn(&str) -> Option<String>) -> Vec<Cell> {
    let (tone, what) = worst(s);
    let what = folded(what);
    let name = Text::name(&s.name);
    let host: Vec<&str> = [s.hostname.as_str(), s.kernel.as_str()]
        .into_iter()
        .filter(|t| !t.is_empty())
        .collect();
    let p99 = |stages: &[Stage]| Cell::known(Summary::total(stages).and_then(|t| t.p99_ns), Cell::Ns);
    vec![
        match link(&s.name) {
            Some(href) => Cell::Link { text: name, href },
            None => Cell::Code(name),
        },
        Cell::Badge(tone, tone.word().into()),
        what,
        chart(s.trouble.iter().map(|n| (*n > 0).then_some(*n)), format::count),
        chart(
            s.rx_worst_ns.iter().map(|ns| ns.and_then(|ns| u64::try_from(ns).ok())),
            |ns| format::duration(i64::try_from(ns).unwrap_or(i64::MAX)),
        ),
        p99(&s.rx),
        p99(&s.tx),
        Cell::known(s.lost_packets(), Cell::Count),
        Cell::known(s.retransmit_segments, Cell::Count),
        Cell::known(s.retransmits, Cell::Count),
        match s.short_rings {
            0 => Cell::Fraction(s.lost_share),
            n => Cell::Text(Text::from(format!(
                "not known: {} begin too late",
                shared::counted(n, "ring")
            ))),
        },
        match &s.part {
            None => Cell::Text(Text::from(format::duration(s.duration_ns))),
            Some(because) => Cell::More(
                Text::from(format!("{}, a part", format::duration(s.duration_ns))),
                Text::from(because.clone()),
            ),
        },
        Cell::known(s.began_realtime_ns, |ns| Cell::Text(Text::from(format::utc(ns)))),
        Cell::Text(Text::name(&host.join(", "))),
    ]
}

/// What is worst of a recording, and how bad that is.
fn worst(s: &Summary) -> (Severity, &str) {
    match s.worst() {
        Some(l) => (severity(l.tone), &l.headline),
        None if s.verdict.iter().all(|l| l.tone == Tone::Unknown) => (Severity::Unknown, "nothing is known of it"),
        None => (severity(Tone::Ok), "nothing wrong was found"),
    }
}

/// The first step of a sentence, or as much of it as fits into a row; what follows is folded. A step that ends at a colon says
/// nothing without the next.
fn folded(sentence: &str) -> Cell {
    let mut steps = steps(sentence);
    if let [first, second, ..] = steps.as_slice()
        && first.ends_with(':')
    {
        let both = format!("{first} {second}");
        steps.splice(..2, [both]);
    }
    let (first, rest) = steps
        .split_first()
        .map_or((sentence, &[][..]), |(f, r)| (f.as_str(), r));
    let (shown, cut) = fitting(first);
    let shown = match cut {
        "" if rest.is_empty() => return Cell::Text(Text::from(sentence.to_owned())),
        "" => shown.to_owned(),
        _ => format!("{shown} …"),
    };
    let folded: Vec<&str> = (!cut.is_empty())
        .then_some(cut)
        .into_iter()
        .chain(rest.iter().map(String::as_str))
        .collect();
    Cell::More(Text::from(shown), Text::from(folded.join("; ")))
}

/// The words that fit into a row, and those that do not.
fn fitting(text: &str) -> (&str, &str) {
    let Some((end, _)) = text.char_indices().nth(WORST_CHARS) else {
        return (text, "");
    };
    let head = text.get(..end).unwrap_or(text);
    head.rsplit_once(' ')
        .and_then(|(head, _)| text.split_at_checked(head.len()))
        .map_or((text, ""), |(head, rest)| (head, rest.trim_start()))
}

/// A chart and what it says: the least and the most of its parts.
fn chart(values: impl Iterator<Item = Option<u64>> + Clone, shown: impl Fn(u64) -> String) -> Cell {
    let known = || values.clone().flatten();
    let parts = values.clone().count();
    let said = match (known().min(), known().max()) {
        (Some(least), Some(most)) => format!(
            "{} of {parts} parts with any: least {}, most {}",
            known().count(),
            shown(least),
            shown(most)
        ),
        _ => format!("none in {parts} parts"),
    };
    Cell::Spark(Text::from(spark(values)), Text::from(said))
}

/// A chart of one line of text: eight heights, the largest value is the highest, a dot where there is none.
fn spark(values: impl Iterator<Item = Option<u64>> + Clone) -> String {
    const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let largest = u128::from(values.clone().flatten().max().unwrap_or(0)).max(1);
    let height = |v: u64| {
        let at = usize::try_from(u128::from(v) * 7 / largest).unwrap_or(7);
        HEIGHTS.get(at).copied().unwrap_or('█')
    };
    values.map(|v| v.map_or('·', height)).collect()
}

fn unreadable(bad: &[(&str, &str)], no_recordings: &[String]) -> Option<Section> {
    if bad.is_empty() && no_recordings.is_empty() {
        return None;
    }
    let mut blocks = vec![];
    if !bad.is_empty() {
        blocks.push(Block::Table(Table {
            caption: "Recordings that could not be read".into(),
            columns: vec![Column::text("recording"), Column::text("why")],
            rows: bad
                .iter()
                .map(|(name, why)| vec![Cell::Code(Text::name(name)), Cell::Text(Text::from((*why).to_owned()))])
                .collect(),
            note: None,
        }));
    }
    if !no_recordings.is_empty() {
        let mut names: Vec<Text> = no_recordings.iter().take(MAX_NAMES).map(|n| Text::name(n)).collect();
        let left = no_recordings.len().saturating_sub(MAX_NAMES);
        if left > 0 {
            names.push(Text::from(format!("and {} more", format::count(left as u64))));
        }
        blocks.push(Block::Details {
            summary: Text::from(format!(
                "{} files are of no known format",
                format::count(no_recordings.len() as u64)
            )),
            blocks: vec![Block::List(names)],
        });
    }
    Some(Section {
        id: "unreadable",
        title: "Not read".into(),
        lead: "These are in no figure above.".into(),
        blocks,
    })
}
