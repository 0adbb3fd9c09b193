//! A source of which a rule lets so many connections stand at an end, and what only looks so.

use crate::Confidence;
use crate::analyses::opens::Limited;
use crate::analyses::opens::limited::limited;
use crate::analyses::verdict::Tone;
use crate::facts::{ConnectionId, Facts};
use crate::name::Name;
use crate::reconstruct::drops::tables::DropRow;
use crate::reconstruct::opens::tables::{OpenEnd, OpenRow};
use crate::reconstruct::tcp::states::{ESTABLISHED, FIN_WAIT1, SYN_SENT};
use crate::reconstruct::whose::{Carries, Owner};
use crate::testing::tcp::{connection, state};

const MS: i64 = 1_000_000;
const NETFILTER: u32 = 7;

/// A connection of 10.0.0.`from` to 10.0.0.1:9200, tried at `at` ms, that stood from `stood` to `until`; where that is later, its first SYN was dropped.
fn add(f: &mut Facts, from: u8, task: &str, at: i64, stood: i64, until: i64) {
    let n = f.connections.len() as u32;
    let mut row = connection(n);
    let source = std::net::Ipv4Addr::new(10, 0, 0, from).into();
    (row.saddr, row.sport) = (Some(source), 40_000);
    (row.daddr, row.dport) = (Some([10, 0, 0, 1].into()), 9200);
    (row.task, row.born) = (Name::new(task.as_bytes()), Some(SYN_SENT));
    f.connections.push(row);
    f.tcp_states.push(state(n, SYN_SENT, at * MS));
    f.tcp_states.push(state(n, ESTABLISHED, stood * MS));
    f.tcp_states.push(state(n, FIN_WAIT1, until * MS));
    let again = stood > at + 500;
    f.opens.push(OpenRow {
        connection: Some(ConnectionId(n)),
        from: Some((source, 40_000)),
        to: Some(([10, 0, 0, 1].into(), 9200)),
        pid: 7,
        task: Name::new(task.as_bytes()),
        start_ns: at * MS,
        end_ns: stood * MS,
        end: OpenEnd::Established,
        error: None,
        message: false,
        syns_again: Some(u32::from(again)),
        confidence: Confidence::Certain,
    });
    if again {
        f.drops.push(DropRow {
            reason: Some(NETFILTER),
            dev: Name::new(b"ens3"),
            owner: Some(Owner {
                connection: Some(ConnectionId(n)),
                carries: Carries::Syn,
                task: Name::default(),
                pid: 0,
                confidence: Confidence::Strong,
            }),
            ..crate::testing::drop_at(at * MS + 1_000)
        });
    }
}

/// From 5 to 14 s a job of 10.0.0.2 has 59 connections. Its other program opens two each 500 ms, the second of which is dropped when 60 stand; 10.0.0.3 opens one each 100 ms.
fn facts() -> Facts {
    let mut f = Facts::empty();
    (f.capture.start_ns, f.capture.end_ns) = (Some(0), Some(20_000 * MS));
    f.capture.events.insert("sock:inet_sock_set_state".into(), 1);
    f.names.drop_reasons = Some(netmortem_formats::event_format::ValueTable {
        entries: vec![(u64::from(NETFILTER), "NETFILTER_DROP".into())],
        kind: netmortem_formats::event_format::ValueTableKind::Symbolic,
    });
    (0..59).for_each(|n| add(&mut f, 2, "reindex", 5_000 + n * 10, 5_001 + n * 10, 14_000));
    for n in 0..40 {
        let at = n * 500 + 50;
        add(&mut f, 2, "find", at, at + 1, at + 30);
        let full = (5_600..14_000).contains(&at);
        let (at, late) = (at + 10, if full { 1_020 } else { 1 });
        add(&mut f, 2, "find", at, at + late, at + late + 30);
    }
    (0..200).for_each(|n| add(&mut f, 3, "find", n * 100, n * 100 + 1, n * 100 + 30));
    f.opens.sort_by_key(|o| o.start_ns);
    f
}

#[test]
fn a_source_that_has_as_many_as_a_rule_lets_it_is_told() {
    let f = facts();
    let l: Limited = limited(&f).unwrap();
    assert_eq!(
        (l.source.as_str(), l.to.as_str(), l.syns, l.delayed, l.failed),
        ("10.0.0.2", "10.0.0.1:9200", 16, 16, 0)
    );
    assert_eq!((l.stood, l.holder.clone()), ((60, 60), Some(("reindex".into(), 59))));
    assert!(l.others > 70, "{l:?}");
    let lines = crate::analyses::answer(&f).verdict;
    let line = lines.into_iter().find(|l| l.subject == "opens").unwrap();
    assert_eq!(line.tone, Tone::Bad, "{}", line.headline);
    let says = "16 SYNs of 10.0.0.2 to 10.0.0.1:9200 were dropped by this host for NETFILTER_DROP at ";
    assert!(line.headline.contains(says), "{}", line.headline);
    let says = "60 connections of 10.0.0.2 stood there then (59 of reindex), and fewer when others of it opened at once: a limit of connections per source (inferred)";
    assert!(line.sentence.contains(says), "{}", line.sentence);
}

#[test]
fn what_is_dropped_at_any_count_or_of_others_too_is_no_limit() {
    let none = |change: &dyn Fn(&mut Facts)| {
        let mut f = facts();
        change(&mut f);
        f.opens.sort_by_key(|o| o.start_ns);
        assert_eq!(limited(&f), None);
    };
    let of = |o: &OpenRow, last: u8| {
        o.from
            .is_some_and(|(a, _)| a == std::net::IpAddr::from([10, 0, 0, last]))
    };
    // Nobody else tries; or loses some, too.
    none(&|f| f.opens.retain(|o| !of(o, 3)));
    none(&|f| add(f, 3, "find", 7_000, 8_000, 8_030));
    // Few stand: how often something comes is limited, or all of it dropped.
    none(&|f| f.connections.iter_mut().take(59).for_each(|c| c.dport = 1));
    // As many stood when others of it opened at once.
    none(&|f| (0..16).for_each(|n| add(f, 2, "find", 6_075 + n * 500, 6_076 + n * 500, 6_079 + n * 500)));
    // For another reason; of few; where events were lost.
    none(&|f| f.drops.iter_mut().for_each(|d| d.reason = Some(NETFILTER + 1)));
    none(&|f| f.drops.truncate(9));
    none(&|f| f.gaps.push(crate::testing::gap(0, 1)));
}
