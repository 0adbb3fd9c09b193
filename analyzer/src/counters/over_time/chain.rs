//! Readings that tell only what changed (`readings` in docs/bundle.md, "Seconds"): a counter that is not in one of them is as it was.
//!
//! In: which kinds each reading holds, and on which one before it builds. Out: until when a value that was read is known to have held. It must not
//! take what was lost for unchanged: behind a reading that is missing nothing is known of what it would have told.
//!
//! ```text
//! nics 1 - nics 2 after 1 - nics 3 after 2      (4 is lost)      nics 5 after 4 - nics 6 after 5
//! |------- one stretch -----------------|                        |------ the next -------------|
//! ```

use rustc_hash::FxHashMap;

use super::{Key, When};

/// Readings of a kind without a gap between them.
#[derive(Debug)]
struct Stretch {
    first: When,
    last: When,
    /// The recorder's number of the last.
    number: u64,
}

/// Of each kind its stretches, in order.
#[derive(Debug, Default)]
pub(super) struct Chains(FxHashMap<&'static str, Vec<Stretch>>);

const KINDS: [&str; 4] = ["nics", "qdiscs", "sockets", "counters"];

impl Chains {
    /// Takes the text `readings` of a reading: `nics 5 after 4` lines.
    pub(super) fn read(&mut self, text: &str, at: When) {
        for line in text.lines() {
            let mut words = line.split(' ');
            let kind = words.next().and_then(|w| KINDS.iter().find(|k| **k == w));
            let Some((kind, number)) = kind.zip(words.next().and_then(|n| n.parse().ok())) else {
                continue;
            };
            let after: Option<u64> = words
                .next()
                .filter(|w| *w == "after")
                .and(words.next())
                .and_then(|n| n.parse().ok());
            let all = self.0.entry(*kind).or_default();
            match all.last_mut().filter(|s| Some(s.number) == after) {
                Some(stretch) => (stretch.last, stretch.number) = (at, number),
                None => all.push(Stretch {
                    first: at,
                    last: at,
                    number,
                }),
            }
        }
    }

    /// Until when a counter that was read at `at`, and not since, is known to have been the same.
    pub(super) fn held(&self, key: &Key, own: Option<u64>, at: When) -> When {
        let elsewhere = key.netns.is_some() && key.netns != own;
        let kind = match key.source {
            "nic" => "nics",
            "class" => "qdiscs",
            "qdisc" if elsewhere => "qdiscs",
            "snmp" | "netstat" | "snmp6" | "sockstat" | "dev" | "nf_conntrack" if elsewhere => "counters",
            _ => return at,
        };
        let all = self.0.get(kind).map_or(&[][..], Vec::as_slice);
        let begun = all.partition_point(|s| s.first.nth <= at.nth);
        let of = begun.checked_sub(1).and_then(|n| all.get(n));
        of.map(|s| s.last).filter(|last| last.nth >= at.nth).unwrap_or(at)
    }
}
