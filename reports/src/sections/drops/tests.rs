use netmortem_analyzer::explain::{Id, Kind};

use super::*;
use crate::sections::fixture;
use crate::sections::tests::tables;

fn built(facts: &netmortem_analyzer::Facts) -> Section {
    let answers = fixture::answers(facts);
    section(&Input {
        facts,
        answers: &answers,
    })
}

#[test]
fn lost_expected_and_unclear_are_three_things() {
    let facts = fixture::facts();
    let section = built(&facts);
    assert!(
        section
            .lead
            .as_str()
            .starts_with("2 of 4 kfree_skb lost a packet; 1 is a free that healthy kernels do, 1 cannot"),
        "{}",
        section.lead
    );
    let table = tables(&section)[0];
    let judged: Vec<(&Cell, &Cell)> = table.rows.iter().map(|row| (&row[0], &row[4])).collect();
    assert_eq!(
        judged,
        [
            (&Cell::Badge(Severity::Bad, "lost".into()), &Cell::Count(2)),
            (&Cell::Badge(Severity::Unknown, "unclear".into()), &Cell::Count(1)),
            (&Cell::Badge(Severity::Good, "expected".into()), &Cell::Count(1)),
        ]
    );
    assert_eq!(
        (&table.rows[0][5], &table.rows[0][6]),
        (&Cell::At(2_490_000_000), &Cell::At(4_990_000_000))
    );
}

#[test]
fn the_lost_have_their_own_red_picture() {
    let facts = fixture::facts();
    let section = built(&facts);
    let Some(Block::Figure(figure)) = section.blocks.first() else {
        panic!()
    };
    let Plot::Bars(plot) = &figure.chart.plot else { panic!() };
    assert_eq!(
        plot.rows.iter().map(|row| row.values.clone()).collect::<Vec<_>>(),
        [vec![2.0]]
    );
    assert_eq!(plot.parts[0].1, Tone::Red);
}

#[test]
fn no_loss_is_good_only_when_nothing_is_unclear() {
    let mut facts = fixture::facts();
    facts.drops.retain(|row| row.expected != Some(false));
    let severity = |section: &Section| match section.blocks.first() {
        Some(Block::Strip(strip)) => strip.severity,
        other => panic!("{other:?}"),
    };
    assert_eq!(severity(&built(&facts)), Severity::Unknown);
    facts.drops.retain(|row| row.expected == Some(true));
    assert_eq!(severity(&built(&facts)), Severity::Good);
}

/// What `explain` takes is the place in the view; what healthy kernels free is not listed.
#[test]
fn single_frees_have_their_ids() {
    let mut facts = fixture::facts();
    facts.drops.swap(0, 2); // the expected one first
    let section = built(&facts);
    let table = tables(&section)[1];
    let rows: Vec<(&Cell, &Cell, &Cell)> = table.rows.iter().map(|row| (&row[0], &row[1], &row[2])).collect();
    assert_eq!(
        rows,
        [
            (
                &Cell::Id("drop:1".into()),
                &Cell::At(4_990_000_000),
                &Cell::Text("lost".into())
            ),
            (
                &Cell::Id("drop:2".into()),
                &Cell::At(2_490_000_000),
                &Cell::Text("lost".into())
            ),
            (
                &Cell::Id("drop:3".into()),
                &Cell::At(1_100_000_000),
                &Cell::Text("unclear".into())
            ),
        ]
    );
    assert_eq!(table.note, None);
    facts.drops.retain(|row| row.expected == Some(true));
    assert_eq!(tables(&built(&facts)).len(), 1);
}

