//! Attempts in place of which an address of the other family is taken at once.

use std::net::IpAddr;

use super::aside::attempt;
use crate::analyses::opens::aside::{Aside, asides};
use crate::analyses::verdict::Tone;
use crate::facts::Facts;
use crate::reconstruct::opens::tables::{OpenEnd, OpenRow};

const MS: i64 = 1_000_000;

/// So many times each second of a process [fd00::9]:8000 is refused at once, and 10.0.0.9:8000 taken, so many ns behind.
fn facts(n: u32, behind: impl Fn(u32) -> Option<i64>) -> Facts {
    let mut f = super::aside::facts(0, &[]);
    for n in 0..n {
        // Not at the even distances of a check.
        let at = i64::from(n * 1_000 + n * n % 97 * 7) * MS;
        let tried: IpAddr = "fd00::9".parse().unwrap();
        let mut o = attempt(2 * n, 1, (9, 8000), OpenEnd::Refused);
        (o.to, o.start_ns, o.end_ns, o.pid) = (Some((tried, 8000)), at, at + MS / 10, 42);
        f.opens.push(o);
        if let Some(behind) = behind(n) {
            let from = at + MS / 10 + behind;
            let o = attempt(2 * n + 1, 1, (9, 8000), OpenEnd::Established);
            f.opens.push(OpenRow {
                start_ns: from,
                end_ns: from + MS,
                pid: 42,
                ..o
            });
        }
    }
    f.opens.sort_by_key(|o| o.start_ns);
    f
}

fn of(f: &Facts) -> Option<Aside> {
    asides(f).of(&f.opens[0]).cloned()
}

#[test]
fn who_takes_the_other_family_at_once_misses_nothing() {
    let f = facts(50, |_| Some(MS / 10));
    let then = || "10.0.0.9:8000".to_owned();
    let within_ns = MS / 10 + MS / 10 + MS;
    assert_eq!(
        of(&f),
        Some(Aside::Family {
            then: then(),
            within_ns
        })
    );
    let (_, line) = super::scans::told(&f);
    let says = "50 attempts to connect to [fd00::9]:8000 by nessusd/42 were refused, and 10.0.0.9:8000, of the other family, was taken at once and stood within 1.20 ms (inferred)";
    assert!(line.headline.contains(says), "{}", line.headline);
    assert_eq!(line.tone, Tone::Notice);
}

#[test]
fn who_has_nothing_in_place_of_it_or_late_may_miss_it() {
    // One may have been left; two are not.
    let left = |many: u32| facts(50, move |n| (n >= 10 + many || n < 10).then_some(MS / 10));
    assert!(matches!(of(&left(1)), Some(Aside::Family { .. })));
    assert_eq!(of(&left(2)), None);
    assert_eq!(of(&facts(50, |_| Some(30 * MS))), None);
    // One may be late, as the first before a neighbour is known; of few none.
    let late = |n: u32| {
        let mut f = facts(n, |_| Some(MS / 10));
        let first = f.opens.iter_mut().take(2);
        first.for_each(|o| o.end_ns += 1_000 * MS);
        f.opens[1].start_ns += 1_000 * MS;
        of(&f)
    };
    assert!(late(50).is_some());
    assert!(!matches!(late(9), Some(Aside::Family { .. })));
    // The other one fails as well.
    let mut f = facts(50, |_| Some(MS / 10));
    for o in f.opens.iter_mut().filter(|o| o.to.is_some_and(|t| t.0.is_ipv4())) {
        o.end = OpenEnd::Refused;
    }
    assert_eq!(of(&f), None);
    // Another process took it.
    let mut f = facts(50, |_| Some(MS / 10));
    for o in f.opens.iter_mut().filter(|o| o.to.is_some_and(|t| t.0.is_ipv4())) {
        o.pid = 43;
    }
    assert_eq!(of(&f), None);
}
