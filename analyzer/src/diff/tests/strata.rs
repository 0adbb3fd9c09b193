//! Mixtures of requests whose sizes vary, and of clients that are near and far: one server's answers, planted.

use super::kinds::{MS, SERVER, metric};
use crate::diff::judged::compare::Metric;
use crate::diff::judged::kinds::moderate;
use crate::diff::values::moves::Moves;
use crate::diff::{DiffOptions, Outcome};

/// How far away the clients of 10.0.9.0/24 are.
const FAR: i64 = 45 * MS;

/// Of twenty answers so many are for clients far away, and so many of ten are quotes (a large request of any size, 150 ms at the server); the others are pages (79 bytes, 10 ms) and baskets (a large request, too, with a
/// small answer, 13 ms).
#[derive(Clone, Copy)]
struct Shop {
    far: i64,
    quotes: i64,
    page_ns: i64,
    quote_ns: i64,
    way_ns: i64,
}

const BEFORE: Shop = Shop {
    far: 3,
    quotes: 1,
    page_ns: 10 * MS,
    quote_ns: 150 * MS,
    way_ns: FAR,
};

impl Shop {
    fn answers(self, n: i64) -> Vec<Moves> {
        let one = |n: i64| {
            // Neither follows the other.
            let (far, kind) = (n % 20 < self.far, ((n * 2_654_435_761) >> 9) % 10);
            let noise = n * 7919 % 400 * 1_000;
            let (request, answer, server) = match kind {
                k if k < self.quotes => (1_750 + n * 37 % 3_500, 3_200 + n * 101 % 6_000, self.quote_ns),
                9 => (750 + n * 31 % 1_500, 420 + n * 13 % 300, 13 * MS),
                _ => (79, 3_100 + n * 97 % 4_000, self.page_ns),
            };
            let (net, way) = if far { (9, self.way_ns) } else { (1, 100_000) };
            let ns = server + noise + way;
            Moves {
                at_ns: n * 10 * MS,
                response_ns: Some(ns),
                call_ns: Some(ns),
                turnaround_ns: Some(server + noise),
                server: SERVER.into(),
                client: [10, 0, net, 11 + (n % 2) as u8].into(),
                request: Some(request),
                answer: Some(answer),
                whole_ns: Some(ns),
            }
        };
        (0..n).map(one).collect()
    }
}

fn judged(before: Shop, after: Shop, shifts: &[(u64, i64, i64)]) -> (Outcome, Option<(bool, String)>) {
    judged_of([before.answers(1_000), after.answers(1_600)], shifts)
}

fn judged_of(sides: [Vec<Moves>; 2], shifts: &[(u64, i64, i64)]) -> (Outcome, Option<(bool, String)>) {
    let mut m: Metric = metric(1, 2);
    let like = m.shifts[0].clone();
    m.shifts = shifts
        .iter()
        .map(|(percent, b, a)| {
            let mut s = like.clone();
            (s.percent, s.before, s.after, s.shift) = (*percent, *b, *a, a - b);
            s
        })
        .collect();
    let mut all = [m];
    let said = moderate(&mut all, &sides, &DiffOptions::default());
    (all[0].outcome, said.first().map(|k| (k.mixture, k.sentence.clone())))
}

/// Nearly half come from far away after.
const FARTHER: Shop = Shop { far: 10, ..BEFORE };

#[test]
fn more_clients_from_far_away_are_no_slower_server() {
    let (outcome, said) = judged(BEFORE, FARTHER, &[(50, 10 * MS, 55 * MS)]);
    let (mixture, words) = said.unwrap();
    assert_eq!((outcome, mixture), (Outcome::Changed, true), "{words}");
    let start = "Requests to 10.0.0.2:80 are of another mixture (clients of 10.0.9.0/24, which are 45.00 ms away, 15 % -> 50 %)";
    assert!(words.starts_with(start), "{words}");
    assert!(
        words.contains("those of each size from as far away are answered as quickly as before, of one mixture p50 "),
        "{words}"
    );
    let figures = "of 79 bytes from 10.0.1.0/24 p50 10.";
    assert!(
        words.contains(figures) && words.contains("of 79 bytes from 10.0.9.0/24 p50 55."),
        "{words}"
    );
}

#[test]
fn more_of_the_expensive_ones_whose_sizes_vary_are_another_mixture() {
    let more = Shop { quotes: 3, ..BEFORE };
    // So few that hardly any has another of its size.
    let (outcome, said) = judged_of([BEFORE.answers(300), more.answers(500)], &[(90, 55 * MS, 150 * MS)]);
    let (mixture, words) = said.unwrap();
    assert_eq!((outcome, mixture), (Outcome::Changed, true), "{words}");
    assert!(
        words.contains("with answers of ") && words.contains(" %, which take p50 150."),
        "{words}"
    );
    assert!(
        words.contains("by the sizes of answers alone it is inferred"),
        "{words}"
    );
}

#[test]
fn what_is_slower_in_one_of_them_stays_worse_whatever_else_moved() {
    // Everything from far away, as the way became longer.
    let way = Shop {
        way_ns: 90 * MS,
        ..FARTHER
    };
    assert_eq!(judged(BEFORE, way, &[(50, 10 * MS, 100 * MS)]).0, Outcome::Worse);
    // All pages, near and far.
    let pages = Shop {
        page_ns: 20 * MS,
        ..FARTHER
    };
    assert_eq!(judged(BEFORE, pages, &[(50, 10 * MS, 65 * MS)]).0, Outcome::Worse);
    // Quotes alone, which are no half of all: the median does not show it.
    let quotes = Shop {
        quote_ns: 300 * MS,
        ..FARTHER
    };
    let (outcome, said) = judged(BEFORE, quotes, &[(50, 10 * MS, 55 * MS)]);
    assert_eq!((outcome, said.map(|s| s.0)), (Outcome::Worse, Some(false)));
}

#[test]
fn a_site_whose_clients_are_all_near_is_not_divided_by_them() {
    // Two networks, and both ways are within a site.
    let near = Shop {
        way_ns: 400_000,
        ..BEFORE
    };
    let more = Shop {
        far: 10,
        quotes: 3,
        ..near
    };
    let (outcome, said) = judged(near, more, &[(90, 14 * MS, 150 * MS)]);
    let words = said.unwrap().1;
    assert_eq!(outcome, Outcome::Changed, "{words}");
    assert!(!words.contains("clients of") && !words.contains("far away"), "{words}");
}
