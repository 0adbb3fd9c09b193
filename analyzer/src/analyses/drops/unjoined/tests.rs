//! Two hosts at a switch that floods: what one dropped and the other read, with and without lists of their groups.

use netmortem_formats::capture::SnapshotWhen::{End, Start};
use netmortem_formats::event_format::{ValueTable, ValueTableKind};

use super::step::step;
use super::{Step, Unjoined, unjoined};
use crate::analyses::verdict::{Line, Tone};
use crate::facts::{Facts, SkbId};
use crate::name::Name;
use crate::reconstruct::datagrams::sockets::SocketRow;
use crate::reconstruct::drops::UNJOINED;
use crate::reconstruct::receive::tables::{RxEnd, RxRow};
use crate::reconstruct::skb::tables::HopRow;
use crate::snapshots::groups::multicast;
use crate::snapshots::spaces::Spaces;
use crate::snapshots::tables::SnapshotRow;

const MS: i64 = 1_000_000;
const S: i64 = 1_000 * MS;
/// The recording.
const ALL: i64 = 14 * S;
/// When the reader at the first host is another one.
const RESTART: i64 = 5 * S;

const LINKS: &str = "netns=1 ifindex=2 name=br0 kind=bridge\nnetns=1 ifindex=40 name=pa kind=veth link=41\nnetns=1 ifindex=42 name=pb kind=veth link=43\n\
    netns=2 ifindex=41 name=eth0 kind=veth link=40\nnetns=3 ifindex=43 name=eth0 kind=veth link=42\n";
const ADDRESSES: &str = "netns=2 ifindex=41 address=10.0.0.1/24\nnetns=3 ifindex=43 address=10.0.0.2/24\n";

/// What became of a copy.
#[derive(Clone, Copy, PartialEq)]
enum Fate {
    Read(i32),
    Dropped,
}
use Fate::{Dropped, Read};

/// `netns=2 ifindex=41 dev=eth0 group=239.1.0.1 users=1` lines.
fn list(of: &[(u64, std::ops::RangeInclusive<u8>)]) -> String {
    let line = |netns: u64, n: u8| format!("netns={netns} dev=eth0 group=239.1.0.{n} users=1\n");
    let all = of
        .iter()
        .flat_map(|(netns, groups)| groups.clone().map(move |n| line(*netns, n)));
    let hosts = of
        .iter()
        .map(|(n, _)| format!("netns={n} dev=eth0 group=224.0.0.1 users=1\n"));
    all.chain(hosts).collect()
}

/// Each 5 ms a frame to the next of six groups, in copies for both hosts.
fn facts(lists: Option<(&str, &str)>, fate: impl Fn(i64, u8) -> [Fate; 2]) -> Facts {
    let mut f = Facts::empty();
    (f.capture.start_ns, f.capture.duration_ns) = (Some(0), ALL);
    f.names.drop_reasons = Some(ValueTable {
        entries: vec![(2, "NOT_SPECIFIED".into())],
        kind: ValueTableKind::Symbolic,
    });
    f.names.locations.insert(0x10, "ip_rcv_finish_core".into());
    let mut texts = vec![("links", Start, LINKS), ("addresses", Start, ADDRESSES)];
    texts.push(("sysctl", Start, "net.ipv4.igmp_max_memberships = 4\n"));
    if let Some((before, after)) = lists {
        texts.extend([("groups", Start, before), ("groups", End, after)]);
    }
    f.multicast = multicast(&texts);
    for n in 0..ALL / (5 * MS) {
        let at = n * 5 * MS;
        for (nth, what) in fate(at, 1 + (n % 6) as u8).into_iter().enumerate() {
            let id = SkbId(f.skbs.len() as u32);
            let begin = at + nth as i64 * 3_000;
            f.skbs.push(crate::reconstruct::skb::tables::SkbRow {
                birth_ns: begin,
                bytes: Some(138),
                ..crate::testing::life(id.0)
            });
            let steps = [
                ("queue", ["pa", "pb"][nth], 138),
                ("xmit", ["pa", "pb"][nth], 138),
                ("rx", "eth0", 124),
            ];
            for (k, (kind, dev, bytes)) in (0i64..).zip(steps) {
                f.hops.push(HopRow {
                    bytes: Some(bytes),
                    ..crate::testing::hop(id.0, begin + k * 300, kind, dev)
                });
            }
            match what {
                Read(pid) => f.rx.push(RxRow {
                    skb_id: id,
                    pid,
                    start_ns: begin + 600,
                    end: RxEnd::Read,
                    ..RxRow::default()
                }),
                Dropped => f.drops.push(crate::reconstruct::drops::tables::DropRow {
                    reason: Some(2),
                    location: 0x10,
                    dev: Name::new(b"eth0"),
                    skb_id: Some(id),
                    expected: Some(true),
                    why: UNJOINED,
                    ..crate::testing::drop_at(at + 20_000)
                }),
            }
        }
    }
    f
}

