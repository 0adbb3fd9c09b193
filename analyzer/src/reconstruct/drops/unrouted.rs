//! Packets that found no route, or no device that took them, by who sent them: a program, the kernel for itself, a timer of a socket that nothing else names.
//!
//! In: rows of `drops`, who queued them, lives, rows of `tx`, sockets. Out: the same rows, judged. Must not call a packet of a
//! program's the kernel's own: then it would be told less loudly.
//!
//! ```text
//! queued outside of any task, or by a kworker; IPv6; neither TCP nor UDP; as long as a message of ND or MLD ──> lost, background
//! built in the task that has just closed its socket, or by a timer of such a socket: its FIN ──────────────────> unclear
//! built by a TCP timer of a socket to which no other event of the recording belongs ──────────────────────────> unclear
//! else ───────────────────────────────────────────────────────────────────────────────────────────────────────> lost
//! ```
//! Source: net/ipv6/ndisc.c, net/ipv6/mcast.c, net/ipv4/tcp_timer.c; sizes by RFC 4861 and RFC 3810.

use rustc_hash::{FxHashMap, FxHashSet};

use super::otherhost::Hindsight;
use super::tables::DropRow;
use crate::confidence::Confidence;
use crate::facts::{ConnectionId, SkbId};
use crate::reconstruct::ETH_P_IPV6;
use crate::reconstruct::skb::tables::SkbClass;
use crate::reconstruct::tcp::states::{CLOSE, FIN_WAIT1, LAST_ACK};
use crate::reconstruct::tcp::tables::ConnectionRow;
use crate::reconstruct::transmit::tables::{TxKind, TxRow};

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

const FIN: &str = "no route, for the end (FIN) of a connection that its program had closed: nobody here waits for it, its peer does not learn of it (inferred)";
/// From the state to the FIN, ns.
const FIN_NS: i64 = 100_000;

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
    /// It was freed before any device had it, in this thread.
    Task(i32),
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
    let ends = Ends::of(known);
    // Sockets whose FIN found no route, until when each is that one.
    let mut ended: FxHashMap<u64, i64> = FxHashMap::default();
    for (at, by) in places {
        let Some(row) = rows.get_mut(*at) else { continue };
        match by {
            By::Sender(sender) if row.protocol == ETH_P_IPV6 && is_own(row, *sender, (known, acks), &sent) => {
                let why = match row.why {
                    "no device to send it by" => NO_DEVICE,
                    "queue full, or packet refused" => REFUSED,
                    _ => OWN,
                };
                (row.background, row.why) = (true, why);
            }
            By::Task(pid) if row.protocol == 0 => {
                if let Some(socket) = closed(row, *pid, (known, &ends)) {
                    ended.insert(socket.0, socket.1);
                    (row.expected, row.why, row.confidence) = (None, FIN, Confidence::Unknown);
                }
            }
            By::Timer(timer)
                if row.protocol == 0
                    && sockets
                        .below(*timer)
                        .any(|s| ended.get(&s.0).is_some_and(|until| row.time_ns <= *until)) =>
            {
                (row.expected, row.why, row.confidence) = (None, FIN, Confidence::Unknown);
            }
            By::Timer(timer) if row.protocol == 0 && !sockets.own(*timer) => {
                (row.expected, row.why, row.confidence) = (None, ALONE, Confidence::Unknown);
            }
            _ => {}
        }
    }
}

/// How sockets end.
#[derive(Default)]
struct Ends {
    /// When those were closed at last.
    closes: FxHashMap<ConnectionId, Vec<i64>>,
    /// The first send that has no ACK.
    open: FxHashMap<ConnectionId, i64>,
}

