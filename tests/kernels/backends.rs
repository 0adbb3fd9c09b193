//! One workload recorded by both backends at the same time: the same events, and the same facts.
//!
//! perf counts some events that it neither writes nor calls lost (`end.json` tells how many). Which they are is known here, because
//! the tracing instance has them: facts in whose time one of them lies are taken out of the comparison, and that is said.
//!
//! Each backend stamps an event for itself, a moment apart; how far is known for each event that both have. So a time of one side
//! may differ from the other's by what the stamps between its ends differ, and no more.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::Path;

use netmortem_analyzer::reconstruct::receive::tables::{RxEnd, RxRow, Stage};
use netmortem_analyzer::reconstruct::tcp::tables::ConnectionRow;
use netmortem_analyzer::table::Cell;
use netmortem_analyzer::{Facts, analyze, ingest};
use netmortem_formats::event_format::EventFormat;
use netmortem_formats::{Capture, Locus, StreamItem};

use super::{lost, numbers, open};

/// Stamps of one event are not further apart, but where the machine stands still between them.
const APART_NS: i64 = 5_000_000;

/// An event: its name, its task and its fields.
type What = (String, Vec<u8>);

/// Compares `ftrace.nmb` and `perf.nmb` in `dir`; what it says.
pub fn compare(dir: &Path) -> String {
    let (by_ftrace, manifest, end) = open(&dir.join("ftrace.nmb"));
    assert!(manifest.plan.perf.is_none());
    assert_eq!(lost(&end), 0, "{:?}", end.cpu_stats);
    let (by_perf, manifest, end) = open(&dir.join("perf.nmb"));
    assert!(manifest.plan.perf.is_some());
    let told = lost(&end);
    let written: u64 = end.cpu_stats.iter().map(|s| s.read_events).sum();
    let truth = numbers(dir, "truth");
    let window = (truth["from"], truth["to"]);

    let (ours, theirs) = (events(&by_perf), events(&by_ftrace));
    assert_eq!(ours.values().map(|v| v.len() as u64).sum::<u64>(), written);
    let matched = Matched::of(&theirs, &ours, window);
    // What the instance has of this time perf has, too, but for some interrupts; and the other way round.
    let (both, missing) = (matched.apart.len(), matched.missing.len());
    // Whatever it lacks it says, but for the few that it does not count itself.
    assert!(
        missing as u64 <= told + both as u64 / 50,
        "perf says that it lacks {told}, but lacks {missing} beside {both}"
    );
    if missing * 10 > both {
        return format!(
            "skipped: facts of both backends: perf lost {missing} of {} events on this busy machine, and said {told}",
            both + missing
        );
    }
    assert!(matched.only_perf.len() * 100 <= both, "{:?}", matched.only_perf);
    assert!(both > 5_000, "{both}");

    let [f, p] = [&by_ftrace, &by_perf].map(|c| analyze(c, &ingest::Options::default()));
    let port = truth["port"] as u16;
    let connections = same_connections(&f, &p, port, &matched);
    let (rows, stages) = same_rows(&f, &p, port, &matched);
    let drops = same_drops(&f, &p, window, &matched);
    format!(
        "{both} events by both, {missing} not by perf, which says {told}, {} only by perf; {connections}; {rows}; {stages}; {drops}",
        matched.only_perf.len(),
    )
}

/// Times of every event by what it is, in order.
fn events(c: &Capture) -> BTreeMap<What, Vec<i64>> {
    let formats: BTreeMap<u16, &EventFormat> = c.event_formats.iter().map(|f| (f.id, f)).collect();
    let mut out = BTreeMap::<What, Vec<i64>>::new();
    for s in &c.streams {
        for chunk in &s.chunks {
            let bytes = c.chunk_bytes(chunk).unwrap();
            s.for_each(&bytes, Locus::default(), |item| {
                let StreamItem::Record(r) = item.unwrap() else { return };
                let f = formats[&c.endian.u16(r.payload, 0).unwrap()];
                // Field by field, because holes hold anything; without flags and preemption depth, which count the tracer's own.
                let mut body = r.payload[4..8].to_vec();
                for field in &f.fields {
                    let at = field.offset as usize;
                    body.extend_from_slice(&r.payload[at..at + field.size as usize]);
                }
                out.entry((f.key(), body))
                    .or_default()
                    .push(i64::try_from(r.ts).unwrap());
            });
        }
    }
    out.values_mut().for_each(|v| v.sort_unstable());
    out
}

