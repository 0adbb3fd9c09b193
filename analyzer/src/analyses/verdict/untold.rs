//! What TCP dropped without an event, by the kernel's counters, in the line on drops: before what events tell, or behind it where that is more and no less wrong.

use super::Tone;
use super::sentences::{capital, counted};
use super::ways;
use crate::analyses::drops::{OWN_BUFFER, Untold};
use crate::reconstruct::drops::CHECKSUM;

/// So many with a wrong checksum are wrong by themselves; fewer where it is known between whom.
const MANY: u64 = 100;
/// So many that a socket's own buffer had no room for are nothing that is wrong by itself.
const NOW_AND_THEN: u64 = 5;

/// `641 TCP segments were dropped by this host and no event tells why (inferred from a counter of the kernel: TcpInCsumErrors rose by 641), for a wrong checksum: damaged on the way, ...`
fn words(u: &Untold) -> String {
    let why = match u.says.starts_with(CHECKSUM) {
        true => format!(", for {}", u.says),
        false => format!(": {}", u.says),
    };
    let between = u.damaged.as_ref().map_or_else(String::new, |d| {
        format!(", by what was sent again, which is about as much, {}", ways::damaged(d))
    });
    format!(
        "{} dropped by this host and no event tells why (inferred from a counter of the kernel: {} rose by {}){why}{between}",
        counted(u.rose, "TCP segment was", "TCP segments were"),
        u.counter,
        u.rose,
    )
}

/// How many segments these are, and of how many a cause is known: of those with a wrong checksum alone it is not where they were damaged.
pub(super) fn of_known_cause(all: &[Untold]) -> (u64, u64) {
    let sum = |of: &dyn Fn(&&Untold) -> bool| {
        let of = all.iter().filter(of).map(|u| u.rose);
        of.fold(0, u64::saturating_add)
    };
    let known = |u: &&Untold| match u.says.starts_with(CHECKSUM) {
        true => u.damaged.as_ref().is_some_and(|d| d.others > 0),
        false => u.told,
    };
    (sum(&|_| true), sum(&known))
}

/// For the head of the page.
pub(super) fn headline(all: &[Untold]) -> Option<String> {
    let said: Vec<String> = all.iter().map(words).collect();
    (!said.is_empty()).then(|| said.join("; "))
}

/// What is worth more than a look by itself.
fn bad(all: &[Untold]) -> bool {
    let few = |u: &Untold| u.says.starts_with(OWN_BUFFER) && u.rose <= NOW_AND_THEN;
    let known = |u: &Untold| u.told && !u.says.starts_with(CHECKSUM) && !few(u);
    all.iter().any(|u| u.rose >= MANY || u.damaged.is_some() || known(u))
}

/// What events tell stands first where it is more, and no less wrong.
pub(super) fn behind((tone, _): &(Tone, String), lost: u64, all: &[Untold]) -> bool {
    lost > of_known_cause(all).0 && (*tone == Tone::Bad || *tone == Tone::Notice && !bad(all))
}

/// Stands before the line on drops, or behind it.
pub(super) fn with_the_untold((tone, sentence): (Tone, String), all: &[Untold], behind: bool) -> (Tone, String) {
    let Some(said) = headline(all) else {
        return (tone, sentence);
    };
    let sentence = sentence.replacen(
        "No packet was dropped by this host",
        "No event tells of a lost packet",
        1,
    );
    let tone = match tone {
        Tone::Bad => Tone::Bad,
        _ if bad(all) => Tone::Bad,
        _ => Tone::Notice,
    };
    let said = capital(&said);
    let sentence = match behind {
        true => format!("{sentence} {said}."),
        false => format!("{said}. {sentence}"),
    };
    (tone, sentence)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_event_tells_is_said_first_with_its_counter() {
        let of = |counter, rose, says: &str| {
            let all = [Untold {
                counter,
                rose,
                says: says.into(),
                told: true,
                damaged: None,
            }];
            with_the_untold(
                (Tone::Ok, "No packet was dropped by this host; 3 frees.".into()),
                &all,
                false,
            )
        };
        let (tone, said) = of("TcpExtTCPRcvQDrop", 27, "the memory was short");
        assert_eq!(tone, Tone::Bad);
        assert_eq!(
            said,
            "27 TCP segments were dropped by this host and no event tells why (inferred from a counter of the kernel: TcpExtTCPRcvQDrop rose by 27): the memory was short. \
             No event tells of a lost packet; 3 frees."
        );
        assert_eq!(of("TcpInCsumErrors", 12, CHECKSUM).0, Tone::Notice);
        assert_eq!(of("TcpInCsumErrors", 641, CHECKSUM).0, Tone::Bad);
        let none = with_the_untold((Tone::Ok, "x".into()), &[], false);
        assert_eq!(none, (Tone::Ok, "x".into()));
    }

    #[test]
    fn the_larger_and_worse_stands_first() {
        let of = |tone, lost, rose, says: &str| {
            let all = [Untold {
                counter: "TcpInCsumErrors",
                rose,
                says: says.into(),
                told: true,
                damaged: None,
            }];
            let by_events = (tone, format!("{lost} packets were dropped."));
            let behind = behind(&by_events, lost, &all);
            let (_, said) = with_the_untold(by_events, &all, behind);
            said.starts_with(&format!("{rose} TCP segments"))
        };
        // A dozen that are damaged before thousands that a full queue refused: no.
        assert!(!of(Tone::Bad, 5_000, 12, CHECKSUM));
        assert!(!of(Tone::Bad, 5_000, 27, "the memory was short"));
        assert!(!of(Tone::Notice, 60, 12, CHECKSUM));
        // More of them; or worse than what nobody misses.
        assert!(of(Tone::Bad, 12, 27, "the memory was short") && of(Tone::Bad, 12, 12, CHECKSUM));
        assert!(of(Tone::Notice, 60, 27, "the memory was short") && of(Tone::Notice, 5_000, 641, CHECKSUM));
        assert!(of(Tone::Ok, 60, 12, CHECKSUM));
    }

    /// On the head of the page, too, where each is said once.
    #[test]
    fn the_head_of_the_page_says_both() {
        let mut f = crate::tests::facts("sawtooth/sawtooth.nmb");
        f.names.reasons_by_place = true;
        // What was lost was sent again when timers had run out: somebody waited for that.
        let timers = crate::reconstruct::tcp::tables::RetransmitClass::Rto;
        f.retransmits.iter_mut().for_each(|r| r.class = timers);
        let mut head = |rose| {
            let n = f.counters.len();
            f.counters.extend(
                [("TcpExtTCPRcvQDrop", rose), ("TcpExtTCPMemoryPressures", 1)].map(|(name, rose)| {
                    crate::counters::tables::CounterRow {
                        source: "netstat",
                        netns: Some(7),
                        of: String::new(),
                        name: name.into(),
                        start: Some(0),
                        end: Some(rose),
                    }
                }),
            );
            let answers = crate::analyses::answer(&f);
            f.counters.truncate(n);
            let line = answers.verdict.into_iter().find(|l| l.subject == "drops");
            let said = line.unwrap().headline;
            let places = ["10 packets were", "TCP segments were dropped"].map(|words| said.matches(words).count());
            assert_eq!(places, [1, 1], "{said}");
            said
        };
        assert!(head(3).starts_with("10 packets were dropped"));
        assert!(head(30).starts_with("30 TCP segments"));
    }
}
