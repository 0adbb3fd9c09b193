//! What is said once, and as what it is.

use super::requests::{MS, awaited, mostly_fast};
use super::turns::{both, part, server, slow};
use crate::analyses::verdict::application::{application, headline};

#[test]
fn what_the_slow_ones_did_is_said_once() {
    let mut first = slow("server", 50, 90 * MS);
    first.parts = vec![part("asleep_in", Some("clock_nanosleep"), 299 * MS, 0.998)];
    first.task = ("python3/16879".into(), 1.0);
    let mut a = both(vec![server("10.9.2.2:7316", mostly_fast(), vec![first], MS)]);
    a.awaited = Some(awaited(mostly_fast(), 60_000, 300 * MS, None));
    let said = application(&a).1;
    let n = said.matches("python3/16879 asleep in clock_nanosleep").count();
    assert!(n == 1 && said.contains("of the slowest 1 %"), "{said}");
}

/// Where all take long, the slowest are no exception.
#[test]
fn answers_that_all_take_long_are_said_so() {
    let values = (0..200).map(|n| if n < 26 { 20 * MS } else { 12 * MS });
    let of = vec![slow("there", 26, 20 * MS)];
    let said = headline(&both(vec![server("10.9.2.2:6379", values.collect(), of, MS)]));
    let expect = "answers from 10.9.2.2:6379 took p50 12.00 ms, max 20.00 ms (n 200); 26 of the slowest p50 20.00 ms, 99.9 % of it on the way there";
    assert!(said.starts_with(expect), "{said}");
}