/// The events of a time by whether both have them.
struct Matched {
    /// By both: time of the instance, and how far the other's is from it, ns. By time.
    apart: Vec<(i64, i64)>,
    /// By the instance alone: time and name. By time.
    missing: Vec<(i64, String)>,
    /// By perf alone.
    only_perf: Vec<(i64, String)>,
}

impl Matched {
    fn of(ftrace: &BTreeMap<What, Vec<i64>>, perf: &BTreeMap<What, Vec<i64>>, (from, to): (i64, i64)) -> Matched {
        let mut m = Matched {
            apart: Vec::new(),
            missing: Vec::new(),
            only_perf: Vec::new(),
        };
        let within = |t: i64| (from..=to).contains(&t);
        for (what, theirs) in ftrace {
            let (pairs, alone, left) = pair(theirs, perf.get(what).map_or(&[][..], |v| v));
            m.apart.extend(pairs.iter().filter(|(t, _)| within(*t)));
            let alone = alone.into_iter().filter(|t| within(*t));
            m.missing.extend(alone.map(|t| (t, what.0.clone())));
            let left = left.into_iter().filter(|t| within(*t));
            m.only_perf.extend(left.map(|t| (t, what.0.clone())));
        }
        for (what, ours) in perf.iter().filter(|(what, _)| !ftrace.contains_key(*what)) {
            let ours = ours.iter().filter(|t| within(**t));
            m.only_perf.extend(ours.map(|t| (*t, what.0.clone())));
        }
        m.missing.sort_unstable();
        m.only_perf.sort_unstable();
        m.pair_by_name();
        m.apart.sort_unstable();
        m
    }

    /// What changed between the two probes is told differently (`now` of a timer): events of one name and about one time are one.
    fn pair_by_name(&mut self) {
        let only_perf = &mut self.only_perf;
        let apart = &mut self.apart;
        self.missing.retain(|(t, name)| {
            let near = |(other, n): &(i64, String)| n == name && (other - t).abs() < APART_NS;
            let Some(at) = only_perf.iter().position(near) else {
                return true;
            };
            apart.push((*t, (only_perf.remove(at).0 - t).abs()));
            false
        });
    }

    /// How far apart stamps between two times are at most, ns.
    fn apart_within(&self, from: i64, to: i64) -> i64 {
        let first = self.apart.partition_point(|(t, _)| *t < from);
        let within = self.apart[first..].iter().take_while(|(t, _)| *t <= to);
        within.map(|(_, d)| *d).max().unwrap_or(0)
    }

    /// Whether perf lacks an event between two times, or near them.
    fn lacks(&self, from: i64, to: i64) -> bool {
        let first = self.missing.partition_point(|(t, _)| *t < from - APART_NS);
        self.missing.get(first).is_some_and(|(t, _)| *t <= to + APART_NS)
    }
}

/// Pairs times of alike events, both in order: those near each other first, then what is left in order, for a machine may stand
/// still between two stamps. (time and distance of pairs, left of `a`, left of `b`)
fn pair(a: &[i64], b: &[i64]) -> (Vec<(i64, i64)>, Vec<i64>, Vec<i64>) {
    let (mut pairs, mut left_a, mut left_b) = (Vec::new(), Vec::new(), Vec::new());
    let (mut i, mut j) = (0, 0);
    while let (Some(x), Some(y)) = (a.get(i), b.get(j)) {
        if (x - y).abs() < APART_NS {
            pairs.push((*x, (x - y).abs()));
            (i, j) = (i + 1, j + 1);
        } else if x < y {
            left_a.push(*x);
            i += 1;
        } else {
            left_b.push(*y);
            j += 1;
        }
    }
    left_a.extend(&a[i..]);
    left_b.extend(&b[j..]);
    // Late by more, but not by seconds: further apart are two events.
    let mut rest = left_b.into_iter().peekable();
    let (mut alone_a, mut alone_b) = (Vec::new(), Vec::new());
    for x in left_a {
        while let Some(y) = rest.next_if(|y| *y < x - 2_000_000_000) {
            alone_b.push(y);
        }
        match rest.next_if(|y| (x - y).abs() < 2_000_000_000) {
            Some(y) => pairs.push((x, (x - y).abs())),
            None => alone_a.push(x),
        }
    }
    alone_b.extend(rest);
    (pairs, alone_a, alone_b)
}