/// The first host reads groups 1 to 4 until it is restarted, then 5, 6, 1 and 2, as its socket may join four; the second one 1 to 4 all the time.
fn swapped(at: i64, group: u8) -> [Fate; 2] {
    let first = match at < RESTART {
        true if group <= 4 => Read(7),
        false if ![3, 4].contains(&group) => Read(8),
        _ => Dropped,
    };
    [first, if group <= 4 { Read(9) } else { Dropped }]
}

fn line(f: &Facts) -> Line {
    let lines = crate::analyses::answer(f).verdict;
    lines.into_iter().find(|l| l.subject == "drops").unwrap()
}

fn one(f: &Facts) -> Unjoined {
    let mut all = unjoined(f);
    assert_eq!(all.len(), 1, "{all:#?}");
    all.remove(0)
}

fn restart(f: &mut Facts) {
    let socket = |pid: i32, first_ns: i64, last_ns: i64| SocketRow {
        pid,
        task: Name::new(b"reader"),
        last_ns,
        arrived: 500,
        last_arrived_ns: Some(last_ns),
        served: true,
        ..SocketRow::begin(pid as u64, first_ns)
    };
    f.udp_sockets = vec![
        socket(7, 0, RESTART - 400 * MS),
        socket(8, RESTART + 100 * MS, ALL),
        socket(9, 0, ALL),
    ];
    f.spaces = Spaces::of(&crate::testing::listed(&[(
        "sockets",
        Start,
        "netns=2 proto=udp pids=7\nnetns=2 proto=udp pids=8\nnetns=3 proto=udp pids=9\n",
    )]));
    f.snapshots = [8, 9]
        .map(|pid| SnapshotRow {
            what: "tasks".into(),
            netns: None,
            start: false,
            end: true,
            line: format!("{pid} {pid} reader"),
        })
        .into();
}

