//! Multicast that comes to nobody any more, and such as only looks so.

use netmortem_formats::capture::SnapshotWhen::{End, Start};

use super::twenty_seconds;
use crate::analyses::datagrams::ceased::{Ceased, ceased};
use crate::analyses::verdict::Tone;
use crate::facts::{Facts, SkbId};
use crate::name::Name;
use crate::reconstruct::datagrams::sockets::SocketRow;
use crate::reconstruct::datagrams::tables::TurnRow;
use crate::reconstruct::skb::tables::HopRow;
use crate::reconstruct::transmit::tables::{TxKind, TxRow};
use crate::snapshots::groups::multicast;

const MS: i64 = 1_000_000;
const GROUP: &str = "239.1.1.1:5000";
const LINKS: &str = "netns=9 ifindex=2 name=br0 kind=bridge\nnetns=9 ifindex=3 name=feed master=2\nnetns=9 ifindex=4 name=rtr master=2\n\
    netns=9 ifindex=5 name=a master=2\nnetns=9 ifindex=6 name=b master=2\nnetns=1 ifindex=2 name=eth0\nnetns=2 ifindex=2 name=eth0\n";
const MEMBERS: &str =
    "netns=1 ifindex=2 dev=eth0 group=239.1.1.1 users=1\nnetns=2 ifindex=2 dev=eth0 group=239.1.1.1 users=1\n";
const ADDRESSES: &str = "netns=1 ifindex=2 address=10.0.0.1/24\nnetns=2 ifindex=2 address=10.0.0.2/24\n";

/// One each 10 ms from the start until `until`, ms.
fn receiver(pid: i32, task: &[u8], until: i64) -> SocketRow {
    let mut s = SocketRow::begin(0xff00 + pid as u64, 0);
    (s.pid, s.task, s.served, s.named_by) = (pid, Name::new(task), true, "task");
    (s.holder, s.holder_task) = (pid, Name::new(task));
    s.arrived = (until / 10 + 1) as u64;
    s.received = s.arrived;
    (s.first_arrived_ns, s.last_arrived_ns) = (Some(0), Some(until * MS));
    (s.silent_from_ns, s.silent_ns) = (Some(0), 12 * MS);
    s.last_ns = until * MS;
    s.local = GROUP.into();
    s
}

/// What the sender's `n`th datagram did at the bridge: until 6 s to `a`, `b` and the router's port, until 7 s not to `b`, then to that port alone.
fn passes(f: &mut Facts, n: i64) {
    let at = n * 10 * MS - MS / 2;
    let id = (n as u32) * 3;
    let mut hop = |skb: u32, after: i64, kind: &'static str, dev: &str, bytes: u32| {
        f.hops.push(HopRow {
            skb_id: SkbId(skb),
            time_ns: at + after,
            cpu: 1,
            kind,
            dev: Name::new(dev.as_bytes()),
            bytes: Some(bytes),
            confidence: crate::Confidence::Certain,
        });
    };
    hop(id, 0, "queue", "eth0", 114);
    hop(id, 1_000, "rx", "feed", 100);
    if n <= 600 {
        hop(id + 1, 2_000, "queue", "b", 114);
        hop(id + 1, 2_500, "rx", "eth0", 100);
    }
    if n <= 700 {
        hop(id + 2, 3_000, "queue", "a", 114);
    }
    hop(id, 4_000, "queue", "rtr", 114);
    let births = [(id, at), (id + 1, at + 2_000), (id + 2, at + 3_000)];
    f.skbs.extend(births.map(|(skb, birth_ns)| {
        let mut life = crate::testing::life(skb);
        life.birth_ns = birth_ns;
        life
    }));
}

fn facts() -> Facts {
    let mut f = twenty_seconds();
    let mut from = SocketRow::begin(0xaa, 0);
    (from.pid, from.task, from.sent) = (20, Name::new(b"feed"), 2_000);
    (from.local, from.remote) = ("10.0.0.9:5000".into(), GROUP.into());
    f.udp_sockets = vec![receiver(11, b"quoter", 7_000), receiver(12, b"risk", 6_000), from];
    let mut turn = TurnRow::begin(2, 20, 0);
    (turn.task, turn.sent_ns, turn.there, turn.landed) = (Name::new(b"feed"), 19_990 * MS, Some(0), 700);
    f.udp_turns.push(turn);
    for n in 0..2_000 {
        passes(&mut f, n);
        f.tx.push(TxRow {
            skb_id: SkbId(n as u32 * 3),
            kind: TxKind::Udp,
            pid: 20,
            start_ns: n * 10 * MS - MS,
            ..crate::testing::sent()
        });
    }
    f.multicast = multicast(&lists(MEMBERS, MEMBERS));
    f
}

fn lists<'a>(
    before: &'a str,
    after: &'a str,
) -> [(&'static str, netmortem_formats::capture::SnapshotWhen, &'a str); 5] {
    [
        ("groups", Start, before),
        ("groups", End, after),
        ("links", Start, LINKS),
        ("addresses", Start, ADDRESSES),
        ("namespaces", Start, "netns=9 own=no name=sw\n"),
    ]
}

fn with(change: impl Fn(&mut Facts)) -> Vec<Ceased> {
    let mut f = facts();
    change(&mut f);
    ceased(&f)
}

