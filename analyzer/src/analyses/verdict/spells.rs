//! When packets were dropped: groups of one kind as one, and the few spells in which their times lie.

use crate::analyses::application::Shift;
use crate::analyses::drops::reasons::QUEUE_FULL;
use crate::analyses::drops::{Arp, Group, Inside, Lost, Receiver, Steady, Unresolved};
use crate::reconstruct::drops::in_words;

/// Part of the recording within which lost packets lie together.
pub(super) const TOGETHER: i64 = 4;
/// Bursts that are told.
const BURSTS: usize = 3;
/// And, where they come at even distances, of which each is so close to their median.
const MORE_BURSTS: usize = 12;
const EVEN: f64 = 0.2;
/// A gap between bursts is so many times the longest in one.
const APART: i64 = 2;
/// Devices that are named.
const DEVICES: usize = 3;
/// From so many packets on it is said when they began, where that is late.
const MANY: usize = 10;

/// Groups that differ in nothing but their device, known or not, or the function of which the words are the same, are one; most first.
pub(super) fn merged<'g>(groups: impl Iterator<Item = &'g Group>) -> Vec<Group> {
    let mut all: Vec<Group> = vec![];
    for g in groups {
        let alike = |a: &&mut Group| {
            let refused = g.reason != QUEUE_FULL || a.full == g.full;
            let same = refused && (&a.reason, a.why, &a.qdisc) == (&g.reason, g.why, &g.qdisc);
            let words = |g: &Group| in_words(&g.reason, &g.location, g.why);
            let place = a.location == g.location || !words(a).is_empty() && words(a) == words(g);
            same && place
                && a.passes.is_none()
                && g.passes.is_none()
                && !a.location.is_empty()
                && !g.location.is_empty()
        };
        match all.iter_mut().find(alike) {
            None => all.push(g.clone()),
            Some(a) => {
                let mut devs = a.dev.split(", ");
                if g.location == a.location || !devs.any(|d| d == g.dev) {
                    a.dev = format!("{}, {}", a.dev, g.dev);
                }
                if g.location != a.location && !a.also_at.contains(&g.location) {
                    a.also_at.push(g.location.clone());
                }
                a.host = a.host.take().filter(|h| g.host.as_ref() == Some(h) && a.dev == g.dev);
                a.count = a.count.saturating_add(g.count);
                a.owned = a.owned.saturating_add(g.owned);
                a.aside = a.aside.saturating_add(g.aside);
                a.one_way = a.one_way.saturating_add(g.one_way);
                a.membership = [a.membership, g.membership]
                    .into_iter()
                    .flatten()
                    .reduce(u64::saturating_add);
                a.arp = match (a.arp.take(), &g.arp) {
                    (Some(one), Some(other)) => {
                        let frames = one.frames.saturating_add(other.frames);
                        let told = if one.silent.is_some() || other.silent.is_none() && one.several.is_some() {
                            one
                        } else {
                            other.clone()
                        };
                        Some(Arp { frames, ..told })
                    }
                    (one, other) => one.or_else(|| other.clone()),
                };
                a.cut = match (a.cut.take(), &g.cut) {
                    // Of two times the one of most.
                    (Some(one), Some(other)) if one.near(other) => Some(one.and(other)),
                    (Some(one), Some(other)) if other.dropped > one.dropped => Some(other.clone()),
                    (one, other) => one.or_else(|| other.clone()),
                };
                a.steady = match (a.steady.take(), &g.steady) {
                    (Some(one), Some(other)) => Some(Steady {
                        count: one.count.saturating_add(other.count),
                        others: one.others.saturating_add(other.others).saturating_add(1),
                        ..one
                    }),
                    (one, other) => one.or_else(|| other.clone()),
                };
                a.inside = match (a.inside.take(), &g.inside) {
                    (Some(one), Some(other)) if (&one.dev, &one.kind) == (&other.dev, &other.kind) => {
                        let count = one.count.saturating_add(other.count);
                        Some(Inside { count, ..one })
                    }
                    (one, other) => one.or_else(|| other.clone()),
                };
                a.unresolved = match (a.unresolved.take(), &g.unresolved) {
                    (Some(one), Some(other)) if (&one.address, &one.dev) == (&other.address, &other.dev) => {
                        let count = one.count.saturating_add(other.count);
                        Some(Unresolved { count, ..one })
                    }
                    _ => None,
                };
                a.next_link = a.next_link.take().filter(|n| Some(n) == g.next_link.as_ref());
                a.receiver = match (a.receiver.take(), &g.receiver) {
                    (Some(one), Some(other)) if (&one.to, &one.task) == (&other.to, &other.task) => {
                        let count = one.count.saturating_add(other.count);
                        Some(Receiver { count, ..one })
                    }
                    _ => None,
                };
                a.bridged = a.bridged.filter(|_| a.bridged == g.bridged);
                a.first_drop = a.first_drop.min(g.first_drop);
                a.first_ns = a.first_ns.min(g.first_ns);
                a.last_ns = a.last_ns.max(g.last_ns);
                for l in &g.of {
                    let same = |o: &&mut Lost| {
                        o.came.is_none() && l.came.is_none() && (o.carries, &o.whose) == (l.carries, &l.whose)
                    };
                    match a.of.iter_mut().find(same) {
                        Some(own) => own.count = own.count.saturating_add(l.count),
                        None => a.of.push(l.clone()),
                    }
                }
                a.times.extend(g.times.iter().copied());
                for one in &g.answered {
                    match a.answered.iter_mut().find(|o| o.says == one.says) {
                        Some(own) => own.count = own.count.saturating_add(one.count),
                        None => a.answered.push(one.clone()),
                    }
                }
            }
        }
    }
    for a in &mut all {
        let of: Vec<&str> = a.dev.split(", ").collect();
        let known: Vec<String> = of.iter().filter(|d| !d.is_empty()).map(|d| (*d).to_owned()).collect();
        let part = known.len() < of.len() && !known.is_empty();
        a.dev = few(known) + if part { " (as far as known)" } else { "" };
        a.of.sort_by_key(|l| std::cmp::Reverse(l.count));
        // Of some of them the times are not kept.
        if a.times.len() as u64 != a.count {
            a.times.clear();
        }
        a.times.sort_unstable();
    }
    all.sort_by_key(|g| std::cmp::Reverse(g.count));
    all
}

