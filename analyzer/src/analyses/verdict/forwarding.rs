//! What is said of the cost of forwarding, with the line on softirqs.

use super::sentences::{duration, moment};
use super::spells::listed;
use super::{Line, Tone};
use crate::analyses::forwarding::{Costly, CostlyPair, Forwarding};

/// `from wan0 to dmz0 p50 590.0 us of CPU time a packet (n 6566; 3.95 us at other times)`
fn pair(p: &CostlyPair, first: bool) -> String {
    let a_packet = if first { " of CPU time a packet" } else { "" };
    let others = p
        .other_p50_ns
        .map_or_else(String::new, |ns| format!("; {} at other times", duration(ns)));
    let several = match p.namespaces {
        0 | 1 => String::new(),
        n => format!(", devices of {n} namespaces together"),
    };
    format!(
        "from {} to {} p50 {}{a_packet} (n {}{others}{several})",
        p.from,
        p.to,
        duration(p.p50_ns),
        p.n
    )
}

/// `, from 8.312 s on`
fn when(c: &Costly) -> String {
    match (c.from_ns, c.to_ns) {
        (None, None) => String::new(),
        (Some(from), None) => format!(", from {} on", moment(from)),
        (None, Some(to)) => format!(", until {}", moment(to)),
        (Some(from), Some(to)) => format!(", from {} to {}", moment(from), moment(to)),
    }
}

fn words(c: &Costly) -> String {
    let mut of: Vec<String> = c.pairs.iter().enumerate().map(|(nth, p)| pair(p, nth == 0)).collect();
    if c.others > 0 {
        of.push(format!("{} more ways as much", c.others));
    }
    format!(
        "forwarding took {}: {:.0} % of NET_RX's time, {:.0} % of a CPU{}: rules of a packet filter that each packet walks, most likely (nft, iptables: a long list without a set; inferred)",
        listed(&of),
        c.share * 100.0,
        c.of_a_cpu * 100.0,
        when(c)
    )
}

/// The line with it; `more`: its headline says what is not of the time that NET_RX takes alone.
pub(super) fn with_the_forwarding(line: Line, f: &Forwarding, more: bool) -> Line {
    let Some(c) = &f.costly else { return line };
    let words = words(c);
    let headline = match more && !line.headline.is_empty() {
        true => format!("{words}; {}", line.headline),
        false => words.clone(),
    };
    let tone = match line.tone {
        Tone::Bad => Tone::Bad,
        _ => Tone::Notice,
    };
    Line {
        tone,
        sentence: format!("{}. {}", super::sentences::capital(&words), line.sentence),
        headline,
        ..line
    }
}
