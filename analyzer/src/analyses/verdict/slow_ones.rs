//! Where the slow answers of the one known server had their time, of those that the sentence before counts and of no others.

use super::one::when_slow;
use super::sentences::duration;
use super::spells::spells;
use super::turns::place;
use crate::analyses::application::{Application, Slow};

/// `, 97.9 % of the slow ones' time on the way there`; of several kinds `: 4 took p50 206.12 ms, all from 3.674 s to 4.480 s, 99.9 % of it on the way back, and 28 took ...`, most time first.
/// `None`: they are the slowest 1 %, of which more is known, or it is not said which they are.
pub(super) fn each(a: &Application, slowest: u64) -> Option<String> {
    let [s] = a.servers.as_slice() else { return None };
    let told = |of: &&Slow| !of.times.is_empty();
    let all: Vec<&Slow> = s.slow.iter().filter(told).collect();
    let n: u64 = all.iter().map(|of| of.n).sum();
    if when_slow(a).is_empty() || n == slowest && all.len() == 1 {
        return None;
    }
    let known: Vec<&Slow> = all.iter().copied().filter(|of| of.at != "unknown").collect();
    let rest = n.saturating_sub(known.iter().map(|of| of.n).sum());
    let rest = match rest {
        0 => String::new(),
        n => format!(", of {n} it is not known where"),
    };
    match known.as_slice() {
        [] => None,
        [one] if rest.is_empty() => {
            let place = place(one).replacen(" of it ", " of the slow ones' time ", 1);
            Some(format!(", {place}"))
        }
        known => {
            let kind = |of: &&Slow| {
                let p50 = if of.n == 1 { "" } else { "p50 " };
                let when = spells(&of.times, a.duration_ns);
                format!("{} took {p50}{}{when}, {}", of.n, duration(of.p50_ns), place(of))
            };
            let said: Vec<String> = known.iter().map(kind).collect();
            Some(format!(": {}{rest}", said.join(", and ")))
        }
    }
}

#[cfg(test)]
mod tests {
    /// Held by a slow queue on the way there, then by a rule that drops answers on the way back: neither is said of the other.
    #[test]
    fn shares_are_of_the_answers_that_are_counted() {
        let facts = crate::analyze(&crate::tests::sample("changes/changes.nmb.zst"), &Default::default());
        let answers = crate::analyses::answer(&facts);
        let line = answers.verdict.iter().find(|l| l.subject == "application").unwrap();
        let said = "(32 slow ones, in 2 bursts, 1.686 to 2.578 s and 3.674 to 4.480 s): 4 took p50 ";
        let (_, each) = line
            .headline
            .split_once(said)
            .unwrap_or_else(|| panic!("{}", line.headline));
        let (back, there) = each
            .split_once(", and 28 took p50 ")
            .unwrap_or_else(|| panic!("{each}"));
        assert!(
            there.contains(", all from 1.686 s to 2.578 s, ") && there.contains(" % of it on the way there"),
            "{there}"
        );
        assert!(
            back.contains(", all from 3.674 s to 4.480 s, ") && back.contains(" % of it on the way back"),
            "{back}"
        );
        assert!(!line.headline.contains("of the slow ones' time"), "{}", line.headline);
    }
}
