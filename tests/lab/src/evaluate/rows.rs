//! Rows of a ledger as users see them: by the names of the columns.

use netmortem_analyzer::analyses::waits::Waits;
use netmortem_analyzer::reconstruct::receive::tables as receive;
use netmortem_analyzer::reconstruct::transmit;
use netmortem_analyzer::table::{Cell, FactTable};
use netmortem_analyzer::{Confidence, Facts};

/// One row of `rx` or `tx`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LedgerRow {
    /// The skb.
    pub skb_id: Option<i64>,
    /// Socket.
    pub connection: Option<i64>,
    /// Local and remote port of it.
    pub ports: Option<(u16, u16)>,
    /// Thread.
    pub pid: Option<i64>,
    /// Device.
    pub dev: String,
    /// Payload.
    pub bytes: Option<i64>,
    /// Start.
    pub start_ns: i64,
    /// How it ended.
    pub end: String,
    /// Total.
    pub total_ns: i64,
    /// In no stage.
    pub unattributed_ns: i64,
    /// Known stages, in order.
    pub stages: Vec<(&'static str, i64)>,
    /// Who ran what received it (rx).
    pub run_by: String,
    /// `t_sched_ns`, `t_snd_ns`, `t_ack_ns` (tx).
    pub stamps: [Option<i64>; 3],
    /// Label.
    pub confidence: Confidence,
}

impl Waits for LedgerRow {
    const STAGES: usize = receive::Stage::ALL.len() + transmit::Stage::ALL.len();
    fn stage_name(nth: usize) -> &'static str {
        let names = receive::Stage::ALL.iter().map(|s| s.name());
        let mut names = names.chain(transmit::Stage::ALL.iter().map(|s| s.name()));
        names.nth(nth).unwrap_or("")
    }
    fn stage_ns(&self, nth: usize) -> Option<i64> {
        let name = Self::stage_name(nth);
        self.stages.iter().find(|s| s.0 == name).map(|s| s.1)
    }
    fn stages(&self) -> impl Iterator<Item = (&'static str, i64)> {
        self.stages.iter().copied()
    }
    fn unattributed_ns(&self) -> i64 {
        self.unattributed_ns
    }
    fn total_ns(&self) -> i64 {
        self.total_ns
    }
    fn confidence(&self) -> Confidence {
        self.confidence
    }
}

/// A table by name.
pub fn table<'f>(facts: &'f Facts, name: &str) -> Option<Box<dyn FactTable + 'f>> {
    facts.tables().into_iter().find(|t| t.name() == name)
}

/// The number in a cell.
pub fn number(cell: Cell<'_>) -> Option<i64> {
    match cell {
        Cell::I64(v) => Some(v),
        Cell::U64(v) => i64::try_from(v).ok(),
        _ => None,
    }
}

/// The text in a cell.
pub fn text(cell: Cell<'_>) -> String {
    match cell {
        Cell::Str(s) => s.into_owned(),
        _ => String::new(),
    }
}

/// The label of a word.
pub fn confidence(word: &str) -> Confidence {
    let all = [Confidence::Certain, Confidence::Strong, Confidence::Weak];
    all.into_iter()
        .find(|c| c.word() == word)
        .unwrap_or(Confidence::Unknown)
}

/// Names of the stages a ledger has columns for, with the columns' numbers.
fn stage_columns(table: &dyn FactTable) -> Vec<(usize, &'static str)> {
    let columns = table.columns().into_iter().enumerate();
    columns
        .filter_map(|(n, c)| Some((n, c.name.strip_prefix("stage_")?.strip_suffix("_ns")?)))
        .collect()
}

/// Whether the ledger has such a stage at all.
pub fn has_stage(facts: &Facts, ledger: &str, stage: &str) -> bool {
    table(facts, ledger).is_some_and(|t| stage_columns(t.as_ref()).iter().any(|(_, s)| *s == stage))
}

/// All rows of a ledger; `None` when there is no such table.
pub fn ledger(facts: &Facts, name: &str) -> Option<Vec<LedgerRow>> {
    let t = table(facts, name)?;
    let columns = t.columns();
    let at = |name: &str| columns.iter().position(|c| c.name == name).unwrap_or(usize::MAX);
    let stages = stage_columns(t.as_ref());
    let [skb, connection, pid, dev, bytes, start, end, total, rest, label] = [
        "skb_id",
        "connection",
        "pid",
        "dev",
        "bytes",
        "start_ns",
        "end",
        "total_ns",
        "unattributed_ns",
        "confidence",
    ]
    .map(at);
    let (run_by, stamps) = (at("run_by"), ["t_sched_ns", "t_snd_ns", "t_ack_ns"].map(at));
    let row = |n: usize| {
        let num = |c: usize| number(t.cell(n, c));
        let connection = num(connection);
        let socket = facts
            .connections
            .iter()
            .find(|c| Some(i64::from(c.connection.0)) == connection);
        LedgerRow {
            skb_id: num(skb),
            connection,
            ports: socket.map(|c| (c.sport, c.dport)),
            pid: num(pid),
            dev: text(t.cell(n, dev)),
            bytes: num(bytes),
            start_ns: num(start).unwrap_or(0),
            end: text(t.cell(n, end)),
            total_ns: num(total).unwrap_or(0),
            unattributed_ns: num(rest).unwrap_or(0),
            stages: stages.iter().filter_map(|&(c, s)| Some((s, num(c)?))).collect(),
            run_by: text(t.cell(n, run_by)),
            stamps: stamps.map(num),
            confidence: confidence(&text(t.cell(n, label))),
        }
    };
    Some((0..t.len()).map(row).collect())
}
