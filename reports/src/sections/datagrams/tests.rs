use netmortem_analyzer::analyses::datagrams::{Copied, Datagrams, InVain, Silent};
use netmortem_analyzer::analyses::{Answers, Outcome};
use netmortem_analyzer::explain::{Id, Kind};
use netmortem_analyzer::stat::Distribution;

use super::section;
use crate::document::{Block, Cell};
use crate::sections::{Input, fixture};

/// What was waited for in vain and what came twice are rows, with ids that `explain` takes; hostile names are shown as names.
#[test]
fn each_group_is_a_row() {
    let facts = fixture::facts();
    let mut answers: Answers = fixture::answers(&facts);
    answers.datagrams = Outcome::Findings(Datagrams {
        sockets: 3,
        sent: 44,
        received: 44,
        in_vain: vec![InVain {
            first: Some(Id::new(Kind::UdpTurn, 6)),
            task: "<b>cli/42".into(),
            processes: 1,
            threads: 1,
            to: "10.0.0.3:53".into(),
            came_to: String::new(),
            socket: Some(1),
            holder: "named/7".into(),
            named_by: "queue",
            sends: 4,
            of: 4,
            less_certain: 0,
            turns: 4,
            waited: Distribution::of(vec![1_000_000_000; 4], 0),
            waited_in: "poll".into(),
            open: 0,
            landed: 4,
            unread: 4,
            untaken: 0,
            again: 4,
            again_answered: 4,
            again_in_vain: 0,
            beside: None,
            onward: vec![],
            beyond: None,
            usurped: None,
            left_ns: None,
            answered_before: 0,
            since_ns: 0,
            pause: None,
            again_longest_ns: Some(2_000_000),
            again_to: "10.0.0.4:53".into(),
            first_ns: fixture::START + 1_000,
            skb_id: Some(17),
        }],
        copied: vec![Copied {
            socket: 2,
            reader: "shop/9".into(),
            local: "0.0.0.0:7222".into(),
            copies: 4,
            arrived: 44,
            dev: "rs".into(),
            in_call: false,
            sender: "till/8".into(),
            sent: Some(40),
            first_ns: fixture::START + 2_000,
            copy: 19,
            skb_id: 18,
            sure: true,
        }],
        silent: vec![Silent {
            readers: vec!["<i>ticker/4".into(), "ticker/5".into()],
            local: "239.1.1.1:7400".into(),
            times: 2,
            longest_ns: 9_000_000_000,
            first_ns: 3_000,
            went_on: "feed/3".into(),
            sent: true,
            meanwhile: 900,
        }],
        ..Datagrams::default()
    });
    let section = section(&Input {
        facts: &facts,
        answers: &answers,
    });
    assert_eq!(
        section.lead.as_str(),
        "44 datagrams sent and 44 read on 3 sockets; 4 got no answer while the sender waited for one, 4 came twice."
    );
    let tables: Vec<_> = section
        .blocks
        .iter()
        .filter_map(|b| match b {
            Block::Table(t) => Some(t),
            _ => None,
        })
        .collect();
    assert_eq!(tables.len(), 4);
    assert_eq!(tables[0].rows[0][0], Cell::Code(crate::clean::Text::name("<b>cli/42")));
    assert_eq!(tables[0].rows[0][5], Cell::Ns(1_000_000_000));
    assert_eq!(tables[0].rows[0][13], Cell::Id("udp_turn:6".into()));
    assert_eq!(tables[0].rows[0][14], Cell::Id("tx:17".into()));
    assert_eq!(tables[1].rows[0][2], Cell::Count(4));
    assert_eq!(tables[1].rows[0][10], Cell::Id("skb:19".into()));
    assert_eq!(
        tables[2].rows[0][..5],
        [
            Cell::Code(crate::clean::Text::name("<i>ticker/4, ticker/5")),
            Cell::Code(crate::clean::Text::name("239.1.1.1:7400")),
            Cell::Count(2),
            Cell::Ns(9_000_000_000),
            Cell::At(3_000),
        ]
    );
    assert_eq!(tables[2].rows[0][6], Cell::Text("sent it".into()));
}
