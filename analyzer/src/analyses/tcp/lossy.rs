//! Where segments are lost, by remote host: nearly all that were sent again to some of them, and hardly any to others; and whether it is some connections alone.
//!
//! ```text
//! 10.18.3.13   24 of 127 connections sent again, 55 times      10.18.2.11   0 of 143
//! 10.18.3.14   17 of 127                         30            10.18.2.12   0 of 128
//! ```
//! Needs `connections`, `retransmits`, `tx`, `opens`. That they were sent again is measured; that they, or what answers them, were lost on the way there is inferred. Not of hosts that are in
//! the recording (`drops` tells of these), nor where events were lost.

use std::collections::BTreeMap;
use std::net::IpAddr;

use rustc_hash::FxHashSet;

use crate::analyses::outside::Outside;
use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::transmit::tables::TxKind;

/// Of a host: connections that sent again, how often in all, and of so many segments one or more.
const CONNECTIONS: u64 = 3;
const AGAIN: u64 = 5;
const ONE_IN: u64 = 20;
/// Segments to another host of which at most one in so many was sent again.
const ENOUGH: u64 = 50;
const FEW: u64 = 100;
/// In all; and of all that were sent again so many in five.
const ALL: u64 = 15;
const MOST: u64 = 4;
/// Of those sent again one in so many that this host dropped itself.
const HERE: u64 = 5;
/// Hosts that are named.
const NAMED: usize = 3;
/// Connections from which that hurts, and times each was sent again where some connections alone lose.
const MANY: u64 = 10;
const EACH: u64 = 2;

/// A remote host.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct LossyHost {
    /// Its address.
    pub host: String,
    /// Connections to it that sent segments again.
    pub lossy: u64,
    /// Connections to it.
    pub connections: u64,
}

/// Where segments are sent again, and where not.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct LossyHosts {
    /// Hosts to which they are, most first.
    pub hosts: Vec<LossyHost>,
    /// Other such hosts.
    pub others: u64,
    /// Calls that sent again, to them, and to all hosts outside.
    pub again: u64,
    /// As said.
    pub of: u64,
    /// The first of these, ns since the start of the recording.
    pub since_ns: i64,
    /// Connections to them that sent again, and that did not.
    pub lossy: u64,
    /// As said.
    pub clean: u64,
    /// Hosts to which enough was sent, and hardly anything again.
    pub clean_hosts: u64,
    /// The network of the former, `10.18.3.x`, where it is one and none of the latter is in it.
    pub network: Option<String>,
    /// This host opened connections to all of them.
    pub asked: bool,
}

impl LossyHosts {
    /// It hurts whoever waits for these.
    pub fn wrong(&self) -> bool {
        self.asked && self.lossy >= MANY
    }
    /// Those that lose at all lose more than once, beside many that lose nothing: one of several ways.
    pub fn by_connection(&self) -> bool {
        self.lossy >= AGAIN
            && self.again >= self.lossy.saturating_mul(EACH)
            && self.clean >= self.lossy.saturating_mul(EACH)
    }
}

#[derive(Default)]
struct Of {
    connections: u64,
    lossy: FxHashSet<ConnectionId>,
    again: u64,
    segments: u64,
    dropped: u64,
    first: Option<i64>,
    asked: bool,
}

/// Three of four numbers.
fn network(a: IpAddr) -> Option<[u8; 3]> {
    match a {
        IpAddr::V4(a) => {
            let [x, y, z, _] = a.octets();
            Some([x, y, z])
        }
        IpAddr::V6(_) => None,
    }
}

