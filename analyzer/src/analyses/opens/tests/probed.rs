//! What the probes tell: of a recording under Linux 6.12 against `ss` and the program's stopwatch, and lookups that take long.

use crate::analyses::opens::Opens;
use crate::analyses::opens::probed::lookups;
use crate::analyses::{Outcome, answer};
use crate::testing::{Ctx, Script, V};

fn truth() -> String {
    std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../sample-data/probes/truth.txt")).unwrap()
}

fn opens(of: Outcome<Opens>) -> Opens {
    match of {
        Outcome::Findings(opens) => opens,
        Outcome::Unknown(why) => panic!("{why:?}"),
    }
}

#[test]
fn the_longest_queue_is_that_of_ss_and_the_longest_lookup_that_of_the_stopwatch() {
    let facts = crate::tests::facts("probes/probes.nmb.zst");
    let found = opens(answer(&facts).opens);
    // "seven 7 9": RECV-Q and SEND-Q.
    let ss: Vec<u32> = truth()
        .lines()
        .filter_map(|l| l.strip_prefix("ss seven "))
        .flat_map(|l| l.split(' ').map(|n| n.parse().unwrap()))
        .collect();
    let queue = &found.accept_queues[0];
    assert_eq!(queue.at, "127.0.0.1:7001");
    assert_eq!(vec![queue.most, queue.limit], ss);
    // It connected eight times, once after five were accepted.
    assert_eq!((queue.sockets, queue.joined, queue.full), (1, 8, 0));
    let times: Vec<i64> = truth()
        .lines()
        .filter_map(|l| l.strip_prefix("lookup "))
        .map(|l| {
            let words: Vec<&str> = l.split(' ').collect();
            words[2].parse::<i64>().unwrap() - words[1].parse::<i64>().unwrap()
        })
        .collect();
    let lookups = found.name_lookups.iter().find(|l| l.task == "probes").unwrap();
    assert_eq!((lookups.took.n, lookups.took.unknown), (times.len() as u64, 0));
    let (longest, told) = (lookups.took.max_ns.unwrap(), times.iter().max().unwrap());
    assert!((told - longest).abs() < 20_000_000, "{told} {longest}");
    // None took a second, so nothing is said of them.
    assert_eq!(found.name_lookups.iter().map(|l| l.slow).sum::<u64>(), 0);
}

/// A call of [`lookups`]' length is known where both its ends are; one of a second or more is counted apart.
#[test]
fn a_lookup_that_is_cut_has_no_length() {
    let mut s = Script::new("6.12.117", &[]);
    let mut at = |ms: u64, pid: i32, event: &str, field: &str| {
        s.ev(ms * 1_000_000, 0, Ctx::Task(pid), event, &[(field, V::N(7))]);
    };
    let (asks, answered) = ("netmortem:getaddrinfo", "netmortem:getaddrinfo_return");
    for (from, to) in [(10, Some(2_015)), (2_100, Some(2_110)), (2_200, None)] {
        at(from, 1, asks, "__probe_ip");
        if let Some(to) = to {
            at(to, 1, answered, "__probe_ret_ip");
        }
    }
    // The first one's third had waited for 1.2 s when the recording ended; this one for no time.
    at(3_400, 2, asks, "__probe_ip");
    let found = lookups(&s.facts());
    let [l] = &found[..] else { panic!("{found:?}") };
    assert_eq!((l.took.n, l.took.unknown, l.slow), (2, 2, 2));
    assert_eq!((l.took.max_ns, l.slowest_ns), (Some(2_005_000_000), Some(10_000_000)));
}
