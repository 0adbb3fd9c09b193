//! Calls of `connect` on sockets of the host itself (AF_UNIX), which no TCP event and no packet tells: by the length of their address, which is only theirs.
//!
//! A path may be as long as the address of another family ([`OTHERS`]): such calls are not told.

use std::collections::BTreeMap;

use super::tables::LocalConnects;
use crate::ingest::Event;
use crate::name::Name;
use crate::reconstruct::comms::Comms;

/// Lengths of an address of AF_UNIX: the family and a path (include/uapi/linux/un.h).
const LEAST: u64 = 4;
const MOST: u64 = 110;
/// Lengths of other families' addresses: netlink, IPv4 and vsock, packet, CAN, IPv6.
const OTHERS: [u64; 5] = [12, 16, 20, 24, 28];
/// EAGAIN: the accept queue is full, and the socket does not wait (net/unix/af_unix.c, `unix_stream_connect`).
const FULL: i32 = 11;
/// ECONNREFUSED: nobody listens there.
const REFUSED: i32 = 111;
/// Shortest call that waited for room in the queue, ns: nothing else takes long in it but the wait for a CPU.
pub const WAITED_NS: i64 = 100_000_000;
/// Threads, and times of each, that are kept.
const THREADS: usize = 1024;
const TIMES: usize = 4096;

/// Whether an address of that length is of AF_UNIX.
pub(super) fn is_local(length: u64) -> bool {
    (LEAST..=MOST).contains(&length) && !OTHERS.contains(&length)
}

/// By thread.
#[derive(Debug, Default)]
pub(super) struct Local(BTreeMap<i32, LocalConnects>);

impl Local {
    /// A call returned.
    pub(super) fn returned(&mut self, e: &Event<'_>, begin: i64, ret: i64) {
        if self.0.len() >= THREADS && !self.0.contains_key(&e.pid) {
            return;
        }
        let of = self.0.entry(e.pid).or_insert(LocalConnects {
            pid: e.pid,
            task: Name::default(),
            calls: 0,
            full: 0,
            full_ns: vec![],
            refused: 0,
            waited: 0,
            longest_ns: 0,
            last_ns: 0,
        });
        of.last_ns = e.ts;
        of.calls = of.calls.saturating_add(1);
        match i32::try_from(ret.wrapping_neg()).unwrap_or(0) {
            FULL => {
                of.full = of.full.saturating_add(1);
                if of.full_ns.len() < TIMES {
                    of.full_ns.push(e.ts);
                }
            }
            REFUSED => of.refused = of.refused.saturating_add(1),
            _ => {
                let took = e.ts.saturating_sub(begin);
                of.waited = of.waited.saturating_add(u64::from(took >= WAITED_NS));
                of.longest_ns = of.longest_ns.max(took);
            }
        }
    }
    /// The rows, in order of threads.
    pub(super) fn rows(self, comms: &Comms) -> Vec<LocalConnects> {
        let mut rows: Vec<LocalConnects> = self.0.into_values().collect();
        for row in &mut rows {
            row.task = comms.at(row.pid, row.last_ns);
        }
        rows
    }
}
