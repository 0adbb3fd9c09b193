use std::net::{IpAddr, Ipv4Addr};

use super::{Flapping, Spell, answer, flapping};
use crate::Confidence;
use crate::analyses::verdict::Tone;
use crate::facts::Facts;
use crate::name::Name;
use crate::reconstruct::neighbours::tables::{Held, LinkAddr, NeighbourRow};

const GOOD: u8 = 0x10;
const WRONG: u8 = 0x99;
const REACHABLE: u8 = 2;
const FAILED: u8 = 0x20;
const PERMANENT: u8 = 0x80;

fn held(last: u8, state: u8) -> Option<Held> {
    Some(Held {
        lladdr: LinkAddr::of(&[2, 0, 0, 0, 0, last], 6).filter(|_| last != 0),
        state,
    })
}
fn row(t: i64, event: &'static str, before: Option<Held>, after: Option<Held>) -> NeighbourRow {
    NeighbourRow {
        time_ns: t,
        cpu: 0,
        event,
        dev: Name::new(b"s0"),
        address: IpAddr::V4(Ipv4Addr::new(10, 9, 2, 1)),
        before,
        after,
        err: Some(0),
        netlink: 0,
        task: Name::default(),
        pid: 0,
        confidence: Confidence::Certain,
    }
}
/// Made wrong over netlink, deleted, resolved anew.
fn wrong_for_a_while() -> Vec<NeighbourRow> {
    let by_ip = NeighbourRow {
        netlink: 42,
        pid: 42,
        task: Name::new(b"ip"),
        ..row(100, "update", held(GOOD, REACHABLE), held(WRONG, PERMANENT))
    };
    vec![
        by_ip,
        row(500, "update", held(WRONG, PERMANENT), held(WRONG, FAILED)),
        row(501, "cleanup_and_release", held(WRONG, FAILED), None),
        row(600, "create", None, None),
        row(601, "event_send_done", held(0, 1), None),
        row(602, "update", held(0, 1), held(GOOD, REACHABLE)),
        row(700, "event_send_done", held(GOOD, 8), None),
    ]
}
fn of(rows: Vec<NeighbourRow>) -> Vec<Spell> {
    let mut f = Facts::empty();
    f.neighbours = rows;
    answer(&f)
}

#[test]
fn a_wrong_address_is_told_with_its_time_and_who_set_it() {
    let got = of(wrong_for_a_while());
    assert_eq!(got.len(), 1);
    let s = &got[0];
    assert_eq!((s.address.as_str(), s.dev.as_str()), ("10.9.2.1", "s0"));
    assert_eq!(
        (s.lladdr.as_str(), s.state.as_str()),
        ("02:00:00:00:00:99", "permanent")
    );
    assert_eq!((s.from_ns, s.to_ns), (100, Some(500)));
    assert_eq!(s.before, "02:00:00:00:00:10");
    assert_eq!(s.after.as_deref(), Some("02:00:00:00:00:10"));
    assert_eq!(s.by, "ip (42), over netlink");
    assert!(!s.matters());
}

/// An entry that only comes and goes with one address has no spell; one that goes and comes again wrong has two.
#[test]
fn only_another_address_makes_a_spell() {
    let same = [
        row(1, "update", held(0, 1), held(GOOD, REACHABLE)),
        row(2, "update", held(GOOD, REACHABLE), held(GOOD, 4)),
        row(3, "timer_handler", held(GOOD, FAILED), None),
        row(4, "update", held(GOOD, FAILED), held(GOOD, REACHABLE)),
    ];
    assert_eq!(of(same.to_vec()), []);
    let mut again = wrong_for_a_while();
    again.truncate(3);
    again.push(row(600, "update", held(0, 1), held(WRONG, REACHABLE)));
    let got = of(again);
    let times: Vec<_> = got.iter().map(|s| (s.from_ns, s.to_ns, s.before.as_str())).collect();
    assert_eq!(
        times,
        [(100, Some(500), "02:00:00:00:00:10"), (600, None, "02:00:00:00:00:10")]
    );
    assert_eq!(got[1].after, None);
}

