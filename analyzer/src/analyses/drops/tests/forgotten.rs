//! Connections that a firewall has forgotten.

use super::drop_row;
use crate::Confidence;
use crate::analyses::drops::{Forgotten, answer};
use crate::facts::{ConnectionId, Facts};
use crate::name::Name;
use crate::reconstruct::tcp::states::ESTABLISHED;
use crate::reconstruct::transmit::tables::{TxEnd, TxRow, TxStart};
use crate::reconstruct::whose::{Carries, Owner};

const MS: i64 = 1_000_000;

/// Of eight connections four are used each 300 ms; the other four at 100 ms and, dropped, after `silence(n)`.
fn facts(silence: impl Fn(u32) -> i64) -> Facts {
    let mut f = Facts::empty();
    f.capture.start_ns = Some(0);
    f.names.drop_reasons = Some(netmortem_formats::event_format::ValueTable {
        entries: vec![(12, "NETFILTER_DROP".into())],
        kind: netmortem_formats::event_format::ValueTableKind::Symbolic,
    });
    let sent = |c: u32, at: i64, acked: bool| TxRow {
        connection: Some(ConnectionId(c)),
        start_ns: at * MS,
        t_ack_ns: acked.then_some((at + 1) * MS),
        end: if acked { TxEnd::Acked } else { TxEnd::Open },
        ..crate::testing::sent()
    };
    for c in 0..8u32 {
        let mut row = crate::testing::tcp::connection(c);
        (row.sport, row.dport) = (40_000 + c as u16, 6379);
        f.connections.push(row);
        if c < 4 {
            f.tx.extend((0..15).map(|n| sent(c, n * 300, true)));
            continue;
        }
        let again = 100 + silence(c);
        f.tx.extend([sent(c, 100, true), sent(c, again, false)]);
        for late in [0, 200, 600] {
            let mut drop = drop_row((again + late) * MS + 50_000, 12, 0x10, Some(false));
            drop.owner = Some(Owner {
                connection: Some(ConnectionId(c)),
                carries: Carries::Data,
                task: Name::default(),
                pid: 0,
                confidence: if late == 600 {
                    Confidence::Weak
                } else {
                    Confidence::Strong
                },
            });
            f.drops.push(drop);
        }
    }
    f.drops.sort_by_key(|d| d.time_ns);
    f
}

fn found(f: &Facts) -> Option<Forgotten> {
    answer(f).findings().unwrap().groups[0].forgotten
}

#[test]
fn what_is_dropped_after_a_long_silence_alone_was_forgotten() {
    let f = facts(|c| 2_000 + i64::from(c) * 100);
    let expect = Forgotten {
        connections: 4,
        silent_least_ns: 2_400 * MS,
        passed_most_ns: 300 * MS,
    };
    assert_eq!(found(&f), Some(expect));
    let said = crate::analyses::answer(&f).verdict;
    let said = &said.iter().find(|l| l.subject == "drops").unwrap().sentence;
    let says = "the first after a silence of 2.400 s or longer on each of 4 connections (after 300.00 ms at most it passed): a firewall that has forgotten them (conntrack time-out, inferred)";
    assert!(said.contains(says), "{said}");
}

/// The dropped connections without what they sent first.
fn silent_before(mut f: Facts) -> Facts {
    let dropped = |c: Option<ConnectionId>| c.is_some_and(|c| c.0 >= 4);
    f.tx.retain(|t| !dropped(t.connection) || t.start_ns != 100 * MS);
    f.capture.events.insert("sock:inet_sock_set_state".into(), 1);
    f
}

/// Of `n` connections each passes after 4.0 and 4.1 s; `dropped` others lose what they send after 4.3 s or longer.
fn near(n: u32, dropped: u32) -> Facts {
    let mut f = facts(|c| 4_300 + i64::from(c) * 10);
    let like = |f: &Facts, of: u32, c: u32| {
        let own = f.tx.iter().filter(|t| t.connection == Some(ConnectionId(of)));
        own.map(|t| TxRow {
            connection: Some(ConnectionId(c)),
            ..t.clone()
        })
        .collect::<Vec<_>>()
    };
    for c in 8..4 + dropped {
        let mut row = crate::testing::tcp::connection(c);
        (row.sport, row.dport) = (40_000 + c as u16, 6379);
        f.connections.push(row);
        let more = like(&f, 7, c);
        f.tx.extend(more);
        let mut drops: Vec<_> = f
            .drops
            .iter()
            .filter(|d| d.owner.unwrap().connection == Some(ConnectionId(7)))
            .cloned()
            .collect();
        for owner in drops.iter_mut().filter_map(|d| d.owner.as_mut()) {
            owner.connection = Some(ConnectionId(c));
        }
        f.drops.extend(drops);
    }
    f.drops.sort_by_key(|d| d.time_ns);
    f.tx.retain(|t| t.connection.is_none_or(|c| c.0 >= 4));
    for c in (0..n).map(|c| if c < 4 { c } else { c - 4 + (4 + dropped).max(8) }) {
        if c >= 4 {
            let mut row = crate::testing::tcp::connection(c);
            (row.sport, row.dport) = (40_000 + c as u16, 6379);
            f.connections.push(row);
        }
        f.tx.extend([100, 4_100, 8_200].map(|at| TxRow {
            connection: Some(ConnectionId(c)),
            start_ns: at * MS,
            t_ack_ns: Some((at + 1) * MS),
            end: TxEnd::Acked,
            ..crate::testing::sent()
        }));
    }
    f
}

