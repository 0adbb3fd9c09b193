//! Multicast that a host dropped because it had not joined its group, where somebody may miss it: which groups it left, since when they are dropped, who still has them, what may be why.

use std::net::Ipv4Addr;

use super::Tone;
use super::sentences::{capital, counted, moment, per_second};
use super::spells::listed;
use crate::analyses::drops::Unjoined;
use crate::snapshots::groups::LIMIT;

/// Groups, or ranges of them, named one by one; and hosts.
const NAMED: usize = 4;

/// `239.62.0.17 to 239.62.0.20 and 239.62.1.1`
fn groups(all: &[Ipv4Addr]) -> String {
    let mut ranges: Vec<(u32, u32)> = vec![];
    for group in all.iter().map(|g| u32::from(*g)) {
        match ranges.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(group) => *last = group,
            _ => ranges.push((group, group)),
        }
    }
    let said = |&(a, b): &(u32, u32)| {
        let (first, last) = (Ipv4Addr::from(a).to_string(), Ipv4Addr::from(b).to_string());
        match b.saturating_sub(a) {
            0 => vec![first],
            1 => vec![first, last],
            _ => vec![format!("{first} to {last}")],
        }
    };
    let told: u64 = (ranges.iter().take(NAMED)).map(|(a, b)| u64::from(b - a) + 1).sum();
    let mut words: Vec<String> = ranges.iter().take(NAMED).flat_map(said).collect();
    let more = (all.len() as u64).saturating_sub(told);
    if more > 0 {
        words.push(format!("{more} more"));
    }
    listed(&words)
}

/// Where they were dropped.
fn host(u: &Unjoined) -> String {
    match u.host.as_str() {
        "" => format!("the host of {}", u.dev),
        host => host.to_owned(),
    }
}

fn noun(u: &Unjoined) -> &'static str {
    if u.left.len() == 1 { "group" } else { "groups" }
}

/// `160 a second on eth0 that a program at another host of this recording read, none before`
fn rates(u: &Unjoined) -> String {
    let Some(s) = u.step else {
        return format!("{} on {} in all, and not more at any one moment", u.drops, u.dev);
    };
    let read = match s.read_elsewhere {
        true => " that a program at another host of this recording read",
        false => "",
    };
    format!(
        "{} a second on {}{read}, {} before",
        per_second(s.after_per_s),
        u.dev,
        per_second(s.before_per_s)
    )
}

/// What its sockets may join, where it is in as many.
fn limit(u: &Unjoined) -> Option<String> {
    let limit = u.limit?;
    Some(format!(
        "it is in {} at the end and its sockets may join {limit} each ({LIMIT}), beyond which a join fails with ENOBUFS, which may be why (inferred)",
        counted(u.joined_after, "group", "groups")
    ))
}

fn still(u: &Unjoined) -> Option<String> {
    let all = u.left.len() as u64;
    let each = u.still.iter().take(NAMED).map(|s| match s.groups == all {
        true => s.host.clone(),
        false => format!("{} ({} of them)", s.host, s.groups),
    });
    let mut each: Vec<String> = each.collect();
    if u.still.len() > NAMED {
        each.push(format!("{} more", u.still.len() - NAMED));
    }
    let is = if u.still.len() == 1 { "is" } else { "are" };
    (!each.is_empty()).then(|| format!("{} {is} still in these", listed(&each)))
}

fn restarted(u: &Unjoined) -> Option<String> {
    let r = u.restarted.as_ref()?;
    Some(format!(
        "{}/{} began to read there at {} in place of {}/{}, which had ended",
        r.task,
        r.began,
        moment(r.began_ns),
        r.task,
        r.ended
    ))
}

/// What is known of who may miss them.
fn why(u: &Unjoined) -> Vec<String> {
    let unlisted = match (u.left.is_empty(), u.listed) {
        (false, _) => None,
        (true, false) => Some("which groups it left, no list in this recording tells".to_owned()),
        (true, true) if u.netns.is_none() => None,
        (true, true) => Some(format!(
            "it left no group between the start ({}) and the end ({}), so these may be nobody's",
            u.joined_before, u.joined_after
        )),
    };
    [unlisted, still(u), limit(u), restarted(u)]
        .into_iter()
        .flatten()
        .collect()
}

/// The sentence, without the full stop, for one device.
fn sentence(u: &Unjoined) -> String {
    let (host, rates) = (host(u), rates(u));
    let why: Vec<String> = why(u).into_iter().map(|w| format!("; {w}")).collect();
    let left = groups(&u.left);
    let from = format!(" (from drop:{})", u.first_drop);
    let said = match (u.step, u.left.is_empty()) {
        (Some(s), false) => format!(
            "since {} datagrams for multicast groups that {host} is no longer a member of are dropped there ({rates}): it left {left} during the recording",
            moment(s.at_ns)
        ),
        (None, false) => format!(
            "{host} left the multicast {} {left} during the recording, and datagrams for groups that it is not in are dropped there ({rates})",
            noun(u)
        ),
        (Some(s), true) => format!(
            "since {} datagrams for multicast groups that {host} is not in are dropped there ({rates})",
            moment(s.at_ns)
        ),
        (None, true) => format!("datagrams for multicast groups that {host} is not in are dropped there ({rates})"),
    };
    format!("{said}{from}{}", why.concat())
}

/// A sentence for each of them, and whether it is missed by all that is known.
pub fn unjoined_words(all: &[Unjoined]) -> Vec<(String, bool)> {
    let each = all
        .iter()
        .map(|u| (format!("{}.", capital(&sentence(u))), u.is_missed()));
    each.collect()
}

/// Adds them to the line on drops.
pub(super) fn with_the_unjoined((tone, sentence_of_drops): (Tone, String), all: &[Unjoined]) -> (Tone, String) {
    let Some(first) = all.first() else {
        return (tone, sentence_of_drops);
    };
    let mine = if first.is_missed() { Tone::Bad } else { Tone::Notice };
    let tone = match (tone, mine) {
        (Tone::Bad, _) | (_, Tone::Bad) => Tone::Bad,
        _ => Tone::Notice,
    };
    let said: Vec<String> = unjoined_words(all).into_iter().map(|s| s.0).collect();
    let said = said.join(" ");
    // Where nothing else was lost that stands behind.
    match sentence_of_drops.strip_prefix("No packet ") {
        Some(rest) => (tone, format!("{said} No other packet {rest}")),
        None => (tone, format!("{sentence_of_drops} {said}")),
    }
}

/// The first of them in few words, for the head of a page.
pub(super) fn headline(all: &[Unjoined]) -> Option<String> {
    let u = all.first()?;
    let more = match all.len() {
        1 => String::new(),
        n => format!(
            ", and likewise on {}",
            counted(n as u64 - 1, "other device", "other devices")
        ),
    };
    let also: Vec<String> = why(u).into_iter().map(|w| format!(", {w}")).collect();
    let (host, rates, left, noun) = (host(u), rates(u), groups(&u.left), noun(u));
    let said = match (u.step, u.left.is_empty()) {
        (Some(s), false) => format!(
            "{host} is no longer a member of the multicast {noun} {left}, and since {} datagrams for groups that it is not in are dropped there ({rates})",
            moment(s.at_ns)
        ),
        _ => sentence(u).split("; ").next().unwrap_or_default().to_owned(),
    };
    Some(format!("{said}{}{more}", also.concat()))
}
