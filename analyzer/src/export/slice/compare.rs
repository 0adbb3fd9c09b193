//! Whether the rows of the subject are the same in the slice.

use std::fmt::Debug;

use rustc_hash::FxHashSet;

use super::subject::{Ends, Subject};
use crate::facts::{ConnectionId, Facts, SkbId};
use crate::reconstruct::drops::tables::DropRow;
use crate::reconstruct::receive::tables::RxRow;
use crate::reconstruct::transmit::tables::TxRow;

/// Rows of the subject before and after.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct Compared {
    /// Rows of `rx` in the original.
    pub rx: usize,
    /// Rows of `tx` in the original.
    pub tx: usize,
    /// Rows of `drops` in the original.
    pub drops: usize,
    /// Rows of any that are not the same in the other, counted once on each side.
    pub different: usize,
}

/// Compares all columns of `rx` and `tx` but ids and `observer_ns`, which is estimated from all events of a recording.
pub fn compare(before: &Facts, after: &Facts, subject: &Subject) -> Result<Compared, String> {
    let ends = subject.ends(before)?;
    let wanted = Wanted::of(before, subject, &ends);
    let (rx, tx) = (rows_of_rx(before, &wanted), rows_of_tx(before, &wanted));
    let wanted = Wanted::of(after, subject, &ends);
    let (rx_after, tx_after) = (rows_of_rx(after, &wanted), rows_of_tx(after, &wanted));
    Ok(Compared {
        rx: rx.len(),
        tx: tx.len(),
        drops: 0,
        different: different(&rx, &rx_after, |r| r.start_ns) + different(&tx, &tx_after, |r| r.t_sched_ns),
    })
}

/// Rows of `drops` that are the subject's and not the same in the slice, counted once on each side.
pub(super) fn different_drops(before: &Facts, after: &Facts, own: &[usize]) -> usize {
    let without_ids = |d: &DropRow| DropRow {
        skb_id: None,
        // Whose it is is told by what was sent, which a slice may have begun after.
        owner: None,
        repair: None,
        ..d.clone()
    };
    let own = own.iter().filter_map(|row| before.drops.get(*row));
    let rows: Vec<DropRow> = own.map(without_ids).collect();
    let places: FxHashSet<(i64, u16)> = rows.iter().map(|d| (d.time_ns, d.cpu)).collect();
    let same_place = after.drops.iter().filter(|d| places.contains(&(d.time_ns, d.cpu)));
    let rows_after: Vec<DropRow> = same_place.map(without_ids).collect();
    different(&rows, &rows_after, |d| d.time_ns)
}

/// Rows of one time from which on they are sorted by what they say: few are compared faster.
const MANY: usize = 16;

/// Rows without an equal on the other side. Both are sorted by `key`.
pub(super) fn different<R: PartialEq + Debug>(a: &[R], b: &[R], key: impl Fn(&R) -> i64) -> usize {
    let lone = |a: &[R], b: &[R]| {
        let mut count = 0;
        for of_time in a.chunk_by(|x, y| key(x) == key(y)) {
            let Some(k) = of_time.first().map(&key) else { continue };
            let from = b.partition_point(|o| key(o) < k);
            let there = b.get(from..).unwrap_or_default();
            let there = there.get(..there.partition_point(|o| key(o) == k)).unwrap_or_default();
            count += match of_time.len().min(there.len()) > MANY {
                true => {
                    let said: FxHashSet<String> = there.iter().map(|o| format!("{o:?}")).collect();
                    of_time.iter().filter(|r| !said.contains(&format!("{r:?}"))).count()
                }
                false => of_time.iter().filter(|r| !there.contains(r)).count(),
            };
        }
        count
    };
    lone(a, b) + lone(b, a)
}

/// Of which connections and devices rows are wanted.
struct Wanted<'s> {
    /// `None`: of all.
    connections: Option<FxHashSet<ConnectionId>>,
    subject: &'s Subject,
}

impl<'s> Wanted<'s> {
    fn of(facts: &Facts, subject: &'s Subject, ends: &[Ends]) -> Wanted<'s> {
        let own = facts
            .connections
            .iter()
            .filter(|row| ends.iter().any(|e| e.are_of(row)));
        let own = (!ends.is_empty()).then(|| own.map(|row| row.connection).collect());
        Wanted {
            connections: own,
            subject,
        }
    }

    fn has(&self, c: Option<ConnectionId>, dev: &str) -> bool {
        let flow = |own: &FxHashSet<ConnectionId>| c.is_some_and(|c| own.contains(&c));
        let devs = &self.subject.devs;
        self.connections.as_ref().is_none_or(flow) && (devs.is_empty() || devs.iter().any(|d| d == dev))
    }
}

fn rows_of_rx(facts: &Facts, wanted: &Wanted<'_>) -> Vec<RxRow> {
    let own = |r: &&RxRow| wanted.has(r.connection, &r.dev.text());
    let without_ids = |r: &RxRow| RxRow {
        skb_id: SkbId::default(),
        connection: None,
        // Of a socket that may be cut.
        asleep_on: None,
        asleep_on_ns: 0,
        busy_ns: 0,
        busy_on: None,
        busy_on_ns: 0,
        observer_ns: None,
        ..r.clone()
    };
    let mut rows: Vec<RxRow> = facts.rx.iter().filter(own).map(without_ids).collect();
    rows.sort_by_key(|r| r.start_ns);
    rows
}

fn rows_of_tx(facts: &Facts, wanted: &Wanted<'_>) -> Vec<TxRow> {
    let own = |r: &&TxRow| wanted.has(r.connection, &r.dev.text());
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
