//! Which connections lost packets here, and what became of these very connections behind it: what else is late on them may be for that.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::opens::tables::OpenEnd;
use crate::reconstruct::receive::tables::Stage;
use crate::reconstruct::whose::Carries;

/// Share of the slowest answers, of the waits for what is missing, of the attempts: so many must be of such connections.
pub const NEARLY_ALL: f64 = 0.9;

/// Connections of which this host lost data or SYNs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hurt {
    /// When each of them lost something, by time; as in the view `connections`, those of both ends where both are in the recording.
    pub losses: BTreeMap<u32, Vec<i64>>,
    /// Packets that were so lost.
    pub lost: u64,
    /// Calls that sent segments of them again, behind their first loss.
    pub again: u64,
    /// Of which something was sent again before they lost anything here.
    pub before: BTreeSet<u32>,
    /// `address:port` of servers whose slowest answers were under way when their connection lost something.
    pub late: BTreeSet<String>,
    /// Attempts to connect that did not come to be and lost something.
    pub unopened: u64,
    /// What was received waited for something missing mostly on such connections, behind their first loss.
    pub behind: bool,
}

impl Hurt {
    /// Whether a connection lost something then.
    pub fn within(&self, connection: u32, start_ns: i64, end_ns: i64) -> bool {
        let of = self.losses.get(&connection).map_or(&[][..], Vec::as_slice);
        of.get(of.partition_point(|ns| *ns < start_ns))
            .is_some_and(|ns| *ns <= end_ns)
    }

    /// Whether a connection lost something before that.
    pub fn lost_before(&self, connection: u32, ns: i64) -> bool {
        self.within(connection, i64::MIN, ns)
    }
}

/// Of packets that healthy kernels would not have dropped.
pub fn hurt(facts: &Facts) -> Hurt {
    let mut hurt = Hurt::default();
    let lost = facts.drops.iter().filter(|d| d.is_loss());
    for d in lost {
        // Nobody waits for a FIN alone.
        let owner = d.owner.filter(|o| o.carries != Carries::Fin);
        let Some(c) = owner.and_then(|o| o.connection) else {
            continue;
        };
        hurt.lost += 1;
        let peer = facts.connections.get(c.0 as usize).and_then(|row| row.peer);
        for c in [Some(c), peer.filter(|p| *p != c)].into_iter().flatten() {
            hurt.losses.entry(c.0).or_default().push(d.time_ns);
        }
    }
    if hurt.losses.is_empty() {
        return hurt;
    }
    hurt.losses.values_mut().for_each(|of| of.sort_unstable());
    for r in &facts.retransmits {
        match r.connection {
            Some(c) if hurt.lost_before(c.0, r.time_ns) => hurt.again += 1,
            Some(c) if hurt.losses.contains_key(&c.0) => _ = hurt.before.insert(c.0),
            _ => {}
        }
    }
    let failed = facts.opens.iter().filter(|o| o.end != OpenEnd::Established);
    let theirs = failed.filter(|o| o.connection.is_some_and(|c| hurt.within(c.0, o.start_ns, o.end_ns)));
    hurt.unopened = theirs.count() as u64;
    hurt.late = late(facts, &hurt);
    hurt.behind = behind(facts, &hurt);
    hurt
}

fn mostly(of: u64, all: u64) -> bool {
    all > 0 && of as f64 >= NEARLY_ALL * all as f64
}

/// Servers of which nearly all answers that took half as long as the slowest, or longer, had a loss in their time.
fn late(facts: &Facts, hurt: &Hurt) -> BTreeSet<String> {
    let end = |c: ConnectionId| {
        let row = facts.connections.get(c.0 as usize)?;
        Some(SocketAddr::new(row.daddr?, row.dport))
    };
    let of_hurt = hurt.losses.keys().filter_map(|c| end(ConnectionId(*c)));
    // Longest time, and how many took half of it, of these how many lost something.
    let mut servers: BTreeMap<SocketAddr, (i64, u64, u64)> = of_hurt.map(|end| (end, (0, 0, 0))).collect();
    for r in facts.responses.iter().filter(|r| !r.overlap) {
        if let Some(of) = end(r.connection).and_then(|end| servers.get_mut(&end)) {
            of.0 = of.0.max(r.read_ns.saturating_sub(r.send_ns));
        }
    }
    for r in facts.responses.iter().filter(|r| !r.overlap) {
        let Some((longest, all, theirs)) = end(r.connection).and_then(|end| servers.get_mut(&end)) else {
            continue;
        };
        if r.read_ns.saturating_sub(r.send_ns) >= *longest / 2 {
            *all += 1;
            *theirs += u64::from(hurt.within(r.connection.0, r.send_ns, r.read_ns));
        }
    }
    let servers = servers
        .into_iter()
        .filter(|(_, (_, all, theirs))| mostly(*theirs, *all));
    servers.map(|(end, _)| end.to_string()).collect()
}

fn behind(facts: &Facts, hurt: &Hurt) -> bool {
    let (mut all, mut theirs) = (0u64, 0u64);
    for r in &facts.rx {
        let Some(ns) = r.stage(Stage::OutOfOrder).filter(|ns| *ns > 0) else {
            continue;
        };
        let end_ns = r.start_ns.saturating_add(r.total_ns);
        all = all.saturating_add(ns.unsigned_abs());
        if r.connection.is_some_and(|c| hurt.lost_before(c.0, end_ns)) {
            theirs = theirs.saturating_add(ns.unsigned_abs());
        }
    }
    mostly(theirs, all)
}
