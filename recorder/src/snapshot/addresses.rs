//! Addresses, routes and neighbours, over rtnetlink (include/uapi/linux/{if_addr,rtnetlink,neighbour}.h; net/ipv4/devinet.c
//! `inet_fill_ifaddr`, fib_semantics.c `fib_dump_info`, net/ipv6/route.c `rt6_fill_node`, net/core/neighbour.c
//! `neigh_fill_info`).
//!
//! ```text
//! netns=4026531840 ifindex=2 address=10.0.0.1/24 scope=0 flags=0x80
//! netns=4026531840 to=default via=10.0.0.254 ifindex=2 src=10.0.0.1 table=254 protocol=3 scope=0 type=1 metric=100 mtu=1400
//! netns=4026531840 ifindex=2 to=10.0.0.254 lladdr=02:00:00:00:00:01 state=0x2
//! ```

use std::fmt::Write;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::netlink::{Dumped, attributes, dump, text, u32_at};

const RTM_GETADDR: u16 = 22;
const RTM_GETROUTE: u16 = 26;
const RTM_GETNEIGH: u16 = 30;

/// struct ifaddrmsg: family, prefix length, flags, scope, index.
const IFADDRMSG_BYTES: usize = 8;
/// struct rtmsg: family, destination's prefix length, source's, tos, table, protocol, scope, type, flags.
const RTMSG_BYTES: usize = 12;

const AF_INET: u8 = 2;
const AF_INET6: u8 = 10;
/// Local and broadcast routes follow from the addresses.
const RT_TABLE_LOCAL: u32 = 255;
/// No more lines of each for a namespace: a router has a million routes.
pub const MOST: usize = 10_000;

/// A line per address of the calling thread's network namespace.
pub fn addresses(netns: u64, out: &mut String) -> io::Result<Dumped> {
    let mut room = MOST;
    dump(None, RTM_GETADDR, &[0; IFADDRMSG_BYTES], &mut |m| {
        !address(netns, m, out) || take(&mut room)
    })
}

/// The line of one message; whether there is one.
pub fn address(netns: u64, m: &[u8], out: &mut String) -> bool {
    let [family, prefix, flags, scope] = first(m);
    let (mut address, mut local, mut flags) = (None, None, u32::from(flags));
    for (attribute, value) in attributes(m.get(IFADDRMSG_BYTES..).unwrap_or_default()) {
        match attribute {
            1 => address = ip(family, value),
            2 => local = ip(family, value),
            8 => flags = u32_at(value, 0).unwrap_or(flags),
            _ => {}
        }
    }
    let Some(ours) = local.or(address) else { return false };
    let ifindex = u32_at(m, 1).unwrap_or(0);
    _ = write!(
        out,
        "netns={netns} ifindex={ifindex} address={ours}/{prefix} scope={scope} flags={flags:#x}"
    );
    // Of a point-to-point interface.
    if let Some(peer) = address.filter(|a| *a != ours) {
        _ = write!(out, " peer={peer}");
    }
    out.push('\n');
    true
}

/// Numbers among the metrics of a route (RTAX_*).
const METRICS: [(u16, &str); 9] = [
    (2, "mtu"),
    (3, "window"),
    (4, "rtt"),
    (7, "cwnd"),
    (8, "advmss"),
    (11, "initcwnd"),
    (13, "rto_min"),
    (14, "initrwnd"),
    (15, "quickack"),
];

/// A line per route of the calling thread's network namespace, all tables but `local`.
pub fn routes(netns: u64, out: &mut String) -> io::Result<Dumped> {
    let mut done = Dumped::default();
    let mut room = MOST;
    for family in [AF_INET, AF_INET6] {
        let mut request = [0; RTMSG_BYTES];
        request[0] = family;
        let one = dump(None, RTM_GETROUTE, &request, &mut |m| {
            !route(netns, m, out) || take(&mut room)
        });
        match one {
            Ok(d) => (done.changed, done.cut) = (done.changed | d.changed, done.cut | d.cut),
            // A kernel without IPv6.
            Err(_) if family == AF_INET6 => {}
            Err(e) => return Err(e),
        }
    }
    Ok(done)
}

