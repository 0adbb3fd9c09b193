//! What the line on UDP says of one that is never answered where others are, and of a place that answers a part.

use super::evidence::from;
use super::sentences::{counted, duration, moment, or_dash};
use crate::analyses::datagrams::{Alone, Datagrams, Partly};

/// Of its turns so many were dropped by this host, of 10, to be what is wrong.
const DROPPED: u64 = 9;

/// What it asked never left this host, or never came.
pub(super) fn wrong(a: &Alone) -> bool {
    a.dropped.saturating_mul(10) >= a.turns.saturating_mul(DROPPED)
}

/// Of the first of them.
pub(super) fn words(d: &Datagrams) -> Option<String> {
    let a = d.alone.first()?;
    let mut said = vec![format!(
        "none of {} that {} sent to {} was answered, while {} of {} others to there were, as those of {} (p50 {}){}",
        counted(a.sends, "datagram", "datagrams"),
        a.task,
        a.to,
        a.answered,
        a.of_others,
        a.other,
        or_dash(a.response.p50_ns),
        from(a.first)
    )];
    if !a.came_to.is_empty() {
        said.push(format!(
            "those that are answered came to {}, translated on the way (NAT), and these did not: as where connection tracking has an entry for their ports from before there was a translation (`conntrack -L -p udp --orig-dst {}`; inferred)",
            a.came_to,
            a.to.rsplit_once(':').map_or("", |at| at.0)
        ));
    }
    if a.dropped > 0 {
        said.push(format!(
            "{} of its {} were dropped by this host (see drops)",
            a.dropped,
            counted(a.turns, "question", "questions")
        ));
    }
    Some(said.join("; "))
}

/// Answers that went to a place that is asked, from which it asks in turn.
const ASKS_BACK: u64 = 10;
/// And so many times as many as before.
const TIMES: u64 = 3;

/// `from 5.124 s to 11.532 s 92 of 240 questions of dnsmasq/26979 to 198.51.100.53:53 had no answer, ...`
pub(super) fn partly(p: &Partly) -> String {
    let around = match p.around {
        (0, 0) => String::new(),
        (0, n) => format!(", while {n} behind these had one"),
        (n, 0) => format!(", while {n} before these had one"),
        (before, behind) => format!(", while {before} before and {behind} behind these had one"),
    };
    let other = p.other.as_ref().map_or_else(String::new, |(to, answered, of)| {
        let join = if around.is_empty() { ", while" } else { ", and" };
        format!("{join} {answered} of {of} to {to} had meanwhile")
    });
    let serves = match p.serves {
        true => "; who asked it may wait that long, as it serves others",
        false => "",
    };
    let why = match p.asks_back {
        (since, before) if since >= ASKS_BACK && since >= before.saturating_mul(TIMES) => format!(
            "{} asks {} in turn ({since} answers went there meanwhile, {before} in as long a time before): what one does not know each asks the other, a forwarding loop (inferred), unless these are lost",
            p.to.ip(),
            p.task
        ),
        _ => "they or their answers are lost beyond this host, or who is asked leaves them (inferred)".to_owned(),
    };
    format!(
        "from {} to {} {} of {} of {} to {} had no answer in {} (median){around}{other}: {why}{serves}",
        moment(p.within_ns.0),
        moment(p.within_ns.1),
        p.unanswered,
        counted(p.of, "question", "questions"),
        p.task,
        p.to,
        duration(p.waited_ns)
    )
}
