//! What a message of rtnetlink or nftables announces, as a line of words.
//!
//! In: messages, and whose they are. Out: `what=route did=new by=1234 ...` and the words of the snapshots' lines. It must not say what changed: that is
//! told by the line before. Of nftables one line for each transaction (net/netfilter/nf_tables_api.c `nf_tables_commit`: its last message is NFT_MSG_NEWGEN,
//! which says who made it). Source: include/uapi/linux/{rtnetlink,fib_rules,nexthop,pkt_sched}.h, netfilter/nf_tables.h.

use std::collections::BTreeSet;
use std::fmt::Write;

use netlink_packet_core::NetlinkBuffer;

use crate::snapshot::addresses::{address, first, ip, route};
use crate::snapshot::netlink::{attributes, text, u32_at, word};
use crate::snapshot::{links, qdisc};

/// include/uapi/linux/rtnetlink.h; each odd one takes away what the even one before it makes.
pub const RTM_NEWLINK: u16 = 16;
pub const RTM_DELLINK: u16 = 17;
const RTM_NEWADDR: u16 = 20;
const RTM_DELADDR: u16 = 21;
const RTM_NEWROUTE: u16 = 24;
const RTM_DELROUTE: u16 = 25;
const RTM_NEWRULE: u16 = 32;
const RTM_DELRULE: u16 = 33;
const RTM_NEWQDISC: u16 = 36;
const RTM_DELQDISC: u16 = 37;
const RTM_NEWTCLASS: u16 = 40;
const RTM_DELTCLASS: u16 = 41;
const RTM_NEWTFILTER: u16 = 44;
const RTM_DELTFILTER: u16 = 45;
pub const RTM_NEWNSID: u16 = 88;
pub const RTM_DELNSID: u16 = 89;
const RTM_NEWNEXTHOP: u16 = 104;
const RTM_DELNEXTHOP: u16 = 105;
/// Names of chains told of one transaction.
const NAMED: usize = 8;
/// struct fib_rule_hdr and struct nhmsg.
const RULE_BYTES: usize = 12;
const NEXTHOP_BYTES: usize = 8;
/// struct nfgenmsg.
const NFGENMSG_BYTES: usize = 4;
const NFNL_SUBSYS_NFTABLES: u16 = 10;
/// Words of qdiscs and classes that count.
const COUNTED: [&str; 9] = [
    "refcnt",
    "xstats",
    "bytes",
    "packets",
    "qlen",
    "backlog_bytes",
    "drops",
    "requeues",
    "overlimits",
];
/// Beside others of its name.
const NLM_F_APPEND: u16 = 0x800;

/// A message.
#[derive(Debug, Clone, Copy)]
pub struct Message<'a> {
    /// RTM_* or of nfnetlink.
    pub kind: u16,
    /// NLM_F_*.
    pub flags: u16,
    /// Port of who asked for it: as a rule a process's id; 0 is the kernel.
    pub by: u32,
    /// Behind the header.
    pub body: &'a [u8],
}

/// Messages of a piece, up to the first that is damaged.
pub fn messages(piece: &[u8]) -> impl Iterator<Item = Message<'_>> {
    let mut rest = piece;
    std::iter::from_fn(move || {
        let m = NetlinkBuffer::new_checked(rest).ok()?;
        let (kind, flags, by, length) = (m.message_type(), m.flags(), m.port_number(), m.length() as usize);
        let body = rest.get(16..length)?;
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some(Message { kind, flags, by, body })
    })
}

/// What one of rtnetlink announces: `what=`, `did=` and more; none: nothing that is told.
pub fn of_route(netns: u64, m: &Message<'_>) -> Option<String> {
    let mut line = String::new();
    let what = match m.kind {
        // Of a bridge's port there is another message, without most words.
        RTM_NEWLINK | RTM_DELLINK if m.body.first() == Some(&0) => {
            _ = links::line(netns, m.body, &mut line);
            "link"
        }
        RTM_NEWADDR | RTM_DELADDR if address(netns, m.body, &mut line) => "address",
        RTM_NEWROUTE | RTM_DELROUTE if route(netns, m.body, &mut line) => "route",
        RTM_NEWRULE | RTM_DELRULE => {
            rule(netns, m.body, &mut line);
            "rule"
        }
        RTM_NEWQDISC | RTM_DELQDISC | RTM_NEWTCLASS | RTM_DELTCLASS => {
            let class = m.kind >= RTM_NEWTCLASS;
            let mut whole = String::new();
            qdisc::line(netns, m.body, class, &mut whole);
            line = settings(&whole);
            if class { "class" } else { "qdisc" }
        }
        RTM_NEWTFILTER | RTM_DELTFILTER => {
            filter(netns, m.body, &mut line);
            "filter"
        }
        RTM_NEWNEXTHOP | RTM_DELNEXTHOP => {
            nexthop(netns, m.body, &mut line);
            "nexthop"
        }
        _ => return None,
    };
    let did = if m.kind % 2 == 1 { "del" } else { "new" };
    let beside = if m.flags & NLM_F_APPEND != 0 { " append=yes" } else { "" };
    Some(format!("what={what} did={did} {}{beside}", line.trim_end()))
}

/// Without what counts.
fn settings(line: &str) -> String {
    let counts = |w: &&str| {
        let key = w.split_once('=').map_or(*w, |(k, _)| k);
        !COUNTED.contains(&key)
    };
    line.trim_end().split(' ').filter(counts).collect::<Vec<_>>().join(" ")
}

