//! Which units show a stage best? Of every stage of the receive and the transmit ledger: the worst, the 99th percentile and
//! the median unit, as ids to look at with `netmortem explain`.
//!
//! Needs the views `rx` and `tx`. Only units that the headline percentiles are of: read (rx) or acknowledged TCP segments
//! with payload (tx), not censored, certain or strong. So an exemplar's time is exactly the percentile that the answers
//! `receive` and `transmit` print (nearest rank). Of units with that time it is the one with the smallest skb id: same
//! recording, same exemplars. `total` and `unattributed` are stages here. Must not see events.
//!
//! ```text
//! rows -> solid, whole -> per stage: times known -> nearest rank 100, 99, 50 -> smallest id with that time -> Exemplar
//! ```

use crate::analyses::waits::{UNATTRIBUTED, Waits};
use crate::facts::{ConnectionId, Facts, SkbId};
use crate::name::Name;
use crate::reconstruct::receive::tables::{RxEnd, RxRow, Stage};
use crate::reconstruct::transmit;
use crate::reconstruct::transmit::tables::{TxEnd, TxKind, TxRow};

#[cfg(test)]
mod tests;

/// The name under which whole times are listed.
pub const TOTAL: &str = "total";

/// Exemplars of both ledgers.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct Exemplars {
    /// Of received units: `total`, the stages in the order of the path, `unattributed`; those that no unit has are not there.
    pub receive: Vec<StageExemplars>,
    /// The same of sent segments.
    pub transmit: Vec<StageExemplars>,
}

/// The exemplars of one stage.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct StageExemplars {
    /// Stage name, `total` or `unattributed`.
    pub stage: &'static str,
    /// Solid units whose time in it is known: what worst, p99 and median are of.
    pub n: u64,
    /// The longest.
    pub worst: Exemplar,
    /// The 99th percentile.
    pub p99: Exemplar,
    /// The median.
    pub median: Exemplar,
}

/// A unit to look at.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Exemplar {
    /// What `netmortem explain` takes: `rx:45`, `tx:45`.
    pub id: String,
    /// Its skb, as `skb:45`.
    pub skb: String,
    /// Its time in the stage, ns.
    pub ns: i64,
    /// Start to end, ns.
    pub total_ns: i64,
    /// Its known stages in the order of the path, ns; they and `unattributed_ns` sum to `total_ns`.
    pub stages: Vec<StageNs>,
    /// ns in no stage.
    pub unattributed_ns: i64,
    /// Start, on the trace clock.
    pub start_ns: i64,
    /// Start in CLOCK_REALTIME, when clock pairs were recorded.
    pub start_realtime_ns: Option<i64>,
    /// Device; empty when not known.
    pub dev: String,
    /// Reading or sending task; empty when not known.
    pub task: String,
    /// TCP socket as `conn:3`, when known.
    pub connection: Option<String>,
    /// Payload, bytes, when known.
    pub bytes: Option<u32>,
    /// CPU of `netif_receive_skb`, or of the first `net_dev_queue`.
    pub cpu: u16,
    /// Confidence word.
    pub confidence: &'static str,
}

/// A stage's time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct StageNs {
    /// Name.
    pub stage: &'static str,
    /// ns.
    pub ns: i64,
}

/// What an exemplar says of its row besides the waits.
trait Unit: Waits {
    /// Word before the id.
    const KIND: &'static str;
    fn skb(&self) -> SkbId;
    fn start_ns(&self) -> i64;
    fn place(&self) -> (Name, Name, u16);
    fn connection(&self) -> Option<ConnectionId>;
    fn bytes(&self) -> Option<u32>;
}

impl Unit for RxRow {
    const KIND: &'static str = "rx";
    fn skb(&self) -> SkbId {
        self.skb_id
    }
    fn start_ns(&self) -> i64 {
        self.start_ns
    }
    fn place(&self) -> (Name, Name, u16) {
        (self.dev, self.task, self.cpu)
    }
    fn connection(&self) -> Option<ConnectionId> {
        self.connection
    }
    fn bytes(&self) -> Option<u32> {
        self.bytes
    }
}

