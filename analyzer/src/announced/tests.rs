//! Changes that were planted, and how notices are put into words.

use netmortem_formats::capture::SnapshotWhen;

use super::*;
use crate::tests::sample;

fn planted() -> Vec<Vec<String>> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../sample-data/changes/planted.csv");
    let text = std::fs::read_to_string(path).unwrap();
    let words = |l: &str| l.split('|').map(str::to_owned).collect();
    text.lines().skip(1).map(words).collect()
}

/// Each of them, in its order, in its namespace, by its program, from when the command began until soon after it ended; and no other.
#[test]
fn planted_changes_are_told_with_when_and_by_whom() {
    let capture = sample("changes/changes.nmb.zst");
    let found = of(&capture, &|_, _| None);
    assert_eq!((found.heard, found.lost), (true, 0));
    let rows: Vec<&ChangeRow> = found.rows.iter().filter(|r| !r.comes_and_goes).collect();
    let planted = planted();
    assert_eq!(rows.len(), planted.len());
    for (row, words) in rows.iter().zip(&planted) {
        let [before, after, netns, program, what, says] = words.as_slice() else {
            panic!("{words:?}");
        };
        assert!(row.at_ns >= before.parse().unwrap(), "{row:?}");
        assert!(
            row.at_ns < after.parse::<i64>().unwrap() + 20_000_000,
            "{row:?} {after}"
        );
        assert_eq!(row.program.as_deref().unwrap_or(""), program, "{row:?}");
        assert_eq!(row.by.is_some(), !program.is_empty(), "{row:?}");
        assert_eq!(row.what, what);
        assert_eq!(&row.host, netns);
        assert!(row.says.contains(says.as_str()), "{}", row.says);
    }
    // Two devices that came and went.
    let passing: Vec<&str> = found
        .rows
        .iter()
        .filter(|r| r.comes_and_goes)
        .map(|r| r.of.as_str())
        .collect();
    assert_eq!(
        passing.iter().filter(|of| ["vc", "vd"].contains(of)).count(),
        passing.len()
    );
    assert_eq!(passing.len(), 6);
}