#[test]
fn groups_left_and_missed_are_wrong() {
    let before = list(&[(2, 1..=4), (3, 1..=4)]);
    let after = list(&[(2, 1..=2), (2, 5..=6), (3, 1..=4)]);
    let mut f = facts(Some((&before, &after)), swapped);
    restart(&mut f);
    let u = one(&f);
    assert_eq!(
        (u.netns, u.host.as_str(), u.joined_before, u.joined_after, u.limit),
        (Some(2), "10.0.0.1", 4, 4, Some(4))
    );
    let left: Vec<String> = u.left.iter().map(ToString::to_string).collect();
    assert_eq!(left, ["239.1.0.3", "239.1.0.4"]);
    assert_eq!(
        (u.still.len(), u.still[0].host.as_str(), u.still[0].groups),
        (1, "10.0.0.2", 2)
    );
    // As many are dropped all the time; of those that the other one reads none were before.
    let s = u.step.unwrap();
    assert!(
        s.read_elsewhere && s.before == 0 && (RESTART..RESTART + 30 * MS).contains(&s.at_ns),
        "{s:?}"
    );
    assert!((60.0..70.0).contains(&s.after_per_s), "{s:?}");
    let r = u.restarted.as_ref().unwrap();
    assert_eq!(
        (r.task.as_str(), r.ended, r.began, r.began_ns),
        ("reader", 7, 8, RESTART + 100 * MS)
    );
    let l = line(&f);
    assert_eq!(l.tone, Tone::Bad);
    for words in [
        "239.1.0.3 and 239.1.0.4",
        "10.0.0.1",
        "net.ipv4.igmp_max_memberships",
        "10.0.0.2 is still in these",
    ] {
        assert!(
            l.sentence.contains(words) && l.headline.contains(words),
            "{words}: {l:?}"
        );
    }
    assert!(
        l.headline
            .contains("reader/8 began to read there at 5.100 s in place of reader/7"),
        "{}",
        l.headline
    );
    // A limit that is not reached is no cause.
    let more = list(&[(2, 5..=6), (3, 1..=4)]);
    assert_eq!(one(&facts(Some((&before, &more)), swapped)).limit, None);
}

#[test]
fn without_lists_what_another_host_reads_tells() {
    let f = facts(None, swapped);
    let u = one(&f);
    assert!(
        u.left.is_empty() && !u.listed && u.step.is_some_and(|s| s.read_elsewhere),
        "{u:?}"
    );
    let l = line(&f);
    assert_eq!(l.tone, Tone::Notice);
    assert!(
        l.sentence
            .contains("that a program at another host of this recording read")
            && l.sentence.contains("no list"),
        "{}",
        l.sentence
    );
    // Where events were lost no rate is known.
    let mut holed = facts(None, swapped);
    holed.gaps.push(crate::testing::gap(S, 2 * S));
    assert_eq!(unjoined(&holed), []);
}

#[test]
fn a_flood_that_nobody_wants_is_normal() {
    let all = list(&[(2, 1..=2), (3, 1..=2)]);
    let steady = |_, group| match group {
        1..=2 => [Read(7), Read(9)],
        _ => [Dropped; 2],
    };
    // One host reads what the other one does not want.
    let other = |_, group| match group {
        1..=2 => [Dropped, Read(9)],
        _ => [Dropped; 2],
    };
    for f in [
        facts(Some((&all, &all)), steady),
        facts(None, steady),
        facts(Some((&all, &all)), other),
        facts(None, other),
    ] {
        assert_eq!(unjoined(&f), []);
        let l = line(&f);
        assert_eq!((l.tone, l.headline.as_str()), (Tone::Ok, ""), "{l:?}");
    }
    // A sender that begins: at both at one time.
    let begins = |at: i64, group| match group {
        1..=2 => [Read(7), Read(9)],
        _ if at < RESTART => [Read(7), Read(9)],
        _ => [Dropped; 2],
    };
    assert_eq!(unjoined(&facts(Some((&all, &all)), begins)), []);
    // And where it began, what the other host reads.
    let wanted = |at: i64, group| match group {
        1 => [Read(7), Read(9)],
        _ if at < RESTART => [Read(7); 2],
        _ => [Dropped, Read(9)],
    };
    let mut f = facts(Some((&all, &all)), wanted);
    f.hops
        .retain(|h| h.time_ns >= RESTART || f.skbs[h.skb_id.0 as usize].skb_id.0 % 12 < 2);
    f.rx.retain(|r| r.start_ns >= RESTART || r.skb_id.0 % 12 < 2);
    assert_eq!(unjoined(&f), []);
    // A host that is in no group.
    let none = list(&[(3, 1..=4)]) + "netns=2 dev=eth0 group=224.0.0.1 users=1\n";
    assert_eq!(unjoined(&facts(Some((&none, &none)), swapped)), []);
    // Two that were dropped, of a host that left a group.
    let mut few = facts(Some((&list(&[(2, 1..=4)]), &list(&[(2, 1..=3)]))), steady);
    few.drops.truncate(2);
    assert_eq!(unjoined(&few), []);
}

