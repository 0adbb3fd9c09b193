use super::*;

fn changes(before: &[&Facts], after: &[&Facts]) -> Vec<SettingChange> {
    super::changes(before, after).0
}

fn facts(of: &[(&str, &str)]) -> Facts {
    let mut f = crate::testing::Script::new("6.18.44", &[]).facts();
    f.settings.0.clear();
    for (name, value) in of {
        f.settings.0.insert((*name).into(), (*value).into());
    }
    f
}

#[test]
fn a_device_of_one_side_is_one_difference() {
    let b = facts(&[
        ("net.a", "1"),
        ("eth0 mtu", "1500"),
        ("tun0 mtu", "9000"),
        ("tun0 qdisc", "fq"),
        ("x qdisc", "a"),
    ]);
    let a = facts(&[
        ("net.a", "2"),
        ("eth0 mtu", "1400"),
        ("eth0 qdisc", "fq"),
        ("y mtu", "1"),
        ("y kind", "veth"),
    ]);
    let said: Vec<String> = changes(&[&b], &[&a])
        .into_iter()
        .map(|c| format!("{}: {:?} -> {:?}", c.name, c.before, c.after))
        .collect();
    let expect = [
        r#"eth0 mtu: "1500" -> "1400""#,
        r#"eth0 qdisc: "" -> "fq""#,
        r#"net.a: "1" -> "2""#,
        r#"tun0: "there" -> """#,
        // A qdisc may be all that is told of a device.
        r#"x qdisc: "a" -> """#,
        r#"y: "" -> "there""#,
    ];
    assert_eq!(said, expect);
}

#[test]
fn the_order_of_recordings_is_no_difference() {
    let [x, y, z] = ["1", "2", "3"].map(|v| facts(&[("net.a", v)]));
    assert_eq!(changes(&[&x, &y], &[&y, &x]), []);
    assert_eq!(changes(&[&x, &y], &[&y, &z])[0].before, "1 | 2");
}

/// A pod's sysctl is told beside the host's, where both recorders read them.
#[test]
fn settings_of_other_namespaces_are_compared_where_both_sides_have_them() {
    let read = ("sysctls@netns", "read");
    let before = facts(&[("net.ipv4.tcp_sack", "1"), read]);
    let after = facts(&[("net.ipv4.tcp_sack", "1"), ("net.ipv4.tcp_sack@netns", "0"), read]);
    let told = |b: &Facts, a: &Facts| {
        let all = changes(&[b], &[a]).into_iter().map(|c| (c.name, c.before, c.after));
        all.collect::<Vec<_>>()
    };
    let expected = ("net.ipv4.tcp_sack@netns".to_owned(), "1".to_owned(), "0".to_owned());
    assert_eq!(told(&before, &after), [expected]);
    // Of several, where one differs: what the others have stands beside it.
    let one = facts(&[("net.ipv4.tcp_sack", "1"), ("net.ipv4.tcp_sack@netns", "0 | 1"), read]);
    assert_eq!(told(&before, &one)[0].2, "0 | 1");
    assert_eq!(told(&one, &after)[0].1, "0 | 1");
    let older = facts(&[("net.ipv4.tcp_sack", "1")]);
    assert_eq!(told(&older, &after), []);
}

/// A limit of CPU is told where both sides read them, and how often it stopped somebody where both counted.
#[test]
fn limits_of_cgroups_are_compared_where_both_sides_have_them() {
    let read = ("cgroups", "read");
    let max = ("cpu.max[web]", "20 ms of CPU per 100 ms");
    let stopped = ("cpu.stat[web]", "stopped in most periods");
    let told = |b: &[(&str, &str)], a: &[(&str, &str)]| {
        let all = changes(&[&facts(b)], &[&facts(a)]).into_iter();
        all.map(|c| format!("{}: {} -> {}", c.name, c.before, c.after))
            .collect::<Vec<_>>()
    };
    let said = ["cpu.max[web]:  -> 20 ms of CPU per 100 ms"];
    assert_eq!(told(&[read], &[read, max, stopped]), said);
    let counted = [read, ("cgroups counted", "read")];
    let all = [&counted[..], &[max, stopped]].concat();
    assert_eq!(told(&counted, &all).len(), 2);
    assert_eq!(told(&[("net.a", "1")], &[("net.a", "1"), read, max]), [] as [&str; 0]);
}

