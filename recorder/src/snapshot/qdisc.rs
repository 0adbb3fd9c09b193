//! Qdiscs and classes with their statistics, over rtnetlink (net/sched/sch_api.c `tc_fill_qdisc`, `tc_fill_tclass`;
//! include/uapi/linux/{pkt_sched,gen_stats}.h). What `tc -s qdisc show invisible` and `tc -s class` show.
//!
//! ```text
//! netns=4026531840 ifindex=2 kind=fq_codel handle=0x80010000 parent=0xffffffff refcnt=2 bytes=96 packets=1 qlen=0 ... options=0800...
//! ```

use std::collections::BTreeSet;
use std::fmt::Write;
use std::io;

use super::netlink::{Dumped, attributes, dump, hex, text, u32_at};

const RTM_GETTCLASS: u16 = 42;
const RTM_GETQDISC: u16 = 38;

const TCA_KIND: u16 = 1;
const TCA_OPTIONS: u16 = 2;
const TCA_XSTATS: u16 = 4;
const TCA_STATS2: u16 = 7;
const TCA_DUMP_INVISIBLE: u16 = 10;
const TCA_HW_OFFLOAD: u16 = 12;
const TCA_INGRESS_BLOCK: u16 = 13;
const TCA_EGRESS_BLOCK: u16 = 14;

const TCA_STATS_BASIC: u16 = 1;
const TCA_STATS_QUEUE: u16 = 3;
const TCA_STATS_PKT64: u16 = 8;

/// struct tcmsg: family, padding, ifindex, handle, parent, info.
const TCMSG_BYTES: usize = 20;

/// A line per qdisc of the calling thread's network namespace, and the interfaces that have one.
pub fn qdiscs(netns: u64, out: &mut String) -> io::Result<(Dumped, BTreeSet<u32>)> {
    let mut body = tcmsg(0);
    // Without this flag the default qdiscs below `mq` are left out.
    body.extend_from_slice(&4u16.to_ne_bytes());
    body.extend_from_slice(&TCA_DUMP_INVISIBLE.to_ne_bytes());
    let mut links = BTreeSet::new();
    let done = dump(None, RTM_GETQDISC, &body, &mut |answer| {
        links.extend(u32_at(answer, 1));
        line(netns, answer, false, out);
        true
    })?;
    Ok((done, links))
}

/// A line per class of these interfaces.
pub fn classes(netns: u64, links: &BTreeSet<u32>, out: &mut String) -> io::Result<Dumped> {
    let mut all = Dumped::default();
    for ifindex in links {
        let done = dump(None, RTM_GETTCLASS, &tcmsg(*ifindex), &mut |answer| {
            line(netns, answer, true, out);
            true
        })?;
        all.changed |= done.changed;
    }
    Ok(all)
}

fn tcmsg(ifindex: u32) -> Vec<u8> {
    let mut body = vec![0; 4];
    body.extend_from_slice(&ifindex.to_ne_bytes());
    body.resize(TCMSG_BYTES, 0);
    body
}

/// The line of one message.
pub fn line(netns: u64, answer: &[u8], class: bool, out: &mut String) {
    let number = |n| u32_at(answer, n).unwrap_or(0);
    let (ifindex, handle, parent, info) = (number(1), number(2), number(3), number(4));
    let mut kind = String::from("?");
    let mut rest = String::new();
    for (attribute, value) in attributes(answer.get(TCMSG_BYTES..).unwrap_or_default()) {
        match attribute {
            TCA_KIND => kind = text(value),
            TCA_OPTIONS => _ = write!(rest, " options={}", hex(value)),
            TCA_XSTATS => _ = write!(rest, " xstats={}", hex(value)),
            TCA_STATS2 => stats(value, &mut rest),
            TCA_HW_OFFLOAD => _ = write!(rest, " offloaded={}", value.first().unwrap_or(&0)),
            TCA_INGRESS_BLOCK => _ = write!(rest, " ingress_block={}", u32_at(value, 0).unwrap_or(0)),
            TCA_EGRESS_BLOCK => _ = write!(rest, " egress_block={}", u32_at(value, 0).unwrap_or(0)),
            _ => {}
        }
    }
    // For a class, info is the handle of the qdisc inside it; for a qdisc, its number of users.
    let info = if class {
        format!("leaf={info:#010x}")
    } else {
        format!("refcnt={info}")
    };
    _ = writeln!(
        out,
        "netns={netns} ifindex={ifindex} kind={kind} handle={handle:#010x} parent={parent:#010x} {info}{rest}"
    );
}

/// struct gnet_stats_basic {u64 bytes, u32 packets}, gnet_stats_queue {u32 qlen, backlog, drops, requeues, overlimits}.
fn stats(nested: &[u8], out: &mut String) {
    let long = |v: &[u8]| v.first_chunk::<8>().map(|c| u64::from_ne_bytes(*c));
    // A qdisc of more than 2^32 packets states them in the second attribute; the last one written counts.
    let (mut bytes, mut packets) = (None, None);
    let mut queue = None;
    for (attribute, value) in attributes(nested) {
        match attribute {
            TCA_STATS_BASIC => {
                bytes = long(value);
                packets = packets.or(u32_at(value, 2).map(u64::from));
            }
            TCA_STATS_PKT64 => packets = long(value).or(packets),
            TCA_STATS_QUEUE => queue = Some(value),
            _ => {}
        }
    }
    for (key, value) in [("bytes", bytes), ("packets", packets)] {
        if let Some(v) = value {
            _ = write!(out, " {key}={v}");
        }
    }
    let names = ["qlen", "backlog_bytes", "drops", "requeues", "overlimits"];
    for (n, key) in names.iter().enumerate() {
        if let Some(v) = queue.and_then(|q| u32_at(q, n)) {
            _ = write!(out, " {key}={v}");
        }
    }
}
