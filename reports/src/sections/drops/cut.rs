//! Devices of which all that comes by them to be passed on is dropped since a time. In: `Answers::drops`.

use netmortem_analyzer::analyses::drops::{Cut, Group};

use crate::clean::Text;
use crate::document::{Block, Cell, Column, Table};
use crate::sections::shared::name_cell;

/// Nothing where there is none.
pub fn table(groups: &[Group]) -> Option<Block> {
    let row = |(group, cut): (&Group, &Cut)| {
        vec![
            Cell::Text(Text::from(cut.devices.join(", "))),
            Cell::At(cut.since_ns),
            Cell::Count(cut.before),
            Cell::Count(cut.later),
            Cell::Count(cut.dropped),
            name_cell(&group.reason),
            name_cell(&group.location),
        ]
    };
    let rows: Vec<Vec<Cell>> = groups
        .iter()
        .filter_map(|g| Some((g, g.cut.as_ref()?)))
        .map(row)
        .collect();
    (!rows.is_empty()).then(|| {
        Block::Table(Table {
            caption: "Devices of which all that was to be passed on is dropped since a time".into(),
            columns: vec![
                Column::text("came by"),
                Column::in_unit("since", "s"),
                Column::number("passed on before"),
                Column::number("passed on since"),
                Column::number("dropped since"),
                Column::text("reason"),
                Column::text("place"),
            ],
            rows,
            note: None,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sections::fixture;
    use netmortem_analyzer::analyses::Outcome;

    #[test]
    fn a_device_is_told_with_what_it_passed_on_before() {
        let mut answers = fixture::answers(&fixture::facts());
        let Outcome::Findings(drops) = &mut answers.drops else {
            panic!()
        };
        assert!(table(&drops.groups).is_none());
        drops.groups[0].cut = Some(Cut {
            since_ns: 5_000_000_000,
            devices: vec!["eth0".into(), "<b>".into()],
            dropped: 70,
            before: 300,
            later: 0,
        });
        let Some(Block::Table(t)) = table(&drops.groups) else {
            panic!()
        };
        assert_eq!(t.rows.len(), 1);
        assert_eq!(
            t.rows[0][..5],
            [
                Cell::Text("eth0, <b>".into()),
                Cell::At(5_000_000_000),
                Cell::Count(300),
                Cell::Count(0),
                Cell::Count(70)
            ]
        );
    }
}
