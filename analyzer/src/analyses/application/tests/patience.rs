//! Requests that were left where others of their kind are held.

use super::given_up::{came, state};
use super::{MS, SYN_SENT, answered_after};
use crate::analyses::application::{Application, answer};
use crate::facts::{ConnectionId, Facts};
use crate::name::Name;
use crate::reconstruct::transmit::tables::TxRow;

/// A request of its own connection, of so many bytes: answered after `took`, or closed then.
fn ask(f: &mut Facts, at: i64, took: i64, bytes: u32, answered: bool) {
    let n = f.connections.len() as u32;
    let mut c = crate::testing::tcp::connection(n);
    (c.sport, c.dport, c.task) = (10_000 + n as u16, 80, Name::new(b"browser"));
    f.connections.push(c);
    f.tx.push(TxRow {
        connection: Some(ConnectionId(n)),
        start_ns: at,
        bytes: Some(bytes),
        ..crate::testing::sent()
    });
    let left = at + took + if answered { MS } else { 0 };
    f.tcp_states
        .extend([state(n, at - 2000, SYN_SENT), state(n, at - 1000, 1)]);
    f.tcp_states.extend([
        state(n, left, 4),
        state(n, left + 40_000, 5),
        state(n, left + 45_000, 7),
    ]);
    if answered {
        f.responses.push(answered_after(n, at, took));
        f.rx.push(came(n, at + took));
    }
}

struct Site {
    /// Of long polls: how many, from when on, how far from each other, and how long each is held.
    held: (i64, i64, i64, fn(i64) -> i64),
    /// How long what else is asked takes.
    others: fn(i64) -> i64,
    /// Bytes of those that are closed.
    closed: u32,
}

const SITE: Site = Site {
    held: (12, 0, 1_300, |n| 4_000 + n % 5 * 700),
    others: |_| 5,
    closed: 78,
};

/// In 20 s: twelve requests that are held, two others a second, and four that are closed after 2.5 s.
fn facts(site: &Site) -> Facts {
    let mut f = Facts::empty();
    (f.capture.start_ns, f.capture.end_ns) = (Some(0), Some(20_000 * MS));
    f.capture.duration_ns = 20_000 * MS;
    let (n, from, apart, took) = site.held;
    for i in 0..n {
        ask(&mut f, (100 + from + i * apart) * MS, took(i) * MS, 78, true);
    }
    for i in 0..36 {
        let at = 50 + i * 500;
        ask(&mut f, at * MS, (site.others)(at) * MS, 84, true);
    }
    for i in 0..4 {
        ask(
            &mut f,
            (1_020 + i * 4_100) * MS,
            2_500 * MS + i * 10_000,
            site.closed,
            false,
        );
    }
    f.tcp_states.sort_by_key(|s| s.time_ns);
    f.tx.sort_by_key(|t| t.start_ns);
    f
}

/// Given up, answered of that kind, longer; `None`: nothing tells that they are held.
fn patience(f: &Facts) -> (u64, Option<(u64, u64)>) {
    let a: Application = answer(f).findings().unwrap().clone();
    let [g] = a.given_up.as_slice() else {
        panic!("{:?}", a.given_up)
    };
    let of = g.patience.as_ref().map(|p| (p.answered, p.longer));
    (g.requests, of)
}

#[test]
fn long_polls_that_are_left_are_told_from_a_time_out() {
    assert_eq!(patience(&facts(&SITE)), (4, Some((12, 12))));
    // One that had news at once is of the kind as well.
    let mut f = facts(&SITE);
    ask(&mut f, 7_000 * MS, 20 * MS, 78, true);
    assert_eq!(patience(&f), (4, Some((13, 12))));
}

/// A server that stands still: what is asked meanwhile waits as well.
#[test]
fn a_server_that_answers_nobody_in_time_holds_nothing_by_design() {
    let site = |others| Site { others, ..SITE };
    assert_eq!(patience(&facts(&site(|_| 2_000))).1, None);
    // In the time of two of the four.
    let half = |at| if at > 9_000 { 3_000 } else { 5 };
    assert_eq!(patience(&facts(&site(half))).1, None);
}

/// Their kind is answered soon at other times: what stalls began in the recording, or was for once.
#[test]
fn a_kind_that_is_fast_before_is_not_held_by_design() {
    let site = |held| Site { held, ..SITE };
    let since = |n: i64| if n < 6 { 20 } else { 4_000 };
    assert_eq!(patience(&facts(&site((12, 0, 1_300, since)))).1, None);
    // All in one part of the recording; all let go at one moment; few.
    assert_eq!(patience(&facts(&site((12, 0, 300, |_| 4_000)))).1, None);
    assert_eq!(patience(&facts(&site((12, 0, 1_300, |n| 18_000 - n * 1_300)))).1, None);
    assert_eq!(patience(&facts(&site((4, 0, 3_600, |_| 4_000)))).1, None);
    // Fewer than were closed.
    let mut f = facts(&site((5, 0, 3_000, |_| 4_000)));
    assert!(patience(&f).1.is_some());
    for i in 0..3 {
        ask(&mut f, (2_000 + i * 4_100) * MS, 2_500 * MS, 78, false);
    }
    assert_eq!(patience(&f), (7, None));
}

/// Nothing of that length is answered, or what is closed is of several lengths; another program's are no tell; events were lost.
#[test]
fn what_is_of_no_known_kind_is_a_time_out() {
    assert_eq!(patience(&facts(&Site { closed: 300, ..SITE })).1, None);
    let mut several = facts(&SITE);
    ask(&mut several, 9_000 * MS, 2_500 * MS, 99, false);
    assert_eq!(patience(&several).1, None);
    let mut other = facts(&SITE);
    other
        .connections
        .iter_mut()
        .take(12)
        .for_each(|c| c.task = Name::new(b"poller"));
    assert_eq!(patience(&other).1, None);
    let mut lost = facts(&SITE);
    lost.gaps.push(crate::testing::gap(19_900 * MS, 19_950 * MS));
    assert_eq!(patience(&lost).1, None);
    // It waits longer than such take.
    assert_eq!(
        patience(&facts(&Site {
            held: (12, 0, 1_300, |_| 2_400),
            ..SITE
        }))
        .1,
        None
    );
}
