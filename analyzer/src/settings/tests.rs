use super::*;
use netmortem_formats::capture::SnapshotWhen::{End, Start};

fn with(texts: &[(&str, SnapshotWhen, &str)]) -> BTreeMap<String, String> {
    let mut c = crate::testing::Script::new("6.18.44", &[]).capture();
    let of = |(what, when, text): &(&str, SnapshotWhen, &str)| Snapshot {
        what: what.to_string(),
        when: *when,
        text: text.as_bytes().to_vec(),
    };
    c.snapshots = texts.iter().map(of).collect();
    Settings::of(&c).0
}

#[test]
fn what_is_set_is_kept_and_what_counts_is_not() {
    let links = "netns=7 ifindex=2 name=eth0 mtu=1400 qdisc=fq carrier_changes=9\n";
    let s = with(&[
        (
            "sysctl",
            Start,
            "net.core.rmem_max = 4096\nnet.ipv4.tcp_rmem = 1\t2\t3\nnet.netfilter.nf_conntrack_count = 5\n",
        ),
        ("sysctl", End, "net.core.rmem_max = 1\n"),
        (
            "queues",
            Start,
            "dev=eth0 queue=rx-0 rps_cpus=3\ndev=eth0 queue=tx-0 bql_limit=7 bql_limit_max=9\n",
        ),
        ("links", Start, links),
        (
            "qdiscs",
            Start,
            "netns=7 ifindex=2 kind=tbf parent=0xffffffff options=280001000001000000000000a0252600000000000000000000000000a08601001027000000000000 bytes=99\n",
        ),
        (
            "nics",
            Start,
            "netns=7 ifindex=2 dev=eth0 group=features tx-tcp-segmentation=off\nnetns=7 ifindex=2 dev=eth0 group=stats rx=4\n",
        ),
        (
            "irq_affinity",
            Start,
            "irq=24 smp_affinity_list=0-1 effective_affinity_list=1\n",
        ),
        ("sys/net/core/dev_weight", Start, "64\n"),
    ]);
    let of = |k: &str| s.get(k).map(String::as_str);
    assert_eq!(of("net.core.rmem_max"), Some("4096"));
    assert_eq!(of("net.ipv4.tcp_rmem"), Some("1 2 3"));
    assert_eq!(of("net.core.dev_weight"), Some("64"));
    assert_eq!(of("eth0 rx-0 rps_cpus"), Some("3"));
    assert_eq!(of("eth0 tx-0 bql_limit_max"), Some("9"));
    assert_eq!(of("eth0 mtu"), Some("1400"));
    assert_eq!(
        of("eth0 qdisc"),
        Some("fq | tbf rate=20000000bit/s burst=1600B limit=100000B")
    );
    assert_eq!(of("eth0 features tx-tcp-segmentation"), Some("off"));
    assert_eq!(of("irq 24 smp_affinity_list"), Some("0-1"));
    for gone in [
        "net.netfilter.nf_conntrack_count",
        "eth0 tx-0 bql_limit",
        "eth0 carrier_changes",
        "eth0 stats rx",
    ] {
        assert_eq!(of(gone), None, "{gone}");
    }
    // The kernel's own list of drop reasons, from the format text.
    assert!(s.get("drop reasons").is_some_and(|v| v.ends_with(" known")), "{s:?}");
    assert!(s.contains_key("drop reason NETFILTER_DROP"));
}

#[test]
fn two_devices_of_one_name_stand_side_by_side() {
    let s = with(&[(
        "links",
        Start,
        "netns=7 ifindex=2 name=v mtu=1400\nnetns=8 ifindex=2 name=v mtu=9000\n",
    )]);
    assert_eq!(s.get("v mtu").map(String::as_str), Some("1400 | 9000"));
}

/// What `tc qdisc show` of iproute2 printed for the same qdiscs on Linux 6.18, in the comment of each.
#[test]
fn options_of_qdiscs_are_words() {
    let of = |kind: &str, hex: &str| qdisc::options(kind, hex, netmortem_formats::Endian::Little);
    // pfifo 80b0: dev d6 root refcnt 3 limit 77p
    assert_eq!(of("pfifo", "4d000000"), "limit=77p");
    // htb 80af: dev d5 root refcnt 3 r2q 10 default 0x10 direct_packets_stat 0 direct_qlen 1000
    let htb = "18000200110003000a00000010000000000000000000000008000500e8030000";
    assert_eq!(of("htb", htb), "r2q=10 default=0x10 direct_qlen=1000");
    // fq_codel: TCA_FQ_CODEL_TARGET, _LIMIT and _ECN by hand, as include/uapi/linux/pkt_sched.h numbers them.
    let fq_codel = "080001005c1b0000080002008403000008000400010000000800630007000000";
    assert_eq!(
        of("fq_codel", fq_codel),
        "target=7004us limit=900p ecn=1 (attribute 99)=7"
    );
    // Of a kind not known here, and what is cut: that it differs can be seen, no more.
    assert_eq!(of("cake", "0102"), "options 0102");
    let long = "00".repeat(40);
    assert!(of("cake", &long).starts_with("options of 40 bytes, sum "));
    assert_ne!(of("cake", &long), of("cake", &("01".to_owned() + &long[2..])));
    assert_eq!(of("tbf", "zz"), "options zz");
    assert_eq!(of("tbf", "2800"), "options 2800");
    assert_eq!(of("netem", "01"), "options 01");
}
