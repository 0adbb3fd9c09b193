//! Transfers that lose more and are as fast, and addresses that are tried in vain.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::samples::{facts, of};
use crate::Confidence;
use crate::diff::judged::transfers::{as_fast, left, moderate};
use crate::diff::sides::options::Recording;
use crate::diff::{DiffOptions, Outcome};
use crate::facts::Facts;
use crate::name::Name;
use crate::reconstruct::opens::tables::{OpenEnd, OpenRow};

/// Retransmissions called worse, of a transfer whose speed changed to so much of what it was, with what changed after; what they are then.
fn retransmits(speed: f64, change: impl Fn(&mut Facts)) -> Outcome {
    let before = facts("sawtooth/sawtooth.nmb");
    let mut after = facts("sawtooth/sawtooth.nmb");
    change(&mut after);
    let mut d = of(&before, &before);
    for r in &mut d.rates {
        if r.metric.starts_with("tcp.speed[") {
            r.after.value = r.before.value * speed;
        }
        if r.metric == "tcp.retransmits" {
            r.outcome = Outcome::Worse;
        }
    }
    assert!(d.rates.iter().any(|r| r.metric.starts_with("tcp.speed[")));
    let side = |f| Recording::all(&[f], &[], None);
    let (b, a) = (side(&before), side(&after));
    let o = DiffOptions::default();
    let transfers = as_fast(&d.rates, [&b, &a], &o);
    moderate(&mut d.rates, &transfers, [&b, &a], &o);
    d.rates.iter().find(|r| r.metric == "tcp.retransmits").unwrap().outcome
}

#[test]
fn what_a_transfer_sends_again_and_is_as_fast_is_a_change() {
    assert_eq!(retransmits(0.9, |_| {}), Outcome::Changed);
    // It is slower.
    assert_eq!(retransmits(0.7, |_| {}), Outcome::Worse);
    // Others lose as well: of forty calls it is not known whose they are.
    let others = |f: &mut Facts| {
        let like = f.retransmits[0].clone();
        f.retransmits
            .extend((0..40).map(|_| crate::reconstruct::tcp::tables::RetransmitRow {
                connection: None,
                ..like.clone()
            }));
    };
    assert_eq!(retransmits(0.9, others), Outcome::Worse);
}

/// Requests beside a transfer, of which each has a large part of it; and such as ask for little.
#[test]
fn a_service_whose_requests_are_transfers_is_one_of_transfers() {
    let asked = |times: i64| {
        move |f: &mut Facts| {
            let like = facts("rpc/rpc.nmb").responses.remove(0);
            let most = f.connections.iter().max_by_key(|c| c.bytes_out).unwrap().connection;
            let (from, to) = (f.capture.start_ns.unwrap(), f.capture.end_ns.unwrap());
            f.responses.extend((0..times).map(|n| {
                let send_ns = from + (to - from) / times * n;
                crate::reconstruct::application::tables::ResponseRow {
                    connection: most,
                    send_ns,
                    ready_ns: Some(send_ns + MS),
                    read_ns: send_ns + MS,
                    complete_ns: Some(send_ns + MS),
                    ..like.clone()
                }
            }));
        }
    };
    // 9.16 MB: 764 kB each, and 76.
    assert_eq!(retransmits(0.9, asked(12)), Outcome::Changed);
    assert_eq!(retransmits(0.9, asked(120)), Outcome::Worse);
}

/// Where nothing is left out it is the rate itself.
#[test]
fn what_is_left_is_counted_as_the_rate_is() {
    let mut seen = 0;
    for path in ["sawtooth/sawtooth.nmb", "kernel-6.1/netem.nmb", "rpc/rpc.nmb"] {
        let f = facts(path);
        let side = Recording::all(&[&f], &[], None);
        for r in of(&f, &f).rates {
            let named = ["tcp.retransmits", "tcp.rto", "rx.met_out_of_order", "tx.met_recovery"];
            if !named.contains(&r.metric.as_str()) && !r.metric.starts_with("drops.") {
                continue;
            }
            let (n, all) = left(&side, &r.metric, &Default::default());
            assert_eq!(
                (n, all.unwrap_or(r.before.out_of)),
                (r.before.of, r.before.out_of),
                "{path} {}",
                r.metric
            );
            seen += 1;
        }
    }
    assert!(seen >= 6, "{seen}");
}

