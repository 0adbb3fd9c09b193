//! Names, parts and memory. Whole batches are run in `analyzer/cli/tests/cli`.

use std::time::Duration;

use super::budget::{Budget, to_open};
use super::find::Shard;
use super::store::encoded;
use crate::memory::size;

#[test]
fn a_name_becomes_one_file_name_and_no_other_names_do() {
    assert_eq!(encoded("day 1/a.nmb"), "day%201%2Fa.nmb");
    assert_eq!(encoded("../../etc/passwd"), "%2E.%2F..%2Fetc%2Fpasswd");
    assert_eq!(encoded("100%"), "100%25");
    let long = |c: &str| encoded(&format!("{}/{c}.nmb", "ü/".repeat(300)));
    assert!(long("a").len() <= 240 && long("a").ends_with("a.nmb"));
    assert_ne!(long("a"), long("b"));
    let deep = |c: &str| encoded(&format!("{c}{}", "x".repeat(400)));
    assert_ne!(deep("a"), deep("b"));
}

#[test]
fn every_name_is_in_exactly_one_part() {
    for i in 0..500 {
        let name = format!("host{i}/incident.nmb");
        let parts = (1..=7).filter(|part| Shard { part: *part, of: 7 }.has(&name));
        assert_eq!(parts.count(), 1);
    }
    let mine = (0..700)
        .filter(|i| Shard { part: 3, of: 7 }.has(&format!("host{i}/incident.nmb")))
        .count();
    assert!((50..150).contains(&mine), "{mine}");
    for wrong in ["0/4", "5/4", "1", "a/b", "1/0"] {
        assert!(wrong.parse::<Shard>().is_err(), "{wrong}");
    }
}

#[test]
fn sizes_are_read() {
    assert_eq!(size("2G"), Ok(2 << 30));
    assert_eq!(size("500MiB"), Ok(500 << 20));
    for wrong in ["", "G", "0", "-1M", "99999999999999G"] {
        assert!(size(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn who_asks_for_what_is_not_free_waits_for_it() {
    let budget = Budget::new(100);
    assert!(budget.take(101).is_none());
    let first = budget.take(60).unwrap();
    let (sent, got) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        let (budget, sent) = (&budget, sent);
        scope.spawn(move || {
            let share = budget.take(50);
            sent.send(share.is_some()).unwrap();
        });
        assert!(got.recv_timeout(Duration::from_millis(100)).is_err(), "it did not wait");
        drop(first);
        assert!(got.recv_timeout(Duration::from_secs(20)).unwrap());
    });
}

/// A compressed perf.data grows when it is opened: its share is taken before, and what is too much given back.
#[test]
fn a_share_is_taken_before_opening_and_made_smaller() {
    assert_eq!(to_open(b"netmorte", 1 << 20), 0);
    for head in [b"PERFILE2", b"2ELIFREP"] {
        assert!(to_open(head, 1 << 20) >= 16 << 20);
    }
    let budget = Budget::new(100);
    let mut first = budget.take(80).unwrap();
    assert!(!first.shrink(81));
    assert!(first.shrink(30));
    let second = budget.take(70).unwrap();
    drop((first, second));
    assert!(budget.take(100).is_some());
}