/// Runs of times that are far apart from each other; `None`: there are no such, or too many.
fn bursts(times: &[i64], duration_ns: i64, most: usize) -> Option<Vec<(i64, i64)>> {
    let mut gaps: Vec<i64> = times.windows(2).filter_map(|w| Some(w.get(1)? - w.first()?)).collect();
    gaps.sort_unstable_by_key(|g| std::cmp::Reverse(*g));
    // The split behind which the next longest gap is much shorter.
    let fits = |n: &usize| {
        let (least, next) = (gaps.get(n - 1).copied(), gaps.get(*n).copied().unwrap_or(0));
        least.is_some_and(|least| least >= next.saturating_mul(APART) && least > 0)
    };
    let n = (1..most).find(fits)?;
    let least = *gaps.get(n - 1)?;
    let mut all: Vec<(i64, i64)> = vec![];
    let mut sizes: Vec<usize> = vec![];
    for at in times {
        match (all.last_mut(), sizes.last_mut()) {
            (Some(last), Some(size)) if at - last.1 < least => {
                last.1 = *at;
                *size += 1;
            }
            _ => {
                all.push((*at, *at));
                sizes.push(1);
            }
        }
    }
    let long: i64 = all.iter().map(|(a, b)| b - a).sum();
    // One that lies apart from all others is no burst; of two or three all are.
    let several = times.len() <= BURSTS || sizes.iter().all(|s| *s > 1);
    (several && long.saturating_mul(TOGETHER) <= duration_ns).then_some(all)
}

/// The first of them, and how many more: a host may have thousands of devices.
fn few(mut names: Vec<String>) -> String {
    let more = names.len().saturating_sub(DEVICES);
    if more > 1 {
        names.truncate(DEVICES);
        names.push(format!("{more} others"));
    }
    listed(&names)
}

/// `a, b and c`.
pub(super) fn listed(of: &[String]) -> String {
    match of.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => of.concat(),
    }
}

/// The first of them, and how many others there are, by their noun.
pub(super) fn listed_few(of: &[String], most: usize, (one, many): (&str, &str)) -> String {
    match of.get(..most.saturating_sub(1)).filter(|_| of.len() > most) {
        None => listed(of),
        Some(first) => {
            let more = (of.len() - first.len()) as u64;
            listed(&[first, &[super::sentences::counted(more, one, many)]].concat())
        }
    }
}