#[test]
fn a_group_that_is_sent_on_and_comes_to_nobody_is_told() {
    let told = with(|_| ());
    let [c] = told.as_slice() else { panic!("{told:?}") };
    assert_eq!(
        (c.to.as_str(), c.sender.as_str(), c.from.as_str()),
        (GROUP, "feed/20", "10.0.0.9")
    );
    let readers = [("risk/12".to_owned(), 6_000 * MS), ("quoter/11".to_owned(), 7_000 * MS)];
    assert_eq!(c.readers, readers);
    assert_eq!(c.members, ["10.0.0.1", "10.0.0.2"]);
    let ports = c.ports.as_ref().unwrap();
    assert_eq!((ports.bridge.as_str(), ports.by.as_str()), ("br0", "feed"));
    assert_eq!(
        (ports.before.join(" "), ports.since.join(" ")),
        ("a b rtr".into(), "rtr".into())
    );
    let line = |f: &Facts| {
        let lines = crate::analyses::answer(f).verdict;
        lines.into_iter().find(|l| l.subject == "datagrams").unwrap()
    };
    let f = facts();
    let mute = "and nothing else left by a and b since either: that port is down or blocked (bridge -d link show), or it forgot";
    assert!(line(&f).headline.contains(mute), "{}", line(&f).headline);
    // Other frames still leave by these ports.
    let mut f = f;
    for dev in ["a", "b"] {
        let mut other = f.hops.last().unwrap().clone();
        (other.skb_id, other.kind, other.dev) = (SkbId(9_000_000), "queue", Name::new(dev.as_bytes()));
        (other.time_ns, other.cpu) = (15_000 * MS, 0);
        f.hops.push(other);
    }
    let line = line(&f);
    let said = "no datagram comes any more for 239.1.1.1:5000 to risk/12 (since 6.0 s) and quoter/11 (since 7.0 s), while feed/20 of 10.0.0.9 sends on (100 a second): the bridge br0 of sw gets them at its port feed still and hands them on to rtr alone since, where it was also to a and b before; 10.0.0.1 and 10.0.0.2 are in this group still: it forgot that they have joined, as one that snoops IGMP does where no querier asks for it again (inferred; see bridge -d -s mdb show";
    assert!(line.headline.starts_with(said), "{}", line.headline);
    assert_eq!(line.tone, Tone::Bad);
    // The switch is not in the recording.
    let told = with(|f| f.hops.clear());
    assert_eq!(told.first().map(|c| c.ports.is_none()), Some(true));
}

/// Who stops, closes, leaves, or gets it still.
#[test]
fn who_leaves_and_a_sender_that_stops_are_none() {
    // The sender stops, or sends a tenth; it sends elsewhere, too; another sends there as well.
    assert_eq!(with(|f| f.tx.retain(|t| t.start_ns < 7_300 * MS)), []);
    assert_eq!(
        with(|f| f
            .tx
            .retain(|t| t.start_ns < 6_500 * MS || t.start_ns % (100 * MS) > 80 * MS)),
        []
    );
    let turn = |f: &mut Facts, pid: i32, to: &str| {
        let mut t = f.udp_turns[0].clone();
        (t.pid, t.to, t.there) = (pid, to.parse().ok(), None);
        f.udp_turns.push(t);
    };
    assert_eq!(with(|f| turn(f, 20, "239.1.1.2:5000")), []);
    assert_eq!(with(|f| turn(f, 21, GROUP)), []);
    // A receiver closes; its host leaves the group; lists are not there.
    assert_eq!(with(|f| f.udp_sockets[1].closed = true), []);
    let one = "netns=1 ifindex=2 dev=eth0 group=239.1.1.1 users=1\n";
    assert_eq!(with(|f| f.multicast = multicast(&lists(MEMBERS, one))), []);
    assert_eq!(with(|f| f.multicast = multicast(&[])), []);
    // One gets it still, be its address known or not.
    let still = |f: &mut Facts, local: &str| {
        let mut s = receiver(13, b"other", 19_990);
        s.local = local.into();
        f.udp_sockets.push(s);
    };
    assert_eq!(with(|f| still(f, GROUP)), []);
    assert_eq!(with(|f| still(f, "")), []);
    assert_eq!(with(|f| still(f, "239.1.1.7:5000")).len(), 1);
}

/// What came and was dropped, or may have been; what is not told.
#[test]
fn what_this_host_dropped_is_another_matter() {
    let drops = |f: &mut Facts, every: usize, why: &'static str, expected: Option<bool>| {
        for ms in (7_010..20_000).step_by(every) {
            let mut d = crate::testing::drop_at(ms * MS);
            (d.expected, d.why) = (expected, why);
            f.drops.push(d);
        }
    };
    assert_eq!(with(|f| drops(f, 10, "a rule", Some(false))), []);
    assert_eq!(with(|f| drops(f, 1_000, "a rule", Some(false))).len(), 1);
    assert_eq!(
        with(|f| drops(f, 10, crate::reconstruct::drops::UNJOINED, Some(true))).len(),
        1
    );
    assert_eq!(with(|f| f.gaps.push(crate::testing::gap(0, MS))), []);
    assert_eq!(with(|f| _ = f.capture.events.remove("skb:kfree_skb")), []);
    // Most of it came to none of these before.
    assert_eq!(with(|f| f.udp_sockets[0].arrived = 300), []);
}