fn rule(netns: u64, m: &[u8], out: &mut String) {
    let [family, to_bits, from_bits, _] = first(m);
    let [table, _, _, action] = first(m.get(4..).unwrap_or_default());
    let (mut table, mut rest) = (u32::from(table), String::new());
    for (attribute, value) in attributes(m.get(RULE_BYTES..).unwrap_or_default()) {
        let number = u32_at(value, 0).unwrap_or(0);
        match attribute {
            1 => _ = ip(family, value).map(|a| write!(rest, " to={a}/{to_bits}")),
            2 => _ = ip(family, value).map(|a| write!(rest, " from={a}/{from_bits}")),
            3 => _ = write!(rest, " iif={}", text(value)),
            6 => _ = write!(rest, " priority={number}"),
            10 => _ = write!(rest, " fwmark={number:#x}"),
            15 => table = number,
            17 => _ = write!(rest, " oif={}", text(value)),
            _ => {}
        }
    }
    _ = write!(out, "netns={netns} family={family}{rest} table={table} action={action}");
}

fn filter(netns: u64, m: &[u8], out: &mut String) {
    let number = |n| u32_at(m, n).unwrap_or(0);
    let kind = attributes(m.get(20..).unwrap_or_default()).find(|(a, _)| *a == 1);
    let kind = kind.map_or("?".to_owned(), |(_, v)| text(v));
    _ = write!(
        out,
        "netns={netns} ifindex={} kind={kind} handle={:#x} parent={:#010x} pref={}",
        number(1),
        number(2),
        number(3),
        number(4) >> 16
    );
}

fn nexthop(netns: u64, m: &[u8], out: &mut String) {
    let [family, ..] = first(m);
    _ = write!(out, "netns={netns} family={family}");
    for (attribute, value) in attributes(m.get(NEXTHOP_BYTES..).unwrap_or_default()) {
        match attribute {
            1 => _ = write!(out, " id={}", u32_at(value, 0).unwrap_or(0)),
            4 => out.push_str(" blackhole=yes"),
            5 => _ = write!(out, " ifindex={}", u32_at(value, 0).unwrap_or(0)),
            6 => _ = ip(family, value).map(|a| write!(out, " via={a}")),
            _ => {}
        }
    }
}

/// A transaction of nftables so far.
#[derive(Debug, Default)]
pub struct Ruleset {
    rules: (u32, u32),
    elements: (u32, u32),
    others: (u32, u32),
    chains: BTreeSet<String>,
}

impl Ruleset {
    /// Takes a message; the line of the transaction with its last.
    pub fn take(&mut self, netns: u64, m: &Message<'_>) -> Option<(u32, String)> {
        if m.kind >> 8 != NFNL_SUBSYS_NFTABLES {
            return None;
        }
        let inside = m.body.get(NFGENMSG_BYTES..).unwrap_or_default();
        let value = |n: u16| attributes(inside).find(|(a, _)| *a == n).map(|(_, v)| v);
        let name = |n: u16| value(n).map(text).unwrap_or_default();
        match m.kind & 0xff {
            // NFT_MSG_NEWRULE, _DELRULE; NFTA_RULE_TABLE, _CHAIN.
            kind @ (6 | 8) => {
                let side = if kind == 6 {
                    &mut self.rules.0
                } else {
                    &mut self.rules.1
                };
                *side = side.saturating_add(1);
                self.name(format!("{}/{}", name(1), name(2)));
            }
            // NFT_MSG_NEWCHAIN, _DELCHAIN; NFTA_CHAIN_TABLE, _NAME.
            kind @ (3 | 5) => {
                let side = if kind == 3 {
                    &mut self.others.0
                } else {
                    &mut self.others.1
                };
                *side = side.saturating_add(1);
                self.name(format!("{}/{}", name(1), name(3)));
            }
            kind @ (12 | 14) => {
                let side = if kind == 12 {
                    &mut self.elements.0
                } else {
                    &mut self.elements.1
                };
                *side = side.saturating_add(1);
            }
            // NFT_MSG_NEWGEN; NFTA_GEN_ID (big endian), _PROC_PID, _PROC_NAME.
            15 => {
                let done = std::mem::take(self);
                let number = |n| value(n).and_then(|v| v.first_chunk()).map(|b| u32::from_be_bytes(*b));
                let (generation, pid) = (number(1).unwrap_or(0), number(2).unwrap_or(m.by));
                let mut line = format!("what=ruleset did=new netns={netns} generation={generation}");
                for (key, n) in [
                    ("new_rules", done.rules.0),
                    ("deleted_rules", done.rules.1),
                    ("new_elements", done.elements.0),
                    ("deleted_elements", done.elements.1),
                    ("new_others", done.others.0),
                    ("deleted_others", done.others.1),
                ] {
                    if n > 0 {
                        _ = write!(line, " {key}={n}");
                    }
                }
                let program = name(3);
                if !program.is_empty() {
                    _ = write!(line, " program={program}");
                }
                for chain in &done.chains {
                    _ = write!(line, " chain={}", word(chain));
                }
                return Some((pid, line));
            }
            kind => {
                let new = [0, 9, 18, 22].contains(&kind);
                let side = if new { &mut self.others.0 } else { &mut self.others.1 };
                *side = side.saturating_add(1);
            }
        }
        None
    }

    fn name(&mut self, chain: String) {
        if self.chains.len() < NAMED {
            self.chains.insert(chain);
        }
    }
}