/// Within one part in so many of both ends of the recording.
const EDGE: i64 = 10;

/// When these were, where that is a small part of the recording, a few bursts of it, or the end of it. Times in order, since its start.
pub(super) fn spells(times: &[i64], duration_ns: i64) -> String {
    let (Some(from), Some(to)) = (times.first(), times.last()) else {
        return String::new();
    };
    let s = |ns: i64| format!("{:.3}", ns as f64 / 1e9);
    let one = |(a, b): &(i64, i64)| match s(*a) == s(*b) {
        true => format!("{} s", s(*a)),
        false => format!("{} to {} s", s(*a), s(*b)),
    };
    match times {
        [at] => format!(", at {} s", s(*at)),
        _ if s(*from) == s(*to) => format!(", all at {} s", s(*from)),
        _ if to.saturating_sub(*from).saturating_mul(TOGETHER) <= duration_ns => {
            format!(", all from {} s to {} s", s(*from), s(*to))
        }
        _ => match bursts(times, duration_ns, BURSTS) {
            Some(all) => {
                let said: Vec<String> = all.iter().map(one).collect();
                match (all.len(), times.len()) {
                    (n, of) if n == of => format!(", at {}", listed(&said)),
                    (n, _) => format!(", in {n} bursts, {}", listed(&said)),
                }
            }
            None if times.len() >= MANY && from.saturating_mul(TOGETHER) >= duration_ns => {
                format!(", all from {} s on, the last at {} s", s(*from), s(*to))
            }
            None => rhythm(times, duration_ns).map_or_else(String::new, |(all, each_ns)| {
                let first = all.first().map_or_else(String::new, one);
                format!(
                    ", in {} bursts, one every {}, the first {}{first}",
                    all.len(),
                    super::sentences::duration(each_ns),
                    if first.contains(" to ") { "from " } else { "at " }
                )
            }),
        },
    }
}

/// The same, or that they were from the begin of the recording to its end: no news.
pub(super) fn spells_or_all_along(times: &[i64], duration_ns: i64) -> String {
    let said = spells(times, duration_ns);
    let edge = duration_ns / EDGE;
    let all_along = match times {
        [first, .., last] => *first <= edge && *last >= duration_ns.saturating_sub(edge) && times.len() >= MANY,
        _ => false,
    };
    match said.is_empty() && all_along {
        true => ", throughout the recording".to_owned(),
        false => said,
    }
}

/// `, those from 4.900 s on p50 284.00 ms (n 312), those before 37.20 ms (n 221)`
pub(super) fn shifted(s: &Shift) -> String {
    format!(
        ", those from {} on p50 {} (n {}), those before {} (n {})",
        super::sentences::moment(s.at_ns),
        super::sentences::duration(s.after_ns),
        s.after,
        super::sentences::duration(s.before_ns),
        s.before
    )
}

/// Bursts, more than a few, that begin at even distances, and their median distance.
fn rhythm(times: &[i64], duration_ns: i64) -> Option<(Vec<(i64, i64)>, i64)> {
    let all = bursts(times, duration_ns, MORE_BURSTS)?;
    let begins = all.windows(2).filter_map(|w| match w {
        [a, b] => b.0.checked_sub(a.0),
        _ => None,
    });
    let mut apart: Vec<i64> = begins.collect();
    let each = crate::stat::nearest_rank(&mut apart, 50)?;
    let even = apart.iter().all(|ns| ns.abs_diff(each) as f64 <= EVEN * each as f64);
    (all.len() > BURSTS && even).then_some((all, each))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    #[test]
    fn more_than_three_bursts_are_told_where_they_are_even() {
        let of = |begins: &[i64]| {
            let times: Vec<i64> = begins
                .iter()
                .flat_map(|b| (0..10).map(move |n| (b + n * 10) * MS))
                .collect();
            spells(&times, 12_000 * MS)
        };
        assert_eq!(
            of(&[500, 3_500, 6_520, 9_500]),
            ", in 4 bursts, one every 3.000 s, the first from 0.500 to 0.590 s"
        );
        assert_eq!(of(&[500, 1_500, 4_500, 6_500, 11_000]), "");
        // All the time.
        let often: Vec<i64> = (0..1000).map(|n| n * 12).collect();
        assert_eq!(of(&often), "");
    }
}