/// Of a device of that name in two namespaces, what hosts of the neighbour's network sent again counts, and nobody else's.
#[test]
fn of_two_devices_of_one_name_the_neighbours_network_counts() {
    let resent = |saddr: [u8; 4], links: &str| {
        let mut f = Facts::empty();
        f.neighbours = wrong_for_a_while();
        let listed = crate::testing::listed(&[("links", netmortem_formats::capture::SnapshotWhen::Start, links)]);
        f.routes.links = crate::links::Links::of(&listed);
        let mut c = crate::testing::tcp::connection(0);
        c.saddr = Some(saddr.into());
        f.connections.push(c);
        f.tx.push(crate::reconstruct::transmit::tables::TxRow {
            connection: Some(crate::facts::ConnectionId(0)),
            dev: Name::new(b"s0"),
            t_sched_ns: 200,
            retransmits: 1,
            ..crate::testing::sent()
        });
        answer(&f)[0].resent
    };
    let (one, two) = (
        "netns=1 ifindex=2 name=s0\n",
        "netns=1 ifindex=2 name=s0\nnetns=2 ifindex=2 name=s0\n",
    );
    assert_eq!(
        [
            resent([10, 9, 2, 7], two),
            resent([10, 8, 2, 7], two),
            resent([10, 8, 2, 7], one)
        ],
        [1, 0, 1]
    );
}

/// Two namespaces with a device of one name: their entries cannot be told apart, so nothing is said.
#[test]
fn entries_of_two_namespaces_are_left_alone() {
    let two = [
        row(1, "update", held(0, 1), held(GOOD, REACHABLE)),
        row(2, "create", None, None),
        row(3, "update", held(0, 1), held(WRONG, REACHABLE)),
    ];
    assert_eq!(of(two.to_vec()), []);
    let unseen = [
        row(1, "update", held(0, 1), held(GOOD, REACHABLE)),
        row(2, "update", held(WRONG, REACHABLE), held(WRONG, 4)),
        row(3, "update", held(GOOD, REACHABLE), held(0x11, REACHABLE)),
    ];
    assert_eq!(of(unseen.to_vec()), []);
}

/// An update that the kernel refused changes nothing.
#[test]
fn a_refused_update_is_none() {
    let refused = NeighbourRow {
        err: Some(-1),
        ..row(100, "update", held(GOOD, PERMANENT), held(WRONG, PERMANENT))
    };
    assert_eq!(of(vec![refused]), []);
}

/// Without anything that went wrong the line on drops says nothing of it.
#[test]
fn a_change_alone_is_no_news() {
    let mut f = Facts::empty();
    f.capture.start_ns = Some(0);
    f.neighbours = wrong_for_a_while();
    let line = |f: &Facts| crate::analyses::answer(f).verdict.remove(4);
    assert!(!line(&f).sentence.contains("10.9.2.1"), "{:?}", line(&f));
    assert_ne!(line(&f).tone, Tone::Bad);
}

/// Entries that go there and back between two addresses, by what neighbours sent.
#[test]
fn an_address_that_two_hosts_have_goes_there_and_back() {
    let between = |changes: &[(u8, u8)]| {
        let mut f = Facts::empty();
        f.capture.start_ns = Some(1000);
        f.neighbours = (changes.iter().enumerate())
            .map(|(n, (a, b))| {
                row(
                    1500 + n as i64 * 100,
                    "update",
                    held(*a, REACHABLE),
                    held(*b, REACHABLE),
                )
            })
            .collect();
        f
    };
    let f = between(&[(GOOD, GOOD), (GOOD, WRONG), (WRONG, GOOD), (GOOD, WRONG), (GOOD, WRONG)]);
    let expect = Flapping {
        address: "10.9.2.1".into(),
        lladdr: "02:00:00:00:00:10".into(),
        other: "02:00:00:00:00:99".into(),
        there: 3,
        back: 1,
        first: crate::explain::Id::at(crate::explain::Kind::Neighbour, 1),
        first_ns: 600,
        last_ns: 900,
    };
    assert_eq!(flapping(&f), [expect]);
    let said = crate::analyses::answer(&f).verdict;
    let drops = said.iter().find(|l| l.subject == "drops").unwrap();
    let says = "eighbour entries for 10.9.2.1 went there and back between 02:00:00:00:00:10 and 02:00:00:00:00:99, 4 changes from 0.000 s to 0.000 s: two hosts, or two cards of one, have that address (inferred)";
    assert!(drops.sentence.contains(says), "{}", drops.sentence);
    assert!(drops.headline.contains(says), "{}", drops.headline);
    assert_eq!(drops.tone, Tone::Notice);
    // A failover, and back; one that goes on to a third; set by a program; what failed in between.
    assert_eq!(flapping(&between(&[(GOOD, WRONG), (WRONG, GOOD)])), []);
    let two_entries = [(GOOD, WRONG), (GOOD, WRONG), (WRONG, GOOD), (WRONG, GOOD)];
    assert_eq!(flapping(&between(&two_entries)), []);
    assert_eq!(flapping(&between(&[(GOOD, WRONG), (GOOD, WRONG), (GOOD, WRONG)])), []);
    assert_eq!(flapping(&between(&[(GOOD, WRONG), (WRONG, 0x55), (0x55, 0x66)])), []);
    let again = || between(&[(GOOD, GOOD), (GOOD, WRONG), (WRONG, GOOD), (GOOD, WRONG), (GOOD, WRONG)]);
    let mut by_ip = again();
    by_ip.neighbours.iter_mut().for_each(|r| r.netlink = 42);
    assert_eq!(flapping(&by_ip), []);
    let mut failed = again();
    let others = failed.neighbours.iter_mut().skip(2);
    others.for_each(|r| r.after = held(GOOD, FAILED));
    assert_eq!(flapping(&failed), []);
}