fn told(start: &[(&'static str, &str)], lines: &[&str]) -> Vec<String> {
    told_by(start, lines, State::of)
}

fn told_by(start: &[(&'static str, &str)], lines: &[&str], state: fn(&Capture) -> State) -> Vec<String> {
    let mut capture = sample("cpu/cpu.nmb");
    capture.snapshots.clear();
    for (what, text) in start {
        capture.snapshots.push(netmortem_formats::capture::Snapshot {
            what: (*what).to_owned(),
            when: SnapshotWhen::Start,
            text: text.as_bytes().to_vec(),
        });
    }
    let mut state = state(&capture);
    let mut out = vec![];
    for (i, line) in lines.iter().enumerate() {
        out.extend(state.take(0, line, lines.get(i + 1).copied()).map(|r| r.says));
    }
    out
}

const SPACES: (&str, &str) = ("namespaces", "netns=1 own=yes pids=9\nnetns=2 own=no pids=1 name=web");
const LINKS: (&str, &str) = (
    "links",
    "netns=1 ifindex=2 name=eth0 type=1 flags=0x11043 mtu=1500 qdisc=mq\nnetns=1 ifindex=3 name=br0 type=1 flags=0x11043 mtu=1500 kind=bridge\nnetns=2 ifindex=2 name=eth0 type=1 flags=0x11043 mtu=1500 link=5",
);

/// What the kernel announces of itself, or is as it was, is none.
#[test]
fn what_was_so_before_and_what_follows_of_something_else_is_no_change() {
    let routes = (
        "routes",
        "netns=1 family=2 to=default via=10.0.0.1 ifindex=2 table=254 protocol=3 scope=0 type=1 tos=0",
    );
    let addresses = ("addresses", "netns=1 ifindex=2 address=10.0.0.2/24 scope=0 flags=0x80");
    let sysctl = (
        "sysctl",
        "net.ipv4.tcp_rmem = 4096\t131072\t6291456\nnet.ipv4.conf.default.rp_filter = 1",
    );
    let says = told(
        &[SPACES, LINKS, routes, addresses, sysctl],
        &[
            "what=link did=new netns=1 ifindex=2 name=eth0 type=1 flags=0x11043 mtu=1500 qdisc=fq",
            "what=route did=new netns=1 family=2 to=default via=10.0.0.1 ifindex=2 table=254 protocol=3 scope=0 type=1 tos=0",
            "what=route did=new netns=1 family=2 to=10.0.0.0/24 ifindex=2 table=254 protocol=2 scope=253 type=1 tos=0",
            "what=address did=new netns=1 ifindex=2 address=10.0.0.2/24 scope=0 flags=0x80",
            "what=address did=new netns=1 ifindex=2 address=fe80::1/64 scope=253 flags=0x80",
            "what=sysctl did=new netns=1 name=net.ipv4.tcp_rmem value=4096?131072?6291456",
            "what=sysctl did=new netns=1 name=net.ipv4.conf.eth0.rp_filter value=1",
            "what=listening",
            "what=something did=new netns=1",
            "did=new",
        ],
    );
    assert_eq!(says, Vec::<String>::new());
}

#[test]
fn links_are_told_by_what_of_them_changed() {
    let says = told(
        &[SPACES, LINKS],
        &[
            "what=link did=new netns=1 ifindex=2 name=eth0 type=1 flags=0x1043 mtu=1500",
            "what=link did=new netns=1 ifindex=2 name=eth0 type=1 flags=0x11043 mtu=9000 master=3",
            "what=link did=new netns=1 ifindex=2 name=lan type=1 flags=0x1042 mtu=9000",
            "what=link did=new netns=2 ifindex=2 name=eth0 type=1 flags=0x11042 mtu=1500 link=5",
            "what=link did=new netns=1 ifindex=9 name=veth9 type=1 flags=0x1002 mtu=1500 kind=veth",
            "what=address did=new netns=1 ifindex=9 address=10.1.0.1/24 scope=0 flags=0x80",
            "what=link did=del netns=1 ifindex=9 name=veth9 type=1 flags=0x1002 mtu=1500 kind=veth",
            "what=link did=del netns=1 ifindex=77 name=never type=1 flags=0x1002",
        ],
    );
    let expected = [
        "eth0 lost its carrier",
        "eth0 got its carrier, MTU of eth0 from 1500 to 9000, eth0 was put into br0",
        "eth0 was named lan, lan was set down, lan was taken out of br0",
        "eth0 was set down",
        "veth9 (veth) came",
        "address 10.1.0.1/24 was given to veth9",
        "veth9 was removed",
    ];
    assert_eq!(says, expected);
}

/// A route whose way is replaced is one change; of several with one name only that which goes.
#[test]
fn routes_and_qdiscs_that_take_anothers_place_are_told_with_it() {
    let routes = (
        "routes",
        "netns=1 family=2 to=default via=10.0.0.1 ifindex=2 table=254 protocol=3 scope=0 type=1 tos=0\nnetns=1 family=2 to=10.9.0.0/16 via=10.0.0.1 ifindex=2 table=254 protocol=3 scope=0 type=1 tos=0",
    );
    let qdiscs = (
        "qdiscs",
        "netns=1 ifindex=2 kind=pfifo handle=0x80010000 parent=0xffffffff refcnt=2 options=e8030000",
    );
    let says = told(
        &[SPACES, LINKS, routes, qdiscs],
        &[
            "what=route did=new netns=1 family=2 to=default via=10.0.0.9 ifindex=2 table=254 protocol=3 scope=0 type=1 tos=0",
            "what=route did=del netns=1 family=2 to=default via=10.0.0.1 ifindex=2 table=254 protocol=3 scope=0 type=1 tos=0",
            "what=route did=new netns=1 family=2 to=10.9.0.0/16 table=254 protocol=3 scope=0 type=8 tos=0",
            "what=route did=new netns=1 family=2 to=10.8.0.0/16 hop=10.0.0.3,2,1 hop=10.0.0.4,3,2 table=7 protocol=3 scope=0 type=1 tos=0",
            "what=qdisc did=del netns=1 ifindex=2 kind=pfifo handle=0x80010000 parent=0xffffffff options=e8030000",
            "what=qdisc did=new netns=1 ifindex=2 kind=pfifo handle=0x80020000 parent=0xffffffff options=64000000",
            "what=qdisc did=del netns=1 ifindex=2 kind=pfifo handle=0x80020000 parent=0xffffffff options=64000000",
            "what=qdisc did=new netns=1 ifindex=2 kind=netem handle=0x10000 parent=0x10001",
        ],
    );
    let expected = [
        "route default became via 10.0.0.9 dev eth0 (before: via 10.0.0.1 dev eth0)",
        "route default via 10.0.0.1 dev eth0 was removed",
        "route 10.9.0.0/16 became prohibit (before: via 10.0.0.1 dev eth0)",
        "route 10.8.0.0/16 nexthop 10.0.0.3 dev eth0 weight 1 nexthop 10.0.0.4 dev br0 weight 2 was set in table 7",
        "root qdisc of eth0 became pfifo limit=100p (before: pfifo limit=1000p)",
        "root qdisc of eth0 was removed (pfifo limit=100p)",
        "qdisc of class 1:1 of eth0 became netem",
    ];
    assert_eq!(says, expected);
}

/// What no recorder writes is passed over.
#[test]
fn damaged_lines_are_no_change() {
    let says = told(
        &[SPACES, LINKS],
        &[
            "what=link did=new netns=1",
            "what=link did=new netns=x ifindex=2 name=eth0",
            "what=route did=new netns=1 to=",
            "what=qdisc did=new netns=1 ifindex=2 parent=zz",
            "what=qdisc did=new netns=1 ifindex=2 kind=tbf parent=0xffffffff options=zz",
            "what=sysctl did=new netns=1 name=net.a",
            "what=address did=del netns=1 ifindex=99999999999999999999 address=x",
            "",
        ],
    );
    assert_eq!(says, ["root qdisc of eth0 became tbf options zz"]);
}

/// Before the lists of a flight, which are younger, a change is told without what was before it, and by the names of the lists.
#[test]
fn what_is_older_than_the_lists_is_told_without_what_was_before() {
    let sysctl = ("sysctl", "net.ipv4.tcp_sack = 0");
    let says = told_by(
        &[SPACES, LINKS, sysctl],
        &[
            "what=sysctl did=new netns=1 name=net.ipv4.tcp_sack value=0",
            "what=sysctl did=new netns=1 name=net.ipv4.tcp_sack value=1",
            "what=link did=new netns=1 ifindex=2 name=eth0 type=1 flags=0x1042 mtu=1400",
            "what=link did=new netns=1 ifindex=2 name=eth0 type=1 flags=0x11043 mtu=1400",
            "what=address did=del netns=1 ifindex=3 address=10.0.0.9/24 scope=0 flags=0x80",
        ],
        State::unknown,
    );
    let expected = [
        "net.ipv4.tcp_sack was set to 0",
        "net.ipv4.tcp_sack from 0 to 1",
        "eth0 was changed (what it was before is not known): down, without carrier, MTU 1400",
        "eth0 was set up",
        "address 10.0.0.9/24 was taken from br0",
    ];
    assert_eq!(says, expected);
}

/// A device has the default of the start, not that of now; what is written for all is of each.
#[test]
fn a_devices_own_setting_was_as_the_default_of_the_start() {
    let sysctl = (
        "sysctl",
        "net.ipv4.conf.default.rp_filter = 1\nnet.ipv6.conf.default.disable_ipv6 = 0\nnet.ipv6.conf.all.disable_ipv6 = 0",
    );
    let says = told(
        &[SPACES, LINKS, sysctl],
        &[
            "what=sysctl did=new netns=1 name=net.ipv4.conf.default.rp_filter value=0",
            "what=sysctl did=new netns=1 name=net.ipv4.conf.eth0.rp_filter value=0",
            "what=sysctl did=new netns=1 name=net.ipv6.conf.all.disable_ipv6 value=1",
            "what=sysctl did=new netns=1 name=net.ipv6.conf.eth0.disable_ipv6 value=0",
        ],
    );
    let expected = [
        "net.ipv4.conf.default.rp_filter from 1 to 0",
        "net.ipv4.conf.eth0.rp_filter from 1 to 0",
        "net.ipv6.conf.all.disable_ipv6 from 0 to 1",
        "net.ipv6.conf.eth0.disable_ipv6 was set to 0",
    ];
    assert_eq!(says, expected);
}

/// A route beside others of its name takes no one's place.
#[test]
fn a_route_beside_others_is_told_as_new() {
    let routes = (
        "routes",
        "netns=1 family=2 to=10.9.0.0/16 via=10.0.0.1 ifindex=2 table=254 protocol=3 scope=0 type=1 tos=0",
    );
    let line = "what=route did=new netns=1 family=2 to=10.9.0.0/16 via=10.0.0.2 ifindex=2 table=254 protocol=3 scope=0 type=1 tos=0 append=yes";
    assert_eq!(
        told(&[SPACES, LINKS, routes], &[line]),
        ["route 10.9.0.0/16 via 10.0.0.2 dev eth0 was set"]
    );
}
