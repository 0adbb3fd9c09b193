//! Rows of the view `limiters`.

use crate::facts::ConnectionId;
use crate::table::{Cell, TableDef, col};

/// Differences below this are none: the kernel counts in jiffies, and each side begins and ends a wait at its own event.
const LEAST_NS: i64 = 50_000_000;
/// So are those below one part in so many.
const SHARE: i64 = 20;

/// The kernel's clocks, ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Times {
    /// Something was outstanding or waited.
    pub busy_ns: i64,
    /// Held by the peer's window.
    pub rwnd_ns: i64,
    /// Held by the send buffer.
    pub sndbuf_ns: i64,
}

/// What held one sender, by the kernel and by the ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimiterRow {
    /// Socket.
    pub connection: ConnectionId,
    /// The kernel's times in the recording; `None`: not told.
    pub kernel: Option<Times>,
    /// The ledger's, ns.
    pub busy_ns: i64,
    /// Held by the peer's window, ns.
    pub rwnd_ns: i64,
    /// Of `rwnd_ns`: while the pacing timer was pending too, ns. The kernel's clock does not count it: `tcp_write_xmit` stops at
    /// pacing before it looks at the window.
    pub rwnd_paced_ns: i64,
    /// Held by its own window, ns; the kernel has no clock for it.
    pub cwnd_ns: i64,
    /// Writers slept for room in the send buffer, in the call or in poll, select, epoll, ns.
    pub sndbuf_ns: i64,
    /// Why the kernel's times are not told, or the comparison is one-sided; empty else.
    pub because: &'static str,
}

impl LimiterRow {
    /// The ledger's time in the peer's window that the kernel counts, too, ns.
    pub fn rwnd_told_ns(&self) -> i64 {
        self.rwnd_ns.wrapping_sub(self.rwnd_paced_ns)
    }
    /// That less the kernel's, ns.
    pub fn rwnd_diff_ns(&self) -> Option<i64> {
        self.kernel.map(|k| self.rwnd_told_ns().wrapping_sub(k.rwnd_ns))
    }
    /// The same of the time in which something was outstanding, ns.
    pub fn busy_diff_ns(&self) -> Option<i64> {
        self.kernel.map(|k| self.busy_ns.wrapping_sub(k.busy_ns))
    }
    /// Time in the peer's window where the two differ by more than one part in twenty and 50 ms: the kernel's, the ledger's,
    /// ns. Not asked where the comparison is one-sided. `busy` is not judged: the kernel begins it before the bytes are
    /// copied, and waits shorter than a jiffy are many in it.
    pub fn apart(&self) -> Option<(i64, i64)> {
        let kernel = self.kernel.filter(|_| self.because.is_empty())?.rwnd_ns;
        let ours = self.rwnd_told_ns();
        let apart = kernel.saturating_sub(ours).saturating_abs();
        (apart > LEAST_NS && apart > kernel.saturating_abs() / SHARE).then_some((kernel, ours))
    }
}

/// The view `limiters`.
pub static LIMITERS: TableDef<LimiterRow> = TableDef {
    name: "limiters",
    meaning: "one row per TCP socket that sent: what held it by the kernel's own clocks (TCP_INFO at both ends) and by the ledger",
    columns: &[
        col!("connection", "id", U64, "socket, as in connections", |r, _| {
            Cell::U64(r.connection.0.into())
        }),
        col!(
            "kernel_busy_ns",
            "ns",
            I64,
            "tcpi_busy_time: something was outstanding or waited; empty: not told, see because",
            |r, _| r.kernel.map(|k| k.busy_ns).into()
        ),
        col!(
            "kernel_rwnd_ns",
            "ns",
            I64,
            "tcpi_rwnd_limited: of it, held by the peer's window",
            |r, _| r.kernel.map(|k| k.rwnd_ns).into()
        ),
        col!(
            "kernel_sndbuf_ns",
            "ns",
            I64,
            "tcpi_sndbuf_limited: of it, nothing to send for want of send buffer",
            |r, _| r.kernel.map(|k| k.sndbuf_ns).into()
        ),
        col!(
            "busy_ns",
            "ns",
            I64,
            "the ledger's: some byte was in the write queue or not acknowledged",
            |r, _| Cell::I64(r.busy_ns)
        ),
        col!(
            "rwnd_ns",
            "ns",
            I64,
            "the ledger's: held by the peer's window, counted once however many segments waited",
            |r, _| Cell::I64(r.rwnd_ns)
        ),
        col!(
            "rwnd_paced_ns",
            "ns",
            I64,
            "of rwnd_ns: while the pacing timer was pending too, which the kernel's clock leaves out",
            |r, _| Cell::I64(r.rwnd_paced_ns)
        ),
        col!(
            "cwnd_ns",
            "ns",
            I64,
            "the ledger's: held by its own window; the kernel has no clock for it",
            |r, _| Cell::I64(r.cwnd_ns)
        ),
        col!(
            "sndbuf_ns",
            "ns",
            I64,
            "the ledger's: writers slept for send buffer, in the send call or in poll, select, epoll until an ACK made room; with or without something to send (so it may be more than the kernel's)",
            |r, _| Cell::I64(r.sndbuf_ns)
        ),
        col!("busy_diff_ns", "ns", I64, "busy_ns less the kernel's", |r, _| r
            .busy_diff_ns()
            .into()),
        col!(
            "rwnd_diff_ns",
            "ns",
            I64,
            "rwnd_ns less rwnd_paced_ns less the kernel's",
            |r, _| r.rwnd_diff_ns().into()
        ),
        col!(
            "because",
            "",
            Str,
            "why the kernel's times are not told, or the ledger's are only the least there was; empty else",
            |r, _| if r.because.is_empty() {
                Cell::Null
            } else {
                Cell::str(r.because)
            }
        ),
    ],
};
