//! The kernel's own counters of a network namespace: `/proc/net/snmp` and `/proc/net/netstat`, named as `nstat` names them.

use std::collections::BTreeMap;

use crate::net::Netns;

/// Counters by name (`TcpRetransSegs`, `TcpExtTCPTimeouts`, `UdpRcvbufErrors`).
pub type Counters = BTreeMap<String, i64>;

/// Pairs of lines: `Tcp: names` and `Tcp: values`.
pub fn parse(text: &str, into: &mut Counters) {
    let mut lines = text.lines();
    while let (Some(names), Some(values)) = (lines.next(), lines.next()) {
        let mut names = names.split_whitespace();
        let group = names.next().unwrap_or("").trim_end_matches(':');
        for (n, v) in names.zip(values.split_whitespace().skip(1)) {
            if let Ok(v) = v.parse() {
                into.insert(format!("{group}{n}"), v);
            }
        }
    }
}

/// All counters of a namespace now.
pub fn read(ns: &Netns) -> anyhow::Result<Counters> {
    ns.inside(|| {
        let mut all = Counters::new();
        // Not /proc/net: that is the namespace of the process's first thread.
        for file in ["snmp", "netstat"] {
            parse(
                &std::fs::read_to_string(format!("/proc/thread-self/net/{file}"))?,
                &mut all,
            );
        }
        Ok(all)
    })
}

/// What changed, without what did not.
pub fn delta(before: &Counters, after: &Counters) -> Counters {
    let changed = after
        .iter()
        .map(|(k, v)| (k.clone(), v - before.get(k).copied().unwrap_or(0)));
    changed.filter(|(_, v)| *v != 0).collect()
}
