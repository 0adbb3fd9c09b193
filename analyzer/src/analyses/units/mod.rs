//! The units that percentiles are of, by column. A row of a ledger is several hundred bytes, and every stage is asked for by
//! itself: so rows are read once, and a stage's times then lie side by side.
//!
//! In: the rows of `rx` or `tx` that an analysis chose (whole ones). Out: their times by stage, the certain and strong units
//! first; the distribution of each; where each solid unit belongs. Made once, read by the analyses of that ledger.
//! Must not choose rows, and must not see events.
//!
//! ```text
//! rows -> [solid, in the order of the table | the others] -> total, one column per stage, unattributed -> StageTimes of each
//!                                                         -> places: device, CPU, task, connection
//! ```

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use crate::analyses::waits::{StageTimes, UNATTRIBUTED, UNTOLD, Waits};
use crate::explain::{Id, Kind};
use crate::facts::{ConnectionId, Facts, SkbId};
use crate::name::Name;
use crate::reconstruct::receive::tables::{RxEnd, RxRow, Stage};
use crate::reconstruct::transmit;
use crate::reconstruct::transmit::tables::{TxEnd, TxKind, TxRow};
use crate::stat::{Distribution, sort_by_key};

#[cfg(test)]
mod tests;

/// The name under which whole times are listed.
pub const TOTAL: &str = "total";

/// Stands for "not known" in a column, as in a row.
const UNKNOWN: i64 = i64::MIN;

/// A row of a ledger as a unit of percentiles.
pub trait Unit: Waits + Sync {
    /// What its id is of.
    const KIND: Kind;
    /// What its whole time is.
    const WHOLE: &'static str;
    /// What passes in a stage, for a person.
    fn meaning(nth: usize) -> &'static str;
    /// Whether its time is in the percentiles of all.
    fn is_whole(&self) -> bool;
    /// The skb.
    fn skb(&self) -> SkbId;
    /// What `netmortem explain` takes.
    fn id(&self) -> Id {
        Id::new(Self::KIND, self.skb().0)
    }
    /// Start, on the trace clock.
    fn start_ns(&self) -> i64;
    /// Payload.
    fn bytes(&self) -> Option<u32>;
    /// Where it was.
    fn place(&self) -> Place;
}

/// Where a unit was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Place {
    /// Device.
    pub dev: Name,
    /// CPU.
    pub cpu: u16,
    /// Reading or sending task.
    pub task: Name,
    /// TCP socket.
    pub connection: Option<ConnectionId>,
}

impl Unit for RxRow {
    const KIND: Kind = Kind::Rx;
    const WHOLE: &'static str = "first event to the end of the read";
    fn meaning(nth: usize) -> &'static str {
        Stage::ALL.get(nth).map_or("", |s| s.meaning())
    }
    fn is_whole(&self) -> bool {
        self.end == RxEnd::Read && self.censored.is_none()
    }
    fn skb(&self) -> SkbId {
        self.skb_id
    }
    fn start_ns(&self) -> i64 {
        self.start_ns
    }
    fn bytes(&self) -> Option<u32> {
        self.bytes
    }
    fn place(&self) -> Place {
        Place {
            dev: self.dev,
            cpu: self.cpu,
            task: self.task,
            connection: self.connection,
        }
    }
}

impl Unit for TxRow {
    const KIND: Kind = Kind::Tx;
    const WHOLE: &'static str = "send call, or first event, to ACK";
    fn meaning(nth: usize) -> &'static str {
        transmit::Stage::ALL.get(nth).map_or("", |s| s.meaning())
    }
    fn is_whole(&self) -> bool {
        self.kind == TxKind::Tcp && self.end == TxEnd::Acked && self.censored.is_none()
    }
    fn skb(&self) -> SkbId {
        self.skb_id
    }
    fn start_ns(&self) -> i64 {
        self.start_ns
    }
    fn bytes(&self) -> Option<u32> {
        self.bytes
    }
    fn place(&self) -> Place {
        Place {
            dev: self.dev,
            cpu: self.cpu,
            task: self.task,
            connection: self.connection,
        }
    }
}

/// The whole units of both ledgers.
#[derive(Debug)]
pub struct Ledgers<'f> {
    /// Read ones.
    pub rx: Units<'f, RxRow>,
    /// Acknowledged TCP segments with payload.
    pub tx: Units<'f, TxRow>,
}

impl<'f> Ledgers<'f> {
    /// Of all rows.
    pub fn of(facts: &'f Facts) -> Ledgers<'f> {
        let (rx, tx) = rayon::join(|| Units::of(&facts.rx), || Units::of(&facts.tx));
        Ledgers { rx, tx }
    }
}

/// The whole units of a ledger.
#[derive(Debug)]
pub struct Units<'f, R> {
    /// Solid ones first.
    rows: Vec<&'f R>,
    solid: usize,
    /// Whole time, stages in the order of the path, time in no stage.
    columns: Vec<Vec<i64>>,
    /// The distribution of each column.
    times: Vec<StageTimes>,
    /// Where solid units were, each place once.
    places: Vec<Place>,
    /// Which of them, by solid unit.
    at: Vec<u32>,
    whole_ns: i64,
}

