//! Rows of the view `drops`.

use std::net::{IpAddr, SocketAddr};

use super::looked_up::Way;
use super::repair::Repair;
use crate::confidence::Confidence;
use crate::facts::SkbId;
use crate::name::Name;
use crate::reconstruct::whose::Owner;
use crate::table::{Cell, TableDef, col};

/// One `kfree_skb`.
#[derive(Debug, Clone, PartialEq)]
pub struct DropRow {
    /// When.
    pub time_ns: i64,
    /// CPU.
    pub cpu: u16,
    /// Reason number as recorded.
    pub reason: Option<u32>,
    /// Address of the freeing code; 0 when not recorded.
    pub location: u64,
    /// Device of the skb's life; empty when no event named one.
    pub dev: Name,
    /// The life that ended, when one was open.
    pub skb_id: Option<SkbId>,
    /// skb->protocol (ETH_P_*), 0 for skbs that are not network packets.
    pub protocol: u16,
    /// Whether the kernel does this in healthy operation; `None` when nothing tells.
    pub expected: Option<bool>,
    /// A lost packet that no program missed: the kernel's own traffic.
    pub background: bool,
    /// Why it is expected or not.
    pub why: &'static str,
    /// Of `expected`.
    pub confidence: Confidence,
    /// Whose it was; asked only of what was or may have been lost.
    pub owner: Option<Owner>,
    /// Type and code of the ICMP message that this host made for its sender just before; IPv4 only.
    pub icmp: Option<(i32, i32)>,
    /// The packet that a qdisc had cut it from, of a segment that no event saw.
    pub cut_from: Option<SkbId>,
    /// `rx_sk`: the `struct sock` that it was for; 0: none, or not recorded (before Linux 6.11).
    pub sk: u64,
    /// Where a datagram was for that its socket refused: the address (since Linux 6.10) and the port.
    pub to: Option<(Option<IpAddr>, u16)>,
    /// From where to where it went, of a received packet whose route was looked up.
    pub way: Option<Way>,
    /// What repaired it, where that is known; of lost data of TCP sockets of this recording.
    pub repair: Option<Repair>,
}

impl DropRow {
    /// Healthy kernels would not have dropped it, and somebody may miss it.
    pub fn is_loss(&self) -> bool {
        self.expected == Some(false) && !self.background
    }
}

/// What an ICMP message says of the packet that it is about (RFC 792, RFC 1122, RFC 1812): `type`, `code`.
pub fn icmp_words((kind, code): (i32, i32)) -> &'static str {
    match (kind, code) {
        (3, 0 | 6 | 11) => "network unreachable",
        (3, 2) => "protocol unreachable",
        (3, 3) => "port unreachable",
        (3, 4) => "fragmentation needed",
        (3, 9 | 10 | 13) => "communication administratively prohibited",
        (3, _) => "host unreachable",
        (4, _) => "source quench",
        (5, _) => "redirect",
        (11, 1) => "fragment reassembly time exceeded",
        (11, _) => "time exceeded",
        (12, _) => "parameter problem",
        _ => "another message",
    }
}

/// `10.0.0.2:53`, `*:53`.
pub fn to_words((address, port): (Option<IpAddr>, u16)) -> String {
    address.map_or_else(|| format!("*:{port}"), |a| SocketAddr::new(a, port).to_string())
}

