//! The fixed list of verdict sentences: all but those of the two ledgers.

use super::{Tone, lossy};
use crate::analyses::counters::Counters;
use crate::analyses::quality::{self, Level, Quality};
use crate::analyses::tcp::Tcp;
use crate::analyses::waits::StageTimes;
use crate::confidence::speak_for_all;
use crate::facts::Reason;
use crate::reconstruct::tcp::tables::RetransmitClass;
use crate::stat::Distribution;

/// From so many times the median on the longest stands out.
const STANDS_OUT: i64 = 20;

/// ns as a person reads them.
pub fn duration(ns: i64) -> String {
    let v = ns as f64;
    match ns.unsigned_abs() {
        0..=9_999 => format!("{:.2} µs", v / 1e3),
        10_000..=999_999 => format!("{:.1} µs", v / 1e3),
        1_000_000..=999_999_999 => format!("{:.2} ms", v / 1e6),
        _ => format!("{:.3} s", v / 1e9),
    }
}

/// How often: `once`, `2 times`.
pub fn times(n: u64) -> String {
    match n {
        1 => "once".to_owned(),
        n => format!("{n} times"),
    }
}

/// Some of all, or all: `3 of 48 datagrams`, `all 48 datagrams`.
pub(crate) fn of_all(n: u64, all: u64, one: &str, many: &str) -> String {
    match n == all && all > 1 {
        true => format!("all {}", counted(all, one, many)),
        false => format!("{n} of {}", counted(all, one, many)),
    }
}

/// A moment since the start of the recording.
pub(crate) fn moment(ns: i64) -> String {
    format!("{:.3} s", ns as f64 / 1e9)
}

/// Mbit/s as a person reads them.
pub(crate) fn rate(mbit_per_s: f64) -> String {
    match mbit_per_s {
        r if r >= 999.5 => format!("{:.1} Gbit/s", r / 1e3),
        r if r >= 9.95 => format!("{r:.0} Mbit/s"),
        r if r >= 0.9995 => format!("{r:.1} Mbit/s"),
        r => format!("{:.0} kbit/s", r * 1e3),
    }
}

/// How many a second, as a person reads it: a rate above none is no 0.
pub(super) fn per_second(n: f64) -> String {
    match n {
        n if n >= 9.95 => format!("{n:.0}"),
        n if n >= 0.095 => format!("{n:.1}"),
        n if n >= 0.0095 => format!("{n:.2}"),
        n if n > 0.0 => "less than 0.01".into(),
        _ => "none".into(),
    }
}

/// `1 packet`, `2 packets`: a count with its noun.
pub fn counted(n: u64, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

pub(super) fn or_dash(ns: Option<i64>) -> String {
    ns.map_or_else(|| "–".into(), duration)
}

/// Whether the certain and strong units speak for all.
pub(super) fn speak(total: &StageTimes) -> bool {
    speak_for_all(total.solid.n, total.all.n)
}

/// Units that are less certain than those of a sentence's percentiles, and how long the longest of them took.
pub(super) fn less_certain(total: &StageTimes, sure: bool) -> String {
    let all = &total.all;
    let weak = all.n.saturating_sub(total.solid.n);
    match (sure, weak) {
        (_, 0) => String::new(),
        (true, n) => format!("; {n} less certain, max with these {}", or_dash(all.max_ns)),
        (false, n) if n == all.n => "; all of them less certain".into(),
        (false, n) => format!("; {n} of them less certain"),
    }
}

/// What the head of a page says of a figure that is of less certain units, too.
pub(super) fn certainty(sure: bool) -> &'static str {
    if sure { "" } else { " (less certain)" }
}

/// Whether the longest stands out of the others: `least` or more, and many times the median.
pub(super) fn stands_out(of: &Distribution, least: i64) -> bool {
    let median = of.p50_ns.unwrap_or(0).max(1);
    of.max_ns.is_some_and(|max| max >= least && max / STANDS_OUT >= median)
}

