//! Interfaces, over rtnetlink (net/core/rtnetlink.c `rtnl_fill_ifinfo`, include/uapi/linux/if_link.h). Unlike
//! /sys/class/net it sees those of the network namespace that the calling thread is in.
//!
//! ```text
//! netns=4026531840 ifindex=2 name=eth0 type=1 flags=0x11043 mtu=1500 txqlen=1000 operstate=6 qdisc=mq tx_queues=2 rx_queues=2 ...
//! ```

use std::fmt::Write;
use std::io;

use super::netlink::{Dumped, attributes, dump, text, u32_at};

const RTM_GETLINK: u16 = 18;
/// struct ifinfomsg: family, padding, type (u16), index, flags, change mask.
const IFINFOMSG_BYTES: usize = 16;

const IFLA_ADDRESS: u16 = 1;
const IFLA_IFNAME: u16 = 3;
const IFLA_QDISC: u16 = 6;
const IFLA_OPERSTATE: u16 = 16;
const IFLA_LINKINFO: u16 = 18;
const IFLA_LINK_NETNSID: u16 = 37;
const IFLA_INFO_KIND: u16 = 1;
const IFLA_INFO_SLAVE_KIND: u16 = 4;
const IFLA_INFO_SLAVE_DATA: u16 = 5;
/// BR_STATE_*: disabled, listening, learning, forwarding, blocking.
const IFLA_BRPORT_STATE: u16 = 1;

/// Attributes that are one u32.
const NUMBERS: [(u16, &str); 12] = [
    (4, "mtu"),
    (5, "link"),
    (10, "master"),
    (13, "txqlen"),
    (30, "promiscuity"),
    (31, "tx_queues"),
    (32, "rx_queues"),
    (35, "carrier_changes"),
    (40, "gso_max_segs"),
    (41, "gso_max_size"),
    (58, "gro_max_size"),
    (63, "gso_ipv4_max_size"),
];

/// An interface by number and name.
pub type Link = (u32, String);

/// Of a bridge's port: what spanning tree lets pass.
fn port_state(info: &[u8]) -> Option<u8> {
    let of = |kind| attributes(info).find(|(a, _)| *a == kind).map(|(_, v)| v);
    let data = of(IFLA_INFO_SLAVE_DATA).filter(|_| of(IFLA_INFO_SLAVE_KIND).is_some_and(|k| text(k) == "bridge"))?;
    let state = attributes(data).find(|(a, _)| *a == IFLA_BRPORT_STATE)?.1;
    state.first().copied()
}

/// A line per interface of the calling thread's network namespace; returns them, too.
pub fn links(netns: u64, out: &mut String) -> io::Result<(Dumped, Vec<Link>)> {
    let mut all = Vec::new();
    let done = dump(None, RTM_GETLINK, &[0; IFINFOMSG_BYTES], &mut |m| {
        all.push(line(netns, m, out));
        true
    })?;
    Ok((done, all))
}

/// The line of one message.
pub fn line(netns: u64, m: &[u8], out: &mut String) -> Link {
    let index = u32_at(m, 1).unwrap_or(0);
    let kind = m
        .get(2..4)
        .and_then(|b| b.first_chunk())
        .map_or(0, |b| u16::from_ne_bytes(*b));
    let flags = u32_at(m, 2).unwrap_or(0);
    let mut name = String::new();
    let mut rest = String::new();
    for (attribute, value) in attributes(m.get(IFINFOMSG_BYTES..).unwrap_or_default()) {
        match attribute {
            IFLA_ADDRESS if value.len() == 6 => {
                let mac: Vec<String> = value.iter().map(|b| format!("{b:02x}")).collect();
                _ = write!(rest, " lladdr={}", mac.join(":"));
            }
            IFLA_IFNAME => name = text(value),
            IFLA_QDISC => _ = write!(rest, " qdisc={}", text(value)),
            IFLA_OPERSTATE => _ = write!(rest, " operstate={}", value.first().unwrap_or(&0)),
            IFLA_LINK_NETNSID => _ = write!(rest, " link_netnsid={}", u32_at(value, 0).unwrap_or(0).cast_signed()),
            IFLA_LINKINFO => {
                let kind = attributes(value).find(|(a, _)| *a == IFLA_INFO_KIND);
                if let Some((_, kind)) = kind {
                    _ = write!(rest, " kind={}", text(kind));
                }
                if let Some(state) = port_state(value) {
                    _ = write!(rest, " port_state={state}");
                }
            }
            _ => {
                let number = NUMBERS.iter().find(|(a, _)| *a == attribute);
                if let Some(((_, key), v)) = number.zip(u32_at(value, 0)) {
                    _ = write!(rest, " {key}={v}");
                }
            }
        }
    }
    _ = writeln!(
        out,
        "netns={netns} ifindex={index} name={name} type={kind} flags={flags:#x}{rest}"
    );
    (index, name)
}
