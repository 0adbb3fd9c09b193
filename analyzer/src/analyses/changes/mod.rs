//! What was changed on the host while it was recorded, and what was different after than before it?
//!
//! Needs the view `changes`, and of `drops`, `retransmits`, `opens`, `responses` and `tcp_samples` the times. Changes at one time are told together.
//! It must not say that a change is why something else changed: it says what was counted and measured before and after, where that differs by much.
//!
//! ```text
//! rows -> clusters (less than 0.5 s apart), without what comes and goes -> before: since the cluster before, 10 s at most; after: until the next, 10 s at most -> effects
//! ```

mod away;
mod effects;
mod reach;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use crate::announced::tables::ChangeRow;
use crate::facts::Facts;
use crate::ingest::GapRow;
pub use away::{Away, InTurns, Lease, Spell};
use effects::Series;
use reach::Reach;

/// Changes less than so far apart are of one deed, ns.
const TOGETHER_NS: i64 = 500_000_000;
/// What is compared before and after, at most, ns.
const WINDOW_NS: i64 = 10_000_000_000;
/// A change is announced so much later than it is, at most but for a busy host, ns.
pub(crate) const LATE_NS: i64 = 5_000_000;
/// Clusters kept, and changes of each.
const MOST: usize = 50;
const NAMED: usize = 12;

/// Something that was different after.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Effect {
    /// `50 packets were dropped (none before)`
    pub says: String,
    /// It is for the worse, and began soon after.
    pub worse: bool,
    /// It began more than a second later.
    pub late: bool,
}

/// Changes at one time.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Cluster {
    /// The first and the last, since the start of the recording, ns.
    pub from_ns: i64,
    /// See there.
    pub to_ns: i64,
    /// What was changed, in words, the first of them.
    pub says: Vec<String>,
    /// So many more.
    pub more: u64,
    /// How long before and after are compared, ns; `None`: one of them is too short, events are missing, or it was read late.
    pub compared_ns: Option<(i64, i64)>,
    /// The same parts, since the start of the recording, ns: what `netmortem diff` compares in full.
    #[serde(skip)]
    pub parts_ns: Option<[(i64, i64); 2]>,
    /// What was different.
    pub effects: Vec<Effect>,
    /// A sysctl that the kernel's own list of settings tells, too.
    #[serde(skip)]
    pub settings: Vec<(Option<u64>, String)>,
    /// Of one host alone (a network namespace), where what was different after is counted over all: others' packets may pass it.
    #[serde(skip)]
    pub of_one_host: bool,
    /// What was changed in few words, each once: `route 10.99.0.0/16`, `net.ipv4.tcp_sack`.
    #[serde(skip)]
    pub kinds: Vec<String>,
}

impl Cluster {
    /// All that was changed, with how many more.
    pub fn words(&self) -> String {
        let more = (self.more > 0).then(|| format!("{} more", self.more));
        let says: Vec<String> = self.says.iter().cloned().chain(more).collect();
        says.join("; ")
    }
    /// All that was different after it; empty: nothing, or it was not compared.
    pub fn differs(&self) -> String {
        let effects: Vec<&str> = self.effects.iter().map(|e| e.says.as_str()).collect();
        effects.join("; ")
    }
    /// Whether something was worse after it.
    pub fn is_worse(&self) -> bool {
        self.effects.iter().any(|e| e.worse)
    }
}

/// All of them.
#[derive(Debug, Clone, PartialEq, Default, serde::Serialize)]
pub struct Changes {
    /// A recorder listened, and something was announced.
    pub heard: bool,
    /// Times that something that was announced was lost.
    pub lost: u64,
    /// Changes of the host, but for those of devices and namespaces that came in the recording.
    pub count: u64,
    /// These.
    pub passing: u64,
    /// In order of time.
    pub clusters: Vec<Cluster>,
    /// Clusters that are not kept.
    pub more: u64,
    /// Addresses that hosts were without for a time.
    pub away: Away,
}

/// `tc`, or its process.
fn by(row: &ChangeRow) -> String {
    match (&row.program, row.by) {
        (Some(program), _) => format!(" (by {program})"),
        (None, Some(pid)) => format!(" (by process {pid})"),
        (None, None) => String::new(),
    }
}

/// What was changed, where and by which program.
pub(crate) fn sentence(row: &ChangeRow) -> String {
    format!("{}{}{}", place(row), row.says, by(row))
}

fn place(row: &ChangeRow) -> String {
    match row.host.as_str() {
        "" => String::new(),
        of => format!("in {of} "),
    }
}

