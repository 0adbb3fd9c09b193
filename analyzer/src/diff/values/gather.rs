//! Servers whose openings that failed, or messages without an answer, are compared one by one; those of the others together.
//!
//! In: counts of both sides by server. Out: the same, with servers that have fewer than ten attempts on a side put together; and what even so is too little on a side, withheld.
//! Nothing is compared twice. Where names are pseudonyms, all are together.

use std::collections::BTreeSet;

use super::counted::{Counted, Exposure, Key};
use super::{asking, attempts};
use crate::diff::Withheld;

/// Those that are not compared one by one.
const OTHERS: &str = "other servers";

/// A kind of count: the server of such an exposure, the exposure of a server, the rate of an exposure.
struct Rated {
    server: fn(&Exposure) -> Option<&str>,
    of: fn(String) -> Exposure,
    key: fn(&Exposure) -> Key,
    what: &'static str,
}

const RATES: [Rated; 2] = [
    Rated {
        server: |e| match e {
            Exposure::Attempts(server) => Some(server),
            _ => None,
        },
        of: Exposure::Attempts,
        key: attempts::key,
        what: "attempts",
    },
    Rated {
        server: |e| match e {
            Exposure::Asked(server) => Some(server),
            _ => None,
        },
        of: Exposure::Asked,
        key: asking::key,
        what: "messages",
    },
];

/// Puts together what is too little by itself.
pub(in crate::diff) fn gather(
    before: &mut [Counted],
    after: &mut [Counted],
    hidden: bool,
    withheld: &mut Vec<Withheld>,
) {
    for rated in RATES {
        one(&rated, [before, after], hidden, withheld);
    }
}

fn one(rated: &Rated, mut sides: [&mut [Counted]; 2], hidden: bool, withheld: &mut Vec<Withheld>) {
    let of = |sides: &[&mut [Counted]; 2], per: &Exposure| -> [f64; 2] {
        let n = |side: &[Counted]| side.iter().map(|c| c.exposed(per)).sum::<f64>();
        [n(sides[0]), n(sides[1])]
    };
    let enough = |n: [f64; 2]| n.iter().all(|n| *n >= attempts::LEAST);
    let all = sides.iter().flat_map(|side| side.iter());
    let servers: BTreeSet<String> = all
        .flat_map(|c| c.exposures().filter_map(rated.server))
        .map(str::to_owned)
        .collect();
    let (named, others): (Vec<String>, Vec<String>) =
        (servers.into_iter()).partition(|s| !hidden && enough(of(&sides, &(rated.of)(s.clone()))));
    let rest = (rated.of)(match named.is_empty() {
        true => String::new(),
        false => OTHERS.to_owned(),
    });
    let rest_key = (rated.key)(&rest);
    for server in others {
        let per = (rated.of)(server);
        let key = (rated.key)(&per);
        for c in sides.iter_mut().flat_map(|side| side.iter_mut()) {
            c.give((&key, &per), Some((&rest_key, &rest)));
        }
    }
    let n = of(&sides, &rest);
    if enough(n) {
        return;
    }
    let failed: f64 = sides
        .iter()
        .flat_map(|side| side.iter())
        .map(|c| c.sum(&rest_key))
        .sum();
    if failed > 0.0 {
        withheld.push(Withheld {
            metric: rest_key.metric.clone(),
            because: format!(
                "{} {} before and {} after: fewer than {}",
                n[0],
                rated.what,
                n[1],
                attempts::LEAST
            ),
        });
    }
    for c in sides.iter_mut().flat_map(|side| side.iter_mut()) {
        c.give((&rest_key, &rest), None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Attempts and those that failed, by server.
    fn side(of: &[(&str, usize, usize)]) -> Vec<Counted> {
        let mut out = Counted::default();
        for (server, n, failed) in of {
            let per = Exposure::Attempts((*server).to_owned());
            out.expose(per.clone(), 0, *n as f64);
            if *failed > 0 {
                out.count(attempts::key(&per), per, 0, *failed as f64);
            }
        }
        vec![out]
    }

    fn gathered(
        before: &[(&str, usize, usize)],
        after: &[(&str, usize, usize)],
        hidden: bool,
    ) -> (Vec<(String, f64, f64)>, Vec<Withheld>) {
        let (mut b, mut a, mut withheld) = (side(before), side(after), vec![]);
        gather(&mut b, &mut a, hidden, &mut withheld);
        let keys = a.iter().flat_map(|c| c.out_of.clone());
        let of = |(key, per): (Key, Exposure)| (key.metric.clone(), a[0].sum(&key), a[0].exposed(&per));
        (keys.map(of).collect(), withheld)
    }

    #[test]
    fn those_not_named_are_compared_together() {
        let before = [("a", 20, 0), ("b", 5, 0), ("c", 6, 0)];
        let after = [("a", 20, 1), ("b", 5, 5), ("c", 6, 0)];
        let named = ("app.failed_opens[a]".to_owned(), 1.0, 20.0);
        let rest = ("app.failed_opens[other servers]".to_owned(), 5.0, 11.0);
        assert_eq!(gathered(&before, &after, false), (vec![named, rest], vec![]));
        // Pseudonyms are of each side its own.
        let all = ("app.failed_opens".to_owned(), 6.0, 31.0);
        assert_eq!(gathered(&before, &after, true), (vec![all], vec![]));
    }

    #[test]
    fn what_is_too_little_is_withheld() {
        let (rates, withheld) = gathered(&[("a", 20, 0), ("b", 8, 0)], &[("a", 20, 0), ("b", 203, 200)], false);
        assert_eq!(rates, []);
        let said = Withheld {
            metric: "app.failed_opens[other servers]".into(),
            because: "8 attempts before and 203 after: fewer than 10".into(),
        };
        assert_eq!(withheld, [said]);
        assert_eq!(gathered(&[("b", 8, 0)], &[("b", 8, 0)], false).1, []);
    }
}