/// The view `drops`.
pub static DROPS: TableDef<DropRow> = TableDef {
    name: "drops",
    meaning: "one row per kfree_skb; not every one is a lost packet, see expected and why",
    columns: &[
        col!("time_ns", "ns", I64, "when", |r, _| Cell::I64(r.time_ns)),
        col!(
            "reason",
            "",
            Str,
            "drop reason by the recording's own table; of kernels that record none (before Linux 5.17) the one that the freeing function stands for (inferred), or empty",
            |r, n| n.drop_reason(r.reason)
        ),
        col!("location", "", Str, "kernel function that freed it", |r, n| n
            .location(r.location)),
        col!(
            "dev",
            "",
            Str,
            "device the skb was last seen on; empty when unknown",
            |r, _| if r.dev.is_empty() {
                Cell::Null
            } else {
                Cell::str(r.dev.text())
            }
        ),
        col!(
            "expected",
            "",
            Bool,
            "true: healthy kernels do this; false: a packet was lost; empty: nothing tells",
            |r, _| r.expected.into()
        ),
        col!(
            "background",
            "",
            Bool,
            "true: a lost packet of the kernel's own traffic (IPv6 neighbour discovery, MLD), not of a program's",
            |r, _| Some(r.background).into()
        ),
        col!("confidence", "", Str, "of expected", |r, _| Cell::str(
            r.confidence.word()
        )),
        col!("why", "", Str, "rule that decided expected", |r, _| Cell::str(r.why)),
        col!(
            "skb_id",
            "id",
            U64,
            "the life that ended, as in skbs; empty when it had none",
            |r, _| r.skb_id.map(|s| s.0).into()
        ),
        col!(
            "protocol",
            "",
            U64,
            "skb->protocol (0x0800 IPv4, 0x86dd IPv6, 0 not a packet)",
            |r, _| Cell::U64(r.protocol.into())
        ),
        col!("cpu", "id", U64, "CPU", |r, _| Cell::U64(r.cpu.into())),
        col!(
            "icmp",
            "",
            Str,
            "ICMP message that this host made for its sender just before it freed it; empty: none (its rate may be limited), not recorded (before Linux 6.11), or IPv6",
            |r, _| r.icmp.map_or(Cell::Null, |says| Cell::str(icmp_words(says)))
        ),
        col!(
            "connection",
            "id",
            U64,
            "socket whose packet it was, as in connections; empty when nothing tells, of UDP, and of expected frees",
            |r, _| r.owner.and_then(|o| o.connection).map(|c| c.0).into()
        ),
        col!(
            "carries",
            "",
            Str,
            "data (of a TCP socket), syn, syn_data (with payload: TCP Fast Open), fin (without payload), datagram (UDP), received (named by the socket that it was for), too_big (the ICMP message that a tunnel made of a TCP segment, whose the others are); empty when nothing tells",
            |r, _| r.owner.map_or(Cell::Null, |o| Cell::str(o.carries.word()))
        ),
        col!(
            "cut_from",
            "id",
            U64,
            "of a segment that a qdisc cut from a packet and dropped before any event saw it: that packet, as in skbs",
            |r, _| r.cut_from.map(|s| s.0).into()
        ),
        col!(
            "sk",
            "",
            Str,
            "socket that it was for, kernel address; empty: none, or not recorded (before Linux 6.11)",
            |r, _| if r.sk == 0 { Cell::Null } else { Cell::address(r.sk) }
        ),
        col!(
            "to",
            "",
            Str,
            "where a datagram was for that its socket refused (udp_fail_queue_rcv_skb), or that found none (icmp_send): address:port, before Linux 6.10 *:port",
            |r, _| r.to.map_or(Cell::Null, |to| Cell::str(to_words(to)))
        ),
        col!(
            "way_from",
            "",
            Str,
            "of a received packet: its source address, by the look-up of its route (profiles full and rx); empty: none was looked up before it was freed, or not recorded",
            |r, _| r.way.map_or(Cell::Null, |w| Cell::str(w.from.to_string()))
        ),
        col!(
            "way_to",
            "",
            Str,
            "its destination address then, behind a translation in PREROUTING; empty as way_from",
            |r, _| r.way.map_or(Cell::Null, |w| Cell::str(w.to.to_string()))
        ),
        col!(
            "way_passed_before",
            "count",
            U64,
            "packets from way_from to way_to, of any port, whose route was looked up and that were not dropped by this host, before the first of them that was; empty as way_from, or more than 65,536 such pairs",
            |r, _| r.way.and_then(|w| w.passed).map(|p| u64::from(p.0)).into()
        ),
        col!(
            "way_passed_later",
            "count",
            U64,
            "the same behind that one; empty as way_passed_before",
            |r, _| r.way.and_then(|w| w.passed).map(|p| u64::from(p.1)).into()
        ),
        col!("task", "", Str, "task that sent it, where that is recorded", |r, _| r
            .owner
            .as_ref()
            .map_or(Cell::Null, |o| Cell::name(&o.task))),
        col!("pid", "id", I64, "its thread", |r, _| r
            .owner
            .map_or(Cell::Null, |o| Cell::thread(o.pid))),
        col!(
            "whose_confidence",
            "",
            Str,
            "of connection, carries and task",
            |r, _| r.owner.map_or(Cell::Null, |o| Cell::str(o.confidence.word()))
        ),
        col!(
            "repaired_by",
            "id",
            U64,
            "the retransmission that carried it again (of a packet of several segments that was dropped whole: the first of it, its head at least), its place in retransmits; empty: none, not known, or no data of a TCP socket of this recording",
            |r, _| r.repair.map(|r| r.retransmit).into()
        ),
        col!(
            "repaired_after_ns",
            "ns",
            I64,
            "from the drop until all bytes of its segment were acknowledged; empty: not repaired in the recording, or not known",
            |r, _| r.repair.and_then(|r| r.after_ns).into()
        ),
        col!(
            "repair_confidence",
            "",
            Str,
            "of repaired_by and repaired_after_ns",
            |r, _| r.repair.map_or(Cell::Null, |r| Cell::str(r.confidence.word()))
        ),
    ],
};
