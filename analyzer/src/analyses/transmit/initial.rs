//! Connections that began with a smaller congestion window than Linux's 10 segments, and that this held.
//!
//! Needs `tcp_states`, `tcp_samples`, `retransmits`, `tx`; the routes of the start of the recording tell which one sets it. The first probe after
//! ESTABLISHED shows the window before its segment was processed: the one it began with (net/ipv4/tcp_input.c `tcp_init_transfer`). A connection
//! whose SYN or SYN-ACK was retransmitted begins with 1 for that, and is left out, as is one around which events were lost.
//!
//! ```text
//! ESTABLISHED ... first probe (cwnd it began with) | flight, a round trip, flight ...: rounds it took, and those that 10, doubled, would take
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use super::senders::Sender;
use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::tcp::states::{ESTABLISHED, SYN_SENT};
use crate::reconstruct::tcp::tables::{ConnectionRow, RetransmitClass, SampleRow};
use crate::reconstruct::transmit::tables::TxRow;

/// `TCP_INIT_CWND`.
const USUAL: u32 = 10;
/// Congestion states from which on the window is not what it began with (`enum tcp_ca_state`: CWR).
const REDUCED: i32 = 2;

/// What a connection began with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Began {
    cwnd: u32,
    /// It called `connect`; else it was accepted.
    client: bool,
    rounds: Option<Rounds>,
}

/// Round trips that all it sent took, where that was ready at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
pub struct Rounds {
    /// Flights, a round trip from each other.
    pub took: u32,
    /// Flights that these segments take where the first is of 10 and each next of twice as many.
    pub usual: u32,
    /// Segments.
    pub segments: u32,
}

/// Connections of one end that began with a small window.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Initial {
    /// The listening end; of a client its address, and whom it called.
    pub label: String,
    /// They were accepted there.
    pub accepted: bool,
    /// Such connections.
    pub connections: u64,
    /// Of all of that end of which it is known.
    pub of: u64,
    /// The window they began with, segments: the smallest, where they differ.
    pub cwnd: u32,
    /// The one route that sets such a window, as the routes of this recording tell; `None`: none, or several.
    pub route: Option<String>,
    /// Median, where it is known of half of them.
    pub rounds: Option<Rounds>,
    /// Of the connections that began so: of how many the congestion window held most of the time in which they were held.
    pub held: u64,
}

/// What happened while connections were opened.
#[derive(Default)]
pub(super) struct Births {
    /// ESTABLISHED was seen, then; it had been a client.
    stood: BTreeMap<ConnectionId, (i64, bool)>,
    /// A SYN was retransmitted, or a window reduced: when first.
    disturbed: BTreeMap<ConnectionId, i64>,
    /// SYN-ACKs that were sent again, by ends.
    synacks: BTreeSet<(SocketAddr, SocketAddr)>,
}

impl Births {
    pub(super) fn of(facts: &Facts) -> Births {
        let mut out = Births::default();
        let mut clients = BTreeSet::new();
        for s in &facts.tcp_states {
            match (s.kind, s.state) {
                ("sock", SYN_SENT) => _ = clients.insert(s.connection),
                ("sock", ESTABLISHED) => {
                    let stood = (s.time_ns, clients.contains(&s.connection));
                    out.stood.entry(s.connection).or_insert(stood);
                }
                ("cong", REDUCED..) => _ = out.disturbed.entry(s.connection).or_insert(s.time_ns),
                _ => {}
            }
        }
        for r in &facts.retransmits {
            out.synacks.extend(r.synack);
            // Whatever is sent again may have made the window small; a SYN before anything was sent.
            if let Some(c) = r.connection {
                let since = if r.class == RetransmitClass::Syn {
                    i64::MIN
                } else {
                    r.time_ns
                };
                let first = out.disturbed.entry(c).or_insert(since);
                *first = since.min(*first);
            }
        }
        out
    }
}

/// Local and remote end.
fn ends(c: &ConnectionRow) -> Option<(SocketAddr, SocketAddr)> {
    c.local().zip(c.remote())
}

