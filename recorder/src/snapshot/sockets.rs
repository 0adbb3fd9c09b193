//! TCP and UDP sockets with their memory, state of TCP, and process: what `ss -tuaiepm` shows, over sock_diag
//! (net/ipv4/inet_diag.c `inet_sk_diag_fill`, include/uapi/linux/inet_diag.h). TIME_WAIT is left out: it holds no data.
//!
//! ```text
//! netns=4026531840 proto=tcp family=inet state=established src=10.0.0.1:80 dst=10.0.0.2:4242 if=0 cookie=0x2a inode=99 uid=0
//!   rqueue=0 wqueue=0 timer=none timer_ms=0 retrans=0 cong=cubic mem.rmem_alloc=0 ... tcp.rtt=31 ... pids=17  (one line)
//! ```
//! `cookie` is `sock_cookie` of the tcp events, `inode` the number in /proc/<pid>/fd.

use std::fmt::Write;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};

use rustix::net::netlink::SOCK_DIAG;

use super::netlink::{Dumped, attributes, dump, hex, text, u32_at};
use super::owners::Owners;
use super::tcp_info;

/// TCP of all families in one dump: the kernel walks its whole table of connections for each, which is most of what a reading costs.
const TCPDIAG_GETSOCK: u16 = 18;
const SOCK_DIAG_BY_FAMILY: u16 = 20;
const AF_INET: u8 = 2;
const AF_INET6: u8 = 10;
const IPPROTO_TCP: u8 = 6;
const IPPROTO_UDP: u8 = 17;
const TIME_WAIT: u8 = 6;

const INET_DIAG_INFO: u16 = 2;
const INET_DIAG_VEGASINFO: u16 = 3;
const INET_DIAG_CONG: u16 = 4;
const INET_DIAG_TOS: u16 = 5;
const INET_DIAG_TCLASS: u16 = 6;
const INET_DIAG_SKMEMINFO: u16 = 7;
const INET_DIAG_SHUTDOWN: u16 = 8;
const INET_DIAG_SKV6ONLY: u16 = 11;
const INET_DIAG_MARK: u16 = 15;
const INET_DIAG_BBRINFO: u16 = 16;
const INET_DIAG_CLASS_ID: u16 = 17;
const INET_DIAG_ULP_INFO: u16 = 19;
const INET_DIAG_CGROUP_ID: u16 = 21;
const INET_DIAG_SOCKOPT: u16 = 22;

/// struct inet_diag_msg before its attributes.
const MSG_BYTES: usize = 72;

/// enum of net/tcp_states.h, by number.
const STATES: [&str; 13] = [
    "?",
    "established",
    "syn_sent",
    "syn_recv",
    "fin_wait1",
    "fin_wait2",
    "time_wait",
    "close",
    "close_wait",
    "last_ack",
    "listen",
    "closing",
    "new_syn_recv",
];
/// enum SK_MEMINFO_*.
const MEMINFO: [&str; 9] = [
    "rmem_alloc",
    "rcvbuf",
    "wmem_alloc",
    "sndbuf",
    "fwd_alloc",
    "wmem_queued",
    "optmem",
    "backlog",
    "drops",
];
/// `timer` of inet_diag_msg.
const TIMERS: [&str; 5] = ["none", "on", "keepalive", "timewait", "persist"];

/// A line per socket of the calling thread's network namespace, as long as `room` (sockets) lasts.
pub fn sockets(netns: u64, owners: &Owners, room: &mut usize, out: &mut String) -> io::Result<Dumped> {
    let mut all = Dumped::default();
    let mut list = |protocol, message_type, request: &[u8]| {
        let mut any = false;
        let done = dump(Some(SOCK_DIAG), message_type, request, &mut |m| {
            any = true;
            let fits = *room > 0;
            *room = room.saturating_sub(1);
            if fits {
                line(netns, protocol, m, owners, out);
            }
            fits
        });
        match done {
            // This kernel has no such protocol, or no diagnosis for it.
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            // What was listed is not listed again.
            Err(_) if message_type == TCPDIAG_GETSOCK && !any => return Ok(false),
            other => {
                let done = other?;
                all.changed |= done.changed;
                all.cut |= done.cut;
            }
        }
        Ok::<bool, io::Error>(true)
    };
    let tcp_is_done = list(IPPROTO_TCP, TCPDIAG_GETSOCK, &request_of_all())?;
    for (protocol, done) in [(IPPROTO_TCP, tcp_is_done), (IPPROTO_UDP, false)] {
        for family in [AF_INET, AF_INET6].iter().filter(|_| !done) {
            list(protocol, SOCK_DIAG_BY_FAMILY, &request(*family, protocol))?;
        }
    }
    Ok(all)
}

/// All states but TIME_WAIT.
const STATES_ASKED: u32 = !(1 << TIME_WAIT);

