//! A report as data: what the sections hand over and every writer (HTML, PNG, terminal) reads. Nothing here draws or computes.

use crate::chart::ChartSpec;
use crate::clean::Text;
use crate::format::{self, TimeUnit};

/// Stands for the recording in a command, where its name is not known or cannot be typed.
pub const INPUT: &str = "INPUT";

/// The whole report.
#[derive(Clone, Debug, Default)]
pub struct Document {
    /// The heading of the page.
    pub title: Text,
    /// One line under it: what was captured, where, when.
    pub subtitle: Text,
    /// In reading order.
    pub sections: Vec<Section>,
    /// The last line of the page: which program made it.
    pub footer: Text,
    /// What commands call the recording, quoted for a shell; `None`: `INPUT`.
    pub input: Option<Text>,
    /// Ids in its sentences are of one recording, which `explain` can be asked of: a page of several has none to link.
    pub one_recording: bool,
}

impl Document {
    /// What commands call the recording.
    #[must_use]
    pub fn input(&self) -> &str {
        self.input.as_ref().map_or(INPUT, Text::as_str)
    }
}

/// One question answered.
#[derive(Clone, Debug)]
pub struct Section {
    /// Anchor in the page and prefix of the PNG files: lower case, digits and hyphens, fixed by the section.
    pub id: &'static str,
    /// Heading.
    pub title: Text,
    /// The answer in a sentence, above everything else.
    pub lead: Text,
    /// In reading order.
    pub blocks: Vec<Block>,
}

impl Section {
    /// The lead in parts; empty where it has none.
    #[must_use]
    pub fn findings(&self) -> &[Findings] {
        let found = self.blocks.iter().find_map(|block| match block {
            Block::Findings(found) => Some(found.as_slice()),
            _ => None,
        });
        found.unwrap_or_default()
    }
}

/// A piece of a section.
#[derive(Clone, Debug)]
pub enum Block {
    /// Prose.
    Paragraph(Text),
    /// Short statements, one per line.
    List(Vec<Text>),
    /// A judgement: colour, word and sentence.
    Strip(Strip),
    /// The lead in parts, for those who show lists; shown in its place.
    Findings(Vec<Findings>),
    /// Rows and columns.
    Table(Table),
    /// One chart over the whole width.
    Figure(Box<Figure>),
    /// Charts side by side where the page is wide enough.
    Figures(Vec<Figure>),
    /// Name and value pairs.
    KeyValues(Vec<(Text, Text)>),
    /// A few figures that are read before anything else, each with its colour.
    Tiles(Vec<Tile>),
    /// Commands to be copied as they stand, one a line.
    Code(Vec<Text>),
    /// Folded away until asked for.
    Details {
        /// What is inside.
        summary: Text,
        /// The inside.
        blocks: Vec<Block>,
    },
}

/// How a statement is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Nothing to do.
    Good,
    /// Context, neither good nor bad.
    Info,
    /// Worth a look.
    Notice,
    /// Act.
    Bad,
    /// It cannot be said, and why is said.
    Unknown,
}

impl Severity {
    /// The word shown beside the colour, so that the colour is never the only carrier.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Info => "info",
            Self::Notice => "look",
            Self::Bad => "bad",
            Self::Unknown => "unknown",
        }
    }
}

/// Something that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What, in few words.
    pub text: Text,
    /// The section that shows why.
    pub see: Option<&'static str>,
    /// What followed of it, likewise.
    pub so: Vec<(Text, Option<&'static str>)>,
}

impl Finding {
    /// What is said before what followed.
    pub const SO: &str = "effects on the same connections:";
    /// What is said of others that were found.
    #[must_use]
    pub fn more(n: usize, severity: Severity) -> String {
        format!("and {n} more, marked “{}” below", severity.word())
    }
}