impl Unit for TxRow {
    const KIND: &'static str = "tx";
    fn skb(&self) -> SkbId {
        self.skb_id
    }
    fn start_ns(&self) -> i64 {
        self.start_ns
    }
    fn place(&self) -> (Name, Name, u16) {
        (self.dev, self.task, self.cpu)
    }
    fn connection(&self) -> Option<ConnectionId> {
        self.connection
    }
    fn bytes(&self) -> Option<u32> {
        self.bytes
    }
}

/// Asks.
pub fn answer(facts: &Facts) -> Exemplars {
    let read = |r: &&RxRow| r.end == RxEnd::Read && r.censored.is_none() && r.confidence.is_solid();
    let rx: Vec<&RxRow> = facts.rx.iter().filter(read).collect();
    let whole = |r: &TxRow| r.end == TxEnd::Acked && r.censored.is_none();
    let acked = |r: &&TxRow| r.kind == TxKind::Tcp && whole(r) && r.confidence.is_solid();
    let tx: Vec<&TxRow> = facts.tx.iter().filter(acked).collect();
    let realtime = facts.capture.realtime_offset_ns;
    Exemplars {
        receive: of_ledger(&rx, &Stage::ALL, Stage::name, |r, s| r.stage(s), realtime),
        transmit: of_ledger(
            &tx,
            &transmit::Stage::ALL,
            transmit::Stage::name,
            |r, s| r.stage(s),
            realtime,
        ),
    }
}

fn of_ledger<R: Unit, S: Copy>(
    rows: &[&R],
    stages: &[S],
    name: fn(S) -> &'static str,
    get: impl Fn(&R, S) -> Option<i64>,
    realtime: Option<i64>,
) -> Vec<StageExemplars> {
    let total = of_stage(rows, TOTAL, |r| Some(r.total_ns()), realtime);
    let each = stages.iter().map(|&s| of_stage(rows, name(s), |r| get(r, s), realtime));
    let rest = of_stage(rows, UNATTRIBUTED, |r| Some(r.unattributed_ns()), realtime);
    std::iter::once(total)
        .chain(each)
        .chain(std::iter::once(rest))
        .flatten()
        .collect()
}

fn of_stage<R: Unit>(
    rows: &[&R],
    stage: &'static str,
    get: impl Fn(&R) -> Option<i64>,
    realtime: Option<i64>,
) -> Option<StageExemplars> {
    let known = rows.iter().enumerate().filter_map(|(i, r)| Some((get(r)?, r.skb(), i)));
    let mut known: Vec<(i64, SkbId, usize)> = known.collect();
    let n = known.len();
    let mut at = |percent: usize| {
        // Nearest rank, as in `stat::Distribution`.
        let rank = (n * percent).div_ceil(100).max(1) - 1;
        let ns = known.get(rank).is_some().then(|| known.select_nth_unstable(rank).1.0)?;
        let (_, _, i) = known.iter().filter(|k| k.0 == ns).min_by_key(|k| (k.1, k.2))?;
        Some(exemplar(*rows.get(*i)?, ns, realtime))
    };
    Some(StageExemplars {
        stage,
        n: n as u64,
        worst: at(100)?,
        p99: at(99)?,
        median: at(50)?,
    })
}

fn exemplar<R: Unit>(r: &R, ns: i64, realtime: Option<i64>) -> Exemplar {
    let (dev, task, cpu) = r.place();
    Exemplar {
        id: format!("{}:{}", R::KIND, r.skb().0),
        skb: format!("skb:{}", r.skb().0),
        ns,
        total_ns: r.total_ns(),
        stages: r.stages().map(|(stage, ns)| StageNs { stage, ns }).collect(),
        unattributed_ns: r.unattributed_ns(),
        start_ns: r.start_ns(),
        start_realtime_ns: realtime.map(|o| r.start_ns().saturating_add(o)),
        dev: dev.text().into_owned(),
        task: task.text().into_owned(),
        connection: r.connection().map(|c| format!("conn:{}", c.0)),
        bytes: r.bytes(),
        cpu,
        confidence: r.confidence().word(),
    }
}
