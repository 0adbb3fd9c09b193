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
    let unheard = fleet.ranked.iter().filter(|s| s.changes.is_none()).count();
    let mut all: Vec<(&Summary, &Changed)> = heard.clone().flat_map(|(s, c)| c.iter().map(move |c| (s, c))).collect();
    heard.clone().next()?;
    // By the clock of the world: what was rolled out to several hosts stands together.
    all.sort_by_key(|(s, c)| (!c.worse, began(s, c), c.at_ns));
    let hosts = heard.filter(|(_, c)| !c.is_empty()).count() as u64;
    let worse = all.iter().filter(|(_, c)| c.worse).count() as u64;
    let mut lead = match (all.is_empty(), worse) {
        (true, _) => "No host was changed while it was recorded.".to_owned(),
        (_, 0) => format!(
            "In {} the host was changed while it was recorded; after no change was anything worse.",
            counted(hosts, "recording")
        ),
        (_, n) => format!(
            "In {} the host was changed while it was recorded; after {} something was worse.",
            counted(hosts, "recording"),
            counted(n, "change")
        ),
    };
    if unheard > 0 {
        lead += &format!(" Of {} that is not known.", counted(unheard as u64, "recording"));
    }
    let blocks = match all.is_empty() {
        true => vec![],
        false => vec![Block::Table(table(&all, link))],
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

fn table(all: &[(&Summary, &Changed)], link: &dyn Fn(&str) -> Option<String>) -> Table {
    let row = |(s, c): &(&Summary, &Changed)| {
        let name = Text::name(&s.name);
        let badge = match (c.worse, c.differs.is_empty()) {
            (true, _) => Cell::Badge(Severity::Notice, "worse".into()),
            (false, true) => Cell::Unknown,
            (false, false) => Cell::Badge(Severity::Info, "differs".into()),
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
    let more = match all.len().saturating_sub(ROWS) {
        0 => String::new(),
        n => format!(" {} more are in index.json.", format::count(n as u64)),
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
            "What differs after a change need not be of it; each recording's own page has how it was compared.{more}"
        ))),
    }
}