/// What is set on a device, against what its namespace's `default` is on the other side.
#[test]
fn settings_of_devices_are_compared_where_both_sides_have_them() {
    let filter = "net.ipv4.conf.eth0.rp_filter";
    let read = ("sysctl_devices", "read");
    let default = ("net.ipv4.conf.default.rp_filter", "0");
    let before = facts(&[("eth0 mtu", "1500"), default, read]);
    let after = facts(&[("eth0 mtu", "1500"), default, (filter, "1"), read]);
    let told = |b: &[&Facts], a: &[&Facts]| {
        let all = changes(b, a).into_iter();
        all.map(|c| format!("{}: {} -> {}", c.name, c.before, c.after))
            .collect::<Vec<_>>()
    };
    assert_eq!(told(&[&before], &[&after]), [format!("{filter}: 0 -> 1")]);
    assert_eq!(told(&[&after], &[&before]), [format!("{filter}: 1 -> 0")]);
    assert_eq!(
        told(&[&before, &after], &[&after]),
        [] as [String; 0],
        "one of a side has it"
    );
    // A `default` that is set later does not change a device that is there: then the device differs from it, and is as it was.
    let later = [("net.ipv4.conf.default.rp_filter", "1"), (filter, "0"), read];
    assert_eq!(
        told(&[&before], &[&facts(&later)]),
        ["eth0 mtu: 1500 -> ", "net.ipv4.conf.default.rp_filter: 0 -> 1"]
    );
    let later = facts(&[later[0], later[1], later[2], ("eth0 mtu", "1500")]);
    assert_eq!(told(&[&before], &[&later]), ["net.ipv4.conf.default.rp_filter: 0 -> 1"]);
    // An older recorder did not read them.
    let older = facts(&[("eth0 mtu", "1500"), default]);
    assert_eq!(told(&[&older], &[&after]), [] as [String; 0]);
    // Nor did one that met too many devices, where nothing is told of this one.
    let part = ("sysctl_devices", "of some devices | read");
    let some = facts(&[("eth0 mtu", "1500"), default, part]);
    assert_eq!(told(&[&some], &[&after]), [] as [String; 0]);
    let other = ("net.ipv4.conf.eth0.forwarding", "0");
    let some = facts(&[
        ("eth0 mtu", "1500"),
        default,
        part,
        other,
        ("net.ipv4.conf.default.forwarding", "0"),
    ]);
    // Of its forwarding the other side does not know the default.
    assert_eq!(
        told(&[&some], &[&after]),
        ["net.ipv4.conf.default.forwarding: 0 -> ", &format!("{filter}: 0 -> 1")]
    );
    // A device of one side alone is one difference.
    let gone = facts(&[default, read]);
    let two = facts(&[
        ("eth0 mtu", "1500"),
        ("eth0 kind", "veth"),
        default,
        (filter, "1"),
        read,
    ]);
    assert_eq!(told(&[&gone], &[&two]), ["eth0:  -> there"]);
}

/// Of a pod's device, too: against its own namespace's default, else the host's.
#[test]
fn settings_of_devices_of_other_namespaces_are_compared() {
    let (filter, default) = ("net.ipv4.conf.eth0.rp_filter@netns", "net.ipv4.conf.default.rp_filter");
    let read = [("sysctl_devices", "read"), ("sysctls@netns", "read"), (default, "2")];
    let with = |more: &[(&str, &str)]| facts(&[&read[..], more].concat());
    let told = |b: &Facts, a: &Facts| {
        let all = changes(&[b], &[a]).into_iter();
        all.map(|c| format!("{}: {} -> {}", c.name, c.before, c.after))
            .collect::<Vec<_>>()
    };
    assert_eq!(told(&with(&[]), &with(&[(filter, "1")])), [format!("{filter}: 2 -> 1")]);
    let own = with(&[("net.ipv4.conf.default.rp_filter@netns", "0")]);
    let both = [
        "net.ipv4.conf.default.rp_filter@netns: 0 -> 2".to_owned(),
        format!("{filter}: 0 -> 1"),
    ];
    assert_eq!(told(&own, &with(&[(filter, "1")])), both);
    let older = facts(&[("sysctl_devices", "read"), (default, "2")]);
    assert_eq!(told(&older, &with(&[(filter, "1")])), [] as [String; 0]);
}

/// The older recorder read twenty sysctls and no device, the newer all of them: what only it read is counted, and no difference.
#[test]
fn what_one_recorder_did_not_read_is_no_difference() {
    let old = crate::tests::facts("rpc/rpc.nmb");
    let new = crate::tests::facts("neighbour/neighbour.nmb");
    let (of, (before, after)) = super::changes(&[&old], &[&new]);
    let names: Vec<&str> = of.iter().map(|c| c.name.as_str()).collect();
    assert_eq!(names, ["kernel release", "net.ipv4.tcp_mem"]);
    // Counted in the bundles themselves.
    let (b, a) = (&old.settings.0, &new.settings.0);
    let only =
        |x: &BTreeMap<String, String>, y: &BTreeMap<String, String>| x.keys().filter(|k| !y.contains_key(*k)).count();
    assert_eq!(before, only(b, a));
    assert!(
        (500..=only(a, b)).contains(&after) && only(a, b) - after <= 3,
        "{after} of {}",
        only(a, b)
    );
    assert_eq!(super::changes(&[&new], &[&old]).1, (after, before));
    assert_eq!(super::changes(&[&new], &[&new]), (vec![], (0, 0)));
}

