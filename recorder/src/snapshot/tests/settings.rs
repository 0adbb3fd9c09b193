//! Settings against what `cat` reads.

use super::Pair;
use crate::snapshot::settings::{sysctl, sysctl_beside, sysctl_devices};

#[test]
fn sysctls_are_whole_however_long() {
    let Some(pair) = Pair::new("sys", "ip") else { return };
    // 9 KiB in one value, more than is asked for first; the kernel answers one call only.
    let long = "seq -s, 10001 2 14001 > /proc/sys/net/ipv4/ip_local_reserved_ports";
    pair.exec(&pair.0[0], &["sh", "-c", long]);
    let all =
        "cd /proc/sys/net; for f in core/* ipv4/*; do [ -f $f ] && cat $f 2>/dev/null | sed \"s|^|$f = |\"; done; true";
    let theirs = pair.exec(&pair.0[0], &["sh", "-c", all]);
    let theirs: Vec<String> = theirs
        .lines()
        .filter(|l| !l.contains("tcp_fastopen_key") && !l.contains("netdev_rss_key"))
        .map(|l| format!("net.{}", l.replacen('/', ".", 1)))
        .collect();
    let ours = pair.first().inside(sysctl).unwrap();
    let ours: Vec<&str> = ours.lines().collect();
    assert!(
        theirs.len() > 100 && theirs.iter().any(|l| l.len() > 8 << 10),
        "{}",
        theirs.len()
    );
    for line in &theirs {
        assert!(ours.contains(&line.as_str()), "{line}");
    }
}

/// A pod sets one: that is what is told of it, beside what new namespaces have of their own.
#[test]
fn of_another_namespace_only_what_differs_is_told() {
    let Some(pair) = Pair::new("beside", "ip") else { return };
    let own = pair.first().inside(sysctl).unwrap();
    let beside = || {
        let all = pair.first().inside(|| sysctl_beside(&own)).unwrap();
        let rest = all.strip_prefix("# what differs from the recorder's own namespace\n");
        rest.unwrap().to_owned()
    };
    assert_eq!(beside(), "");
    let sack = "net.ipv4.tcp_sack = ";
    let set = |value: &str| {
        let set = format!("echo {value} > /proc/sys/net/ipv4/tcp_sack");
        pair.exec(&pair.0[0], &["sh", "-c", &set]);
    };
    let before = own.lines().find_map(|l| l.strip_prefix(sack)).unwrap();
    let other = if before == "0" { "1" } else { "0" };
    set(other);
    assert_eq!(beside(), format!("{sack}{other}\n"));
    set(before);
    assert_eq!(beside(), "");
}

/// Of a device what is set on it, under the name that `sysctl` knows; of the others nothing but what the kernel sets.
#[test]
fn of_devices_what_differs_from_default_is_told() {
    let Some(pair) = Pair::new("devices", "ip") else { return };
    let told = |room: usize| {
        let mut room = room;
        let text = pair.first().inside(|| sysctl_devices(&mut room)).unwrap();
        (text, room)
    };
    let set = "ip link add lo.7 type veth peer name lo.8
        cd /proc/sys/net/ipv4/conf; echo 1 > default/rp_filter; echo 2 > lo.7/rp_filter; echo 1 > lo/rp_filter
        echo 7 > ../../ipv6/conf/lo.7/hop_limit";
    pair.exec(&pair.0[0], &["sh", "-c", set]);
    let (text, room) = told(64);
    let lines: Vec<&str> = text.lines().collect();
    for line in ["net.ipv4.conf.lo/7.rp_filter = 2", "net.ipv6.conf.lo/7.hop_limit = 7"] {
        assert!(lines.contains(&line), "{line}: {text}");
        // The name is one that sysctl takes.
        let (name, value) = line.split_once(" = ").unwrap();
        let key = name.replace('.', "/").replace("lo/7", "lo.7");
        let cat = pair.exec(&pair.0[0], &["cat", &format!("/proc/sys/{key}")]);
        assert_eq!(cat.trim(), value);
    }
    assert!(!text.contains(".lo.rp_filter") && !text.contains("secret"), "{text}");
    let devices = 64 - room;
    assert!(text.starts_with(&format!(
        "# what differs from default, of {devices} of {devices} devices\n"
    )));
    assert_eq!(told(1), (told(1).0, 0));
    assert!(
        told(1)
            .0
            .starts_with(&format!("# what differs from default, of 1 of {devices} devices\n"))
    );
}