/// What passed was silent for nearly as long: that those with drops are all longer is no chance where there are enough of both.
#[test]
fn a_sharp_limit_needs_no_distance() {
    let told = found(&near(5, 5)).map(|f| (f.connections, f.silent_least_ns / MS, f.passed_most_ns / MS));
    assert_eq!(told, Some((5, 4_340, 4_100)));
    assert_eq!(found(&near(4, 5)), None);
    assert_eq!(found(&near(5, 4)), None);
    // Ten of the one make up for three of the other.
    assert_eq!(found(&near(3, 10)).map(|f| f.connections), Some(10));
    assert_eq!(found(&near(3, 9)), None);
    assert_eq!(found(&near(2, 10)), None);
}

#[test]
fn of_one_that_sent_nothing_before_its_silence_begins_where_it_is_known_to() {
    // Older than the recording: from its start on.
    let f = silent_before(facts(|_| 2_000));
    assert_eq!(found(&f).map(|f| f.silent_least_ns), Some(2_100 * MS));
    // Opened just before what was dropped: all that they send is dropped, and none was silent.
    let mut f = silent_before(facts(|_| 2_000));
    f.tcp_states
        .extend((4..8).map(|c| crate::testing::tcp::state(c, ESTABLISHED, 2_099 * MS)));
    assert_eq!(found(&f), None);
    // Opened early, silent since then.
    f.tcp_states.iter_mut().for_each(|s| s.time_ns = 50 * MS);
    assert_eq!(found(&f).map(|f| f.silent_least_ns), Some(2_050 * MS));
    // When they were opened is not known.
    let mut f = silent_before(facts(|_| 2_000));
    f.capture.events.clear();
    assert_eq!(found(&f), None);
    // What is dropped first was sent again: sent first before the recording began, perhaps.
    let mut f = silent_before(facts(|_| 2_000));
    let again = f.tx.iter_mut().filter(|t| t.connection.is_some_and(|c| c.0 >= 4));
    again.for_each(|t| t.start = TxStart::Queue);
    assert_eq!(found(&f), None);
    // Of one of them alone: the other three tell.
    let mut f = silent_before(facts(|_| 2_000));
    let again = f.tx.iter_mut().find(|t| t.connection == Some(ConnectionId(4)));
    again.unwrap().start = TxStart::Queue;
    assert_eq!(
        found(&f).map(|f| (f.connections, f.silent_least_ns)),
        Some((3, 2_100 * MS))
    );
    // The recording begins in the middle of the silence of one: of that it is not known.
    let mut f = silent_before(facts(|c| if c == 5 { 800 } else { 2_000 }));
    f.tx.retain(|t| t.connection != Some(ConnectionId(0)));
    assert_eq!(
        found(&f).map(|f| (f.connections, f.silent_least_ns)),
        Some((3, 2_100 * MS))
    );
    // Whose the drops of one are is less certain: it does not count, and speaks against it where it was busy.
    let unsure = |silence: i64| {
        let mut f = facts(|c| if c == 5 { silence } else { 2_000 });
        for owner in f.drops.iter_mut().filter_map(|d| d.owner.as_mut()) {
            if owner.connection == Some(ConnectionId(5)) {
                owner.confidence = Confidence::Weak;
            }
        }
        found(&f).map(|f| f.connections)
    };
    assert_eq!((unsure(2_000), unsure(200)), (Some(3), None));
    // Another one was silent as long, and passed.
    let mut f = silent_before(facts(|_| 2_000));
    f.tx.retain(|t| t.connection != Some(ConnectionId(0)) || t.start_ns >= 3_000 * MS);
    assert_eq!(found(&f), None);
}

#[test]
fn other_drops_of_rules_were_not() {
    // One of them was busy.
    assert_eq!(found(&facts(|c| if c == 5 { 200 } else { 2_000 })), None);
    // Something passed after a silence as long.
    let mut f = facts(|_| 2_000);
    for t in
        f.tx.iter_mut()
            .filter(|t| t.connection == Some(ConnectionId(0)))
            .skip(8)
    {
        t.start_ns += 3_000 * MS;
    }
    assert_eq!(found(&f), None);
    // Of another reason; where events were lost.
    let mut f = facts(|_| 2_000);
    f.names.drop_reasons = None;
    assert_eq!(found(&f), None);
    let mut f = facts(|_| 2_000);
    f.gaps.push(crate::testing::gap(MS, 2 * MS));
    assert_eq!(found(&f), None);
}

/// All were silent when the recording began; one of each kind is used again, and then others.
#[test]
fn a_list_tells_of_silences_that_are_older_than_the_recording() {
    let mut f = facts(|_| 1_500);
    // Those with drops sent nothing before; of the others two were silent, too, and then passed.
    f.tx.retain(|t| {
        t.connection.is_some_and(|c| {
            if c.0 < 4 {
                c.0 > 1 || t.start_ns >= 1_500 * MS
            } else {
                t.start_ns > 100 * MS
            }
        })
    });
    assert_eq!(found(&f), None, "both may have been silent for as long");
    let before = |c: u32| (ConnectionId(c), if c < 4 { -10_000 * MS } else { -25_000 * MS });
    f.quiet = (0..8).map(before).collect();
    let told = found(&f).expect("forgotten");
    assert_eq!(
        (told.connections, told.silent_least_ns, told.passed_most_ns),
        (4, 26_100 * MS, 12_000 * MS)
    );
    // One of those that passed was silent for as long.
    f.quiet.insert(ConnectionId(0), -25_000 * MS);
    assert_eq!(found(&f), None);
}