/// A neighbour that had another address for a while is a row; hostile names are shown as names.
#[test]
fn a_neighbour_whose_address_changed_has_its_row() {
    use netmortem_analyzer::analyses::neighbours::Spell;
    let facts = fixture::facts();
    let mut answers = fixture::answers(&facts);
    let build = |answers: &netmortem_analyzer::analyses::Answers| section(&Input { facts: &facts, answers });
    let before = tables(&build(&answers)).len();
    answers.neighbours.push(Spell {
        id: Some(Id::new(Kind::Neighbour, 4)),
        dev: "s0".into(),
        address: "10.9.2.1".into(),
        lladdr: "02:00:00:00:00:99".into(),
        state: "permanent".into(),
        before: "02:00:00:00:00:10".into(),
        after: None,
        from_ns: fixture::START + 1_000_000_000,
        to_ns: None,
        by: "<b>ip (42), over netlink".into(),
        strayed: 3,
        first_drop: Some(0),
        resent: 1,
        again: 1,
        after_it: 0,
        confidence: netmortem_analyzer::Confidence::Certain,
    });
    let section = build(&answers);
    let all = tables(&section);
    assert_eq!(all.len(), before + 1);
    let row = &all[before].rows[0];
    assert_eq!(row[0], Cell::Badge(Severity::Bad, "look".into()));
    assert_eq!(row[3], Cell::Code("02:00:00:00:00:99 permanent".into()));
    assert_eq!(
        (&row[4], &row[5]),
        (&Cell::At(1_000_000_000), &Cell::Text("the end".into()))
    );
    assert_eq!(
        (&row[10], &row[6], &row[7]),
        (&Cell::Unknown, &Cell::Count(3), &Cell::Count(1))
    );
    assert_eq!(row[11..], [Cell::Id("neighbour:4".into()), Cell::Id("drop:0".into())]);
}

/// An address that two hosts have is a row.
#[test]
fn an_address_at_two_link_layer_addresses_has_its_row() {
    use netmortem_analyzer::analyses::neighbours::Flapping;
    let facts = fixture::facts();
    let mut answers = fixture::answers(&facts);
    let build = |answers: &netmortem_analyzer::analyses::Answers| section(&Input { facts: &facts, answers });
    let before = tables(&build(&answers)).len();
    answers.flapping.push(Flapping {
        first: Some(Id::new(Kind::Neighbour, 5)),
        address: "10.9.2.1".into(),
        lladdr: "02:00:00:00:00:10".into(),
        other: "02:00:00:00:00:99".into(),
        there: 9,
        back: 8,
        first_ns: 1_000_000_000,
        last_ns: 4_000_000_000,
    });
    let section = build(&answers);
    let all = tables(&section);
    assert_eq!(all.len(), before + 1);
    let row = &all[before].rows[0];
    assert_eq!(row[3], Cell::Code("02:00:00:00:00:99".into()));
    assert_eq!((&row[4], &row[5]), (&Cell::Count(9), &Cell::Count(8)));
    assert_eq!(row[8], Cell::Id("neighbour:5".into()));
    assert_eq!((&row[6], &row[7]), (&Cell::At(1_000_000_000), &Cell::At(4_000_000_000)));
}

#[test]
fn what_drops_cost_has_columns_where_a_segment_was_lost() {
    use netmortem_analyzer::ConnectionId;
    use netmortem_analyzer::reconstruct::drops::Repair;
    use netmortem_analyzer::reconstruct::whose::{Carries, Owner};
    let mut facts = fixture::facts();
    let columns = |section: &Section| tables(section)[0].columns.len();
    assert_eq!(columns(&built(&facts)), 9);
    assert!(matches!(&tables(&built(&facts))[0].rows[0][7], Cell::Id(id) if id.as_str().starts_with("drop:")));
    let owner = Owner {
        connection: Some(ConnectionId(0)),
        carries: Carries::Data,
        task: Default::default(),
        pid: 0,
        confidence: netmortem_analyzer::Confidence::Strong,
    };
    let repair = Repair {
        retransmit: 3,
        after_ns: Some(25_000_000),
        confidence: netmortem_analyzer::Confidence::Strong,
    };
    let lost = facts.drops.iter_mut().filter(|row| row.expected == Some(false));
    for (row, repair) in lost.zip([Some(repair), None]) {
        (row.owner, row.repair) = (Some(owner), repair);
    }
    let section = built(&facts);
    let table = tables(&section)[0];
    let costs = &table.rows[0][8..12];
    let after = Cell::Ns(25_000_000);
    assert_eq!(
        costs,
        [
            after.clone(),
            after.clone(),
            after.clone(),
            Cell::Text("1 of 1, 1 not known".into())
        ]
    );
    assert!(table.note.as_ref().unwrap().as_str().starts_with("Repaired: "));
    let each = section.blocks.iter().find_map(|block| match block {
        Block::Details { blocks, .. } => blocks.iter().find_map(|block| match block {
            Block::Table(table) => Some(table),
            _ => None,
        }),
        _ => None,
    });
    let each = each.unwrap();
    assert_eq!(each.rows[0][9..], [Cell::Id("retransmit:3".into()), after]);
    assert_eq!(each.rows[1][9..], [Cell::Unknown, Cell::Unknown]);
}
