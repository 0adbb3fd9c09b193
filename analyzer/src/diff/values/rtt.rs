//! How long the way to a host outside of the recording and back takes, while data is under way: a queue on the way that came or went.
//!
//! The value is TCP's own smoothed round trip (`srtt`), which leaves out what was sent again. What the peer waits before it
//! acknowledges is in it; with more than two segments in flight an ACK for every second one is due (RFC 5681, 4.2), so that this is
//! little. Of hosts in the recording the ledgers `rx` and `tx` tell more.
//!
//! In: `tcp_samples`. Out: the metric `tcp.rtt[10.0.0.1]`, of hosts that both sides have.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use super::metrics::{Filling, Table, Which};
use crate::diff::Withheld;
use crate::facts::{ConnectionId, Facts};

/// The metric, in the ledger `tcp`.
pub(in crate::diff) const STAGE: &str = "rtt";
/// Fewest bytes in flight: more than two full segments.
const LEAST_IN_FLIGHT: u32 = 2 * 1_448 + 1;
/// Values that each side must have of a host.
const LEAST: usize = 100;
/// Hosts at most: those with most values.
const HOSTS: usize = 3;

/// Smallest change that matters, as a part of what was before: twice, or half. A queue that a transfer fills grows and shrinks with its
/// congestion window, which falls to 0.7 (RFC 9438) or half (RFC 5681) and grows again over seconds: that is no other way.
pub(in crate::diff) fn least(shift: i64) -> f64 {
    if shift > 0 { 1.0 } else { 0.5 }
}

/// Addresses of this recording's own sockets.
pub(in crate::diff) fn own(facts: &Facts) -> BTreeSet<IpAddr> {
    let all = facts.connections.iter().filter_map(|c| c.saddr);
    all.map(|a| a.to_canonical()).collect()
}

/// Whether it is the metric.
pub(in crate::diff) fn is(which: &Which) -> bool {
    (which.ledger, which.stage) == ("tcp", STAGE)
}

/// The metric of a host.
pub(in crate::diff) fn of(host: IpAddr) -> Which {
    Which::new("tcp", STAGE).of_service(&host.to_canonical().to_string())
}

/// Fills in the values of one recording.
pub(in crate::diff) fn durations(f: &mut Filling<'_, '_>) {
    let facts = f.of.facts;
    let (here, own) = (f.of.connections(), own(facts));
    let mut hosts: BTreeMap<ConnectionId, Option<Which>> = BTreeMap::new();
    for s in &facts.tcp_samples {
        let few = s.snd_nxt.wrapping_sub(s.snd_una) < LEAST_IN_FLIGHT;
        if few || s.srtt_us == 0 || here.as_ref().is_some_and(|h| !h.contains(&s.connection)) {
            continue;
        }
        let which = hosts.entry(s.connection).or_insert_with(|| {
            let host = facts.connections.get(s.connection.0 as usize)?.daddr?.to_canonical();
            (!own.contains(&host)).then(|| of(host))
        });
        if let Some(which) = which {
            f.put(which, s.time_ns, Some(i64::from(s.srtt_us) * 1_000));
        }
    }
}

/// Keeps the hosts that are compared.
pub(in crate::diff) fn chosen(
    names: &mut BTreeSet<&Which>,
    before: &[Table],
    after: &[Table],
    hidden: bool,
    withheld: &mut Vec<Withheld>,
) {
    let n =
        |side: &[Table], which: &Which| -> usize { side.iter().filter_map(|t| t.get(which)).map(|v| v.at.len()).sum() };
    let mut hosts: Vec<(usize, Which)> = vec![];
    for which in names.iter().copied().filter(|w| is(w)) {
        let (b, a) = (n(before, which), n(after, which));
        match (b.min(a) >= LEAST, hidden) {
            (true, false) => hosts.push((b + a, which.clone())),
            (true, true) => withheld.push(Withheld {
                metric: which.name(),
                because: "addresses are pseudonyms (redacted): hosts cannot be matched".into(),
            }),
            (false, _) => {}
        }
    }
    hosts.sort_by(|x, y| y.0.cmp(&x.0).then(x.1.cmp(&y.1)));
    hosts.truncate(HOSTS);
    names.retain(|w| !is(w) || hosts.iter().any(|(_, h)| h == *w));
    if names.iter().any(|w| is(w)) {
        names.remove(&Which::new("tcp", "srtt"));
    }
}
