//! Settings against what `cat` reads.

use super::Pair;
use crate::snapshot::settings::{sysctl, sysctl_beside};

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
