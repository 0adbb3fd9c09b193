//! The few counters of the kernel that say most of trouble, as rises per second between the recorder's readings.

use crate::counters::over_time::OverTime;
use crate::counters::over_time::tables::RiseRow;

/// What was counted; moments are ns since the start of the recording.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct Counted {
    /// Ends of the parts of time between two readings; the first and last part reach to the readings before and after the recording,
    /// and are drawn from its start and to its end.
    pub edges_ns: Vec<i64>,
    /// Those that rose, in a fixed order.
    pub counters: Vec<Rate>,
}

/// One of them, of all devices or CPUs together.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Rate {
    /// As `nstat` or the kernel names it.
    pub name: &'static str,
    /// By how much it rose, all parts.
    pub rose: u64,
    /// Rise per second of each part.
    pub per_second: Vec<f64>,
    /// False: it fell meanwhile (set back with its device), so it rose by more.
    pub whole: bool,
}

/// A part of time before the first or behind the last reading that is shorter is one with its neighbour: its rate would say nothing.
const SHORTEST_PART_NS: i64 = 500_000_000;

/// A name, and which source and counters it stands for. IPv6 has its own counters of UDP.
const SHOWN: [(&str, &[(&str, &str)]); 9] = [
    ("TcpRetransSegs", &[("snmp", "TcpRetransSegs")]),
    ("TcpExtTCPTimeouts", &[("netstat", "TcpExtTCPTimeouts")]),
    ("TcpExtListenDrops", &[("netstat", "TcpExtListenDrops")]),
    (
        "UdpRcvbufErrors",
        &[("snmp", "UdpRcvbufErrors"), ("snmp6", "Udp6RcvbufErrors")],
    ),
    ("softnet dropped", &[("softnet", "dropped")]),
    ("softnet time_squeeze", &[("softnet", "time_squeeze")]),
    ("rx_dropped of devices", &[("dev", "rx_dropped")]),
    ("tx_dropped of devices", &[("dev", "tx_dropped")]),
    ("drops of root qdiscs", &[("qdisc", "drops")]),
];

/// Rises per second of those that rose; nothing where there was no reading.
pub fn counted(of: &OverTime, start: i64, duration: i64) -> Counted {
    let since = |ns: i64| ns.saturating_sub(start);
    let mut edges: Vec<i64> = of.readings.iter().map(|ns| since(*ns)).collect();
    edges.retain(|ns| *ns > 0 && *ns < duration);
    if edges.is_empty() {
        return Counted::default();
    }
    if edges.len() > 1 && edges.first().is_some_and(|ns| *ns < SHORTEST_PART_NS) {
        edges.remove(0);
    }
    if edges.len() > 1 && edges.last().is_some_and(|ns| duration - ns < SHORTEST_PART_NS) {
        edges.pop();
    }
    edges.insert(0, 0);
    edges.push(duration);
    let rate = |(name, of_names): &(&'static str, &[(&str, &str)])| {
        let counter = |r: &&RiseRow| {
            let key = &r.counter;
            let named = of_names
                .iter()
                .any(|(source, name)| (*source, *name) == (key.source, &key.name));
            // What a qdisc below the root drops is in the root's.
            named && (key.source != "qdisc" || key.of.ends_with(" root"))
        };
        let rows: Vec<&RiseRow> = of.rows.iter().filter(counter).collect();
        let rose = rows.iter().filter_map(|r| r.rise).fold(0, u64::saturating_add);
        let spans = rows.iter().filter_map(|r| {
            let (from, to) = (r.from_ns.map_or(0, since), r.to_ns.map_or(duration, since));
            // A flight has readings from before its window, and events may end before the readings do.
            Some((from, to, r.rise?)).filter(|_| to > 0 && from < duration)
        });
        (rose > 0).then(|| Rate {
            name,
            rose,
            per_second: per_second(&edges, spans),
            whole: rows.iter().all(|r| r.whole),
        })
    };
    let counters = SHOWN.iter().filter_map(rate).collect();
    Counted {
        counters,
        edges_ns: edges,
    }
}

/// Each rise spread evenly over the parts that it reaches into.
fn per_second(edges: &[i64], spans: impl Iterator<Item = (i64, i64, u64)>) -> Vec<f64> {
    let parts = edges.len().saturating_sub(1);
    // What begins and what ends with a part: a rise over many costs no more than one of one part.
    let mut change = vec![0.0f64; parts + 1];
    for (from, to, rise) in spans {
        // Nearest edges, since the first and last readings may be no edges.
        let near = |ns: i64| {
            let after = edges.partition_point(|edge| *edge < ns);
            let distance = |at: usize| edges.get(at).map_or(u64::MAX, |edge| edge.abs_diff(ns));
            let before = after.saturating_sub(1);
            if distance(before) < distance(after) {
                before
            } else {
                after
            }
        };
        let first = near(from).min(parts.saturating_sub(1));
        let last = near(to).max(first + 1).min(parts);
        let drawn = edges.get(last).zip(edges.get(first)).map_or(0, |(to, from)| to - from);
        // Of one that reaches beyond the recording (a flight's, a slice's) only a part is drawn, of which nothing tells more.
        let beyond = from < 0 || edges.last().is_some_and(|end| to > *end);
        let length = if beyond {
            drawn.max(to.saturating_sub(from))
        } else {
            drawn
        };
        let rate = rise as f64 * 1e9 / length.max(1) as f64;
        for (at, by) in [(first, rate), (last, -rate)] {
            if let Some(change) = change.get_mut(at) {
                *change += by;
            }
        }
    }
    let mut now = 0.0;
    let sums = change.into_iter().take(parts).map(|by| {
        now += by;
        // Sums of differences leave crumbs.
        if now < 1e-6 { 0.0 } else { now }
    });
    sums.collect()
}