/// A sentence up to its first pause, as it stands behind others: a word that only begins with a capital (not `NET_RX`) begins small.
pub(super) fn first_words(sentence: &str) -> String {
    let words = words(sentence, 1);
    let mut letters = words.chars();
    match (letters.next(), letters.next()) {
        (Some(first), Some(second)) if second.is_lowercase() || second == ' ' => {
            let rest = words.get(first.len_utf8()..).unwrap_or("");
            format!("{}{rest}", first.to_lowercase())
        }
        _ => words,
    }
}

/// Things of a headline of which none is an effect of another: each is a sentence, and a bullet of its own on the head of a page.
pub(super) fn apart(of: impl IntoIterator<Item = String>) -> String {
    let mut all = of.into_iter().filter(|s| !s.is_empty());
    let first = all.next().unwrap_or_default();
    all.fold(first, |said, next| format!("{said}. {}", capital(&next)))
}

/// With a capital; `python3/77` is a name, and stays.
pub(crate) fn capital(words: &str) -> String {
    if words.split(' ').next().is_some_and(|first| first.contains('/')) {
        return words.to_owned();
    }
    let mut letters = words.chars();
    letters
        .next()
        .map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// That events are missing is wrong; that bytes do not add up in what is reconstructed is no incident of the host, and at most worth a look.
pub(super) fn tone_of_quality(q: &Quality) -> Tone {
    match q.level.min(q.of_capture.max(Level::Degraded)) {
        Level::Good => Tone::Ok,
        Level::Degraded => Tone::Notice,
        Level::Bad => Tone::Bad,
    }
}

/// What a recording's quality is, without what is said of it besides; and whether that is no more than that it is a slice.
pub(super) fn of_quality(sentence: &str) -> (String, bool) {
    let in_few = |sentence: &str| {
        let first = sentence.split(". ").next().unwrap_or(sentence);
        words(first.strip_prefix("Mind that ").unwrap_or(first), 2)
    };
    // That it is a slice hides no loss, and stands behind what was found in it.
    match sentence.strip_prefix(quality::SLICE).and_then(|s| s.strip_prefix(". ")) {
        Some(rest) if rest.starts_with(quality::COMPLETE) => (quality::SLICE.to_owned(), true),
        Some(rest) => (format!("{} (a slice of a recording)", in_few(rest)), false),
        // Nor does a flight that triggered soon after it was armed.
        None => (
            in_few(sentence),
            sentence
                .strip_prefix("Mind that ")
                .is_some_and(|s| s.starts_with(quality::short::LATE)),
        ),
    }
}

/// A sentence up to so many of its pauses. A point inside a number is none, nor is what stands in brackets.
pub(crate) fn words(sentence: &str, pauses: usize) -> String {
    let ends = |at: usize| {
        let after = sentence.get(at + 1..).unwrap_or("");
        after.is_empty() || after.starts_with(' ')
    };
    let mut open = 0usize;
    let pause = |(at, c): (usize, char)| {
        match c {
            '(' | '[' => open += 1,
            ')' | ']' => open = open.saturating_sub(1),
            _ => {}
        }
        (open == 0 && matches!(c, ';' | '.') && ends(at)).then_some(at)
    };
    let mut all = sentence.char_indices().filter_map(pause);
    let end = all.nth(pauses.saturating_sub(1)).unwrap_or(sentence.len());
    sentence.get(..end).unwrap_or("").trim_end_matches('.').to_owned()
}

/// The times of a stage: of the certain and strong units, where these speak for all; else of all.
pub(super) fn pick(s: &StageTimes, sure: bool) -> &Distribution {
    if sure { &s.solid } else { &s.all }
}

pub(super) fn unknown(subject: &str, why: &[Reason]) -> String {
    let of = match subject {
        "opens" => "Connections".to_owned(),
        "datagrams" => "UDP".to_owned(),
        "application" => "Requests and answers".to_owned(),
        "receive" => "The receive path".to_owned(),
        "transmit" => "The transmit path".to_owned(),
        "tcp" => "TCP".to_owned(),
        "napi" => "Softirqs".to_owned(),
        other => capital(other),
    };
    let why: Vec<&str> = why.iter().map(|r| r.because.as_str()).collect();
    match why.split_first() {
        Some((first, rest)) if rest.len() > 1 => {
            format!("{of} not judged: {first}, and {} more reasons.", rest.len())
        }
        _ => format!("{of} not judged: {}.", why.join("; ")),
    }
}

/// What network cards and drivers say that they lost has no event: it is no drop of the stack, and no less lost.
pub(super) fn with_the_card((tone, sentence): (Tone, String), counters: Option<&Counters>) -> (Tone, String) {
    match the_card(counters) {
        None => (tone, sentence),
        Some(words) => (Tone::Bad, format!("{sentence} A {words}.")),
    }
}

/// The same in few words.
pub(super) fn the_card(counters: Option<&Counters>) -> Option<String> {
    let lost: Vec<_> = counters?.lost_before_events().collect();
    let most = lost.first()?;
    let more = match lost.len() - 1 {
        0 => String::new(),
        n => format!(" and {} more", counted(n as u64, "counter", "counters")),
    };
    Some(format!(
        "card lost packets before any event could tell: {} of {} rose by {}{more}",
        most.name, most.of, most.rise
    ))
}

/// Where they are lost first, if that is anywhere.
pub(super) fn tcp(t: &Tcp) -> (Tone, String) {
    lossy::with(t, of_calls(t))
}

fn of_calls(t: &Tcp) -> (Tone, String) {
    let n = t.calls();
    let sockets = t.connections.len();
    // Nothing of these left this host: they say nothing of the network.
    let refused = match t.retransmits_refused {
        None | Some(0) => String::new(),
        Some(n) => format!(
            "; {} refused by a queue of this host, which is no loss of the network's",
            counted(n, "call more was", "calls more were")
        ),
    };
    if n == 0 && !t.retransmits_recorded {
        let s = "Retransmits are not known: there is no tcp_retransmit_skb in the recording, and nothing says that it was recorded.";
        return (Tone::Unknown, s.into());
    }
    let of_sockets = n.saturating_sub(t.synacks);
    if of_sockets == 0 {
        let quiet = refused.is_empty() && t.synacks == 0;
        let none = format!(
            "o TCP segment was retransmitted by this host on {}{refused}.",
            counted(sockets as u64, "socket", "sockets")
        );
        let sentence = match t.synacks {
            0 => format!("N{none}"),
            n => format!("{} retransmitted by listening sockets; n{none}", synacks(n)),
        };
        return (if quiet { Tone::Ok } else { Tone::Notice }, sentence);
    }
    let left = (t.retransmits_left_behind > 0).then(|| {
        let (calls, sockets) = (t.retransmits_left_behind, t.left_behind);
        format!(
            "{} by {} that no list of sockets has and no process: left behind in a network namespace that was removed, as a container's, and nobody waits for them (inferred)",
            counted(calls, "TCP segment was retransmitted", "TCP segments were retransmitted"),
            counted(sockets, "socket", "sockets")
        )
    });
    if let Some(said) = left
        .as_ref()
        .filter(|_| t.retransmits_left_behind >= of_sockets && t.synacks == 0)
    {
        return (Tone::Ok, format!("{said}; none by others{refused}."));
    }
    let left = left.map_or_else(String::new, |said| format!("; {said}"));
    let again = t
        .connections
        .iter()
        .filter(|c| c.retransmits.is_some_and(|n| n > 0))
        .count();
    let by = t.by_sockets();
    let pmtu = by
        .iter()
        .find(|(k, _)| *k == RetransmitClass::Pmtu.word())
        .map_or(0, |(_, v)| *v);
    // Whose message was not seen may come from probing of the MTU (`tcp_mtu_probing`), too.
    let pmtu = match pmtu {
        0 => String::new(),
        _ if t.retransmits_solid < t.calls() => {
            ", of class pmtu because the path's MTU was lowered, by ICMP messages or after a probe (tcp_mtu_probing)"
                .into()
        }
        n if n == of_sockets => ", because incoming ICMP messages lowered the path MTU (no black hole)".into(),
        n => format!(
            ", {} because incoming ICMP messages lowered the path MTU",
            counted(n, "call", "calls")
        ),
    };
    let by: Vec<String> = by.into_iter().map(|(k, v)| format!("{v} {k}")).collect();
    let more = match t.synacks {
        0 => String::new(),
        n => format!("; {} retransmitted by listening sockets", synacks(n)),
    };
    // By segments where they are known of all, else by calls.
    let most = match t.retransmits_unsized {
        0 => t.connections.iter().max_by_key(|c| c.retransmit_segments),
        _ => t.connections.iter().max_by_key(|c| c.retransmits),
    };
    let most = most.filter(|c| c.retransmits.is_some_and(|n| n > 0));
    let most = most.map_or_else(String::new, |c| {
        let calls = counted(c.retransmits.unwrap_or(0), "call", "calls");
        match c.retransmit_segments {
            Some(n) => format!(
                "; most ({} by {calls}) on {}",
                counted(n, "segment", "segments"),
                c.label
            ),
            None => format!("; most ({calls}) on {}", c.label),
        }
    });
    let guessed = match n.saturating_sub(t.retransmits_solid) {
        0 => String::new(),
        guessed => format!("; of these {guessed} guessed"),
    };
    let needless = t.mostly_needless().map_or_else(String::new, |n| {
        let one = t.retransmit_segments == 1;
        let (which, who, it) = match n >= t.retransmit_segments {
            true if one => (String::new(), "the peer", "it"),
            true => ("all of them ".into(), "the peers", "them"),
            false => (format!("{n} of them "), "the peers", "them"),
        };
        let why = match t.reordered {
            0 => "packets came late or in another order, or an ACK did not come".to_owned(),
            n => format!(
                "packets came to them in another order, as {} told",
                counted(n, "ACK", "ACKs")
            ),
        };
        format!(", {which}needlessly ({who} had {it} already, by DSACK: {why}),")
    });
    let refuted = t.refuted().map_or_else(String::new, |(classed, counted)| {
        format!("; the kernel counted {counted} timeouts, so not all {classed} of class rto were one")
    });
    (
        Tone::Notice,
        format!(
            "{}{needless} on {again} of {} (calls: {}{guessed}){pmtu}{more}{most}{refused}{refuted}{left}.",
            t.sent_again(),
            counted(sockets as u64, "socket", "sockets"),
            by.join(", ")
        ),
    )
}

fn synacks(n: u64) -> String {
    counted(n, "SYN-ACK was", "SYN-ACKs were")
}

#[cfg(test)]
mod tests {
    use super::{of_quality, words};

    #[test]
    fn brackets_are_not_broken() {
        let said = "4 segments were retransmitted (calls: 4 fast; of these 4 guessed); most on a. More.";
        assert_eq!(
            words(said, 1),
            "4 segments were retransmitted (calls: 4 fast; of these 4 guessed)"
        );
        assert_eq!(
            words(said, 2),
            "4 segments were retransmitted (calls: 4 fast; of these 4 guessed); most on a"
        );
        assert_eq!(words("It took 1.5 s. More.", 1), "It took 1.5 s");
    }

    #[test]
    fn that_it_is_a_slice_hides_no_loss() {
        let slice = "A slice of a recording, not all of it. ";
        let complete = "Complete: no event was lost, every stream was read to its end. Clocks of the CPUs: fine.";
        let lossy = "Mind that 12 events were lost on CPU 1. More.";
        assert_eq!(
            of_quality(&format!("{slice}{complete}")),
            ("A slice of a recording, not all of it".into(), true)
        );
        assert_eq!(
            of_quality(&format!("{slice}{lossy}")),
            ("12 events were lost on CPU 1 (a slice of a recording)".into(), false)
        );
        assert_eq!(of_quality(lossy), ("12 events were lost on CPU 1".into(), false));
    }
}