/// Of all hosts outside; `left`: sockets that nobody has.
pub(super) fn lossy(facts: &Facts, left: &FxHashSet<ConnectionId>) -> Option<LossyHosts> {
    if !facts.gaps.is_empty() || facts.retransmits.len() < ALL as usize {
        return None;
    }
    let start = facts.capture.start_ns?;
    let outside = Outside::of(facts);
    let to = |c: ConnectionId| outside.to(c).filter(|_| !left.contains(&c)).map(|a| a.to_canonical());
    let mut by: BTreeMap<IpAddr, Of> = BTreeMap::new();
    for c in &facts.connections {
        if let Some(a) = to(c.connection) {
            by.entry(a).or_default().connections += 1;
        }
    }
    for t in facts.tx.iter().filter(|t| t.kind == TxKind::Tcp) {
        if let Some(of) = t.connection.and_then(to).and_then(|a| by.get_mut(&a)) {
            of.segments += 1;
        }
    }
    for o in &facts.opens {
        if let Some(of) = o.connection.and_then(to).and_then(|a| by.get_mut(&a)) {
            (of.segments, of.asked) = (of.segments + 1, true);
        }
    }
    for r in facts.retransmits.iter().filter(|r| r.err.is_none_or(|e| e == 0)) {
        let Some((c, a)) = r.connection.and_then(|c| Some((c, to(c)?))) else {
            continue;
        };
        let of = by.entry(a).or_default();
        of.again += 1;
        of.lossy.insert(c);
        of.first = Some(of.first.map_or(r.time_ns, |first| first.min(r.time_ns)));
    }
    for d in facts.drops.iter().filter(|d| d.expected == Some(false)) {
        let owner = d.owner.and_then(|o| o.connection);
        if let Some(of) = owner.and_then(to).and_then(|a| by.get_mut(&a)) {
            of.dropped += 1;
        }
    }
    let all: u64 = by.values().map(|o| o.again).sum();
    let marked = |o: &Of| {
        o.lossy.len() as u64 >= CONNECTIONS && o.again >= AGAIN && o.again.saturating_mul(ONE_IN) >= o.segments
    };
    let clean = |o: &Of| o.segments >= ENOUGH && o.again.saturating_mul(FEW) <= o.segments;
    let mut bad: Vec<(&IpAddr, &Of)> = by.iter().filter(|(_, o)| marked(o)).collect();
    let clean_hosts: Vec<&IpAddr> = by.iter().filter(|(_, o)| clean(o)).map(|(a, _)| a).collect();
    let again: u64 = bad.iter().map(|(_, o)| o.again).sum();
    let most = again.saturating_mul(5) >= all.saturating_mul(MOST);
    // What this host drops itself says where they are lost.
    let dropped: u64 = bad.iter().map(|(_, o)| o.dropped).sum();
    if again < ALL || !most || clean_hosts.is_empty() || dropped.saturating_mul(HERE) >= again {
        return None;
    }
    // Of equals the first, whatever its address: a redacted recording has others.
    bad.sort_by_key(|(_, o)| (std::cmp::Reverse(o.again), o.first));
    let mut networks: Vec<Option<[u8; 3]>> = bad.iter().map(|(a, _)| network(**a)).collect();
    networks.dedup();
    let one = match networks.as_slice() {
        [Some(one)] if bad.len() > 1 => {
            Some(*one).filter(|one| !clean_hosts.iter().any(|a| network(**a) == Some(*one)))
        }
        _ => None,
    };
    let lossy: u64 = bad.iter().map(|(_, o)| o.lossy.len() as u64).sum();
    let connections: u64 = bad.iter().map(|(_, o)| o.connections).sum();
    Some(LossyHosts {
        since_ns: bad.iter().filter_map(|(_, o)| o.first).min()?.saturating_sub(start),
        asked: bad.iter().all(|(_, o)| o.asked),
        others: bad.len().saturating_sub(NAMED) as u64,
        network: one.map(|[a, b, c]| format!("{a}.{b}.{c}.x")),
        hosts: bad
            .iter()
            .take(NAMED)
            .map(|(a, o)| LossyHost {
                host: a.to_string(),
                lossy: o.lossy.len() as u64,
                connections: o.connections,
            })
            .collect(),
        again,
        of: all,
        lossy,
        clean: connections.saturating_sub(lossy),
        clean_hosts: clean_hosts.len() as u64,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyses::verdict::Tone;
    use crate::reconstruct::opens::tables::{OpenEnd, OpenRow};
    use crate::reconstruct::tcp::tables::{RetransmitClass, RetransmitRow};
    use crate::reconstruct::transmit::tables::TxRow;
    use crate::reconstruct::whose::{Carries, Owner};

    const MS: i64 = 1_000_000;

    /// 40 connections to each of 10.0.3.1, 10.0.3.2, 10.0.2.1 and 10.0.2.2, three segments on each; of those to 10.0.3.x from 2 s on each fifth sends again, three times.
    fn facts() -> Facts {
        let mut f = Facts::empty();
        (f.capture.start_ns, f.capture.end_ns, f.capture.duration_ns) = (Some(0), Some(9_000 * MS), 9_000 * MS);
        f.capture.events.insert("tcp:tcp_retransmit_skb".into(), 9);
        for n in 0..160u32 {
            let to: [u8; 4] = [[10, 0, 3, 1], [10, 0, 3, 2], [10, 0, 2, 1], [10, 0, 2, 2]][n as usize % 4];
            let at = i64::from(n) * 50 * MS;
            let mut c = crate::testing::tcp::connection(n);
            (c.saddr, c.daddr, c.retransmits) = (Some([10, 0, 1, 1].into()), Some(to.into()), Some(0));
            let lossy = to[2] == 3 && at >= 2_000 * MS && n % 5 == 0;
            if lossy {
                c.retransmits = Some(3);
                f.retransmits.extend((1..4).map(|again| RetransmitRow {
                    original: None,
                    index: 0,
                    time_ns: at + again * 200 * MS,
                    connection: Some(ConnectionId(n)),
                    synack: None,
                    class: RetransmitClass::Rto,
                    err: Some(0),
                    bytes: Some(100),
                    segments: Some(1),
                    confidence: crate::Confidence::Certain,
                }));
            }
            f.connections.push(c);
            f.opens.push(OpenRow {
                connection: Some(ConnectionId(n)),
                from: Some(([10, 0, 1, 1].into(), 40_000)),
                to: Some((to.into(), 80)),
                pid: 8,
                task: Default::default(),
                start_ns: at,
                end_ns: at + MS,
                end: OpenEnd::Established,
                error: None,
                message: false,
                syns_again: Some(0),
                confidence: crate::Confidence::Certain,
            });
            f.tx.extend((0..2).map(|s| TxRow {
                connection: Some(ConnectionId(n)),
                kind: TxKind::Tcp,
                t_sched_ns: at + s * MS,
                ..crate::testing::sent()
            }));
        }
        f
    }

    #[test]
    fn hosts_to_which_segments_are_lost_are_told_from_others() {
        let f = facts();
        let u = lossy(&f, &Default::default()).unwrap();
        let of: Vec<(&str, u64, u64)> = u
            .hosts
            .iter()
            .map(|h| (h.host.as_str(), h.lossy, h.connections))
            .collect();
        assert_eq!(of, [("10.0.3.1", 6, 40), ("10.0.3.2", 6, 40)]);
        assert_eq!((u.again, u.of, u.lossy, u.clean, u.clean_hosts), (36, 36, 12, 68, 2));
        assert_eq!(
            (u.since_ns, u.network.as_deref(), u.by_connection()),
            (2_200 * MS, Some("10.0.3.x"), true)
        );
        let line = crate::analyses::answer(&f)
            .verdict
            .into_iter()
            .find(|l| l.subject == "tcp")
            .unwrap();
        let says = "from 2.200 s on 36 of 36 calls that sent segments again are to 10.0.3.1 (on 6 of 40 connections) and 10.0.3.2 (on 6 of 40), to 2 other hosts hardly any: these segments, or what answers them, are lost on the way to 10.0.3.x or back (inferred), some connections sending again 3.0 times each and 68 of 80 not at all, as where one of several ways that is chosen by connection loses (ECMP, one link of a LAG; inferred)";
        assert_eq!((line.tone, line.headline.as_str()), (Tone::Bad, says));
    }

    #[test]
    fn what_is_lost_everywhere_or_seldom_is_not_told_so() {
        // As many to all.
        let mut f = facts();
        f.connections
            .iter_mut()
            .for_each(|c| c.daddr = Some([10, 0, 3, 1].into()));
        assert_eq!(lossy(&f, &Default::default()), None);
        // Few; peers in the recording; events lost.
        let mut f = facts();
        f.retransmits.truncate(14);
        assert_eq!(lossy(&f, &Default::default()), None);
        let mut f = facts();
        f.connections.iter_mut().for_each(|c| c.peer = Some(ConnectionId(0)));
        assert_eq!(lossy(&f, &Default::default()), None);
        let mut f = facts();
        f.gaps.push(crate::testing::gap(0, MS));
        assert_eq!(lossy(&f, &Default::default()), None);
        // Those that this host drops itself.
        let mut f = facts();
        f.drops = (0..9)
            .map(|n| {
                let mut d = crate::testing::drop_at(n * MS);
                d.owner = Some(Owner {
                    connection: Some(ConnectionId(40)),
                    carries: Carries::Data,
                    task: Default::default(),
                    pid: 0,
                    confidence: crate::Confidence::Strong,
                });
                d
            })
            .collect();
        assert_eq!(lossy(&f, &Default::default()), None);
        // Clients that this host serves: their own ways, worth a look.
        let mut f = facts();
        f.opens.clear();
        assert!(!lossy(&f, &Default::default()).unwrap().wrong());
    }
}