/// Of two whole readings what one does not have is its kernel's word, but a whole tree; and a property that no device has was not read.
#[test]
fn a_neighbour_that_only_a_whole_reading_has_tells_that_it_was_read() {
    let named = |b: &[(&str, &str)], a: &[(&str, &str)]| {
        let (of, left) = super::changes(&[&facts(b)], &[&facts(a)]);
        (of.into_iter().map(|c| c.name).collect::<Vec<_>>(), left)
    };
    let (one, whole) = (("net.core.rmem_max", "1"), ("net.core.warnings", "1"));
    let more = ("net.core.bpf_jit_enable", "1");
    assert_eq!(named(&[one], &[one, more]), (vec![], (0, 1)));
    assert_eq!(
        named(&[one, whole], &[one, whole, more]),
        (vec![more.0.to_owned()], (0, 0))
    );
    assert_eq!(named(&[one, whole, more], &[one]), (vec![], (2, 0)));
    // Of another tree nothing is known.
    assert_eq!(
        named(&[one, whole], &[one, whole, ("net.ipv4.tcp_sack", "1")]).1,
        (0, 1)
    );
    let (mtu, mac) = (("eth0 mtu", "1500"), ("eth0 lladdr", "02:00:00:00:00:01"));
    assert_eq!(named(&[mtu], &[mtu, mac]), (vec![], (0, 1)));
    assert_eq!(named(&[mtu, ("lo lladdr", "00")], &[mtu, mac]).0, [ADDRESSES]);
    // A bridge that a device came to, a qdisc below that another one has, offloads of another kernel: there are none on the other side.
    let optional = [("eth0 master", "3"), ("eth0 qdisc below the root", "fq")];
    assert_eq!(
        named(
            &[mtu, ("eth0 qdisc", "mq")],
            &[&[mtu, ("eth0 qdisc", "mq")], &optional[..]].concat()
        )
        .0
        .len(),
        2
    );
    let feature = |name| [mtu, ("eth0 features tx-udp", "on"), (name, "on")];
    assert_eq!(
        named(&feature("eth0 features a")[..2], &feature("eth0 features a")).0,
        ["eth0 features a"]
    );
    // An interrupt is no device, nor is the timer's frequency.
    assert_eq!(
        named(
            &[mtu],
            &[mtu, ("irq 24 smp_affinity_list", "0"), ("timer frequency", "250")]
        ),
        (vec![], (0, 2))
    );
}

#[test]
fn link_layer_addresses_are_one_line_and_the_last() {
    let side = |mac: &str| {
        facts(&[
            ("eth0 mtu", mac),
            ("eth0 lladdr", mac),
            ("eth1 lladdr", mac),
            ("zz0 mtu", mac),
        ])
    };
    let all = changes(&[&side("1")], &[&side("2")]);
    let said: Vec<(&str, &str)> = all.iter().map(|c| (c.name.as_str(), c.before.as_str())).collect();
    assert_eq!(
        said,
        [("eth0 mtu", "1"), ("zz0 mtu", "1"), (ADDRESSES, "those of 2 devices")]
    );
}

#[test]
fn classes_are_compared_where_both_recorders_read_them() {
    let (one, two) = ("htb 1:10 rate 12Mbit", "htb 1:10 rate 9Mbit | htb 1:20 rate 3Mbit");
    let base = [("wan0 mtu", "1500"), ("wan0 qdisc", "htb")];
    let of = |more: &[(&str, &str)]| facts(&[&base[..], more].concat());
    let read = ("classes", "read");
    let told = changes(
        &[&of(&[("wan0 qdisc classes", one), read])],
        &[&of(&[("wan0 qdisc classes", two), read])],
    );
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!((told[0].before.as_str(), told[0].after.as_str()), (one, two));
    // An older recorder's.
    assert_eq!(changes(&[&of(&[])], &[&of(&[("wan0 qdisc classes", two), read])]), []);
    // There were none.
    assert_eq!(
        changes(&[&of(&[read])], &[&of(&[("wan0 qdisc classes", two), read])]).len(),
        1
    );
}