/// The line of one message; whether there is one: not of the table `local`.
pub fn route(netns: u64, m: &[u8], out: &mut String) -> bool {
    let [family, prefix, _, tos] = first(m);
    let [table, protocol, scope, kind] = first(m.get(4..).unwrap_or_default());
    let (mut table, mut to, mut rest) = (u32::from(table), "default".to_owned(), String::new());
    for (attribute, value) in attributes(m.get(RTMSG_BYTES..).unwrap_or_default()) {
        let number = u32_at(value, 0).unwrap_or(0);
        match attribute {
            1 => to = ip(family, value).map_or(to, |a| format!("{a}/{prefix}")),
            4 => _ = write!(rest, " ifindex={number}"),
            5 => _ = ip(family, value).map(|a| write!(rest, " via={a}")),
            6 => _ = write!(rest, " metric={number}"),
            7 => _ = ip(family, value).map(|a| write!(rest, " src={a}")),
            8 => metrics(value, &mut rest),
            9 => next_hops(family, value, &mut rest),
            15 => table = number,
            18 => {
                // struct rtvia: a gateway of another family.
                let other = value.first().copied().unwrap_or(0);
                _ = ip(other, value.get(2..).unwrap_or_default()).map(|a| write!(rest, " via={a}"));
            }
            30 => _ = write!(rest, " nexthop={number}"),
            _ => {}
        }
    }
    if table == RT_TABLE_LOCAL {
        return false;
    }
    _ = writeln!(
        out,
        "netns={netns} family={family} to={to}{rest} table={table} protocol={protocol} scope={scope} type={kind} tos={tos}"
    );
    true
}

fn metrics(value: &[u8], out: &mut String) {
    for (metric, value) in attributes(value) {
        // RTAX_CC_ALGO is a name.
        if metric == 16 {
            _ = write!(out, " cong={}", text(value));
        }
        let known = METRICS.iter().find(|(m, _)| *m == metric);
        if let Some(((_, name), n)) = known.zip(u32_at(value, 0)) {
            _ = write!(out, " {name}={n}");
        }
    }
}

/// struct rtnexthop: length (u16), flags, weight - 1, interface; then attributes.
fn next_hops(family: u8, mut value: &[u8], out: &mut String) {
    while let Some(length) = value.first_chunk().map(|b| usize::from(u16::from_ne_bytes(*b))) {
        let Some(hop) = value.get(..length).filter(|h| h.len() >= 8) else {
            return;
        };
        let weight = u32::from(hop.get(3).copied().unwrap_or(0)) + 1;
        let via = attributes(hop.get(8..).unwrap_or_default()).find_map(|(a, v)| (a == 5).then(|| ip(family, v))?);
        let via = via.map_or("-".to_owned(), |a| a.to_string());
        _ = write!(out, " hop={via},{},{weight}", u32_at(hop, 1).unwrap_or(0));
        value = value.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
}

/// A line per neighbour (ARP, neighbour discovery) of the calling thread's network namespace.
pub fn neighbours(netns: u64, out: &mut String) -> io::Result<Dumped> {
    // struct ndmsg: family, padding, interface, state (u16), flags, type.
    const BYTES: usize = 12;
    let mut room = MOST;
    dump(None, RTM_GETNEIGH, &[0; BYTES], &mut |m| {
        let [family, ..] = first(m);
        let state = m
            .get(8..)
            .and_then(|b| b.first_chunk())
            .map_or(0, |b| u16::from_ne_bytes(*b));
        let (mut to, mut rest) = (None, String::new());
        for (attribute, value) in attributes(m.get(BYTES..).unwrap_or_default()) {
            match attribute {
                1 => to = ip(family, value),
                2 => {
                    let address: Vec<String> = value.iter().map(|b| format!("{b:02x}")).collect();
                    _ = write!(rest, " lladdr={}", address.join(":"));
                }
                4 => _ = write!(rest, " probes={}", u32_at(value, 0).unwrap_or(0)),
                _ => {}
            }
        }
        // Those of bridges have no address of IP.
        let Some(to) = to else { return true };
        let ifindex = u32_at(m, 1).unwrap_or(0);
        _ = writeln!(out, "netns={netns} ifindex={ifindex} to={to}{rest} state={state:#x}");
        take(&mut room)
    })
}

/// Whether there is room for another.
fn take(room: &mut usize) -> bool {
    *room = room.saturating_sub(1);
    *room > 0
}

/// The four bytes that such messages begin with.
pub fn first(bytes: &[u8]) -> [u8; 4] {
    bytes.first_chunk().copied().unwrap_or_default()
}

/// An address.
pub fn ip(family: u8, value: &[u8]) -> Option<IpAddr> {
    match family {
        AF_INET => Some(Ipv4Addr::from(*value.first_chunk::<4>()?).into()),
        AF_INET6 => Some(Ipv6Addr::from(*value.first_chunk::<16>()?).into()),
        _ => None,
    }
}
