//! What TCP dropped without an event, by the kernel's counters, in the line on drops.

use super::Tone;
use super::sentences::{capital, counted};
use super::ways;
use crate::analyses::drops::Untold;
use crate::reconstruct::drops::CHECKSUM;

/// So many with a wrong checksum are wrong by themselves; fewer where it is known between whom.
const MANY: u64 = 100;

/// `641 TCP segments were dropped in this host and no event tells why (inferred from a counter of the kernel: TcpInCsumErrors rose by 641), for a wrong checksum: damaged on the way, ...`
fn words(u: &Untold) -> String {
    let why = match u.says.starts_with(CHECKSUM) {
        true => format!(", for {}", u.says),
        false => format!(": {}", u.says),
    };
    let between = u.damaged.as_ref().map_or_else(String::new, |d| {
        format!(", by what was sent again, which is about as much, {}", ways::damaged(d))
    });
    format!(
        "{} dropped in this host and no event tells why (inferred from a counter of the kernel: {} rose by {}){why}{between}",
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
    let known = |u: &&Untold| !u.says.starts_with(CHECKSUM) || u.damaged.as_ref().is_some_and(|d| d.others > 0);
    (sum(&|_| true), sum(&known))
}

/// For the head of the page.
pub(super) fn headline(all: &[Untold]) -> Option<String> {
    let said: Vec<String> = all.iter().map(words).collect();
    (!said.is_empty()).then(|| said.join("; "))
}

/// Stands before the line on drops.
pub(super) fn with_the_untold((tone, sentence): (Tone, String), all: &[Untold]) -> (Tone, String) {
    let Some(said) = headline(all) else {
        return (tone, sentence);
    };
    let sentence = sentence.replacen(
        "No packet was dropped in this host",
        "No event tells of a lost packet",
        1,
    );
    let bad = all
        .iter()
        .any(|u| u.rose >= MANY || u.damaged.is_some() || !u.says.starts_with(CHECKSUM));
    let tone = match tone {
        Tone::Bad => Tone::Bad,
        _ if bad => Tone::Bad,
        _ => Tone::Notice,
    };
    (tone, format!("{}. {sentence}", capital(&said)))
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
                damaged: None,
            }];
            with_the_untold((Tone::Ok, "No packet was dropped in this host; 3 frees.".into()), &all)
        };
        let (tone, said) = of("TcpExtTCPRcvQDrop", 27, "the memory was short");
        assert_eq!(tone, Tone::Bad);
        assert_eq!(
            said,
            "27 TCP segments were dropped in this host and no event tells why (inferred from a counter of the kernel: TcpExtTCPRcvQDrop rose by 27): the memory was short. \
             No event tells of a lost packet; 3 frees."
        );
        assert_eq!(of("TcpInCsumErrors", 12, CHECKSUM).0, Tone::Notice);
        assert_eq!(of("TcpInCsumErrors", 641, CHECKSUM).0, Tone::Bad);
        let none = with_the_untold((Tone::Ok, "x".into()), &[]);
        assert_eq!(none, (Tone::Ok, "x".into()));
    }
}
