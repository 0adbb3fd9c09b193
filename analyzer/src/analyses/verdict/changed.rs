//! The line on what was changed on the host while the recording ran; there is none where nothing was.
//!
//! Needs the lists of settings before and after, and what the kernel announced (`changes`), with what was different after it. It must not say that a change is
//! why something happened. What comes and goes with a container is only counted.

use std::collections::BTreeSet;

use super::sentences::{apart, capital, counted};
use super::spells::listed_few;
use super::{Line, Tone};
use crate::analyses::changes::{Changes, Cluster};
use crate::analyses::drops::Drops;
use crate::settings::changed::{Change, FORWARD};

/// Times named, and changes at each.
const NAMED: usize = 4;
const EACH: usize = 3;
/// Kinds of what is not named.
const KINDS: usize = 8;
/// Where they are listed.
const LISTED: &str = "`netmortem show changes INPUT`";

/// `net.ipv4.ip_forward from 1 to 0 (10.0.0.1)`
fn words(c: &Change) -> String {
    let whose = match (c.netns, c.addresses.as_slice()) {
        (_, [_, ..]) => format!(" ({})", c.addresses.join(", ")),
        (Some(netns), []) => format!(" (network namespace {netns})"),
        (None, []) => String::new(),
    };
    format!("{} from {} to {}{whose}", c.name, c.before, c.after)
}

/// `at 5.104 s the root qdisc of eth0 became tbf (by tc): 50 packets were dropped (none before)`
fn told(c: &Cluster) -> String {
    let mut says: Vec<&str> = c.says.iter().take(EACH).map(String::as_str).collect();
    let more = c.says.len().saturating_sub(EACH) as u64 + c.more;
    let rest = format!("{more} more");
    if more > 0 {
        says.push(&rest);
    }
    let effects: Vec<&str> = c.effects.iter().map(|e| e.says.as_str()).collect();
    let since = match c.is_worse() || c.effects.iter().any(|e| e.late) {
        true => "since then",
        false => "better since then,",
    };
    let effects = match effects.as_slice() {
        [] => String::new(),
        of => format!(
            ", {since} {}{}",
            of.join(" and "),
            if c.of_one_host { ", over all hosts recorded" } else { "" }
        ),
    };
    format!("at {:.3} s {}{effects}", c.from_ns as f64 / 1e9, says.join(", "))
}

/// Kinds of what changes with an address.
fn follows_address(kind: &str) -> bool {
    ["address ", "route ", "device "].iter().any(|k| kind.starts_with(k))
}

/// What was announced, in order of time: of many those after which something was worse.
fn announced(changes: &Changes, forward_is_said: bool) -> Option<String> {
    let only_said = |c: &&Cluster| {
        let one = matches!(c.settings.as_slice(), [(_, name)] if name == FORWARD);
        forward_is_said && c.says.len() == 1 && one
    };
    // Where it is known what took addresses away and gave them back, the moments at which that was are listed elsewhere.
    let away = &changes.away;
    let of_away = |c: &Cluster| {
        let told = |kind: &String| {
            away.spells
                .iter()
                .any(|s| kind.strip_prefix("address ") == Some(s.address.as_str()))
        };
        away.has_cause() && c.kinds.iter().any(told)
    };
    let moved = |c: &&Cluster| of_away(c) && !c.is_worse() && c.kinds.iter().all(|k| follows_address(k));
    let clusters = changes.clusters.iter().filter(|c| !only_said(c) && !moved(c));
    let mut clusters: Vec<&Cluster> = clusters.collect();
    clusters.sort_by_key(|c| !c.is_worse());
    if clusters.is_empty() {
        return None;
    }
    let mut named: Vec<&Cluster> = clusters.iter().take(NAMED).copied().collect();
    named.sort_by_key(|c| c.from_ns);
    let named: Vec<String> = named.into_iter().map(told).collect();
    let mut rest = vec![];
    let more = clusters.len().saturating_sub(NAMED) as u64 + changes.more;
    if more > 0 {
        let of = clusters.iter().skip(NAMED).flat_map(|c| c.kinds.iter().cloned());
        let mut seen = BTreeSet::new();
        let of: Vec<String> = of.filter(|kind| seen.insert(kind.clone())).collect();
        let of = match of.is_empty() {
            true => String::new(),
            false => format!(" of {}", listed_few(&of, KINDS, ("other", "others"))),
        };
        rest.push(format!("changes at {}{of}", counted(more, "more time", "more times")));
    }
    if changes.passing > 0 {
        rest.push(format!(
            "{} change{} of devices or namespaces that came in the recording",
            changes.passing,
            if changes.passing == 1 { "" } else { "s" }
        ));
    }
    let rest = match rest.as_slice() {
        [] => String::new(),
        of => format!("; and {} ({LISTED})", of.join(", ")),
    };
    Some(format!("changed while recording: {}{rest}", named.join("; ")))
}

/// Settings that are others after than before, of which nothing was announced.
fn settings((changed, changes): (&[Change], &Changes), drops: Option<&Drops>) -> Option<String> {
    let heard: BTreeSet<(Option<u64>, &str)> = (changes.clusters.iter())
        .flat_map(|c| c.settings.iter().map(|(netns, name)| (*netns, name.as_str())))
        .collect();
    let said = |c: &Change| drops.is_some_and(|d| d.groups.iter().any(|g| g.no_router.as_ref() == Some(c)));
    let rest: Vec<&Change> = changed
        .iter()
        .filter(|c| !said(c) && !heard.contains(&(c.netns, c.name.as_str())))
        .collect();
    if rest.is_empty() {
        return None;
    }
    let named: Vec<String> = rest.iter().take(NAMED).map(|c| words(c)).collect();
    let more = match rest.len().saturating_sub(NAMED) {
        0 => String::new(),
        n => format!(", and {n} more (`netmortem show snapshots INPUT`)"),
    };
    Some(format!(
        "settings were changed while recording: {}{more}",
        named.join(", ")
    ))
}

/// Behind the others; where something is wrong, and something was worse after a change, the first.
pub(crate) fn with_the_changes(mut lines: Vec<Line>, both: (&[Change], &Changes), drops: Option<&Drops>) -> Vec<Line> {
    let forward = drops.is_some_and(|d| d.groups.iter().any(|g| g.no_router.is_some()));
    let says = [
        super::away::words(&both.1.away),
        announced(both.1, forward),
        settings(both, drops),
    ];
    let says: Vec<String> = says.into_iter().flatten().collect();
    if says.is_empty() {
        return lines;
    }
    let worse = both.1.clusters.iter().any(Cluster::is_worse);
    let wrong = worse && lines.iter().any(|l| l.tone == Tone::Bad);
    let tone = if wrong { Tone::Bad } else { Tone::Notice };
    let sentence: Vec<String> = says.iter().map(|s| format!("{}.", capital(s))).collect();
    // Among what is wrong it is the first; among what is worth a look, where nothing was worse after any, the last.
    let cause = both.1.away.has_cause();
    let first = worse || cause || both.1.clusters.is_empty();
    let line = Line {
        names_cause: first,
        minor: !first,
        ..Line::of("settings", tone, sentence.join(" "), apart(says))
    };
    // Behind what is wrong where it is only worth a look.
    let bad = lines.iter().rposition(|l| l.tone == Tone::Bad).map_or(0, |at| at + 1);
    match (wrong, cause) {
        (true, _) => lines.insert(0, line),
        (false, true) => lines.insert(bad, line),
        (false, false) => lines.push(line),
    }
    lines
}
