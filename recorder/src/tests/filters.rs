//! Filters by port against refusals whose events hold no port.

use std::io::Write;
use std::net::Ipv4Addr;
use std::process::{Command, Stdio};

use netmortem_formats::event_format::{BytesAccess, IntAccess};

use super::harness::{options, record_while, scratch, tracefs_or_skip};
use super::pair::Pair;
use super::reading::payloads;
use crate::plan::Filters;

/// What refuses TCP to port 443 with an ICMP error; the kernel by itself does so with UDP to a port that nobody has.
const RULES: &str = "table ip t {
    chain c {
        type filter hook input priority 0
        tcp dport 443 reject with icmp type port-unreachable
    }
}
";

/// Runs a program inside a namespace; whether it succeeded.
fn inside(ns: &str, words: &[&str], input: &str) -> bool {
    let mut c = Command::new("ip");
    c.args(["netns", "exec", ns]).args(words);
    let child = c
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    child.is_ok_and(|mut child| {
        let fed = child
            .stdin
            .take()
            .is_some_and(|mut s| s.write_all(input.as_bytes()).is_ok());
        child.wait().is_ok_and(|s| s.success()) && fed
    })
}

#[test]
fn a_refusal_of_tcp_by_icmp_is_recorded_with_a_filter_by_port() {
    let Some((_, _one)) = tracefs_or_skip() else { return };
    let Some(pair) = Pair::new("icmp") else { return };
    if !inside(&pair.0[1], &["nft", "-f", "-"], RULES) {
        println!("skipped: nft cannot refuse in a network namespace here");
        return;
    }
    let path = scratch("icmp");
    let mut o = options(&path);
    o.profile = crate::Profile::Drops;
    o.filters = Filters {
        ports: vec![443, 5353],
        ..Filters::default()
    };
    let (c, _) = record_while(&mut o, || {
        let ask = "exec 3<>/dev/tcp/10.9.0.2/443; for p in 5353 5354; do echo > /dev/udp/10.9.0.2/$p; done; sleep 0.2";
        inside(&pair.0[0], &["bash", "-c", ask], "");
    });
    std::fs::remove_file(path).unwrap();
    let format = c.event_formats.iter().find(|f| f.key() == "icmp:icmp_send").unwrap();
    let dport = IntAccess::bind(format, "dport", c.endian).unwrap();
    let to = BytesAccess::bind(format, "daddr", c.endian).unwrap();
    // Those of our namespaces: others may send errors meanwhile.
    let ours = Ipv4Addr::new(10, 9, 0, 2).octets();
    let all = payloads(&c, format.id);
    let ours = all.iter().filter(|p| to.bytes(p) == Some(&ours[..]));
    let mut ports: Vec<u64> = ours.map(|p| dport.u64(p).unwrap()).collect();
    ports.sort_unstable();
    ports.dedup();
    // That of TCP without a port, that of the UDP port asked for, and none of the other.
    assert_eq!(ports, [0, 5353]);
}
