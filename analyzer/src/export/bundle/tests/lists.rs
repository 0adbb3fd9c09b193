//! Lists of snapshots.

/// Lists of addresses and neighbours keep their joins: with each other, and with sockets.
#[test]
fn lists_of_addresses_are_pseudonyms_too() {
    let mut names = crate::export::bundle::names::Names::default();
    let mut of = |what: &str, text: &str| {
        let new = crate::export::bundle::texts::redact(&mut names, what, text.as_bytes()).unwrap();
        String::from_utf8(new).unwrap()
    };
    let addresses = of(
        "addresses",
        "netns=1 ifindex=2 address=10.0.0.7/24 scope=0 flags=0x80 peer=10.0.0.8\nnetns=1 address=oops/24\n",
    );
    assert_eq!(
        addresses,
        "netns=1 ifindex=2 address=240.0.0.1/24 scope=0 flags=0x80\nnetns=1\n"
    );
    let neighbours = of(
        "neighbours",
        "netns=2 ifindex=3 to=10.0.0.7 lladdr=aa:bb:cc:00:11:22 probes=1 state=0x2\nnetns=2 to=10.0.0.9 lladdr=aa:bb:cc:00:11:22\nnetns=2 to=10.0.0.9 lladdr=aa:bb secret=x\n",
    );
    assert_eq!(
        neighbours,
        "netns=2 ifindex=3 to=240.0.0.1 lladdr=02:4e:4d:00:00:01 probes=1 state=0x2\nnetns=2 to=240.0.0.2 lladdr=02:4e:4d:00:00:01\nnetns=2 to=240.0.0.2\n"
    );
    let groups = of(
        "groups",
        "netns=1 ifindex=1 dev=lo group=239.1.1.1 users=2 who=x\nnetns=1 dev=lo group=10.0.0.7\nnetns=1 dev=lo group=oops\n",
    );
    assert_eq!(
        groups,
        "netns=1 ifindex=1 dev=lo group=239.1.1.1 users=2\nnetns=1 dev=lo group=240.0.0.1\nnetns=1 dev=lo\n"
    );
    let links = of(
        "links",
        "netns=1 ifindex=3 name=lo lladdr=aa:bb:cc:00:11:22 carrier_changes=4 port_state=3\n",
    );
    assert_eq!(links, "netns=1 ifindex=3 name=lo carrier_changes=4 port_state=3\n");
}

/// Settings keep numbers and the kernel's own words; of devices under their new names.
#[test]
fn settings_that_name_nobody_stay() {
    let mut names = crate::export::bundle::names::Names::default();
    let mut of = |what: &str, text: &str| {
        let new = crate::export::bundle::texts::redact(&mut names, what, text.as_bytes()).unwrap();
        String::from_utf8(new).unwrap()
    };
    let said = of(
        "netns/7/sysctl",
        "# what differs from the recorder's own namespace\nnet.core.default_qdisc = fq_codel\nnet.ipv4.tcp_rmem = 4096\t131072\t6291456\n\
         net.ipv4.tcp_fastopen_key = ab12-34cd\nnet.ipv6.conf.all.stable_secret = 2001:db8::1\nkernel.hostname = web1\nnet.netfilter.nf_log.2 = mymod\n",
    );
    assert_eq!(
        said,
        "# what differs from the recorder's own namespace\nnet.core.default_qdisc = fq_codel\nnet.ipv4.tcp_rmem = 4096\t131072\t6291456\n"
    );
    let links = of("links", "netns=1 ifindex=3 name=uplink.100\n");
    let renamed = links.trim().rsplit_once('=').unwrap().1.to_owned();
    let said = of(
        "sysctl_devices",
        "# what differs from default, of 2 of 2 devices\nnet.ipv4.conf.uplink/100.rp_filter = 2\nnet.ipv4.neigh.default.gc_thresh3 = 1024\n",
    );
    assert_eq!(
        said,
        format!(
            "# what differs from default, of 2 of 2 devices\nnet.ipv4.conf.{renamed}.rp_filter = 2\nnet.ipv4.neigh.default.gc_thresh3 = 1024\n"
        )
    );
}

/// Of a list of sockets a cut in time keeps those that listen.
#[test]
fn who_listens_stays() {
    let all = "proto=tcp state=listen src=10.0.0.1:80\nproto=tcp state=established src=10.0.0.1:80\nproto=tcp state=listen src=[::]:443\n";
    let kept = crate::export::bundle::texts::listening(all.as_bytes()).unwrap();
    let said = "proto=tcp state=listen src=10.0.0.1:80\nproto=tcp state=listen src=[::]:443\n";
    assert_eq!(String::from_utf8(kept).unwrap(), said);
    assert_eq!(
        crate::export::bundle::texts::listening(b"proto=udp state=close src=10.0.0.1:53\n"),
        None
    );
}

/// Names of pods and containers are in the paths of cgroups.
#[test]
fn paths_of_cgroups_are_pseudonyms() {
    let mut names = crate::export::bundle::names::Names::default();
    let mut of = |text: &str| {
        let new = crate::export::bundle::texts::redact(&mut names, "cgroups", text.as_bytes()).unwrap();
        String::from_utf8(new).unwrap()
    };
    let text = "hierarchy=v2 visited=9 limited=2 whole=yes\nid=1 path=/kubepods/billing-pod quota_us=5 period_us=9 nr_throttled=3\n\
        id=2 path=/kubepods/billing-pod/card-checker quota_us=5 period_us=9 within=1 nr_periods=secret\nid=2 pids=7,8\nid=3 pids=web\n\
        hierarchy=billing-pod whole=card-checker\nid=4 path=/ quota_us=1 period_us=1 card-checker=1\n";
    let said = of(text);
    let lines: Vec<&str> = said.lines().collect();
    assert!(
        ["kubepods", "billing", "card", "secret", "web"]
            .iter()
            .all(|n| !said.contains(n)),
        "{said}"
    );
    assert_eq!(lines[0], "hierarchy=v2 visited=9 limited=2 whole=yes");
    let path = |line: &str| {
        line.split(' ')
            .find_map(|w| w.strip_prefix("path="))
            .unwrap()
            .to_owned()
    };
    // One name has one pseudonym.
    assert!(path(lines[2]).starts_with(&format!("{}/", path(lines[1]))), "{said}");
    assert!(lines[1].ends_with(" quota_us=5 period_us=9 nr_throttled=3"), "{said}");
    assert!(lines[2].ends_with(" quota_us=5 period_us=9 within=1") && lines[3] == "id=2 pids=7,8");
    assert_eq!(lines[4..6], ["id=3", ""]);
    assert!(lines[6].starts_with("id=4 path=/ quota_us=1"));
}

/// In a cut in time limits are settings, and counters are of another time.
#[test]
fn limits_of_cgroups_stay() {
    let text = "hierarchy=v1 visited=9 limited=1 whole=yes\nid=1 path=/a quota_us=5 period_us=9 nr_periods=1 nr_throttled=3 throttled_time=8\nid=1 pids=7\n";
    let kept = crate::export::bundle::texts::limits(text.as_bytes()).unwrap();
    let said = "hierarchy=v1 visited=9 limited=1 whole=yes\nid=1 path=/a quota_us=5 period_us=9\nid=1 pids=7\n";
    assert_eq!(String::from_utf8(kept).unwrap(), said);
    assert_eq!(crate::export::bundle::texts::limits(b"\n"), None);
}
