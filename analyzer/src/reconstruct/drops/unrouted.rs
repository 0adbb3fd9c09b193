//! Packets that found no route, or no device that took them, by who sent them: a program, the kernel for itself, a timer of a socket that nothing else names.
//!
//! In: rows of `drops`, who queued them, lives, rows of `tx`, sockets. Out: the same rows, judged. Must not call a packet of a
//! program's the kernel's own: then it would be told less loudly.
//!
//! ```text
//! queued outside of any task, or by a kworker; IPv6; neither TCP nor UDP; as long as a message of ND or MLD ──> lost, background
//! built by a TCP timer of a socket to which no other event of the recording belongs ──────────────────────────> unclear
//! else ───────────────────────────────────────────────────────────────────────────────────────────────────────> lost
//! ```
//! Source: net/ipv6/ndisc.c, net/ipv6/mcast.c, net/ipv4/tcp_timer.c; sizes by RFC 4861 and RFC 3810.

use rustc_hash::{FxHashMap, FxHashSet};

use super::otherhost::Hindsight;
use super::tables::DropRow;
use crate::confidence::Confidence;
use crate::facts::SkbId;
use crate::reconstruct::skb::tables::SkbClass;
use crate::reconstruct::tcp::tables::ConnectionRow;
use crate::reconstruct::transmit::tables::{TxKind, TxRow};

/// ETH_P_IPV6.
const IPV6: u16 = 0x86dd;
/// Ethernet and IPv6 header.
const HEADERS: u32 = 14 + 40;
/// Messages: router solicitation without and with the sender's link-layer address, neighbour messages without and with an option
/// (a link-layer address, a nonce), MLDv2 report of one group behind its hop-by-hop header. No UDP datagram of a kernel tunnel
/// (WireGuard: 40 and multiples of 16 more) is as long.
const MESSAGES: [u32; 5] = [8, 16, 24, 32, 36];

/// TCP header with timestamps.
const ACK: u32 = 32;
/// No timer lies so far in the struct of a TCP socket, and no two of these are so close, bytes.
const SOCKET: u64 = 2048;

const OWN: &str = "no route, for IPv6 neighbour discovery or multicast reports that the kernel sent for itself";
const NO_DEVICE: &str =
    "no device to send it by, for IPv6 neighbour discovery or multicast reports that the kernel sent for itself";
const REFUSED: &str =
    "its queue refused it, for IPv6 neighbour discovery or multicast reports that the kernel sent for itself";
const ALONE: &str = "no route, for a segment of a TCP timer; no task and no byte is seen of its socket, which its program may have left long ago";

/// Who queued a packet.
#[derive(Debug, Clone, Copy)]
pub struct Sender {
    /// Thread, when it was not in an interrupt.
    pub pid: Option<i32>,
    /// When.
    pub ns: i64,
}

/// What is known of who sent a packet.
#[derive(Debug, Clone, Copy)]
pub enum By {
    /// It was queued by.
    Sender(Sender),
    /// It was built in the function of the TCP timer at this address, and freed before any device had it.
    Timer(u64),
}

/// Judges the rows at these places.
pub fn judge(rows: &mut [DropRow], places: &[(usize, By)], known: &Hindsight<'_>) {
    if places.is_empty() {
        return;
    }
    let asked: FxHashSet<SkbId> = places.iter().filter_map(|(at, _)| rows.get(*at)?.skb_id).collect();
    let sent = known.tx.iter().filter(|t| asked.contains(&t.skb_id));
    let sent: FxHashMap<SkbId, &TxRow> = sent.map(|t| (t.skb_id, t)).collect();
    let sockets = Sockets::of(known);
    let acks = known.connections.iter().any(by_ipv6);
    for (at, by) in places {
        let Some(row) = rows.get_mut(*at) else { continue };
        match by {
            By::Sender(sender) if row.protocol == IPV6 && is_own(row, *sender, (known, acks), &sent) => {
                let why = match row.why {
                    "no device to send it by" => NO_DEVICE,
                    "its queue was full or refused it" => REFUSED,
                    _ => OWN,
                };
                (row.background, row.why) = (true, why);
            }
            By::Timer(timer) if row.protocol == 0 && !sockets.own(*timer) => {
                (row.expected, row.why, row.confidence) = (None, ALONE, Confidence::Unknown);
            }
            _ => {}
        }
    }
}

fn by_ipv6(c: &ConnectionRow) -> bool {
    c.daddr.is_some_and(|a| a.to_canonical().is_ipv6())
}

fn is_own(
    row: &DropRow,
    sender: Sender,
    (known, acks): (&Hindsight<'_>, bool),
    sent: &FxHashMap<SkbId, &TxRow>,
) -> bool {
    let Some(life) = row.skb_id.and_then(|id| known.identity.life(id)) else {
        return false;
    };
    // Who queued it last may only have forwarded it.
    if sender.ns != life.birth_ns {
        return false;
    }
    let task = sender.pid.map(|pid| known.comms.at(pid, sender.ns));
    let kernel = task.is_none_or(|name| name.bytes().starts_with(b"kworker/"));
    let payload = life.bytes.and_then(|b| b.checked_sub(HEADERS));
    // A bare ACK is as long as a neighbour message with an option: nothing says that it is TCP's where no tcp_probe came before it.
    let ack = payload == Some(ACK) && task.is_none() && acks;
    let size = payload.is_some_and(|n| MESSAGES.contains(&n)) && !ack;
    let sent = sent.get(&life.skb_id);
    kernel && size && life.class != SkbClass::Rx && sent.is_some_and(|t| t.kind == TxKind::Other && t.pid == 0)
}

/// Addresses of sockets, ascending, and of each whether a task or a byte of it was seen.
struct Sockets(Vec<(u64, bool)>);

impl Sockets {
    fn of(known: &Hindsight<'_>) -> Sockets {
        let named = known.connections.iter().filter(|c| c.skaddr != 0);
        let seen = named.map(|c| {
            let bytes = c.bytes_read.is_some_and(|n| n > 0) || c.bytes_written.is_some_and(|n| n > 0);
            (c.skaddr, c.pid != 0 || c.samples > 0 || bytes)
        });
        let mut all: Vec<(u64, bool)> = seen.collect();
        all.sort_unstable();
        all.dedup();
        Sockets(all)
    }
    /// Whether a timer is of a socket that is somebody's. Where no socket's address is known, nothing tells.
    fn own(&self, timer: u64) -> bool {
        let below = self.0.partition_point(|s| s.0 <= timer);
        let near = self.0.get(..below).unwrap_or_default().iter().rev();
        let mut near = near.take_while(|s| timer - s.0 < SOCKET);
        self.0.is_empty() || near.any(|s| s.1)
    }
}
