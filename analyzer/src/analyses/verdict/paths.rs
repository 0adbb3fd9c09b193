//! What the page says of round trips that rose: of remote hosts that are not in the recording.

use super::sentences::duration;
use super::spells::listed_few;
use super::{Line, Tone};
use crate::analyses::paths::{Change, Evidence, Host, Kind, Paths};

/// Hosts that are named.
const NAMED: usize = 3;
/// What the line on answers says where only this end is in the recording.
pub(super) const NOT_RECORDED: &str = "how much of that was the peer's application is not in this recording";

/// The host to speak of: of those whose round trips rose with most time in it.
fn worst(paths: &Paths) -> Option<(&Host, &Change)> {
    let outside = paths.hosts.iter().filter(|h| !h.recorded);
    let of = outside.filter_map(|h| Some((h, h.change.as_ref()?)));
    let time = |(h, c): &(&Host, &Change)| {
        let n = h.acks.n.saturating_add(h.handshakes.n);
        c.high_ns
            .saturating_sub(c.low_ns)
            .saturating_mul(i64::try_from(n).unwrap_or(i64::MAX))
    };
    of.filter(|(_, c)| c.matters()).rev().max_by_key(time)
}

pub(super) fn named(of: &[String]) -> String {
    listed_few(of, NAMED, ("other host", "other hosts"))
}

/// `rose from 2.6 ms to 42.9 ms at 2.48 s`
fn did(c: &Change, start_ns: i64) -> String {
    let s = |ns: i64| format!("{:.2} s", ns.saturating_sub(start_ns) as f64 / 1e9);
    let (low, high) = (duration(c.low_ns), duration(c.high_ns));
    match (c.kind, c.to_ns) {
        (Kind::Spell, Some(to)) => format!("rose from {low} to {high} from {} to {}", s(c.from_ns), s(to)),
        (Kind::Fell, Some(to)) => format!("were {high} until {} and {low} from then on", s(to)),
        _ => format!("rose from {low} to {high} at {}", s(c.from_ns)),
    }
}

/// What other hosts' did.
fn others(c: &Change) -> String {
    match (c.also.len(), c.not.len()) {
        (0, 0) => "no other remote host to compare with".to_owned(),
        (0, _) => format!("{} did not change", named(&c.not)),
        (_, 0) => format!("so did {}", named(&c.also)),
        _ => format!("so did {}, {} did not change", named(&c.also), named(&c.not)),
    }
}

/// Where that is.
fn place(c: &Change) -> String {
    let not_here = match c.own_ns {
        Some(_) => ", not in this host",
        None => "",
    };
    match (c.also.is_empty(), c.not.is_empty()) {
        // What all have in common.
        (false, true) => format!("on the part of the way that they share{not_here} (inferred)"),
        _ => match c.evidence {
            Evidence::Answers if !c.above_delayed_acks() => {
                format!("on the way to it, in its kernel or in its program{not_here}")
            }
            _ => format!("on the way to it or in its kernel{not_here}"),
        },
    }
}

/// `round trips to 10.20.2.2 rose from 2.6 ms to 42.9 ms at 2.48 s (handshakes ...): on the way to it ...`
pub(super) fn clause(paths: &Paths) -> Option<String> {
    let (h, c) = worst(paths)?;
    let why = match (c.evidence, &c.handshakes) {
        (Evidence::Handshakes, Some(s)) => format!(
            "handshakes {} -> {}, so not its program",
            duration(s.other_ns),
            duration(s.in_ns)
        ),
        (Evidence::Answers, _) if c.above_delayed_acks() => {
            "ACKs and answers alike; inferred: an ACK that waits for its program's answer is no later than 40 ms, of a Linux peer".into()
        }
        _ => "ACKs and answers alike; its program may have sent its ACKs with its answers, and no handshakes tell".into(),
    };
    Some(format!(
        "round trips to {} {} ({why}; {}): {}",
        h.host,
        did(c, paths.start_ns),
        others(c),
        place(c)
    ))
}

/// Adds it to a line.
pub(super) fn with_the_paths(mut line: Line, paths: &Paths) -> Line {
    // What this host's own bytes do to the way says why it got longer.
    if let Some(f) = &paths.filled {
        return super::filled::with(line, f);
    }
    let Some(said) = clause(paths) else { return line };
    let sentence = match line.sentence.contains(NOT_RECORDED) {
        true => line
            .sentence
            .replacen(&format!("{NOT_RECORDED}, "), &format!("{said}; "), 1)
            .replacen(NOT_RECORDED, &said, 1),
        false => format!("{} {}.", line.sentence, super::capital(&said)),
    };
    line.headline = match line.tone {
        Tone::Bad => format!("{}; {said}", line.headline),
        // What stands out of all answers is most of the same.
        Tone::Notice if !line.headline.contains(NOT_RECORDED) => format!("{said}; {}", line.headline),
        _ => said,
    };
    line.sentence = sentence;
    if line.tone == Tone::Ok {
        line.tone = Tone::Notice;
    }
    line
}
