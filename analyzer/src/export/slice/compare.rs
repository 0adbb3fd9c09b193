//! Whether the rows of the subject are the same in the slice.

use super::subject::{Ends, Subject};
use crate::facts::{ConnectionId, Facts, SkbId};
use crate::reconstruct::receive::tables::RxRow;
use crate::reconstruct::transmit::tables::TxRow;

/// Rows of the subject before and after.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct Compared {
    /// Rows of `rx` in the original.
    pub rx: usize,
    /// Rows of `tx` in the original.
    pub tx: usize,
    /// Rows of either that are not the same in the other, counted once on each side.
    pub different: usize,
}

/// Compares all columns but ids and `observer_ns`, which is estimated from all events of a recording.
pub fn compare(before: &Facts, after: &Facts, subject: &Subject) -> Result<Compared, String> {
    let ends = subject.ends(before)?;
    let (rx, tx) = (rows_of_rx(before, subject, &ends), rows_of_tx(before, subject, &ends));
    let (rx_after, tx_after) = (rows_of_rx(after, subject, &ends), rows_of_tx(after, subject, &ends));
    Ok(Compared {
        rx: rx.len(),
        tx: tx.len(),
        different: different(&rx, &rx_after, |r| r.start_ns) + different(&tx, &tx_after, |r| r.t_sched_ns),
    })
}

/// Rows without an equal on the other side. Both are sorted by `key`.
fn different<R: PartialEq>(a: &[R], b: &[R], key: impl Fn(&R) -> i64) -> usize {
    let lone = |a: &[R], b: &[R]| {
        let same = |r: &R| {
            let k = key(r);
            let from = b.partition_point(|o| key(o) < k);
            let there = b.get(from..).unwrap_or_default();
            there.iter().take_while(|o| key(o) == k).any(|o| o == r)
        };
        a.iter().filter(|r| !same(r)).count()
    };
    lone(a, b) + lone(b, a)
}

fn is_own(facts: &Facts, subject: &Subject, ends: &[Ends], c: Option<ConnectionId>, dev: &str) -> bool {
    let row = c.and_then(|c| facts.connections.iter().find(|r| r.connection == c));
    let flow = ends.is_empty() || row.is_some_and(|row| ends.iter().any(|e| e.are_of(row)));
    flow && (subject.devs.is_empty() || subject.devs.iter().any(|d| d == dev))
}

fn rows_of_rx(facts: &Facts, subject: &Subject, ends: &[Ends]) -> Vec<RxRow> {
    let own = |r: &&RxRow| is_own(facts, subject, ends, r.connection, &r.dev.text());
    let without_ids = |r: &RxRow| RxRow {
        skb_id: SkbId::default(),
        connection: None,
        observer_ns: None,
        ..r.clone()
    };
    let mut rows: Vec<RxRow> = facts.rx.iter().filter(own).map(without_ids).collect();
    rows.sort_by_key(|r| r.start_ns);
    rows
}

fn rows_of_tx(facts: &Facts, subject: &Subject, ends: &[Ends]) -> Vec<TxRow> {
    let own = |r: &&TxRow| is_own(facts, subject, ends, r.connection, &r.dev.text());
    let without_ids = |r: &TxRow| TxRow {
        skb_id: SkbId::default(),
        original: None,
        connection: None,
        observer_ns: None,
        ..r.clone()
    };
    let mut rows: Vec<TxRow> = facts.tx.iter().filter(own).map(without_ids).collect();
    rows.sort_by_key(|r| r.t_sched_ns);
    rows
}