const MS: i64 = 1_000_000;

fn attempt(pid: i32, to: IpAddr, start_ns: i64, end_ns: i64, end: OpenEnd) -> OpenRow {
    OpenRow {
        connection: None,
        from: None,
        to: Some((to, 443)),
        pid,
        task: Name::new(b"app"),
        start_ns,
        end_ns,
        end,
        error: None,
        message: false,
        syns_again: Some(0),
        confidence: Confidence::Certain,
    }
}

/// One thread begins an attempt each 50 ms, and takes the other address 250 ms later: five are under way at once.
fn tries(n: i64) -> Facts {
    let six = IpAddr::V6(Ipv6Addr::new(0xfd09, 0, 0, 0, 0, 0, 0, 7));
    let four = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 7));
    let mut f = facts("rpc/rpc.nmb");
    let from = f.capture.start_ns.unwrap();
    for k in 0..n {
        let at = from + k * 50 * MS;
        f.opens.push(attempt(5, six, at, at + 252 * MS, OpenEnd::GivenUp));
        let at = at + 250 * MS;
        f.opens.push(attempt(5, four, at, at + MS, OpenEnd::Established));
    }
    f.opens.sort_by_key(|o| o.start_ns);
    f
}

#[test]
fn an_address_that_is_tried_first_and_in_vain_is_worse() {
    let d = of(&tries(0), &tries(20));
    let said = "After, and not before, [fd09::7]:443 is tried first, which comes to nothing: 20 times by app (20 had no answer to a SYN), until p50 250.00 ms later 10.0.0.7:443 was taken (inferred).";
    assert!(d.verdict.sentence.starts_with(said), "{}", d.verdict.sentence);
    assert_eq!(d.verdict.outcome, Outcome::Worse);
    assert_eq!(of(&tries(20), &tries(0)).verdict.outcome, Outcome::Better);
    // It stands far oftener than it comes to nothing.
    let mut stands = tries(20);
    let six = stands.opens.iter().find(|o| o.end == OpenEnd::GivenUp).unwrap().clone();
    stands.opens.extend((0..100).map(|_| OpenRow {
        pid: 6,
        end: OpenEnd::Established,
        ..six.clone()
    }));
    let said = |before: &Facts, after: &Facts| of(before, after).verdict.sentence.contains("is tried first");
    assert!(!said(&tries(0), &stands));
    // Another address of the service that is tried in vain before, too, in its place; and beside it.
    let other = |f: &mut Facts, to: u16| {
        for o in f.opens.iter_mut().filter(|o| o.end == OpenEnd::GivenUp) {
            o.to = Some((IpAddr::V6(Ipv6Addr::new(0xfd09, 0, 0, 0, 0, 0, 0, to)), 443));
        }
    };
    let mut moved = tries(20);
    other(&mut moved, 8);
    assert!(!said(&moved, &tries(20)));
    let mut both = tries(20);
    let mut more = moved.opens.clone();
    more.iter_mut().for_each(|o| o.pid = 9);
    both.opens.extend(more);
    both.opens.sort_by_key(|o| o.start_ns);
    assert!(said(&moved, &both));
    // On both sides; and a few of them.
    let both = of(&tries(20), &tries(20)).verdict;
    assert!(!both.sentence.contains("is tried first"), "{}", both.sentence);
    assert!(!of(&tries(0), &tries(9)).verdict.sentence.contains("is tried first"));
}