impl<'f, R: Unit> Units<'f, R> {
    /// The whole ones of a ledger's rows.
    pub fn of(table: &'f [R]) -> Units<'f, R> {
        let whole = table.iter().filter(|r| r.is_whole());
        let (mut rows, mut others): (Vec<&R>, Vec<&R>) = whole.partition(|r| r.confidence().is_solid());
        let solid = rows.len();
        rows.append(&mut others);
        let mut columns: Vec<Vec<i64>> = (0..R::STAGES + 2).map(|_| Vec::with_capacity(rows.len())).collect();
        let (mut places, mut at) = (Places::default(), Vec::with_capacity(solid));
        for (nth, row) in rows.iter().enumerate() {
            let stages = (0..R::STAGES).map(|s| row.stage_ns(s).unwrap_or(UNKNOWN));
            let times = std::iter::once(row.total_ns())
                .chain(stages)
                .chain([row.unattributed_ns()]);
            for (column, ns) in columns.iter_mut().zip(times) {
                column.push(ns);
            }
            if nth < solid {
                at.push(places.number(row.place()));
            }
        }
        let totals = columns.first().map_or(&[][..], |c| c);
        let whole_ns = totals.iter().fold(0i64, |sum, ns| sum.saturating_add(*ns));
        let mut units = Units {
            rows,
            solid,
            columns,
            times: vec![],
            places: places.all,
            at,
            whole_ns,
        };
        let of_column = |(nth, column): (usize, &Vec<i64>)| {
            let (stage, meaning) = name::<R>(nth);
            units.times_of(stage, meaning, column)
        };
        units.times = units.columns.par_iter().enumerate().map(of_column).collect();
        units
    }
    /// Every unit, solid ones first.
    pub fn rows(&self) -> &[&'f R] {
        &self.rows
    }
    /// Certain and strong units.
    pub fn solid(&self) -> &[&'f R] {
        self.rows.get(..self.solid).unwrap_or(&[])
    }
    /// Of solid units: whole time, stages in the order of the path, time in no stage; each with its times.
    pub fn columns(&self) -> impl Iterator<Item = (&StageTimes, Column<'_>)> {
        let solid = self.columns.iter().map(|c| c.get(..self.solid).unwrap_or(&[]));
        self.times.iter().zip(solid.map(Column))
    }
    /// Where solid units were, each place once; and which of these each was at.
    pub fn places(&self) -> (&[Place], &[u32]) {
        (&self.places, &self.at)
    }
    /// Whole time.
    pub fn total(&self) -> StageTimes {
        self.nth(0)
    }
    /// Stages in the order of the path.
    pub fn stages(&self) -> Vec<StageTimes> {
        (1..=R::STAGES).map(|nth| self.nth(nth)).collect()
    }
    /// Time in no stage.
    pub fn unattributed(&self) -> StageTimes {
        self.nth(R::STAGES + 1)
    }
    fn nth(&self, nth: usize) -> StageTimes {
        match self.times.get(nth) {
            Some(times) => times.clone(),
            None => self.times_of("", "", &[]),
        }
    }
    /// Times of something else that a row tells.
    pub fn times(&self, stage: &'static str, meaning: &'static str, get: impl Fn(&R) -> Option<i64>) -> StageTimes {
        let column: Vec<i64> = self.rows.iter().map(|r| get(r).unwrap_or(UNKNOWN)).collect();
        self.times_of(stage, meaning, &column)
    }
    /// `column` is of all units, in their order.
    fn times_of(&self, stage: &'static str, meaning: &'static str, column: &[i64]) -> StageTimes {
        let (solid, others) = column.split_at_checked(self.solid).unwrap_or((column, &[]));
        let known = |of: &[i64]| {
            let mut known: Vec<i64> = of.iter().copied().filter(|ns| *ns != UNKNOWN).collect();
            sort_by_key(&mut known, |ns| *ns);
            let unknown = (of.len() - known.len()) as u64;
            (known, unknown)
        };
        let (mut values, unknown) = known(solid);
        let solid = Distribution::of_sorted(&values, unknown);
        let (more, more_unknown) = known(others);
        let all = match more.is_empty() {
            true => Distribution {
                unknown: unknown + more_unknown,
                ..solid.clone()
            },
            false => {
                values.extend(more);
                values.sort(); // two runs: merged
                Distribution::of_sorted(&values, unknown + more_unknown)
            }
        };
        let share = match self.whole_ns > 0 {
            true => all.sum_ns as f64 / self.whole_ns as f64,
            false => 0.0,
        };
        StageTimes {
            stage,
            meaning,
            solid,
            all,
            share,
        }
    }
}

/// Times of solid units in one stage.
#[derive(Debug, Clone, Copy)]
pub struct Column<'u>(&'u [i64]);

impl<'u> Column<'u> {
    /// By unit, where known.
    pub fn known(self) -> impl Iterator<Item = (usize, i64)> + 'u {
        let all = self.0.iter().copied().enumerate();
        all.filter(|(_, ns)| *ns != UNKNOWN)
    }
}

/// Name and meaning of a column.
fn name<R: Unit>(nth: usize) -> (&'static str, &'static str) {
    match nth.checked_sub(1) {
        None => (TOTAL, R::WHOLE),
        Some(stage) if stage < R::STAGES => (R::stage_name(stage), R::meaning(stage)),
        Some(_) => (UNATTRIBUTED, UNTOLD),
    }
}

/// Places, numbered.
#[derive(Default)]
struct Places {
    all: Vec<Place>,
    numbers: FxHashMap<Place, u32>,
    last: Option<(Place, u32)>,
}

impl Places {
    fn number(&mut self, place: Place) -> u32 {
        // Units come in bursts.
        if let Some((_, number)) = self.last.filter(|(last, _)| *last == place) {
            return number;
        }
        let all = &mut self.all;
        let number = *self.numbers.entry(place).or_insert_with(|| {
            all.push(place);
            (all.len() - 1) as u32
        });
        self.last = Some((place, number));
        number
    }
}