impl Ends {
    fn of(known: &Hindsight<'_>) -> Ends {
        let mut all = Ends::default();
        let socks = known.states.iter().filter(|s| s.kind == "sock" && s.state == CLOSE);
        for s in socks {
            all.closes.entry(s.connection).or_default().push(s.time_ns);
        }
        let open = known
            .tx
            .iter()
            .filter(|t| t.kind == TxKind::Tcp && t.t_ack_ns.is_none());
        for (c, t) in open.filter_map(|t| Some((t.connection?, t))) {
            let first = all.open.entry(c).or_insert(t.start_ns);
            *first = t.start_ns.min(*first);
        }
        all
    }
}

/// The socket that this thread has just closed, and until when it is that one (net/ipv4/tcp.c `tcp_close_state`, then `tcp_send_fin`).
fn closed(row: &DropRow, pid: i32, (known, ends): (&Hindsight<'_>, &Ends)) -> Option<(u64, i64)> {
    let after = known.states.partition_point(|s| s.time_ns <= row.time_ns);
    let before = known.states.get(..after)?.iter().rev();
    let mut just = before.take_while(|s| s.time_ns >= row.time_ns.saturating_sub(FIN_NS));
    let of =
        just.find(|s| s.kind == "sock" && s.in_task && s.pid == pid && [FIN_WAIT1, LAST_ACK].contains(&s.state))?;
    // Where something that it sent has no ACK, that is sent again, too.
    if ends.open.get(&of.connection).is_some_and(|sent| *sent < of.time_ns) {
        return None;
    }
    let socket = known.connections.get(of.connection.0 as usize)?.skaddr;
    let closes = ends.closes.get(&of.connection).map_or(&[][..], Vec::as_slice);
    let end = closes.get(closes.partition_point(|t| *t < row.time_ns));
    (socket != 0).then_some((socket, end.copied().unwrap_or(i64::MAX)))
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
        self.0.is_empty() || self.below(timer).any(|s| s.1)
    }
    /// In which it may lie.
    fn below(&self, timer: u64) -> impl Iterator<Item = &(u64, bool)> {
        let below = self.0.partition_point(|s| s.0 <= timer);
        let near = self.0.get(..below).unwrap_or_default().iter().rev();
        near.take_while(move |s| timer - s.0 < SOCKET)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A FIN that finds no route, in the task that has just closed its socket and by that socket's timers after it; not what the task sends otherwise.
    #[test]
    fn a_fin_without_a_route_is_nobodys_loss() {
        use crate::reconstruct::tcp::states::ESTABLISHED;
        let state = |ns: i64, state: i32, pid: i32| crate::reconstruct::tcp::tables::StateRow {
            in_task: true,
            pid,
            ..crate::testing::tcp::state(0, state, ns)
        };
        let judged = |states: Vec<crate::reconstruct::tcp::tables::StateRow>| {
            let mut c = crate::testing::tcp::connection(0);
            (c.skaddr, c.pid) = (0x1000, 7);
            let row = |t: i64| DropRow {
                protocol: 0,
                ..crate::testing::rows::drop_at(t)
            };
            let mut rows = vec![row(1_000_000), row(200_000_000), row(300_000_000)];
            let places = [(0, By::Task(7)), (1, By::Timer(0x1100)), (2, By::Timer(0x9000))];
            let known = Hindsight {
                counters: &[],
                devices: &Default::default(),
                resets: &[],
                identity: &Default::default(),
                lineage: &[],
                tx: &[],
                connections: &[c],
                retransmits: &[],
                states: &states,
                comms: &Default::default(),
                sendings: true,
                lost: false,
            };
            judge(&mut rows, &places, &known);
            rows.iter().map(|r| r.why == FIN).collect::<Vec<_>>()
        };
        assert_eq!(judged(vec![state(990_000, FIN_WAIT1, 7)]), [true, true, false]);
        // Another thread's; too long ago; not a close.
        assert_eq!(judged(vec![state(990_000, FIN_WAIT1, 8)]), [false; 3]);
        assert_eq!(judged(vec![state(800_000, FIN_WAIT1, 7)]), [false; 3]);
        assert_eq!(judged(vec![state(990_000, ESTABLISHED, 7)]), [false; 3]);
    }
}
