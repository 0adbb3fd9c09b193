//! Rows of the view `balances`.

use crate::confidence::Confidence;
use crate::facts::ConnectionId;
use crate::table::{Cell, TableDef, col};

/// What should be conserved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum BalanceKind {
    /// Growth of GRO heads.
    GroHead,
    /// Payload of packets cut in software.
    GsoChildren,
    /// Bytes received and bytes read of a TCP socket.
    CoalesceFifo,
    /// Bytes sent by a TCP socket.
    TxPayload,
}

impl BalanceKind {
    /// The word in tables.
    pub fn word(self) -> &'static str {
        match self {
            BalanceKind::GroHead => "gro_head",
            BalanceKind::GsoChildren => "gso_children",
            BalanceKind::CoalesceFifo => "coalesce_fifo",
            BalanceKind::TxPayload => "tx_payload",
        }
    }
}

/// One balance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BalanceRow {
    /// What should be conserved.
    pub kind: BalanceKind,
    /// Whose; `None` where the units of all unknown sockets are summed.
    pub connection: Option<ConnectionId>,
    /// What the kernel's own numbers say, bytes.
    pub bytes_expected: u64,
    /// What the links account for, bytes.
    pub bytes_found: u64,
    /// Differences of the units, summed without sign, bytes.
    pub unexplained_bytes: u64,
    /// Units compared: heads, packets, sockets, intervals.
    pub units: u64,
    /// Of them, those that add up.
    pub matched: u64,
    /// How far the comparison itself can be trusted.
    pub confidence: Confidence,
    /// Why it does not add up, or cannot be judged; empty when it adds up.
    pub because: &'static str,
}

/// The view `balances`.
pub static BALANCES: TableDef<BalanceRow> = TableDef {
    name: "balances",
    meaning: "one row per kind of byte conservation and socket: what should add up, and whether it does",
    columns: &[
        col!(
            "kind",
            "",
            Str,
            "gro_head (growth = merged payloads), gso_children (packet = its segments), coalesce_fifo (arrived = read + waiting), tx_payload (advance of snd_nxt = payloads sent first; none where frames were not recorded, net:net_dev_queue)",
            |r, _| Cell::str(r.kind.word())
        ),
        col!(
            "connection",
            "id",
            U64,
            "socket, as in connections; empty: all units whose socket is not known",
            |r, _| r.connection.map(|c| c.0).into()
        ),
        col!(
            "bytes_expected",
            "bytes",
            U64,
            "what lengths and sequence numbers of the kernel say",
            |r, _| Cell::U64(r.bytes_expected)
        ),
        col!(
            "bytes_found",
            "bytes",
            U64,
            "what the reconstructed links account for",
            |r, _| Cell::U64(r.bytes_found)
        ),
        col!(
            "unexplained_bytes",
            "bytes",
            U64,
            "differences of the units, summed without sign",
            |r, _| Cell::U64(r.unexplained_bytes)
        ),
        col!(
            "units",
            "count",
            U64,
            "units compared: GRO heads, packets cut, sockets, intervals between probes",
            |r, _| Cell::U64(r.units)
        ),
        col!("matched", "count", U64, "of them, those that add up exactly", |r, _| {
            Cell::U64(r.matched)
        }),
        col!(
            "confidence",
            "",
            Str,
            "how far the comparison itself can be trusted: certain, strong, weak, unknown",
            |r, _| Cell::str(r.confidence.word())
        ),
        col!(
            "because",
            "",
            Str,
            "why it does not add up, or cannot be judged; empty when it adds up",
            |r, _| if r.because.is_empty() {
                Cell::Null
            } else {
                Cell::str(r.because)
            }
        ),
    ],
};
