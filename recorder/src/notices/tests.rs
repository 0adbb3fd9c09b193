//! What is heard of real changes, in namespaces of this test's own.

use std::process::Command;
use std::time::{Duration, Instant};

use netmortem_formats::bundle::Second;

use super::*;
use crate::watch::only_notices;

/// Namespaces that go with it.
struct Spaces(Vec<String>);

impl Drop for Spaces {
    fn drop(&mut self) {
        for name in &self.0 {
            _ = Command::new("ip").args(["netns", "del", name]).output();
        }
    }
}

fn run(line: &str) -> bool {
    let mut words = line.split(' ');
    let mut c = Command::new(words.next().unwrap());
    c.args(words).output().is_ok_and(|o| o.status.success())
}

/// All that is heard until `done` or five seconds have passed.
fn heard(n: &Notices, done: impl Fn(&str) -> bool) -> String {
    let (began, mut all) = (Instant::now(), String::new());
    while !done(&all) && began.elapsed() < Duration::from_secs(8) {
        std::thread::sleep(Duration::from_millis(20));
        let mut second: Second = only_notices();
        n.put(&mut second);
        for (what, text) in second.texts {
            assert_eq!(what, NOTICES);
            all += std::str::from_utf8(&text).unwrap();
        }
    }
    all
}

fn inode(name: &str) -> u64 {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata(format!("/run/netns/{name}")).unwrap().ino()
}

fn of<'a>(all: &'a str, words: &[&str]) -> Option<&'a str> {
    let has = |l: &&str| words.iter().all(|w| l.split(' ').any(|of| of == *w));
    all.lines().find(has)
}

/// One that is joined to the recorder's own by a device, and two that are joined to each other only.
#[test]
fn changes_are_heard_in_all_namespaces_with_who_asked_for_them() {
    let (near, far, farther) = ("nmnotice-a", "nmnotice-b", "nmnotice-c");
    let spaces = Spaces([near, far, farther].map(str::to_owned).into());
    if !run("ip netns add nmnotice-a") {
        println!("skipped: no network namespaces here");
        return;
    }
    assert!(run("ip netns add nmnotice-b") && run("ip netns add nmnotice-c"));
    assert!(run("ip link add nmn0 type veth peer name nmn1 netns nmnotice-a"));
    assert!(run(
        "ip -n nmnotice-b link add c0 type veth peer name c1 netns nmnotice-c"
    ));
    let notices = Notices::start();
    // It listens when it has heard of a device that is made again and again.
    let ready = |n: &Notices| {
        _ = run("ip -n nmnotice-b link set c0 txqueuelen 999") && run("ip -n nmnotice-b link set c0 txqueuelen 1000");
        let before = Instant::now();
        while before.elapsed() < Duration::from_millis(100) && !n.has_some() {
            std::thread::sleep(Duration::from_millis(5));
        }
        n.has_some()
    };
    assert!((0..50).any(|_| ready(&notices)), "{:?}", notices.sentences());
    let began = now_ns(ClockId::Monotonic);
    assert!(run("ip -n nmnotice-a address add 10.77.0.2/24 dev nmn1"));
    assert!(run("ip -n nmnotice-a link set nmn1 up"));
    assert!(run("ip -n nmnotice-a route add 10.78.0.0/24 via 10.77.0.1"));
    assert!(run("ip -n nmnotice-a rule add from 10.77.0.0/24 table 77 priority 7"));
    let tc = "ip netns exec nmnotice-b tc qdisc add dev c0 root tbf rate 1mbit burst 16kb limit 60000";
    assert!(run(tc));
    assert!(run("ip netns exec nmnotice-b sysctl -w net.ipv4.tcp_sack=0"));
    assert!(run("ip -n nmnotice-c link set c1 mtu 1400"));
    let nft = run(
        "ip netns exec nmnotice-a nft add table inet t77 { chain c { type filter hook input priority 0 ; policy drop ; } ; }",
    );
    let route = ["what=route", "did=new", "to=10.78.0.0/24", "via=10.77.0.1"];
    let all = heard(&notices, |all| {
        let rules = !nft || of(all, &["what=ruleset"]).is_some();
        rules && of(all, &["what=link", "mtu=1400"]).is_some() && of(all, &["what=sysctl"]).is_some()
    });
    let netns = |name: &str| format!("netns={}", inode(name));
    let find = |words: &[&str], name: &str| {
        let own = netns(name);
        let words: Vec<&str> = words.iter().copied().chain([own.as_str()]).collect();
        of(&all, &words)
            .unwrap_or_else(|| panic!("{words:?} in\n{all}"))
            .to_owned()
    };
    let line = find(&route, near);
    assert!(line.contains(" by="), "{line}");
    let at: i64 = line
        .split(' ')
        .next()
        .and_then(|w| w.strip_prefix("at="))
        .unwrap()
        .parse()
        .unwrap();
    assert!((began..began + 5_000_000_000).contains(&at), "{line}");
    find(&["what=address", "did=new", "address=10.77.0.2/24"], near);
    find(
        &["what=rule", "did=new", "from=10.77.0.0/24", "table=77", "priority=7"],
        near,
    );
    let qdisc = find(&["what=qdisc", "did=new", "kind=tbf"], far);
    assert!(qdisc.contains(" options=") && !qdisc.contains(" bytes="), "{qdisc}");
    find(&["what=sysctl", "name=net.ipv4.tcp_sack", "value=0"], far);
    find(&["what=link", "did=new", "name=c1", "mtu=1400"], farther);
    match nft {
        true => {
            let line = find(&["what=ruleset", "program=nft", "chain=t77/c"], near);
            assert!(line.contains(" new_others=2 "), "{line}");
        }
        false => println!("skipped: rules, as there is no nft"),
    }
    assert_eq!(notices.sentences(), Vec::<String>::new());
    drop(spaces);
    _ = run("ip link del nmn0");
}

/// A namespace that nothing joins to the recorder's own is not kept by the socket inside.
#[test]
fn a_namespace_that_is_gone_is_let_go_of() {
    if !run("ip netns add nmnotice-d") || !run("ip netns add nmnotice-e") {
        println!("skipped: no network namespaces here");
        return;
    }
    let spaces = Spaces(vec!["nmnotice-e".into()]);
    assert!(run(
        "ip -n nmnotice-d link add d0 type veth peer name d1 netns nmnotice-e"
    ));
    let notices = Notices::start();
    let heard_of = |n: &Notices| {
        _ = run("ip -n nmnotice-d link set d0 txqueuelen 999") && run("ip -n nmnotice-d link set d0 txqueuelen 1000");
        !heard(n, |all| of(all, &["what=link", "name=d0"]).is_some()).is_empty()
    };
    assert!((0..10).any(|_| heard_of(&notices)));
    // With it goes its device, and with that the peer.
    assert!(run("ip netns del nmnotice-d"));
    let began = Instant::now();
    while run("ip -n nmnotice-e link show d1") {
        assert!(began.elapsed() < Duration::from_secs(4), "it is kept");
        std::thread::sleep(Duration::from_millis(20));
    }
    drop(spaces);
}

/// More than are kept are counted.
#[test]
fn what_finds_no_room_is_counted() {
    let mut kept = Kept::default();
    let line = "x".repeat(1 << 10);
    for n in 0..1_030 {
        kept.push(n, line.clone());
    }
    let text = kept.text();
    assert!(text.starts_with("at=6 x"), "{}", &text[..20]);
    assert!(text.trim_end().ends_with(" what=left_out count=6"));
    assert_eq!(kept.text(), "");
}