/// What a connection began with; `None`: that was not seen.
pub(super) fn began(
    facts: &Facts,
    s: &Sender,
    (rows, samples): (&[&TxRow], &[&SampleRow]),
    births: &Births,
) -> Option<Began> {
    let c = ConnectionId(s.connection);
    let (stood, client) = births.stood.get(&c).copied()?;
    let first = samples.iter().find(|p| p.time_ns >= stood)?;
    let before = samples.first().is_some_and(|p| p.time_ns < stood);
    let row = facts.connections.get(c.0 as usize)?;
    let again = ends(row).is_none_or(|of| births.synacks.contains(&of));
    let disturbed = births.disturbed.get(&c).is_some_and(|t| *t <= first.time_ns);
    let lost = facts
        .gaps
        .iter()
        .any(|g| g.start_ns.is_none_or(|from| from < first.time_ns) && g.end_ns.is_none_or(|to| to > stood));
    (!before && !again && !disturbed && !lost).then(|| Began {
        cwnd: first.snd_cwnd,
        client,
        rounds: rounds(facts, s, rows),
    })
}

/// Flights of a connection that sent all it had at once, each full segment for the first time.
fn rounds(facts: &Facts, s: &Sender, rows: &[&TxRow]) -> Option<Rounds> {
    let rtt = s.rtt.p50_ns.filter(|ns| *ns > 0 && s.retransmits == 0)?;
    let mss = facts.full_segments.get(&ConnectionId(s.connection))?.mss.max(1);
    let first = rows.iter().map(|r| r.t_sched_ns).min()?;
    let last = rows.iter().map(|r| r.t_sched_ns).max()?;
    // What was written later had to wait for its writer.
    let at_once = rows.iter().all(|r| r.start_ns.saturating_sub(first) < rtt / 2);
    let segments = u32::try_from(s.bytes.div_ceil(mss.into())).ok().filter(|n| *n > 0)?;
    let took = u32::try_from(last.saturating_sub(first).saturating_add(rtt / 2) / rtt)
        .ok()?
        .saturating_add(1);
    // 10, 30, 70 ... segments in 1, 2, 3 flights.
    let usual = (1..=32u32).find(|n| u64::from(USUAL) * ((1u64 << n) - 1) >= u64::from(segments))?;
    at_once.then_some(Rounds { took, usual, segments })
}

/// The route that its end has to the other, where that asks for such a window.
fn route(facts: &Facts, s: &Sender, cwnd: u32) -> Option<String> {
    let (local, remote) = ends(facts.connections.get(s.connection as usize)?)?;
    let (asked, route) = facts.routes.initcwnd(local.ip(), remote.ip())?;
    (asked == u64::from(cwnd)).then(|| route.told())
}

/// The end of which most connections began with a small window, where this held half of them.
pub(super) fn initial(facts: &Facts, of: &[(&Sender, Began)]) -> Option<Initial> {
    let mut groups: BTreeMap<(bool, String), Vec<&(&Sender, Began)>> = BTreeMap::new();
    for one in of {
        let row = facts.connections.get(one.0.connection as usize)?;
        let (local, remote) = ends(row)?;
        let label = match one.1.client {
            true => format!("from {} to {remote}", local.ip()),
            false => local.to_string(),
        };
        groups.entry((!one.1.client, label)).or_default().push(one);
    }
    let groups = groups.into_iter().filter_map(|((accepted, label), all)| {
        let small: Vec<_> = all.iter().filter(|(_, b)| b.cwnd < USUAL).collect();
        let held = small.iter().filter(|(s, _)| s.held_by == Some("cwnd")).count();
        let cwnd = small.iter().map(|(_, b)| b.cwnd).min()?;
        let mut rounds: Vec<Rounds> = small.iter().filter_map(|(_, b)| b.rounds).collect();
        rounds.sort_unstable();
        let known = rounds.len() * 2 >= small.len();
        (held * 2 >= small.len()).then(|| Initial {
            label,
            accepted,
            connections: small.len() as u64,
            of: all.len() as u64,
            cwnd,
            route: small.iter().find_map(|(s, b)| route(facts, s, b.cwnd)),
            rounds: rounds.get(rounds.len() / 2).copied().filter(|_| known),
            held: held as u64,
        })
    });
    groups.max_by_key(|g| (g.connections, std::cmp::Reverse(g.label.clone())))
}