/// What was found of one severity, the weightiest first.
#[derive(Clone, Debug)]
pub struct Findings {
    /// How they are meant.
    pub severity: Severity,
    /// What they are, in few words.
    pub title: Text,
    /// Each of them.
    pub said: Vec<Finding>,
    /// So many are not among them.
    pub more: usize,
}

/// A statement with its severity.
#[derive(Clone, Debug)]
pub struct Strip {
    /// How it is meant.
    pub severity: Severity,
    /// The statement.
    pub sentence: Text,
    /// What it rests on, or what to do next.
    pub detail: Option<Text>,
    /// The section that shows why.
    pub see: Option<&'static str>,
}

/// One figure of [`Block::Tiles`].
#[derive(Clone, Debug)]
pub struct Tile {
    /// How it is meant.
    pub severity: Severity,
    /// What it is.
    pub label: Text,
    /// The figure with its unit.
    pub value: Text,
    /// What it means, in a few words.
    pub detail: Text,
}

/// A chart with its words.
#[derive(Clone, Debug)]
pub struct Figure {
    /// Unique within the section; the PNG is `<section>-<id>.png`. Lower case, digits, hyphens.
    pub id: String,
    /// What is drawn.
    pub chart: ChartSpec,
    /// What to see in it.
    pub caption: Text,
    /// The same for who cannot see it.
    pub alt: Text,
}

/// Rows and columns.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// What the rows are.
    pub caption: Text,
    /// Left to right.
    pub columns: Vec<Column>,
    /// Each as long as `columns`.
    pub rows: Vec<Vec<Cell>>,
    /// What is not shown, when rows were left out; or how to read it.
    pub note: Option<Text>,
}

/// A column's heading and alignment.
#[derive(Clone, Debug)]
pub struct Column {
    /// Heading without the unit.
    pub title: Text,
    /// Unit in the heading; time columns get theirs from the values.
    pub unit: Option<&'static str>,
    /// What its cells are.
    pub kind: ColumnKind,
}

/// What the cells of a column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnKind {
    /// Words: left.
    Text,
    /// Numbers: right.
    Number,
    /// Durations: right; in the unit named in the heading, or each in its own: see [`Table::time_units`].
    Time,
}

impl Column {
    /// A column of words.
    #[must_use]
    pub fn text(title: &str) -> Self {
        Self {
            title: title.into(),
            unit: None,
            kind: ColumnKind::Text,
        }
    }

    /// A column of numbers.
    #[must_use]
    pub fn number(title: &str) -> Self {
        Self {
            title: title.into(),
            unit: None,
            kind: ColumnKind::Number,
        }
    }

    /// A column of numbers in a fixed unit.
    #[must_use]
    pub fn in_unit(title: &str, unit: &'static str) -> Self {
        Self {
            title: title.into(),
            unit: Some(unit),
            kind: ColumnKind::Number,
        }
    }

    /// A column of durations.
    #[must_use]
    pub fn time(title: &str) -> Self {
        Self {
            title: title.into(),
            unit: None,
            kind: ColumnKind::Time,
        }
    }
}

/// One value of a table.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// Words.
    Text(Text),
    /// A name from the recording or a command, in fixed width.
    Code(Text),
    /// How many.
    Count(u64),
    /// Nanoseconds.
    Ns(i64),
    /// A moment: nanoseconds since the start of the recording, shown in seconds to the microsecond.
    At(i64),
    /// Bytes.
    Bytes(u64),
    /// 1.0 = all.
    Fraction(f64),
    /// Any other number, three significant digits.
    Number(f64),
    /// A judgement in a word or two.
    Badge(Severity, Text),
    /// What `netmortem explain INPUT ID` takes (`rx:45`, `skb:123`): a link to itself, and the anchor `#rx=45` of the row whose
    /// first cell it is.
    Id(Text),
    /// A name that leads to a file beside the page.
    Link {
        /// The name.
        text: Text,
        /// Relative URL, already percent-encoded.
        href: String,
    },
    /// A clause that is seen, and those behind it, folded.
    More(Text, Text),
    /// A chart of one line of text, and the same in words.
    Spark(Text, Text),
    /// Not known.
    Unknown,
}

