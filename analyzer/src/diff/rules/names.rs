//! What metrics there are, without what is only known from recordings: devices, servers, reasons of drops.

use std::collections::BTreeMap;

use crate::diff::servers::answers::{LEDGER, OPENED_RATE, PAUSED_RATE};
use crate::diff::sides::options::Recording;
use crate::diff::sides::recorded;
use crate::diff::values::{
    again::{RETRANSMITS, RTO},
    asking::UNANSWERED_RATE,
    attempts::FAILED_RATE,
    counted::{LIMITS, MET_RX, MET_TX},
    metrics::Which,
};
use crate::reconstruct::receive::tables::Stage as RxStage;
use crate::reconstruct::skb::tables::SkbClass;
use crate::reconstruct::transmit::stages::Stage as TxStage;

/// First parts of metric names: what a rule may begin with.
pub(super) const FIRST: [&str; 10] = [
    "rx", "tx", "tx_udp", "device", "poll", "softirq", "lifetime", "tcp", "drops", "app",
];
/// Durations of no ledger that sums.
const DURATIONS: [&str; 7] = [
    "device.qdisc",
    "poll.duration",
    "softirq.wait",
    "softirq.run",
    "softirq.forwarding",
    "tcp.rtt",
    "tcp.srtt",
];
/// Of requests and answers.
const OF_ANSWERS: [&str; 7] = [
    "response",
    "call",
    "conversation",
    "connect",
    "turnaround",
    "unread",
    "qdisc",
];
/// Rates that are counts of no event: sizes, shares of time, speeds.
const MEANS: [&str; 5] = [
    "rx.unit_bytes",
    "poll.packets",
    "device.frame_bytes",
    "softirq.share",
    "tcp.speed",
];
/// Classes of skbs whose lives are compared.
const CLASSES: [SkbClass; 7] = [
    SkbClass::Rx,
    SkbClass::Tx,
    SkbClass::TxSegment,
    SkbClass::TxOriginal,
    SkbClass::TxClone,
    SkbClass::TxOther,
    SkbClass::Tap,
];

/// Whether drops are meant: of any reason, or of one.
fn is_drop(name: &str) -> bool {
    name == "drops" || name.strip_prefix("drops.").is_some_and(|reason| !reason.is_empty())
}

/// Whether a rule may name this, up to its bracket.
pub(super) fn is_known(name: &str) -> bool {
    is_drop(name) || FIRST.contains(&name) || all().iter().any(|n| n == name)
}

/// Whether it is a rate: events, sizes, shares, speeds.
pub(super) fn is_rate(name: &str) -> bool {
    counts_events(name) || MEANS.contains(&name) || limited().any(|n| n == name)
}

/// Whether it counts what is not there where all is well: that neither side has any is no reason to know nothing of it.
pub(super) fn counts_events(name: &str) -> bool {
    is_drop(name) || events().any(|n| n == name)
}

/// Every name, but `drops.REASON`.
pub(super) fn all() -> Vec<String> {
    let rx = RxStage::ALL
        .iter()
        .map(|s| s.name())
        .chain(["total", "rcvq", "unattributed"]);
    let tx = || TxStage::ALL.iter().map(|s| s.name()).chain(["total", "unattributed"]);
    let of = |ledger: &'static str| move |stage: &str| format!("{ledger}.{stage}");
    let lives = CLASSES.iter().map(|c| format!("lifetime.{}", c.word()));
    let plain = DURATIONS.iter().chain(&MEANS).map(|n| (*n).to_owned());
    rx.map(of("rx"))
        .chain(tx().map(of("tx")))
        .chain(tx().map(of("tx_udp")))
        .chain(OF_ANSWERS.into_iter().map(of(LEDGER)))
        .chain(lives)
        .chain(plain)
        .chain(events())
        .chain(limited())
        .chain(["drops".to_owned()])
        .collect()
}

/// Names of counts of which nothing was recorded on one side or both, and which event is missing.
pub(in crate::diff) fn not_recorded(b: &[Recording<'_>], a: &[Recording<'_>]) -> BTreeMap<String, String> {
    let all = counts().chain([("drops".to_owned(), &["skb:kfree_skb"][..])]);
    let of = |(name, needs): (String, Needs)| Some((name, recorded::not_recorded(b, a, needs)?));
    all.filter_map(of).collect()
}

/// Events without which none of what a name counts can be seen.
type Needs = &'static [&'static str];

/// Counts of events but drops, and what they need.
fn counts() -> impl Iterator<Item = (String, Needs)> {
    let met = |ledger, stage| (format!("{ledger}.met_{stage}"), Which::new(ledger, stage).needs());
    let rx = MET_RX.iter().map(move |(s, _)| met("rx", s.name()));
    let tx = MET_TX.iter().map(move |s| met("tx", s.name()));
    let app = [OPENED_RATE, PAUSED_RATE, FAILED_RATE, UNANSWERED_RATE].map(|n| format!("{LEDGER}.{n}"));
    let tcp = [RETRANSMITS, RTO].map(str::to_owned);
    let app = app.into_iter().map(|n| (n, &["sock:inet_sock_set_state"][..]));
    let tcp = tcp.into_iter().map(|n| (n, &["tcp:tcp_retransmit_skb"][..]));
    rx.chain(tx).chain(app).chain(tcp)
}

fn events() -> impl Iterator<Item = String> {
    counts().map(|(name, _)| name)
}

fn limited() -> impl Iterator<Item = String> {
    LIMITS.iter().map(|s| format!("tx.limited_by_{}", s.name()))
}

/// Letters to insert, leave out or replace (Levenshtein).
pub(super) fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut above_left = row.first().copied().unwrap_or(0);
        let mut left = i + 1;
        if let Some(first) = row.first_mut() {
            *first = left;
        }
        for (slot, y) in row.iter_mut().skip(1).zip(b.bytes()) {
            let above = *slot;
            left = (above_left + usize::from(x != y)).min(above + 1).min(left + 1);
            (*slot, above_left) = (left, above);
        }
    }
    row.last().copied().unwrap_or(0)
}