#[test]
fn one_of_both_is_worth_a_look() {
    // Left, and as many dropped all the time.
    let (before, after) = (list(&[(2, 1..=4), (3, 1..=1)]), list(&[(2, 1..=3), (3, 1..=1)]));
    let steady = |_, group| match group {
        1..=3 => [Read(7), Read(9)],
        _ => [Dropped, Read(9)],
    };
    let f = facts(Some((&before, &after)), steady);
    let u = one(&f);
    assert!(u.step.is_none() && u.left.len() == 1 && u.still.is_empty(), "{u:?}");
    let l = line(&f);
    assert_eq!(l.tone, Tone::Notice);
    assert!(
        l.sentence
            .contains("10.0.0.1 left the multicast group 239.1.0.4 during"),
        "{}",
        l.sentence
    );
    // Not left, and more from a moment on, at one host.
    let begins = |at: i64, group| match group {
        1..=2 => [Read(7), Read(9)],
        _ if at < RESTART => [Read(7), Read(9)],
        _ => [Dropped, Read(10)],
    };
    let f = facts(Some((&before, &before)), begins);
    let u = one(&f);
    assert!(
        u.left.is_empty() && u.listed && u.step.is_some_and(|s| s.before == 0),
        "{u:?}"
    );
    let l = line(&f);
    assert_eq!(l.tone, Tone::Notice);
    assert!(l.sentence.contains("it left no group"), "{}", l.sentence);
    // A reader that ended with nothing after it leaves its groups: no more than worth a look.
    let ends = |at: i64, _| match at < RESTART {
        true => [Read(7), Read(9)],
        false => [Dropped, Read(9)],
    };
    let none = list(&[(3, 1..=1)]) + "netns=2 dev=eth0 group=224.0.0.1 users=1\n";
    let f = facts(Some((&before, &none)), ends);
    assert!(one(&f).step.is_some() && !one(&f).is_missed());
    assert_eq!(line(&f).tone, Tone::Notice);
}

fn at(times: impl Iterator<Item = i64>) -> Option<Step> {
    let mut times: Vec<i64> = times.collect();
    times.sort_unstable();
    step(&times, ALL)
}

#[test]
fn a_step_is_one_that_anybody_would_see() {
    let every = |ns: i64, from: i64, to: i64| (from / ns..to / ns).map(move |n| n * ns);
    let s = at(every(500 * MS, 0, 6 * S).chain(every(20 * MS, 6 * S, ALL))).unwrap();
    assert_eq!((s.at_ns, s.before, s.after), (6 * S, 12, 400));
    assert!((s.before_per_s, s.after_per_s) == (2.0, 50.0));
    // Steady, of any rate; twice as frequent; one burst; bursts each second; few; at the very end; fewer from then on.
    let burst = |at: i64| (0..200).map(move |n| at + n * MS / 2);
    assert_eq!(at(every(20 * MS, 0, ALL)), None);
    assert_eq!(at(every(MS, 0, ALL)), None);
    assert_eq!(at(every(20 * MS, 0, 7 * S).chain(every(10 * MS, 7 * S, ALL))), None);
    assert_eq!(at(burst(7 * S)), None);
    assert_eq!(at((0..14).flat_map(|n| burst(n * S))), None);
    assert_eq!(at(every(20 * MS, 300 * MS, ALL)), None);
    assert_eq!(at(every(400 * MS, 6 * S, ALL)), None);
    assert_eq!(at(every(MS, ALL - 300 * MS, ALL)), None);
    assert_eq!(at(every(20 * MS, 0, 6 * S)), None);
    assert_eq!(step(&[], ALL), None);
    assert_eq!(step(&[i64::MIN, 0, i64::MAX], i64::MAX), None);
    assert_eq!(step(&[0; 100], 0), None);
}
