//! The line on what was changed on the host while the recording ran; there is none where nothing was.
//!
//! Needs the lists of settings before and after, and what the kernel announced (`changes`). It must not say that a change is why something happened: it says
//! when it was, by whom, and from what to what. What comes and goes with a container is only counted.

use std::collections::BTreeSet;

use super::sentences::capital;
use super::{Line, Tone};
use crate::analyses::drops::Drops;
use crate::announced::tables::ChangeRow;
use crate::facts::Facts;
use crate::settings::changed::{Change, FORWARD};

/// Changes named.
const NAMED: usize = 4;
/// Where they are listed.
const LISTED: &str = "`show changes`";

/// `net.ipv4.ip_forward from 1 to 0 (10.0.0.1)`
fn words(c: &Change) -> String {
    let whose = match (c.netns, c.addresses.as_slice()) {
        (_, [_, ..]) => format!(" ({})", c.addresses.join(", ")),
        (Some(netns), []) => format!(" (network namespace {netns})"),
        (None, []) => String::new(),
    };
    format!("{} from {} to {}{whose}", c.name, c.before, c.after)
}

/// `tc`, or its process.
fn by(row: &ChangeRow) -> String {
    match (&row.program, row.by) {
        (Some(program), _) => format!(" (by {program})"),
        (None, Some(pid)) => format!(" (by process {pid})"),
        (None, None) => String::new(),
    }
}

/// Changes of one thing by one program, in order; of a hundred thousand of a hostile file as few as one.
fn grouped<'f>(rows: &[&'f ChangeRow]) -> Vec<Vec<&'f ChangeRow>> {
    type Key<'f> = (u64, &'static str, &'f str, Option<&'f str>);
    let mut at: std::collections::BTreeMap<Key<'f>, usize> = std::collections::BTreeMap::new();
    let mut all: Vec<Vec<&ChangeRow>> = vec![];
    for row in rows {
        let key = (row.netns, row.what, row.of.as_str(), row.program.as_deref());
        let next = all.len();
        let n = *at.entry(key).or_insert(next);
        match all.get_mut(n) {
            Some(of) => of.push(row),
            None => all.push(vec![row]),
        }
    }
    all
}

/// `at 5.104 s the root qdisc of eth0 became tbf (by tc)`
fn told(group: &[&ChangeRow], start_ns: i64) -> Option<String> {
    let s = |row: &ChangeRow| format!("{:.3} s", row.at_ns.saturating_sub(start_ns) as f64 / 1e9);
    let first = group.first()?;
    Some(match group {
        [one] => format!("at {} {}{}", s(one), one.says, by(one)),
        [a, b] => format!("at {} {}, at {} {}{}", s(a), a.says, s(b), b.says, by(b)),
        [.., last] => format!(
            "{} times from {} to {} {}, at last {}{}",
            group.len(),
            s(first),
            s(last),
            first.of,
            last.says,
            by(last)
        ),
        [] => return None,
    })
}

/// What was announced: the sentence; `said`: the drops say it of forwarding.
fn announced(facts: &Facts, forward_is_said: bool) -> Option<String> {
    let start = facts.capture.start_ns.unwrap_or(0);
    let rows = || facts.announced.rows.iter();
    let of_host: Vec<&ChangeRow> = rows()
        .filter(|r| !r.comes_and_goes && !(forward_is_said && r.of == FORWARD))
        .collect();
    let groups = grouped(&of_host);
    let named: Vec<String> = groups.iter().take(NAMED).filter_map(|g| told(g, start)).collect();
    if named.is_empty() {
        return None;
    }
    let more: usize = groups.iter().skip(NAMED).map(Vec::len).sum();
    let passing = rows().filter(|r| r.comes_and_goes).count();
    let mut rest = vec![];
    if more > 0 {
        rest.push(format!("{more} more"));
    }
    if passing > 0 {
        rest.push(format!("{passing} of devices or namespaces that came in the recording"));
    }
    let rest = match rest.as_slice() {
        [] => String::new(),
        of => format!(", and {} ({LISTED})", of.join(", and ")),
    };
    Some(format!("changed in the recording: {}{rest}", named.join("; ")))
}

/// Settings that are others after than before, of which nothing was announced.
fn settings(facts: &Facts, drops: Option<&Drops>) -> Option<String> {
    let heard: BTreeSet<&str> = facts.announced.rows.iter().map(|r| r.of.as_str()).collect();
    let said = |c: &Change| drops.is_some_and(|d| d.groups.iter().any(|g| g.no_router.as_ref() == Some(c)));
    let mut rest = facts.changed.iter().filter(|c| !said(c) && !heard.contains(c.name.as_str())).peekable();
    rest.peek()?;
    let rest: Vec<&Change> = rest.collect();
    let named: Vec<String> = rest.iter().take(NAMED).map(|c| words(c)).collect();
    let more = match rest.len().saturating_sub(NAMED) {
        0 => String::new(),
        n => format!(", and {n} more (`show snapshots`)"),
    };
    Some(format!("settings were changed in the recording: {}{more}", named.join(", ")))
}

/// Behind the others.
pub(crate) fn with_the_changes(mut lines: Vec<Line>, facts: &Facts, drops: Option<&Drops>) -> Vec<Line> {
    let forward = drops.is_some_and(|d| d.groups.iter().any(|g| g.no_router.is_some()));
    let says = [announced(facts, forward), settings(facts, drops)];
    let says: Vec<String> = says.into_iter().flatten().collect();
    if says.is_empty() {
        return lines;
    }
    let sentence: Vec<String> = says.iter().map(|s| format!("{}.", capital(s))).collect();
    lines.push(Line {
        names_cause: true,
        ..Line::of("settings", Tone::Notice, sentence.join(" "), says.join("; "))
    });
    lines
}