type Ends = (Option<IpAddr>, u16, Option<IpAddr>, u16);

fn ends(c: &ConnectionRow) -> Ends {
    (c.saddr, c.sport, c.daddr, c.dport)
}

fn of_port(f: &Facts, port: u16) -> BTreeMap<Ends, &ConnectionRow> {
    let mine = |c: &&ConnectionRow| c.sport != 0 && c.dport != 0 && (c.sport == port || c.dport == port);
    f.connections.iter().filter(mine).map(|c| (ends(c), c)).collect()
}

/// Two events of two CPUs that are nearer to each other than the stamps of each may have changed places: then a few facts differ.
fn few(other: usize, same: usize) -> bool {
    other <= 1 || other * 10 <= same
}

fn same_connections(f: &Facts, p: &Facts, port: u16, matched: &Matched) -> String {
    let (theirs, ours) = (of_port(f, port), of_port(p, port));
    assert!(theirs.keys().eq(ours.keys()), "{theirs:?} {ours:?}");
    let again = |f: &Facts, c: &ConnectionRow| {
        let of = f.retransmits.iter().filter(|r| r.connection == Some(c.connection));
        of.map(|r| r.err).collect::<Vec<_>>()
    };
    let (mut same, mut other, mut out, mut retransmits) = (0, Vec::new(), 0, 0);
    for (ends, c) in &theirs {
        if matched.lacks(c.first_ns, c.last_ns) {
            out += 1;
            continue;
        }
        let counts = |c: &ConnectionRow| {
            let bytes = (c.bytes_in, c.bytes_out, c.bytes_read, c.bytes_written);
            (bytes, c.retransmits, c.samples, c.cookie, c.skaddr)
        };
        if (counts(c), again(f, c)) != (counts(ours[ends]), again(p, ours[ends])) {
            other.push((c, ours[ends]));
            continue;
        }
        retransmits += again(f, c).len();
        same += 1;
    }
    assert!(few(other.len(), same), "{other:?}");
    let other = other.len();
    format!("{same} ends of connections alike with {retransmits} retransmits, {other} not, {out} taken out")
}

/// Rows of the receive ledger of each end, in order.
fn rows(f: &Facts, port: u16) -> BTreeMap<Ends, Vec<&RxRow>> {
    let names: BTreeMap<_, _> = of_port(f, port).into_iter().map(|(e, c)| (c.connection, e)).collect();
    let mut out = BTreeMap::<Ends, Vec<&RxRow>>::new();
    for r in &f.rx {
        if let Some(ends) = r.connection.and_then(|c| names.get(&c)) {
            out.entry(*ends).or_default().push(r);
        }
    }
    out.values_mut().for_each(|v| v.sort_by_key(|r| r.start_ns));
    out
}

/// What of a row both must say alike.
fn facts_of(r: &RxRow) -> (Option<u32>, RxEnd, bool) {
    (r.bytes, r.end, r.censored.is_some())
}

fn same_rows(f: &Facts, p: &Facts, port: u16, matched: &Matched) -> (String, String) {
    let (theirs, ours) = (rows(f, port), rows(p, port));
    let (mut same, mut out, mut bytes, mut other) = (0, 0, 0u64, Vec::new());
    let mut sums: BTreeMap<&str, (i64, i64)> = BTreeMap::new();
    for (ends, theirs) in &theirs {
        let mine = ours.get(ends).map_or(&[][..], |v| v);
        let (Some(first), Some(last)) = (theirs.first(), theirs.last()) else {
            continue;
        };
        // An event that is missing may have made or ended any row of its end from there on.
        if matched.lacks(first.start_ns, last.start_ns + last.total_ns) {
            out += theirs.len();
            continue;
        }
        if theirs.len() != mine.len() {
            other.extend(theirs.iter().map(|t| (*t, None)));
            continue;
        }
        for (t, m) in theirs.iter().zip(mine) {
            // Both ends of a time have a stamp of each side.
            let apart = 2 * matched.apart_within(t.start_ns - APART_NS, t.start_ns + t.total_ns + APART_NS);
            let stages = |r: &RxRow| Stage::ALL.map(|s| r.stage(s).unwrap_or(0));
            let near = |a: i64, b: i64| (a - b).abs() <= apart;
            let times_are_near =
                near(t.total_ns, m.total_ns) && stages(t).into_iter().zip(stages(m)).all(|(a, b)| near(a, b));
            let sum = |r: &RxRow| stages(r).iter().sum::<i64>() + r.unattributed_ns;
            assert_eq!((sum(t), sum(m)), (t.total_ns, m.total_ns));
            if facts_of(t) != facts_of(m) || !times_are_near {
                other.push((*t, Some(*m)));
                continue;
            }
            for stage in Stage::ALL {
                let (a, b) = (t.stage(stage).unwrap_or(0), m.stage(stage).unwrap_or(0));
                let s = sums.entry(stage.name()).or_default();
                *s = (s.0 + a, s.1 + b);
            }
            same += 1;
            bytes += u64::from(t.bytes.unwrap_or(0));
        }
    }
    let mut text = String::from("stages, us:");
    for (stage, (a, b)) in sums.iter().filter(|(_, (a, b))| *a > 0 || *b > 0) {
        text += &format!(" {stage} {} and {}", a / 1000, b / 1000);
    }
    assert!(few(other.len(), same), "{} beside {same}: {other:?}", other.len());
    let other = other.len();
    (
        format!("{same} rows of {bytes} bytes alike, {other} not, {out} taken out"),
        text,
    )
}

