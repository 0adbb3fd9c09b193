//! Transfers that lose more and are as fast, and addresses that are tried in vain.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::samples::{facts, of};
use crate::Confidence;
use crate::diff::judged::transfers::moderate;
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
    moderate(&mut d.rates, [&b, &a], &DiffOptions::default());
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
    // On both sides; and a few of them.
    let both = of(&tries(20), &tries(20)).verdict;
    assert!(!both.sentence.contains("is tried first"), "{}", both.sentence);
    assert!(!of(&tries(0), &tries(9)).verdict.sentence.contains("is tried first"));
}
