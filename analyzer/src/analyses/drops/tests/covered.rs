//! A route that came and covers where packets go.

use netmortem_formats::capture::SnapshotWhen;

use super::drop_row;
use crate::analyses::verdict::Tone;
use crate::facts::Facts;
use crate::name::Name;
use crate::reconstruct::neighbours::tables::{Held, NeighbourRow};

const S: i64 = 1_000_000_000;
const LINKS: &str = "netns=1 ifindex=2 name=eth0\nnetns=1 ifindex=7 name=br-7f\n";
const OLD: &str = "netns=1 family=2 to=default via=10.0.0.254 ifindex=2 table=254 type=1\n";
const NEW: &str = "netns=1 family=2 to=172.20.0.0/16 src=172.20.0.1 ifindex=7 table=254 type=1\n";

/// From 4 s on the host asks for 172.20.5.11 on br-7f, in vain, and drops what is for it; `heard`: a connection with it had data at 1 s.
fn facts(lists: &[(&str, SnapshotWhen, &str)], heard: bool) -> Facts {
    let mut f = crate::analyze(&crate::testing::listed(lists), &crate::ingest::Options::default());
    (f.capture.start_ns, f.capture.end_ns, f.capture.duration_ns) = (Some(0), Some(10 * S), 10 * S);
    f.names.drop_reasons = Some(netmortem_formats::event_format::ValueTable {
        entries: vec![(12, "NEIGH_FAILED".into())],
        kind: netmortem_formats::event_format::ValueTableKind::Symbolic,
    });
    let mut c = crate::testing::tcp::connection(0);
    c.daddr = Some([172, 20, 5, 11].into());
    (c.first_ns, c.bytes_in) = (S, if heard { 100 } else { 0 });
    f.connections.push(c);
    for n in 0..20 {
        f.neighbours.push(NeighbourRow {
            time_ns: 4 * S + n * S / 10,
            cpu: 0,
            event: "event_send_done",
            dev: Name::new(b"br-7f"),
            address: [172, 20, 5, 11].into(),
            before: Some(Held { lladdr: None, state: 1 }),
            after: None,
            err: Some(1),
            netlink: 0,
            task: Name::default(),
            pid: 0,
            confidence: crate::Confidence::Certain,
        });
        f.drops.push(drop_row(5 * S + n * S / 10, 12, 0x10, Some(false)));
    }
    f
}

fn line(f: &Facts) -> crate::analyses::verdict::Line {
    let lines = crate::analyses::answer(f).verdict;
    lines.into_iter().find(|l| l.subject == "drops").unwrap()
}

#[test]
fn a_new_network_over_old_hosts_is_told_first() {
    let lists = [
        ("links", SnapshotWhen::Start, LINKS),
        ("links", SnapshotWhen::End, LINKS),
        ("routes", SnapshotWhen::Start, OLD),
        ("routes", SnapshotWhen::End, &[OLD, NEW].concat()),
    ];
    let says = "From 4.000 s on what is for 172.20.5.11 is looked for on br-7f, where nobody has these addresses: meanwhile their host got the route `172.20.0.0/16 dev br-7f`, which covers them; before, 1 connection with them stood";
    let l = line(&facts(&lists, true));
    assert!(l.sentence.starts_with(says) && l.names_cause && l.tone == Tone::Bad, "{}", l.sentence);
    // One that stood later than it was looked for there.
    let mut f = facts(&lists, true);
    f.connections[0].born = Some(3);
    f.tcp_states.push(crate::testing::tcp::state(0, crate::reconstruct::tcp::states::ESTABLISHED, 5 * S));
    assert!(!line(&f).sentence.contains("looked for"));
    // Nobody had heard of it before; the route was there; the device has answered for it.
    assert!(!line(&facts(&lists, false)).sentence.contains("looked for"));
    let mut both = lists;
    both[2].2 = both[3].2;
    assert!(!line(&facts(&both, true)).sentence.contains("looked for"));
    let mut f = facts(&lists, true);
    let lladdr = crate::reconstruct::neighbours::tables::LinkAddr::of(&[2, 0, 0, 0, 0, 1], 6);
    f.neighbours[0].before = Some(Held { lladdr, state: 2 });
    assert!(!line(&f).sentence.contains("looked for"));
}
