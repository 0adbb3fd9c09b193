//! What the receive and the transmit path show alike: stages whose times sum to a whole.
//!
//! Percentiles are those of the certain and strong units; the table gives all units beside them. Shares are of the summed time, so they
//! add up. A stage of which the recording itself is a large part carries a star: its size says little.

use netmortem_analyzer::analyses::exemplars::StageExemplars;
use netmortem_analyzer::analyses::waits::StageTimes;
use netmortem_analyzer::reconstruct::observer::tables::{MARKED_SHARE, ObserverRow};

use super::shared::{compared, durations, figure, quantile_cells, quantile_columns, words};
use crate::chart::{ChartSpec, Plot, Size, Stage, Tone, Waterfall};
use crate::clean::Text;
use crate::document::{Block, Cell, Column, Figure, Severity, Table};
use crate::format;

/// Stages whose pictures are open; the others are folded away.
const OPEN_STAGES: usize = 6;
/// Curves in a picture.
pub const CURVES: usize = 6;

/// A ledger of an answer, and its words.
pub struct Ledger<'a> {
    /// `rx` or `tx`, as in the view `observer`.
    pub name: &'static str,
    /// Heading of the chart of stages.
    pub title: &'static str,
    /// What the rows are: `units`, `segments`.
    pub rows: &'static str,
    /// What the chart counts, as `400 units read`.
    pub counted: String,
    /// In the order of the path.
    pub stages: &'a [StageTimes],
    /// Time in no stage.
    pub unattributed: &'a StageTimes,
    /// The whole.
    pub total: &'a StageTimes,
    /// What recording cost each stage.
    pub observer: &'a [ObserverRow],
    /// Units to look at, by stage.
    pub exemplars: &'a [StageExemplars],
}

/// The second half of a sentence on who is left out: those in the percentiles of all only.
pub fn weak(n: u64) -> String {
    match n {
        0 => ".".to_owned(),
        n => format!(
            ". {} more {} weak or unknown links: only in what is said “of all”.",
            format::count(n),
            if n == 1 { "has" } else { "have" }
        ),
    }
}