/// Sentences of changes: of several in one place, or by one program, that is said only once.
fn sentences(rows: &[&ChangeRow]) -> Vec<String> {
    let mut out: Vec<String> = vec![];
    let mut host = "";
    for (i, row) in rows.iter().take(NAMED).enumerate() {
        let next = rows.get(i + 1).filter(|_| i + 1 < NAMED);
        let same = next.is_some_and(|n| by(n) == by(row) && n.host == row.host);
        let by = if same { String::new() } else { by(row) };
        let place = match row.host.as_str() {
            of if of == host => String::new(),
            "" => "in the recorder's own namespace ".to_owned(),
            _ => place(row),
        };
        host = &row.host;
        out.push(format!("{place}{}{by}", row.says));
    }
    out
}

/// Kinds that are kept of changes at one time.
const MOST_KINDS: usize = 20;

/// Each once, in order.
fn kinds(rows: &[&ChangeRow]) -> Vec<String> {
    let mut out: Vec<String> = vec![];
    for row in rows {
        if out.len() >= MOST_KINDS {
            break;
        }
        let words = match row.what {
            "sysctl" => row.of.clone(),
            "link" => format!("device {}", row.of),
            "rule" => format!("routing rule {}", row.of),
            "ruleset" => "nftables rules".to_owned(),
            what => format!("{what} {}", row.of),
        };
        if !out.contains(&words) {
            out.push(words);
        }
    }
    out
}

/// Answers.
pub fn answer(facts: &Facts) -> Changes {
    let all = &facts.announced;
    let rows: Vec<&ChangeRow> = all.rows.iter().filter(|r| !r.comes_and_goes).collect();
    let mut out = Changes {
        heard: all.heard,
        lost: all.lost,
        count: rows.len() as u64,
        passing: (all.rows.len() - rows.len()) as u64,
        away: away::away(facts),
        ..Changes::default()
    };
    if rows.is_empty() {
        return out;
    }
    let apart = |a: &&ChangeRow, b: &&ChangeRow| b.at_ns.saturating_sub(a.at_ns) < TOGETHER_NS;
    let of: Vec<&[&ChangeRow]> = rows.chunk_by(apart).collect();
    let mut series: BTreeMap<Reach, Series> = BTreeMap::new();
    let start = facts.capture.start_ns.unwrap_or(0);
    let end = facts.capture.end_ns.unwrap_or(start);
    // Rings of a flight that reach less far back have less of what was before.
    let short = facts.capture.short_rings.iter().map(|r| r.first_ns.unwrap_or(end));
    let whole = short.max().map_or(start, |ns| ns.max(start));
    let at = |c: &[&ChangeRow]| c.first().map_or(start, |r| r.at_ns.saturating_sub(LATE_NS));
    for (i, cluster) in of.iter().take(MOST).enumerate() {
        let (Some(first), Some(last)) = (cluster.first(), cluster.last()) else {
            continue;
        };
        let before = i
            .checked_sub(1)
            .and_then(|n| of.get(n)?.last())
            .map_or(whole, |r| r.at_ns.max(whole));
        let next = of.get(i + 1).map_or(end, |c| at(c));
        let here = at(cluster);
        let windows = (
            (whole.max(here.saturating_sub(WINDOW_NS)), here),
            (before.max(here.saturating_sub(WINDOW_NS)), here),
            (here, next.min(last.at_ns.saturating_add(WINDOW_NS)).min(end)),
        );
        // Where events are missing, or a change was read late, counts of the two sides are of unlike times.
        let (from, to) = (windows.0.0, windows.2.1);
        let overlaps = |g: &GapRow| g.start_ns.is_none_or(|ns| ns <= to) && g.end_ns.is_none_or(|ns| ns >= from);
        let missing = facts.gaps.iter().any(overlaps);
        let known = !missing && !cluster.iter().any(|r| r.late);
        let reach = Reach::of(facts, cluster);
        let series = series.entry(reach).or_insert_with(|| Series::of(facts, reach));
        let compared = known.then(|| series.compared(windows, last.at_ns)).flatten();
        let settings = cluster.iter().filter(|r| r.what == "sysctl");
        out.clusters.push(Cluster {
            from_ns: first.at_ns.saturating_sub(start),
            to_ns: last.at_ns.saturating_sub(start),
            says: sentences(cluster),
            more: cluster.len().saturating_sub(NAMED) as u64,
            compared_ns: compared
                .is_some()
                .then(|| (windows.1.1 - windows.1.0, windows.2.1 - windows.2.0)),
            parts_ns: compared.is_some().then(|| {
                let since = |ns: i64| ns.saturating_sub(start);
                // What is after it begins with the last change of them.
                [
                    (since(windows.1.0), since(here)),
                    (since(last.at_ns), since(windows.2.1)),
                ]
            }),
            effects: compared.unwrap_or_default(),
            kinds: kinds(cluster),
            of_one_host: cluster.iter().all(|r| !r.host.is_empty() && r.host == first.host) && reach.0.is_none(),
            settings: settings
                .map(|r| ((!r.host.is_empty()).then_some(r.netns), r.of.clone()))
                .collect(),
        });
    }
    out.more = of.len().saturating_sub(MOST) as u64;
    out
}