impl Cell {
    /// A value, or [`Cell::Unknown`].
    pub fn known<T>(value: Option<T>, cell: impl FnOnce(T) -> Self) -> Self {
        value.map_or(Self::Unknown, cell)
    }

    /// As shown; durations in `unit`, or in the unit that reads best, which is then written behind them.
    #[must_use]
    pub fn shown(&self, unit: Option<TimeUnit>) -> String {
        match (self, unit) {
            (
                Self::Text(text) | Self::Code(text) | Self::Id(text) | Self::Badge(_, text) | Self::Link { text, .. },
                _,
            ) => text.as_str().to_owned(),
            (Self::More(first, rest), _) => format!("{first}; {rest}"),
            (Self::Spark(line, _), _) => line.as_str().to_owned(),
            (Self::Count(value), _) => format::count(*value),
            (Self::Ns(ns), Some(unit)) => format::duration_in(*ns, unit),
            (Self::Ns(0), None) => "0".to_owned(),
            (Self::Ns(ns), None) => format::duration(*ns),
            (Self::At(ns), _) => format::moment(*ns),
            (Self::Bytes(value), _) => format::bytes(*value),
            (Self::Fraction(value), _) => format::percent(*value),
            (Self::Number(value), _) => format::significant(*value),
            (Self::Unknown, _) => format::UNKNOWN.to_owned(),
        }
    }
}

/// Values from this part of a unit on are shown in it,
const LEAST_OF_UNIT: f64 = 0.1;
/// up to this many of it.
const MOST_OF_UNIT: f64 = 10_000.0;

impl Table {
    /// The unit of each column's durations: one for the whole table when every value reads well in it (from a tenth of the unit to ten
    /// thousand), else one for each column; `None` where a column's values are too far apart for one: each is shown in its own.
    #[must_use]
    pub fn time_units(&self) -> Vec<Option<TimeUnit>> {
        let of = |cell: &Cell| match cell {
            Cell::Ns(ns) if *ns != 0 => Some(ns.unsigned_abs()),
            _ => None,
        };
        if let Some(unit) = common_unit(self.rows.iter().flatten().filter_map(of)) {
            return vec![Some(unit); self.columns.len()];
        }
        let column = |at: usize| common_unit(self.rows.iter().filter_map(|row| row.get(at)).filter_map(of));
        (0..self.columns.len()).map(column).collect()
    }
}

/// The largest unit in which all values read well; microseconds when there is none to show.
fn common_unit(values: impl Iterator<Item = u64>) -> Option<TimeUnit> {
    let (least, most) = values.fold((u64::MAX, 0), |(least, most), ns| (least.min(ns), most.max(ns)));
    if most == 0 {
        return Some(TimeUnit::Microseconds);
    }
    TimeUnit::ALL.into_iter().rev().find(|unit| {
        let one = unit.nanoseconds() as f64;
        // Nanoseconds are whole: no part of one is ever shown.
        least as f64 >= LEAST_OF_UNIT * one && most as f64 <= MOST_OF_UNIT * one
    })
}

impl Document {
    /// Every figure with its section, in reading order, folded ones included.
    #[must_use]
    pub fn figures(&self) -> Vec<(&'static str, &Figure)> {
        fn walk<'a>(id: &'static str, blocks: &'a [Block], out: &mut Vec<(&'static str, &'a Figure)>) {
            for block in blocks {
                match block {
                    Block::Figure(figure) => out.push((id, figure)),
                    Block::Figures(figures) => out.extend(figures.iter().map(|figure| (id, figure))),
                    Block::Details { blocks, .. } => walk(id, blocks, out),
                    _ => {}
                }
            }
        }
        let mut out = Vec::new();
        for section in &self.sections {
            walk(section.id, &section.blocks, &mut out);
        }
        out
    }
}