mod circling {
    use netmortem_formats::capture::SnapshotWhen;

    use crate::analyses::neighbours::circling;
    use crate::analyses::verdict::Tone;
    use crate::facts::Facts;
    use crate::links::Links;
    use crate::testing::{hop, listed};

    /// Two bridges with three ports each: up1 and up2 go from one to the other.
    const LINKS: &str = "netns=1 ifindex=2 name=br0 kind=bridge\nnetns=1 ifindex=3 name=up1 master=2\nnetns=1 ifindex=4 name=up2 master=2\nnetns=1 ifindex=5 name=p1 master=2\n\
        netns=2 ifindex=2 name=br0 kind=bridge\nnetns=2 ifindex=3 name=up1 master=2\nnetns=2 ifindex=4 name=up2 master=2\nnetns=2 ifindex=5 name=q1 master=2\n";

    /// The same of one bridge, whose ports nobody else's are called like.
    const ALONE: &str = "netns=1 ifindex=2 name=br0 kind=bridge\nnetns=1 ifindex=3 name=up1 master=2\nnetns=1 ifindex=4 name=up2 master=2\n";

    /// Frames that come by up1 each 100 ms from 1 s to 9 s, and, from 5 s on, so many that go round by up2 and up1 so often.
    fn facts(frames: u32, rounds: i64) -> Facts {
        let mut f = Facts::empty();
        f.capture.start_ns = Some(0);
        f.routes.links = Links::of(&listed(&[("links", SnapshotWhen::Start, LINKS)]));
        for n in 0..80 {
            let at = 1_000_000_000 + i64::from(n) * 100_000_000;
            f.hops.push(hop(1000 + n, at, "rx", "up1"));
            f.hops.push(hop(1000 + n, at + 1_000, "queue", "q1"));
        }
        for n in 0..frames {
            for round in 0..rounds {
                let at = 5_000_000_000 + i64::from(n) * 20_000_000 + round * 10_000;
                f.hops.push(hop(n, at, "rx", "up1"));
                f.hops.push(hop(n, at + 1_000, "queue", "up2"));
                f.hops.push(hop(n, at + 2_000, "rx", "up2"));
                f.hops.push(hop(n, at + 3_000, "queue", "up1"));
            }
        }
        f.hops.sort_by_key(|h| h.time_ns);
        f
    }

    #[test]
    fn frames_that_come_to_a_port_again_and_again_are_a_loop() {
        let f = facts(12, 20);
        let c = circling(&f).unwrap();
        assert_eq!(
            (c.frames, c.most, c.ports.clone()),
            (12, 20, vec!["up1".to_owned(), "up2".to_owned()])
        );
        assert_eq!(c.new, Some(("up2".to_owned(), 5_000_001_000)));
        // The fifth arrival at up1 of the first, the last at up2 of the last.
        assert_eq!(c.within_ns, (5_000_040_000, 5_220_192_000));
        let line = crate::analyses::answer(&f)
            .verdict
            .into_iter()
            .find(|l| l.subject == "drops")
            .unwrap();
        let says = "a loop of bridges: 12 frames and copies of them went round by up1 and up2 from 5.000 s to 5.220 s, one 20 times (from skb:0); nothing went by up2 before 5.000 s";
        assert!(
            line.tone == Tone::Bad && line.names_cause && line.headline.starts_with(says),
            "{}",
            line.headline
        );
    }

