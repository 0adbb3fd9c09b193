//! Calls of `connect` on sockets of the host itself (AF_UNIX), which no TCP event and no packet tells: by the length of their address, which is only theirs.
//!
//! A path may be as long as the address of another family ([`OTHERS`]): such calls are not told. Threads of which nothing failed or waited are not kept, nor more than
//! so many others ([`THREADS`]).

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::ingest::Event;
use crate::name::Name;
use crate::reconstruct::comms::Comms;
use crate::table::{Cell, TableDef, col};

/// Lengths of an address of AF_UNIX: the family and a path (include/uapi/linux/un.h).
const LEAST: u32 = 4;
const MOST: u32 = 110;
/// Lengths of other families' addresses: Bluetooth (6, 8, 10, 14), netlink (12), IPv4 and vsock (16), packet (20), CAN (24), IPv6 (28), PPPoX (30, 38, 46), IUCV (32), RxRPC (36).
const OTHERS: [u32; 14] = [6, 8, 10, 12, 14, 16, 20, 24, 28, 30, 32, 36, 38, 46];
/// EAGAIN: the accept queue is full, and the socket does not wait, or not any longer (net/unix/af_unix.c, `unix_stream_connect`).
const FULL: i32 = 11;
/// ECONNREFUSED: nobody listens there.
const REFUSED: i32 = 111;
/// EPERM, EACCES: the file may not be used.
const DENIED: [i32; 2] = [1, 13];
/// EINTR, ERESTARTSYS: a signal ended the wait.
const SIGNALS: [i32; 2] = [4, 512];
/// Shortest call that waited for room in the queue, ns: it may have waited for a CPU or a slow file system, too.
pub const WAITED_NS: i64 = 100_000_000;
/// Threads of which something failed, times of each, and threads of which nothing did yet.
const THREADS: usize = 1024;
const TIMES: usize = 4096;
const QUIET: usize = 65_536;

/// Calls of `connect` of one thread on sockets of AF_UNIX.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalConnects {
    /// Thread.
    pub pid: i32,
    /// Its name.
    pub task: Name,
    /// Calls that returned.
    pub calls: u64,
    /// Those that failed with EAGAIN at once: the accept queue was full.
    pub full: u64,
    /// When, in order; of a thread with very many the first.
    pub full_ns: Vec<i64>,
    /// Those that were refused: nobody listens there.
    pub refused: u64,
    /// Those whose file may not be used (EACCES, EPERM).
    pub denied: u64,
    /// Others that took 100 ms or longer and succeeded, or ended by a signal or the socket's own time-out: they waited for room in the queue, or for a CPU.
    pub waited: u64,
    /// The longest that succeeded, or ended so.
    pub longest_ns: i64,
    /// When the last returned.
    pub last_ns: i64,
}

/// Whether an address of that length is of AF_UNIX.
pub(super) fn is_local(length: u32) -> bool {
    (LEAST..=MOST).contains(&length) && !OTHERS.contains(&length)
}

/// By thread.
#[derive(Debug, Default)]
pub(super) struct Local {
    failed: BTreeMap<i32, LocalConnects>,
    /// Calls of threads of which none failed, and the longest.
    quiet: FxHashMap<i32, (u64, i64)>,
}

impl Local {
    /// A call returned.
    pub(super) fn returned(&mut self, e: &Event<'_>, begin: i64, ret: i64) {
        let took = e.ts.saturating_sub(begin);
        let error = i32::try_from(ret.wrapping_neg()).unwrap_or(0);
        let slow = took >= WAITED_NS;
        let decided = ret >= 0 || error == FULL || SIGNALS.contains(&error);
        let (full, waited) = (error == FULL && !slow, slow && decided);
        let (refused, denied) = (error == REFUSED, DENIED.contains(&error));
        if !(full || waited || refused || denied || self.failed.contains_key(&e.pid)) {
            if self.quiet.len() < QUIET || self.quiet.contains_key(&e.pid) {
                let of = self.quiet.entry(e.pid).or_default();
                *of = (of.0.saturating_add(1), if decided { of.1.max(took) } else { of.1 });
            }
            return;
        }
        if self.failed.len() >= THREADS && !self.failed.contains_key(&e.pid) {
            return;
        }
        let quiet = &mut self.quiet;
        let of = self.failed.entry(e.pid).or_insert_with(|| {
            let (calls, longest_ns) = quiet.remove(&e.pid).unwrap_or_default();
            LocalConnects {
                pid: e.pid,
                task: Name::default(),
                calls,
                full: 0,
                full_ns: vec![],
                refused: 0,
                denied: 0,
                waited: 0,
                longest_ns,
                last_ns: 0,
            }
        });
        of.last_ns = e.ts;
        of.calls = of.calls.saturating_add(1);
        let add = |to: &mut u64, what: bool| *to = to.saturating_add(u64::from(what));
        add(&mut of.full, full);
        add(&mut of.waited, waited);
        add(&mut of.refused, refused);
        add(&mut of.denied, denied);
        if full && of.full_ns.len() < TIMES {
            of.full_ns.push(e.ts);
        }
        if decided && !full {
            of.longest_ns = of.longest_ns.max(took);
        }
    }
    /// The rows, in order of threads.
    pub(super) fn rows(self, comms: &Comms) -> Vec<LocalConnects> {
        let mut rows: Vec<LocalConnects> = self.failed.into_values().collect();
        for row in &mut rows {
            row.task = comms.at(row.pid, row.last_ns);
        }
        rows
    }
}

/// The view `unix_connects`.
pub static UNIX_CONNECTS: TableDef<LocalConnects> = TableDef {
    name: "unix_connects",
    meaning: "one row per thread of which a call of connect to a socket file of the host (AF_UNIX) met a full queue, was refused or denied, or took 100 ms or longer; which file no event tells",
    columns: &[
        col!("task", "", Str, "task that called connect", |r, _| Cell::name(&r.task)),
        col!("pid", "id", I64, "its thread id", |r, _| Cell::thread(r.pid)),
        col!("calls", "", U64, "calls that returned", |r, _| Cell::U64(r.calls)),
        col!(
            "full",
            "",
            U64,
            "those that failed with EAGAIN at once: the accept queue was full",
            |r, _| { Cell::U64(r.full) }
        ),
        col!("first_full_ns", "ns", I64, "the first of these; empty: none", |r, _| {
            r.full_ns.first().copied().into()
        }),
        col!(
            "refused",
            "",
            U64,
            "those that were refused (ECONNREFUSED): nobody listens there",
            |r, _| { Cell::U64(r.refused) }
        ),
        col!(
            "denied",
            "",
            U64,
            "those whose file may not be used (EACCES, EPERM)",
            |r, _| { Cell::U64(r.denied) }
        ),
        col!(
            "waited",
            "",
            U64,
            "others that took 100 ms or longer and succeeded, or ended by a signal or the socket's own time-out: they waited for room in the queue, or for a CPU",
            |r, _| Cell::U64(r.waited)
        ),
        col!(
            "longest_ns",
            "ns",
            I64,
            "the longest that succeeded, or was ended by a signal or its own time-out",
            |r, _| { Cell::I64(r.longest_ns) }
        ),
        col!("last_ns", "ns", I64, "when the last call returned", |r, _| Cell::I64(
            r.last_ns
        )),
    ],
};
