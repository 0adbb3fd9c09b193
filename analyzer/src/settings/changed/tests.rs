//! Settings of two snapshots.

use super::*;
use netmortem_formats::capture::Snapshot;

fn capture(texts: &[(&str, SnapshotWhen, &str)]) -> Capture {
    let mut c = crate::testing::Script::new("6.18.44", &[]).capture();
    let of = |(what, when, text): &(&str, SnapshotWhen, &str)| Snapshot {
        what: (*what).to_owned(),
        when: *when,
        text: text.as_bytes().to_vec(),
    };
    c.snapshots = texts.iter().map(of).collect();
    c
}

fn said(c: &Capture) -> Vec<String> {
    let all = changed(c).into_iter();
    all.map(|c| format!("{:?} {:?} {} {} {}", c.netns, c.addresses, c.name, c.before, c.after))
        .collect()
}

use SnapshotWhen::{End, Start};

#[test]
fn what_another_namespace_sets_meanwhile_is_its_own() {
    let own = "net.ipv4.ip_forward = 0\nnet.ipv4.tcp_sack = 1\nnet.netfilter.nf_conntrack_count = 4\n";
    let own_end = own.replace("count = 4", "count = 9");
    let of = capture(&[
        (
            "addresses",
            Start,
            "netns=7 ifindex=2 address=10.0.0.1/24\nnetns=7 ifindex=1 address=127.0.0.1/8\n",
        ),
        ("sysctl", Start, own),
        ("sysctl", End, &own_end),
        ("netns/7/sysctl", Start, "# what differs\nnet.ipv4.ip_forward = 1\n"),
        // It has it as the recorder's own now.
        ("netns/7/sysctl", End, "# what differs\nnet.ipv4.tcp_sack = 0\n"),
    ]);
    let seven = |name: &str, v: &str| format!("Some(7) [\"10.0.0.1\"] {name} {v}");
    assert_eq!(
        said(&of),
        [seven("net.ipv4.ip_forward", "1 0"), seven("net.ipv4.tcp_sack", "1 0")]
    );
}

/// Writing `ip_forward` sets others, as sysctl shows them; what a namespace has not of its own is the host's.
#[test]
fn what_the_kernel_sets_with_it_and_what_is_the_hosts_is_said_once() {
    let own = "net.core.netdev_max_backlog = 1000\nnet.ipv4.ip_forward = 0\n";
    let on = "net.ipv4.ip_forward = 1\nnet.ipv4.conf.all.forwarding = 1\nnet.ipv4.conf.all.accept_redirects = 0\n";
    let off = "net.ipv4.conf.all.forwarding = 0\nnet.ipv4.conf.all.accept_redirects = 1\n";
    let of = capture(&[
        ("sysctl", Start, own),
        ("sysctl", End, &own.replace("1000", "5000")),
        ("netns/7/sysctl", Start, on),
        ("netns/7/sysctl", End, off),
    ]);
    let expect = [
        "None [] net.core.netdev_max_backlog 1000 5000",
        "Some(7) [] net.ipv4.ip_forward 1 0",
    ];
    assert_eq!(said(&of), expect);
}

#[test]
fn forwarding_is_known_by_its_counters_text_where_no_sysctl_was_read_at_the_end() {
    let snmp = |n: u8| format!("Ip: Forwarding DefaultTTL InReceives\nIp: {n} 64 5\n");
    let (on, off) = (snmp(1), snmp(2));
    let of = capture(&[
        ("sysctl", Start, "net.ipv4.ip_forward = 0\n"),
        ("netns/7/sysctl", Start, "# what differs\nnet.ipv4.ip_forward = 1\n"),
        ("netns/7/net/snmp", Start, &on),
        ("netns/7/net/snmp", End, &off),
        ("netns/8/net/snmp", Start, &on),
        ("netns/8/net/snmp", End, &on),
    ]);
    assert_eq!(said(&of), ["Some(7) [] net.ipv4.ip_forward 1 0"]);
    // A namespace of one time alone tells nothing.
    let gone = capture(&[("netns/7/net/snmp", Start, &on), ("net/snmp", End, &off)]);
    assert_eq!(said(&gone), Vec::<String>::new());
}