    /// A bridge that has an address takes broadcast for itself: each turn is a copy, queued by the CPU that the frame came on.
    #[test]
    fn copies_have_been_where_their_frame_was() {
        let of = |bytes: u32, cpu: u16| {
            let mut f = facts(0, 0);
            let mut step = |skb: u32, at: i64, kind: &'static str, dev: &str, (bytes, cpu): (u32, u16)| {
                let mut h = hop(skb, at, kind, dev);
                (h.bytes, h.cpu) = (Some(bytes), cpu);
                f.hops.push(h);
            };
            for turn in 0..40u32 {
                let at = 5_000_000_000 + i64::from(turn) * 10_000_000;
                step(2 * turn, at, "rx", "up1", (100, 0));
                step(2 * turn + 1, at + 5_000, "queue", "up2", (bytes, cpu));
                step(2 * turn + 1, at + 9_000, "rx", "up2", (100, 0));
                step(2 * turn + 2, at + 14_000, "queue", "up1", (bytes, cpu));
            }
            f.hops.sort_by_key(|h| h.time_ns);
            let lists = crate::testing::listed(&[("links", SnapshotWhen::Start, ALONE)]);
            f.routes.links = Links::of(&lists);
            f.multicast.devices = crate::snapshots::devices::Devices::of(&lists);
            circling(&f)
        };
        let c = of(114, 0).unwrap();
        // The third arrival at each of the two ports and all behind it; each came once itself.
        assert_eq!((c.frames, c.most, c.ports.len()), (76, 1, 2));
        // Of another length, or of another CPU, it is another's.
        assert_eq!((of(200, 0), of(114, 1)), (None, None));
    }

    /// A stream that three bridges flood, frame upon frame of one length, and each is received by the next bridge before it is done with the one before: no loop, whichever a copy is taken for.
    #[test]
    fn a_flooded_stream_is_no_loop() {
        let links = "netns=1 ifindex=2 name=br0 kind=bridge\nnetns=1 ifindex=3 name=a0 master=2\nnetns=1 ifindex=4 name=a1 master=2\nnetns=1 ifindex=5 name=br1 kind=bridge\n\
            netns=1 ifindex=6 name=b0 master=5\nnetns=1 ifindex=7 name=b1 master=5\nnetns=1 ifindex=8 name=br2 kind=bridge\nnetns=1 ifindex=9 name=c0 master=8\nnetns=1 ifindex=10 name=c1 master=8\n";
        let lists = listed(&[("links", SnapshotWhen::Start, links)]);
        let mut f = Facts::empty();
        f.capture.start_ns = Some(0);
        f.routes.links = Links::of(&lists);
        f.multicast.devices = crate::snapshots::devices::Devices::of(&lists);
        let steps = [("a0", "a1"), ("b0", "b1"), ("c0", "c1")];
        for n in 0..3_000u32 {
            for (bridge, (from, to)) in (0..).zip(steps) {
                let at = i64::from(n) * 100_000 + bridge * 30_000;
                let skb = 4 * n + bridge as u32;
                let mut came = hop(skb, at, "rx", from);
                let mut copy = hop(skb + 1, at + 5_000, "queue", to);
                (came.bytes, copy.bytes) = (Some(1_300), Some(1_314));
                f.hops.extend([came, copy]);
            }
        }
        f.hops.sort_by_key(|h| h.time_ns);
        assert_eq!(circling(&f), None);
    }

    #[test]
    fn what_comes_by_once_for_each_device_of_a_name_is_none() {
        // Twice for each of two namespaces; few frames; all at one moment; no list of devices; a router between, as where packets go to and fro.
        assert_eq!(circling(&facts(12, 4)), None);
        assert_eq!(circling(&facts(9, 20)), None);
        let mut f = facts(12, 20);
        f.hops.retain(|h| h.time_ns < 5_080_000_000);
        assert_eq!(circling(&f), None);
        let mut f = facts(12, 20);
        f.routes.links = Links::default();
        assert_eq!(circling(&f), None);
        let mut f = facts(8, 20);
        f.hops
            .iter_mut()
            .filter(|h| h.dev.bytes() == b"up2")
            .for_each(|h| h.dev = crate::name::Name::new(b"eth0"));
        assert_eq!(circling(&f), None);
    }
}
