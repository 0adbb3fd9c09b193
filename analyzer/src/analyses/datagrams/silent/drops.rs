//! Datagrams that came to a socket and were dropped there: `sk_data_ready` does not fire for them, and yet they came.
//!
//! In: `drops`, and to which ports their senders send, where these are known. Of a drop no event names the UDP socket: it may be any of these ports.
//! Source: net/ipv4/udp.c `udp_queue_rcv_one_skb`.

use std::collections::BTreeSet;

use rustc_hash::{FxHashMap, FxHashSet};

use super::{Gap, port};
use crate::facts::Facts;

/// Reasons of what was dropped at its socket.
const AT_SOCKET: [&str; 4] = ["SOCKET_RCVBUFF", "PROTO_MEM", "UDP_CSUM", "SOCKET_FILTER"];

/// When, in order.
pub(in crate::analyses::datagrams) struct Dropped {
    /// By ports, one of which it was for.
    at: Vec<(BTreeSet<String>, Vec<i64>)>,
    /// For any port.
    somewhere: Vec<i64>,
}

fn any(of: &[i64], gap: &Gap) -> bool {
    of.get(of.partition_point(|at| *at < gap.from))
        .is_some_and(|at| *at <= gap.to)
}

/// Ports to which each thread sends; `None`: not all are known.
fn ports(facts: &Facts) -> FxHashMap<i32, Option<BTreeSet<String>>> {
    let mut out: FxHashMap<i32, Option<BTreeSet<String>>> = FxHashMap::default();
    for t in &facts.udp_turns {
        let to = port(&t.peer(&facts.udp_sockets)).map(str::to_owned);
        let of = out.entry(t.pid).or_insert_with(|| Some(BTreeSet::new()));
        match (to, of.as_mut()) {
            (Some(to), Some(of)) => _ = of.insert(to),
            (None, _) => *of = None,
            (Some(_), None) => {}
        }
    }
    out
}

impl Dropped {
    pub(in crate::analyses::datagrams) fn of(facts: &Facts) -> Dropped {
        let named = |name: &str| AT_SOCKET.contains(&name.strip_prefix("SKB_DROP_REASON_").unwrap_or(name));
        let table = facts.names.drop_reasons.iter().flat_map(|t| &t.entries);
        let reasons: FxHashSet<u64> = table.filter(|(_, name)| named(name)).map(|(n, _)| *n).collect();
        let lost = facts.drops.iter().filter(|d| d.expected == Some(false));
        let lost = lost.filter(|d| d.reason.is_some_and(|r| reasons.contains(&u64::from(r))));
        // One of a connection is TCP's.
        let mut lost = lost
            .filter(|d| d.owner.is_none_or(|o| o.connection.is_none()))
            .peekable();
        let mut senders = FxHashMap::default();
        if lost.peek().is_some() {
            senders = ports(facts);
        }
        let mut by: FxHashMap<i32, Vec<i64>> = FxHashMap::default();
        let mut somewhere = vec![];
        for d in lost {
            let sender = d.owner.map(|o| o.pid);
            match sender.filter(|pid| senders.get(pid).is_some_and(Option::is_some)) {
                Some(pid) => by.entry(pid).or_default().push(d.time_ns),
                None => somewhere.push(d.time_ns),
            }
        }
        somewhere.sort_unstable();
        let known = |(pid, mut times): (i32, Vec<i64>)| {
            times.sort_unstable();
            Some((senders.remove(&pid)??, times))
        };
        Dropped {
            at: by.into_iter().filter_map(known).collect(),
            somewhere,
        }
    }

    /// Whether one was in it that may have been for a socket of this port; `None`: it is not known.
    pub(in crate::analyses::datagrams) fn within(&self, gap: &Gap, own: Option<&str>) -> bool {
        let theirs = |of: &BTreeSet<String>| own.is_none_or(|own| of.contains(own));
        any(&self.somewhere, gap) || self.at.iter().any(|(of, times)| theirs(of) && any(times, gap))
    }
}