/// struct inet_diag_req_v2: all extensions, any address.
fn request(family: u8, protocol: u8) -> Vec<u8> {
    let mut body = vec![family, protocol, 0xff, 0];
    body.extend_from_slice(&STATES_ASKED.to_ne_bytes());
    body.resize(56, 0);
    body
}

/// struct inet_diag_req, whose family a dump does not look at (`inet_diag_dump_compat`): 4 bytes, any address, states, and no table of its own.
fn request_of_all() -> Vec<u8> {
    let mut body = vec![AF_INET, 0, 0, 0xff];
    body.resize(52, 0);
    body.extend_from_slice(&STATES_ASKED.to_ne_bytes());
    body.extend_from_slice(&0u32.to_ne_bytes());
    body
}

fn line(netns: u64, protocol: u8, m: &[u8], owners: &Owners, out: &mut String) {
    let (Some([family, state, timer, retrans]), Some(id)) = (m.first_chunk::<4>(), m.get(4..52)) else {
        return;
    };
    let name = |names: &[&'static str], n: u8| names.get(usize::from(n)).copied().unwrap_or("?");
    let proto = if protocol == IPPROTO_TCP { "tcp" } else { "udp" };
    let inet = if *family == AF_INET { "inet" } else { "inet6" };
    // The id is 2 ports and 2 addresses in network order, then the interface and the cookie.
    let port = |at: usize| {
        id.get(at..)
            .and_then(|b| b.first_chunk())
            .map_or(0, |b| u16::from_be_bytes(*b))
    };
    let src = address(*family, id.get(4..20).unwrap_or_default(), port(0));
    let dst = address(*family, id.get(20..36).unwrap_or_default(), port(2));
    let n = |at: usize| u32_at(id, at).unwrap_or(0);
    let cookie = u64::from(n(11)) << 32 | u64::from(n(10));
    let after = m.get(52..MSG_BYTES).unwrap_or_default();
    let tail = |at: usize| u32_at(after, at).unwrap_or(0);
    let inode = tail(4);
    _ = write!(
        out,
        "netns={netns} proto={proto} family={inet} state={} src={src} dst={dst} if={} cookie={cookie:#x} inode={inode} uid={} \
         rqueue={} wqueue={} timer={} timer_ms={} retrans={retrans}",
        name(&STATES, *state),
        n(9),
        tail(3),
        tail(1),
        tail(2),
        name(&TIMERS, *timer),
        tail(0),
    );
    for (attribute, value) in attributes(m.get(MSG_BYTES..).unwrap_or_default()) {
        attribute_text(protocol, attribute, value, out);
    }
    owners.append(u64::from(inode), out);
    out.push('\n');
}

fn attribute_text(protocol: u8, attribute: u16, value: &[u8], out: &mut String) {
    let first = value.first().copied().unwrap_or(0);
    match attribute {
        INET_DIAG_INFO if protocol == IPPROTO_TCP => tcp_info::append(value, out),
        INET_DIAG_CONG => _ = write!(out, " cong={}", text(value)),
        INET_DIAG_SKMEMINFO => {
            for (n, name) in MEMINFO.iter().enumerate() {
                if let Some(v) = u32_at(value, n) {
                    _ = write!(out, " mem.{name}={v}");
                }
            }
        }
        INET_DIAG_TOS => _ = write!(out, " tos={first:#x}"),
        INET_DIAG_TCLASS => _ = write!(out, " tclass={first:#x}"),
        INET_DIAG_SHUTDOWN => _ = write!(out, " shutdown={first}"),
        INET_DIAG_SKV6ONLY => _ = write!(out, " v6only={first}"),
        INET_DIAG_MARK => _ = write!(out, " mark={:#x}", u32_at(value, 0).unwrap_or(0)),
        INET_DIAG_CLASS_ID => _ = write!(out, " class_id={:#x}", u32_at(value, 0).unwrap_or(0)),
        INET_DIAG_CGROUP_ID => {
            let id = value.first_chunk().map_or(0, |c| u64::from_ne_bytes(*c));
            _ = write!(out, " cgroup={id}");
        }
        INET_DIAG_VEGASINFO => _ = write!(out, " vegas={}", hex(value)),
        INET_DIAG_BBRINFO => _ = write!(out, " bbr={}", hex(value)),
        INET_DIAG_ULP_INFO => _ = write!(out, " ulp={}", hex(value)),
        INET_DIAG_SOCKOPT => _ = write!(out, " sockopt={}", hex(value)),
        _ => {}
    }
}

fn address(family: u8, bytes: &[u8], port: u16) -> String {
    match (family, bytes.first_chunk::<4>(), bytes.first_chunk::<16>()) {
        (AF_INET, Some(v4), _) => format!("{}:{port}", Ipv4Addr::from(*v4)),
        (AF_INET6, _, Some(v6)) => format!("[{}]:{port}", Ipv6Addr::from(*v6)),
        _ => "?".into(),
    }
}
