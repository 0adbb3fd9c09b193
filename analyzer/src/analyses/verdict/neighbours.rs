//! A neighbour that had another link-layer address for a while, where something went wrong meanwhile.

use super::Tone;
use super::evidence::from;
use super::sentences::{capital, counted, duration, moment};
use super::spells::listed;
use crate::analyses::neighbours::{Circling, Flapping, Spell};

fn what(s: &Spell) -> String {
    let strayed = (s.strayed > 0).then(|| {
        format!(
            "{} came to a device that {} not addressed to",
            counted(s.strayed, "frame", "frames"),
            if s.strayed == 1 { "it was" } else { "they were" }
        )
    });
    let often = match s.again > s.resent {
        true => format!(
            " {} times{}{}",
            s.again,
            if s.resent > 1 { " in all" } else { "" },
            match s.after_it {
                0 => String::new(),
                n => format!(", {n} of them after it"),
            }
        ),
        false => String::new(),
    };
    let resent = (s.resent > 0).then(|| {
        format!(
            "{} retransmitted{often}",
            counted(s.resent, "segment was", "segments were")
        )
    });
    let said: Vec<String> = strayed.into_iter().chain(resent).collect();
    said.join(", ")
}

/// Adds the worst of them to the line on drops.
pub(super) fn with_the_neighbours(
    (tone, sentence): (Tone, String),
    spells: &[Spell],
    start_ns: Option<i64>,
) -> (Tone, String) {
    let mut matter = spells.iter().filter(|s| s.matters());
    let Some(s) = matter.next() else {
        return (tone, sentence);
    };
    let seconds = |ns: i64| moment(ns.saturating_sub(start_ns.unwrap_or(0)));
    let to = s.to_ns.map_or_else(|| "the end".into(), seconds);
    let before = match &s.after {
        Some(after) if *after == s.before => format!("{} before and after", s.before),
        Some(after) => format!("{} before, {after} after", s.before),
        None => format!("{} before", s.before),
    };
    let more = match matter.count() {
        0 => String::new(),
        n => format!(" {} more had.", counted(n as u64, "neighbour", "neighbours")),
    };
    let said = format!(
        "{} on {} was {} from {} to {to} ({before}; set by {}){}: of what was queued on {} then, {}; that this went by that neighbour is inferred.{more}",
        s.address,
        s.dev,
        s.lladdr,
        seconds(s.from_ns),
        s.by,
        from(s.id),
        s.dev,
        what(s)
    );
    let tone = if tone == Tone::Bad { tone } else { Tone::Notice };
    (tone, format!("{sentence} {said}"))
}

/// `entries for 10.0.0.2 went between 02:.. and 0a:.. 17 times, from 2.905 s to 9.010 s: two hosts, or two cards of one, have that address (inferred)`
pub(super) fn flapping_words(all: &[Flapping]) -> Option<String> {
    let f = all.first()?;
    let more = match all.len() {
        1 => String::new(),
        n => format!(", and {} more", counted(n as u64 - 1, "address", "addresses")),
    };
    Some(format!(
        "neighbour entries for {} went there and back between {} and {}, {} changes from {} to {}: two hosts, or two cards of one, have that address (inferred){}{more}",
        f.address,
        f.lladdr,
        f.other,
        f.changes(),
        moment(f.first_ns),
        moment(f.last_ns),
        from(f.first)
    ))
}

/// Adds it to the line on drops.
pub(super) fn with_the_flapping((tone, sentence): (Tone, String), all: &[Flapping]) -> (Tone, String) {
    let Some(words) = flapping_words(all) else {
        return (tone, sentence);
    };
    let tone = if tone == Tone::Bad { tone } else { Tone::Notice };
    (tone, format!("{sentence} {}.", capital(&words)))
}

/// `a loop of bridges: 212 frames and copies of them went round by up1 and up2 from 5.2 s to 9.2 s, one 30 times ...`
pub(super) fn circling_words(c: &Circling) -> String {
    let (first, last) = c.within_ns;
    let new = c.new.as_ref().map_or_else(String::new, |(dev, at)| {
        format!("; nothing went by {dev} before {}", moment(*at))
    });
    let often = match c.most {
        0 | 1 => String::new(),
        n => format!(", one {n} times"),
    };
    format!(
        "a loop of bridges: {} went round by {} from {} to {}{often}{}{new}; while they do, bridges learn hosts' MAC addresses at the wrong ports and what is for these is lost",
        counted(c.frames, "frame", "frames and copies of them"),
        listed(&c.ports),
        moment(first),
        moment(last),
        from(c.example),
    )
}

/// Adds it to the line on drops: what is lost while frames go round need not be dropped anywhere.
pub(super) fn with_the_circling((tone, sentence): (Tone, String), of: Option<&Circling>) -> (Tone, String) {
    match of {
        Some(c) => (Tone::Bad, format!("{sentence} {}.", capital(&circling_words(c)))),
        None => (tone, sentence),
    }
}

/// The same for the head of the page.
pub(super) fn headline(spells: &[Spell]) -> Option<String> {
    let s = spells.iter().find(|s| s.matters())?;
    let long = s.to_ns.map_or_else(
        || "until the end".into(),
        |to| format!("for {}", duration(to.saturating_sub(s.from_ns))),
    );
    Some(format!(
        "{} on {} had another link-layer address {long}, {} (before: {}), set by {}: meanwhile {}",
        s.address,
        s.dev,
        s.lladdr,
        s.before,
        s.by,
        what(s)
    ))
}
