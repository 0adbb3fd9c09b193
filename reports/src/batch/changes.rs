//! What was changed on the hosts while they were recorded, of all recordings.

use netmortem_analyzer::fleet::{Changed, Fleet, Summary};

use crate::clean::Text;
use crate::document::{Block, Cell, Column, Section, Severity, Table};
use crate::format;
use crate::sections::shared::counted;

/// Rows of the table.
const ROWS: usize = 100;

/// The section; none where no recorder listened.
pub(super) fn section(fleet: &Fleet, link: &dyn Fn(&str) -> Option<String>) -> Option<Section> {
    let heard = fleet.ranked.iter().filter_map(|s| Some((s, s.changes.as_ref()?)));
    let unheard = fleet.ranked.iter().filter(|s| s.changes.is_none()).count() as u64;
    heard.clone().next()?;
    let mut all: Vec<(&Summary, &Changed)> = vec![];
    for (s, of) in heard.clone() {
        all.extend(of.told.iter().map(|c| (s, c)));
    }
    // By the clock of the world: what was rolled out to several hosts stands together.
    all.sort_by_key(|(s, c)| (!c.worse, began(s, c), c.at_ns));
    let hosts = heard.clone().filter(|(_, c)| !c.told.is_empty()).count() as u64;
    let worse = all.iter().filter(|(_, c)| c.worse).count() as u64;
    let blind = all.iter().filter(|(_, c)| !c.compared).count() as u64;
    let lossy = heard.clone().filter(|(_, c)| c.lost > 0).count() as u64;
    let changed = format!(
        "In {} the host was changed while it was recorded",
        counted(hosts, "recording")
    );
    let mut lead = match (all.is_empty(), worse) {
        (true, _) => "No change of a host was heard while it was recorded.".to_owned(),
        (_, 0) => format!("{changed}; after no change that could be judged was anything worse."),
        (_, n) => format!("{changed}; after {} something was worse.", counted(n, "change")),
    };
    let notes = [
        (blind, "change", "what was before and after could not be compared."),
        (lossy, "recording", "something that was announced was lost."),
        (
            unheard,
            "recording",
            "nothing is known, as its recorder did not listen.",
        ),
    ];
    for (n, what, says) in notes.iter().filter(|n| n.0 > 0) {
        lead += &format!(" Of {} {says}", counted(*n, what));
    }
    let more = heard.map(|(_, c)| c.more).fold(0, u64::saturating_add);
    let blocks = match all.is_empty() {
        true => vec![],
        false => vec![Block::Table(table(&all, more, link))],
    };
    Some(Section {
        id: "changes",
        title: "Changes of the hosts".into(),
        lead: Text::from(lead),
        blocks,
    })
}

fn began(s: &Summary, c: &Changed) -> Option<i64> {
    Some(s.began_realtime_ns?.saturating_add(c.at_ns))
}

fn table(all: &[(&Summary, &Changed)], more: u64, link: &dyn Fn(&str) -> Option<String>) -> Table {
    let row = |(s, c): &(&Summary, &Changed)| {
        let name = Text::name(&s.name);
        let badge = match (c.compared, c.worse, c.differs.is_empty()) {
            (false, ..) => Cell::Unknown,
            (_, true, _) => Cell::Badge(Severity::Notice, "worse".into()),
            (_, false, true) => Cell::Badge(Severity::Info, "as before".into()),
            (_, false, false) => Cell::Badge(Severity::Info, "differs".into()),
        };
        vec![
            Cell::known(began(s, c), |ns| Cell::Text(Text::from(format::utc(ns)))),
            match link(&s.name) {
                Some(href) => Cell::Link { text: name, href },
                None => Cell::Code(name),
            },
            Cell::At(c.at_ns),
            Cell::Text(Text::from(c.says.clone())),
            badge,
            Cell::Text(Text::from(c.differs.clone())),
        ]
    };
    let index = match all.len().saturating_sub(ROWS) {
        0 => String::new(),
        n => format!(" {} more are in index.json.", format::count(n as u64)),
    };
    let pages = match more {
        0 => String::new(),
        n => format!(" {} more are on the recordings' own pages.", format::count(n)),
    };
    Table {
        caption: "Changes, worst first, then in order of time".into(),
        columns: vec![
            Column::text("when"),
            Column::text("recording"),
            Column::in_unit("at", "s"),
            Column::text("what, and by whom"),
            Column::text("after it"),
            Column::text("what differs"),
        ],
        rows: all.iter().take(ROWS).map(row).collect(),
        note: Some(Text::from(format!(
            "What differs after a change need not be of it; each recording's own page has how it was compared.{index}{pages}"
        ))),
    }
}
