//! The distance between a TCP original and its fclone companion, learned from the data: sizeof(struct sk_buff) of that kernel.

use netmortem_formats::tracepoints::net_dev_queue::NetDevQueue;
use netmortem_formats::tracepoints::tcp_retransmit_skb::TcpRetransmitSkb;
use netmortem_formats::tracepoints::tcp_sendmsg_locked::TcpSendmsgLocked;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::ingest::Trace;
use crate::reconstruct::dispatch::{Routes, Tracker};

/// Smallest and largest plausible sizeof(struct sk_buff).
const PLAUSIBLE: std::ops::RangeInclusive<u64> = 192..=512;
/// Fewest agreeing pairs, and least share of all pairs, that the distance needs to be believed.
const LEAST: (u64, f64) = (3, 0.5);

#[derive(Default)]
struct Learn {
    originals: FxHashSet<u64>,
    distances: FxHashMap<u64, u64>,
}

impl Tracker for Learn {}

/// The distance, when the data show one clearly.
pub fn distance(trace: &Trace<'_>) -> Option<u64> {
    let mut routes = Routes::<Learn>::new("fclone");
    routes.on::<TcpSendmsgLocked<'static>>(&trace.schema, |t, _, p| {
        if p.skb_addr != 0 {
            t.originals.insert(p.skb_addr);
        }
    });
    routes.on::<TcpRetransmitSkb<'static>>(&trace.schema, |t, _, p| {
        t.originals.insert(p.skbaddr);
    });
    routes.on::<NetDevQueue<'static>>(&trace.schema, |t, _, p| {
        for d in PLAUSIBLE.step_by(8) {
            if t.originals.contains(&p.skbaddr.wrapping_sub(d)) {
                *t.distances.entry(d).or_insert(0) += 1;
            }
        }
    });
    let mut learn = Learn::default();
    routes.run(trace, &mut learn);
    let all: u64 = learn.distances.values().sum();
    let (d, n) = learn
        .distances
        .into_iter()
        .max_by_key(|(d, n)| (*n, std::cmp::Reverse(*d)))?;
    (n >= LEAST.0 && n as f64 >= LEAST.1 * all as f64).then_some(d)
}
