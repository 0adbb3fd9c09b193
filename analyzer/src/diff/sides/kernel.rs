//! What the kernel counted of TCP on one side and not at all on the other: another way of recovery, another option, a refusal. Not
//! judged: counters are of whole recordings and namespaces, and how they vary in time is not known.
//!
//! In: rises of the view `counters`, all namespaces together. Out: names and rises. Of recordings cut to a window or devices
//! there are none: counters know neither.

use std::collections::{BTreeMap, BTreeSet};

use super::options::{DiffOptions, Recording, seconds};
use crate::counters::tables::read_everywhere;

/// Counters told at most.
const MOST: usize = 5;
/// A rise below this on the one side is chance as much as none on the other.
const LEAST: u64 = 3;
/// The side without a rise would have so much at least, in its time and as often.
const EXPECTED: f64 = 5.0;

/// Counters of TCP's recovery, options and refusals (net/ipv4/proc.c), as nstat names them without `TcpExt`. What only says how
/// such a thing was done (SackMerged, AckCompressed) is not here: it would hide the thing.
const NAMES: [&str; 46] = [
    // Recovery.
    "TCPSackRecovery",
    "TCPRenoRecovery",
    "TCPSackRecoveryFail",
    "TCPRenoRecoveryFail",
    "TCPSackFailures",
    "TCPRenoFailures",
    "TCPLossFailures",
    "TCPFastRetrans",
    "TCPSlowStartRetrans",
    "TCPTimeouts",
    "TCPLossProbes",
    "TCPLossProbeRecovery",
    "TCPLostRetransmit",
    "TCPRetransFail",
    "TCPSpuriousRTOs",
    "TCPFullUndo",
    "TCPPartialUndo",
    "TCPDSACKUndo",
    "TCPLossUndo",
    "TCPSACKReneging",
    "TCPSACKReorder",
    "TCPRenoReorder",
    "TCPTSReorder",
    "TCPDSACKRecv",
    "TCPAbortOnTimeout",
    // Options.
    "PAWSActive",
    "PAWSEstab",
    "TCPMD5NotFound",
    "TCPMD5Unexpected",
    "TCPMD5Failure",
    "TCPFastOpenActive",
    "TCPFastOpenActiveFail",
    "TCPFastOpenPassive",
    "TCPFastOpenPassiveFail",
    "TCPFastOpenBlackhole",
    "TCPMTUPSuccess",
    "TCPMTUPFail",
    // Windows, memory, refusals.
    "TCPFromZeroWindowAdv",
    "TCPToZeroWindowAdv",
    "TCPZeroWindowDrop",
    "PruneCalled",
    "TCPRcvQDrop",
    "TCPOFODrop",
    "ListenOverflows",
    "ListenDrops",
    "SyncookiesSent",
];
const PREFIX: &str = "TcpExt";

/// A counter that rose on one side only.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct CounterChange {
    /// As nstat names it.
    pub name: String,
    /// Rise before, of all namespaces and recordings.
    pub before: u64,
    /// Rise after.
    pub after: u64,
}

/// Counters that rose on one side and not on the other, the largest first.
pub(in crate::diff) fn differ(
    before: &[Recording<'_>],
    after: &[Recording<'_>],
    options: &DiffOptions,
) -> Vec<CounterChange> {
    let cut = options.before_window.or(options.after_window).is_some() || !options.devices.is_empty();
    let (Some(b), Some(a)) = (rises(before), rises(after)) else {
        return vec![];
    };
    if cut {
        return vec![];
    }
    let names: BTreeSet<&str> = b.keys().chain(a.keys()).copied().collect();
    // Counted and 0 on both snapshots is no row; a row without a rise is not known.
    let of = |side: &BTreeMap<&str, Option<u64>>, name: &str| side.get(name).copied().unwrap_or(Some(0));
    let times = seconds(after) / seconds(before).max(1e-9);
    let change = |name: &str| {
        let (before, after) = of(&b, name).zip(of(&a, name))?;
        let expected = match before > after {
            true => before as f64 * times,
            false => after as f64 / times.max(1e-9),
        };
        let differs = before.min(after) == 0 && before.max(after) >= LEAST && expected >= EXPECTED;
        differs.then(|| CounterChange {
            name: name.to_owned(),
            before,
            after,
        })
    };
    let mut out: Vec<CounterChange> = names.into_iter().filter_map(change).collect();
    out.sort_by_key(|c| (std::cmp::Reverse(c.before.max(c.after)), c.name.clone()));
    out.truncate(MOST);
    out
}

/// Rise of each counter; `None`: a recording has no such counters, or of one the rise is not known.
fn rises<'f>(side: &[Recording<'f>]) -> Option<BTreeMap<&'f str, Option<u64>>> {
    let mut out: BTreeMap<&str, Option<u64>> = BTreeMap::new();
    for r in side {
        let rows = || r.facts.counters.iter().filter(|c| c.source == "netstat");
        if !read_everywhere(&r.facts.counters) {
            return None;
        }
        for c in rows() {
            let named = c.name.strip_prefix(PREFIX).is_some_and(|n| NAMES.contains(&n));
            if named {
                let sum = out.entry(&c.name).or_insert(Some(0));
                *sum = sum.zip(c.rise()).map(|(sum, rise)| sum.saturating_add(rise));
            }
        }
    }
    Some(out)
}

/// The line of the verdict.
pub(in crate::diff) fn said(of: &[CounterChange]) -> Option<String> {
    let all: Vec<String> = of
        .iter()
        .map(|c| format!("{} {} -> {}", c.name, c.before, c.after))
        .collect();
    (!all.is_empty()).then(|| {
        format!(
            "What the kernel counted differs (not judged; all recorded namespaces): {}",
            all.join(", ")
        )
    })
}