/// Drops by reason and place, counted from both sides: a stamp may lie on either side of an end of the time.
fn same_drops(f: &Facts, p: &Facts, (from, to): (i64, i64), matched: &Matched) -> String {
    let count = |f: &Facts, from: i64, to: i64| {
        let text = |cell: Cell<'_>| match cell {
            Cell::Str(s) => s.into_owned(),
            _ => String::new(),
        };
        let mut out = BTreeMap::<(String, String), u64>::new();
        for d in f.drops.iter().filter(|d| (from..=to).contains(&d.time_ns)) {
            let key = (text(f.names.drop_reason(d.reason)), text(f.names.location(d.location)));
            *out.entry(key).or_default() += 1;
        }
        out
    };
    let drops = |events: &[(i64, String)]| events.iter().filter(|(_, name)| name == "skb:kfree_skb").count() as u64;
    let (lacks, more) = (drops(&matched.missing), drops(&matched.only_perf));
    let near = matched.apart_within(from, to);
    let (theirs, ours) = (count(f, from, to), count(p, from - near, to + near));
    for (key, n) in &theirs {
        let have = ours.get(key).copied().unwrap_or(0);
        assert!(*n <= have + lacks, "{key:?}: {n} {have} {lacks}");
    }
    let (wide, narrow) = (count(f, from - near, to + near), count(p, from, to));
    for (key, n) in &narrow {
        let have = wide.get(key).copied().unwrap_or(0);
        assert!(*n <= have + more, "{key:?}: {n} {have} {more}");
    }
    format!("{} drops, {lacks} not by perf", theirs.values().sum::<u64>())
}

/// What a failed run left: NETMORTEM_LEFT names the folder.
#[test]
#[ignore = "needs a folder: cargo test -p netmortem-tests --test kernels -- --ignored left_by"]
fn a_folder_left_by_a_run_that_failed() {
    let dir = std::env::var_os("NETMORTEM_LEFT").expect("NETMORTEM_LEFT=folder");
    let dir = Path::new(&dir);
    crate::delays::late_softirq(dir, true);
    println!("{}", compare(&dir.join("both")));
}

#[test]
fn what_one_side_lacks_is_found() {
    let all: Vec<i64> = (0..50).map(|i| i * 10_000_000).collect();
    let late: Vec<i64> = all.iter().map(|t| t + 300).collect();
    let (pairs, a, b) = pair(&all, &late);
    assert_eq!((pairs.len(), a.len(), b.len()), (50, 0, 0));
    assert!(pairs.iter().all(|(_, apart)| *apart == 300));
    let mut cut = late.clone();
    cut.remove(20);
    let (pairs, a, b) = pair(&all, &cut);
    assert_eq!((pairs.len(), &a[..], b.len()), (49, &[200_000_000][..], 0));
    // A stamp that is late by much is no other event.
    let mut stalled = late.clone();
    stalled[49] += 900_000_000;
    let (pairs, a, b) = pair(&all, &stalled);
    assert_eq!((pairs.len(), a.len(), b.len()), (50, 0, 0));
    assert_eq!(pair(&all, &[]).1.len(), 50);
    assert_eq!(pair(&[], &late).2.len(), 50);
}