impl<'a> Ledger<'a> {
    /// Stages and the unattributed rest, in path order.
    pub fn every(&self) -> impl Iterator<Item = &'a StageTimes> {
        self.stages.iter().chain([self.unattributed])
    }

    fn by_share(&self) -> Vec<&'a StageTimes> {
        let mut order: Vec<&StageTimes> = self.every().filter(|stage| stage.solid.n > 0).collect();
        order.sort_by(|a, b| b.share.total_cmp(&a.share));
        order
    }

    fn tone(&self, stage: &StageTimes) -> Tone {
        if stage.stage == self.unattributed.stage {
            return Tone::Grey;
        }
        let at = self.stages.iter().position(|other| other.stage == stage.stage);
        at.map_or(Tone::Blue, Tone::nth)
    }

    fn cost(&self, stage: &str) -> Option<&'a ObserverRow> {
        self.observer
            .iter()
            .find(|row| row.ledger == self.name && row.stage == stage)
    }

    fn is_marked(&self, stage: &str) -> bool {
        self.cost(stage).is_some_and(ObserverRow::marked)
    }

    fn any_marked(&self) -> bool {
        self.every().any(|stage| self.is_marked(stage.stage))
    }

    /// The stage's name for a person, with a star when much of it is the recording's own.
    fn named(&self, stage: &StageTimes) -> Text {
        let star = if self.is_marked(stage.stage) { " *" } else { "" };
        Text::from(format!("{}{star}", words(stage.stage)))
    }

    /// Shares and percentiles of every stage.
    pub fn waterfall(&self) -> Figure {
        let stage = |times: &StageTimes| Stage {
            name: self.named(times),
            n: times.solid.n,
            share: (times.all.n > 0).then_some(times.share),
            p50_ns: times.solid.p50_ns,
            p90_ns: times.solid.p90_ns,
            p99_ns: times.solid.p99_ns,
            max_ns: times.solid.max_ns,
            tone: self.tone(times),
        };
        let plot = Waterfall {
            share_label: "share of the summed time".into(),
            unit_label: "time, log scale".into(),
            stages: self.every().map(stage).collect(),
        };
        let star = match self.any_marked() {
            true => format!(
                "; * over {:.0} % of it is the recording's own cost",
                MARKED_SHARE * 100.0
            ),
            false => String::new(),
        };
        let chart = ChartSpec {
            title: self.title.into(),
            note: Some(Text::from(format!(
                "{}; percentiles of the certain and strong ones{star}",
                self.counted
            ))),
            size: Size::Full,
            plot: Plot::Waterfall(plot),
        };
        let caption = format!(
            "In the order of the path. Left: each stage's share of the time of all these {}; the shares add up to all of it. Right: the bar goes from p50 to p99.",
            self.rows
        );
        figure("waterfall", chart, &caption)
    }

    /// A row per stage, the rest and the whole.
    pub fn table(&self) -> Table {
        let mut columns = vec![Column::text("stage")];
        columns.extend(quantile_columns());
        columns.extend([
            Column::number("share"),
            Column::text("the longest"),
            Column::number("cost of recording"),
        ]);
        // Without weak ones they would say everything twice.
        let weak = self
            .every()
            .chain([self.total])
            .any(|times| times.all.n != times.solid.n);
        if weak {
            columns.extend([
                Column::number("n of all"),
                Column::time("p50 of all"),
                Column::time("p99 of all"),
                Column::time("max of all"),
            ]);
        }
        let row = |times: &StageTimes| {
            let time = |ns| Cell::known(ns, Cell::Ns);
            let cost = self.cost(times.stage);
            let mut row = vec![Cell::Text(self.named(times))];
            row.extend(quantile_cells(&times.solid));
            row.extend([
                Cell::known((times.all.n > 0).then_some(times.share), Cell::Fraction),
                Cell::known(self.worst(times.stage), |id| Cell::Id(id.into())),
                Cell::known(cost.and_then(|row| row.share), |share| {
                    match self.is_marked(times.stage) {
                        true => Cell::Badge(Severity::Notice, format::percent(share).into()),
                        false => Cell::Fraction(share),
                    }
                }),
            ]);
            if weak {
                row.extend([
                    Cell::Count(times.all.n),
                    time(times.all.p50_ns),
                    time(times.all.p99_ns),
                    time(times.all.max_ns),
                ]);
            }
            row
        };
        let star = match self.any_marked() {
            true => format!(
                " * more than {:.0} % of the stage: without recording it would be that much shorter.",
                MARKED_SHARE * 100.0
            ),
            false => String::new(),
        };
        let of_all = match weak {
            true => "“of all” counts weak ones too",
            false => "there are no weak ones",
        };
        Table {
            caption: "Stages".into(),
            columns,
            rows: self.every().chain([self.total]).map(row).collect(),
            note: Some(Text::from(format!(
                "n, p50, p90, p99, max and the longest are of the certain and strong {0}, the share is of the summed time of all; {of_all}. A stage's n counts the {0} in which it happened and was seen. Cost of recording: the part of the stage's time that writing down its events took, estimated, not subtracted.{star}",
                self.rows
            ))),
        }
    }

    /// The certain or strong unit whose time in a stage is the longest.
    fn worst(&self, stage: &str) -> Option<&str> {
        let of = self.exemplars.iter().find(|of| of.stage == stage)?;
        Some(of.worst.id.as_str())
    }

    /// What passes in each stage, folded away.
    pub fn meanings(&self, more: &[&StageTimes]) -> Block {
        let row = |times: &StageTimes| vec![Cell::Text(words(times.stage).into()), Cell::Text(times.meaning.into())];
        let table = Table {
            caption: Text::default(),
            columns: vec![Column::text("stage"), Column::text("from, to")],
            rows: self
                .every()
                .chain([self.total])
                .chain(more.iter().copied())
                .map(row)
                .collect(),
            note: None,
        };
        Block::Details {
            summary: "What passes in each stage".into(),
            blocks: vec![Block::Table(table)],
        }
    }

    /// ECDFs of the largest stages over one another, then a histogram with ECDF of `wholes` and of every stage that was seen: the largest
    /// are open.
    pub fn pictures(&self, wholes: &[(&StageTimes, &str)]) -> Vec<Block> {
        let order = self.by_share();
        let curves = order
            .iter()
            .take(CURVES)
            .map(|stage| (Text::from(words(stage.stage)), &stage.solid));
        let caption = format!(
            "The share of {} (up) that needed at most that time (right): a curve further right is a slower stage.",
            self.rows
        );
        let title = "The stages that took most, compared";
        let mut blocks: Vec<Block> = compared("compared", title, Size::Full, curves, &caption)
            .map(|figure| Block::Figure(Box::new(figure)))
            .into_iter()
            .collect();
        let counted = format!("{} per bin", self.rows);
        // A stage that did not happen is no missing value.
        let note = |stage: &StageTimes| {
            let (n, others) = (format::count(stage.solid.n), stage.solid.unknown);
            Text::from(match others {
                0 => format!("n = {n}"),
                others => format!(
                    "n = {n}; did not happen, or is not known, in {} more",
                    format::count(others)
                ),
            })
        };
        let picture = |stage: &StageTimes, title: Text| {
            let mut figure = durations(
                format!("stage-{}", stage.stage),
                title,
                &stage.solid,
                Size::Half,
                self.tone(stage),
                &counted,
                stage.meaning,
            );
            figure.chart.note = Some(note(stage));
            figure
        };
        let wholes = wholes.iter().filter(|(whole, _)| whole.solid.n > 0);
        let mut open_figures: Vec<Figure> = wholes.map(|(whole, title)| picture(whole, (*title).into())).collect();
        let open: Vec<&str> = order.iter().take(OPEN_STAGES).map(|stage| stage.stage).collect();
        let figures = |is_open: bool| -> Vec<Figure> {
            self.every()
                .filter(|stage| stage.solid.n > 0 && open.contains(&stage.stage) == is_open)
                .map(|stage| picture(stage, self.named(stage)))
                .collect()
        };
        open_figures.extend(figures(true));
        if !open_figures.is_empty() {
            blocks.push(Block::Figures(open_figures));
        }
        let rest = figures(false);
        if !rest.is_empty() {
            let summary = match rest.len() {
                1 => "The stage that took least".to_owned(),
                n => format!("The {n} stages that took least"),
            };
            blocks.push(Block::Details {
                summary: summary.into(),
                blocks: vec![Block::Figures(rest)],
            });
        }
        blocks
    }
}
