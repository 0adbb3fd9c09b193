//! What is said of packets that were only passed on.

use super::sentences::{capital, counted, moment};
use super::spells::listed;
use super::{Tone, named, sent};
use crate::analyses::transmit::{Transmit, WentSilent};

/// So many are worth a word.
const PASSED_ON: u64 = 100;

/// With what the line on sent segments says; who does nothing else has nothing else to go by.
pub(super) fn with(t: &Transmit, (tone, said): (Tone, String)) -> (Tone, String) {
    if t.passed_on < PASSED_ON {
        return (tone, said);
    }
    let said = format!(
        "{}; {} packets were only passed on for others: no event of this host tells how those fared, except what it drops and what waits in its queues (a pcap of the device would: `--pcap`).",
        said.strip_suffix('.').unwrap_or(&said),
        t.passed_on
    );
    if let Some(w) = &t.went_silent {
        let said = format!("{said} {}.", capital(&silent(w)));
        return (if w.wrong() { Tone::Bad } else { at_least(tone) }, said);
    }
    let alone = tone == Tone::Ok && t.acked == 0;
    (if alone { Tone::Unknown } else { tone }, said)
}

/// What it says at the head of the page, before what is said of this host's own segments.
pub(super) fn headline(t: &Transmit) -> String {
    match &t.went_silent {
        Some(w) if t.passed_on >= PASSED_ON && t.acked == 0 => silent(w),
        Some(w) if t.passed_on >= PASSED_ON => format!("{}; {}", silent(w), sent::headline(t)),
        _ => sent::headline(t),
    }
}

/// `from 4.012 s on nothing came back through this host from 10.18.62.30 (5 pairs of addresses), ..., though 640 more packets went there, while 40 other pairs
/// have answers; from then on packets are sent on by h18t2, before by h18t1, ...`
fn silent(w: &WentSilent) -> String {
    let mut ends: Vec<String> = w.silent.iter().map(|(a, n)| format!("{a} ({n})")).collect();
    ends.extend((w.others > 0).then(|| counted(w.others, "other address", "other addresses")));
    let others = match w.answered {
        0 => ", and no other pair has".to_owned(),
        n => format!(", while {} have", counted(n, "other pair", "other pairs")),
    };
    let routes = match (&w.routes, &w.moved) {
        (Some((went, came)), _) => format!(
            "; meanwhile the default route was changed from {went} to {came}: what belongs to older connections may still bear the address that they were translated to for the old one (NAT, conntrack; inferred)"
        ),
        (None, Some((before, since))) => format!("; what went on by {before} until then goes on by {since} since"),
        (None, None) => String::new(),
    };
    format!(
        "from {} on {} of addresses that had spoken through this host have no answer any more, from {}, to {} that went on at least{others}: these, or their answers, are lost beyond this host, come back by another way, or who should answer is gone (inferred){routes}",
        moment(w.since_ns),
        counted(w.pairs, "pair", "pairs"),
        listed(&ends),
        counted(w.packets, "packet", "packets")
    )
}

/// A cause that has a name holds this host's own segments, or more than one host that went away has no answer.
pub(super) fn names_cause(t: &Transmit) -> bool {
    let passed_on = t.passed_on >= PASSED_ON && t.went_silent.as_ref().is_some_and(WentSilent::wrong);
    passed_on || !named::causes(t).is_empty()
}

/// What is good or not known is worth a look.
fn at_least(tone: Tone) -> Tone {
    match tone {
        Tone::Bad => Tone::Bad,
        _ => Tone::Notice,
    }
}
