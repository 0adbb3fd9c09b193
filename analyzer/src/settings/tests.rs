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
        ("netns/9/sysctl", Start, "# what differs\nnet.core.rmem_max = 7\n"),
        ("netns/10/sysctl", Start, "# what differs\n"),
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
    assert_eq!(
        (of("net.core.rmem_max@netns"), of("sysctls@netns")),
        (Some("4096 | 7"), Some("read")),
        "the other one has it as the host"
    );
    let all = [
        ("sysctl", Start, "net.core.rmem_max = 4096\n"),
        ("netns/9/sysctl", Start, "net.core.rmem_max = 7\n"),
        ("netns/10/sysctl", Start, "net.core.rmem_max = 7\n"),
    ];
    assert_eq!(with(&all)["net.core.rmem_max@netns"], "7");
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

/// What is set on devices, under the names of `sysctl`; a namespace that has the device and sets nothing has its default.
#[test]
fn sysctls_of_devices_are_settings() {
    let first = |read: usize, all: usize| format!("# what differs from default, of {read} of {all} devices\n");
    let own = format!(
        "{}net.ipv4.conf.eth0.rp_filter = 1\nnet.ipv6.conf.lo/7.hop_limit = 7\n",
        first(2, 2)
    );
    let nine = format!(
        "{}net.ipv4.conf.eth0.rp_filter = 2\nnonsense\nnet.ipv4.conf.all.rp_filter = 9\n",
        first(1, 1)
    );
    let links = "netns=7 ifindex=2 name=eth0\nnetns=9 ifindex=2 name=eth0\nnetns=10 ifindex=2 name=eth0\nnetns=11 ifindex=2 name=eth0\n";
    let all = [
        ("links", Start, links),
        ("sysctl", Start, "net.ipv4.conf.default.rp_filter = 0\n"),
        ("sysctl_devices", Start, own.as_str()),
        ("netns/9/sysctl_devices", Start, nine.as_str()),
        ("netns/10/sysctl_devices", Start, &first(1, 1)),
        ("sysctl_devices", End, "net.ipv4.conf.eth0.rp_filter = 5\n"),
    ];
    let s = with(&all);
    let of = |s: &BTreeMap<String, String>, k: &str| s.get(k).cloned().unwrap_or_default();
    assert_eq!(of(&s, "net.ipv4.conf.eth0.rp_filter"), "1");
    assert_eq!(of(&s, "net.ipv6.conf.lo/7.hop_limit"), "7");
    assert_eq!(
        of(&s, "net.ipv4.conf.eth0.rp_filter@netns"),
        "0 | 2",
        "10 has it as the default, 11 was not read"
    );
    assert_eq!(
        (of(&s, "sysctl_devices"), of(&s, "net.ipv4.conf.all.rp_filter@netns")),
        ("read".into(), String::new())
    );
    // A default of its own.
    let s = with(
        &[
            &all[..],
            &[("netns/10/sysctl", Start, "net.ipv4.conf.default.rp_filter = 1\n")],
        ]
        .concat(),
    );
    assert_eq!(of(&s, "net.ipv4.conf.eth0.rp_filter@netns"), "1 | 2");
    for cut in [first(64, 100), String::new(), "# what".into()] {
        let s = with(&[
            ("sysctl_devices", Start, cut.as_str()),
            ("netns/9/sysctl_devices", Start, nine.as_str()),
        ]);
        assert_eq!(of(&s, "sysctl_devices"), "of some devices | read", "{cut}");
    }
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

/// Every byte that is no counter, seed or version: where it differs, the words do.
#[test]
fn no_difference_of_options_is_hidden() {
    let of = |kind: &str, hex: &str| qdisc::options(kind, hex, netmortem_formats::Endian::Little);
    // struct tc_netem_qopt: 100 ms, limit 1000, no loss, no gap; TCA_NETEM_LATENCY64, _CORR, _REORDER, _CORRUPT, _RATE, _PRNG_SEED.
    let netem = |latency: &str, correlation: &str, gap: &str, seed: &str, more: &str| {
        let at = |n: &str| format!("{n:0<8}");
        [
            "5ad61700e803000000000000",
            &at(gap),
            "0000000000000000",
            "0c000a00",
            latency,
            "10000100",
            &at(correlation),
            "0000000000000000",
            "0c0003000000000000000000",
            "0c0004000000000000000000",
            "1400060000000000000000000000000000000000",
            "0c000e00",
            seed,
            more,
        ]
        .concat()
    };
    let (latency, seed) = ("00e1f50500000000", "1122334455667788");
    let plain = of("netem", &netem(latency, "", "", seed, ""));
    assert_eq!(plain, "limit=1000p delay=100000us");
    assert_eq!(of("netem", &netem(latency, "", "", "8877665544332211", "")), plain);
    let with = |latency, correlation, gap, more| of("netem", &netem(latency, correlation, gap, seed, more));
    assert_eq!(with("01e1f50500000000", "", "", ""), "limit=1000p delay=100000001ns");
    assert_eq!(
        with(latency, "00000040", "05", "0800070001000000"),
        "limit=1000p delay=100000us delay_correlation=25.000% gap=5 ecn=1"
    );
    // TCA_NETEM_LOSS of two states, _SLOT, the rate's overhead: a sum.
    let loss = with(latency, "", "", "1800050014000200010000000000000000000000ffffffff");
    let other = with(latency, "", "", "1800050014000200020000000000000000000000ffffffff");
    assert!(
        loss.starts_with(&format!("{plain} other=")) && loss != other,
        "{loss} {other}"
    );

    // tbf 80b1: rate 20Mbit burst 1600b limit 100000b, as above; then with an mtu, and with TCA_TBF_PRATE64.
    let tbf = "280001000001000000000000a0252600000000000000000000000000a08601001027000000000000";
    let plain = "rate=20000000bit/s burst=1600B limit=100000B";
    assert_eq!(of("tbf", tbf), plain);
    let mtu = of("tbf", &tbf.replace("1027000000000000", "1027000001000000"));
    assert!(mtu.starts_with(&format!("{plain} other=")), "{mtu}");
    let peak = of(
        "tbf",
        &(tbf.replace("1027000000000000", "1027000010270000") + "0c000500404b4c0000000000"),
    );
    assert_eq!(peak, format!("{plain} peakrate=40000000bit/s minburst=3200B"));

    // The bands of fq, by hand: TCA_FQ_PRIOMAP and _WEIGHTS.
    let fq = "1800100003000000010202020102000001010101010101011000110000000900000003000000010";
    assert_eq!(
        of("fq", &format!("{fq}0")),
        "bands=3 priomap=1,2,2,2,1,2,0,0,1,1,1,1,1,1,1,1 weights=589824,196608,65536"
    );
    // An attribute of two bytes, and what is cut.
    let (two, cut) = (
        of("pfifo", "4d00000001"),
        of("codel", "080002004d0000000600630007000000"),
    );
    assert!(two.starts_with("limit=77p other="), "{two}");
    assert!(cut.starts_with("limit=77p other="), "{cut}");
    assert_eq!(of("pfifo", "4d0000000"), "options 4d0000000");
    assert_eq!(of("pfifo", "4d00000+"), "options 4d00000+");
    // Every digit.
    let whole = of("tbf", tbf);
    for at in 0..tbf.len() {
        let flipped = match &tbf[at..=at] {
            "0" => "1",
            _ => "0",
        };
        // The ticks of a burst are cut to bytes; flags are no part of an attribute's type; a link layer that is not known (0) is
        // dealt with as Ethernet (1).
        if (64..72).contains(&at) || [6, 11, 35].contains(&at) {
            continue;
        }
        let it = format!("{}{flipped}{}", &tbf[..at], &tbf[at + 1..]);
        assert_ne!(of("tbf", &it), whole, "{at}");
    }
}

#[test]
fn classes_are_told_as_tc_prints_them() {
    let line = |class: &str, options: &str| {
        format!(
            "netns=7 ifindex=2 kind=htb handle={class} parent=0xffffffff options={options} bytes=1 packets=1 qlen=0 backlog_bytes=0 drops=0 overlimits=0\n"
        )
    };
    let one = "300001000001000000000000048805000001000000000000d8b80500590d0100600401009a8d00000000000001000000";
    let wide = "300001000001000000000000ffffffff0001000000000000ffffffff0000000000000000dc05000000000000020000000c00060000f2052a010000000c000700806e877401000000";
    let flow = "netns=7 ifindex=2 kind=fq_codel handle=0x80010123 parent=0x80010000 bytes=1 packets=1 qlen=0 backlog_bytes=0 drops=0 overlimits=0\n";
    let list = line("0x00010010", one) + &line("0x00010030", wide) + flow;
    let links = ("links", Start, "netns=7 ifindex=2 name=v0 mtu=1500\n");
    let s = with(&[links, ("classes", Start, &list)]);
    let expect = "htb 1:10 rate 2900Kbit ceil 3Mbit prio 1 | htb 1:30 rate 40Gbit ceil 50Gbit prio 2";
    assert_eq!(s["v0 qdisc classes"], expect);
    // What came meanwhile was not set when the recording began; who reads none does not say that there are none.
    let later = with(&[links, ("classes", End, &list)]);
    assert_eq!(
        (later.get("v0 qdisc classes"), later["classes"].as_str()),
        (None, "read")
    );
    assert!(!with(&[links]).contains_key("classes"));
}
