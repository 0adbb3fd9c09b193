//! Settings against what `cat` reads.

use super::Pair;
use crate::snapshot::settings::sysctl;

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
