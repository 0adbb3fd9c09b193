//! Which UDP socket refused the datagrams of a group, who holds it, and how large its receive buffer is.
//!
//! Needs `drops`, `udp_sockets`. The address is of the refusal's own event (its port alone before Linux 6.10), the socket of the free (since Linux 6.11);
//! before that it is found by its address, where one has it.

use std::collections::BTreeSet;

use crate::facts::Facts;
use crate::reconstruct::datagrams::sockets::SocketRow;
use crate::reconstruct::drops::tables::{DropRow, to_words};

/// A socket that refused datagrams.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Receiver {
    /// `address:port`; `*:port` where the event has no address.
    pub to: String,
    /// `task/thread` of who reads it, or holds it; empty: not known.
    pub task: String,
    /// Drops whose event tells it; ICMP messages are limited in number, so that not every one does.
    pub count: u64,
    /// Its receive buffer as the kernel keeps it, bytes.
    pub rcvbuf: Option<u64>,
}

/// The one that they were for, all of which it is told.
pub(super) fn receiver(facts: &Facts, rows: &[&DropRow]) -> Option<Receiver> {
    let to: BTreeSet<_> = rows.iter().filter_map(|r| r.to).collect();
    // An ICMP message's event has ports of UDP alone; of others it says 0.
    let to = to.first().copied().filter(|first| to.len() == 1 && first.1 != 0)?;
    let socks: BTreeSet<u64> = rows.iter().map(|r| r.sk).collect();
    let (first, last) = (rows.first()?.time_ns, rows.last()?.time_ns);
    let here = |s: &&SocketRow| s.first_ns <= last && (first <= s.last_ns || !s.closed);
    let words = to_words(to);
    let named = |s: &&SocketRow| match to {
        (Some(_), port) => {
            s.local == words || s.local == format!("0.0.0.0:{port}") || s.local == format!("[::]:{port}")
        }
        (None, port) => s.local.ends_with(&format!(":{port}")),
    };
    let sockets = facts.udp_sockets.iter().filter(here);
    let mut of: Vec<&SocketRow> = match socks.first() {
        Some(sk) if *sk != 0 && socks.len() == 1 => sockets.filter(|s| s.sk == *sk).collect(),
        // One whose address no list has may be it.
        Some(0) if socks.len() == 1 && sockets.clone().all(|s| !s.local.is_empty()) => sockets.filter(named).collect(),
        _ => vec![],
    };
    let socket = of.pop().filter(|_| of.is_empty());
    let task = socket.map(|s| match (s.pid, s.holder) {
        (0, 0) => String::new(),
        (0, holder) => format!("{}/{holder}", s.holder_task.text()),
        (pid, _) => format!("{}/{pid}", s.task.text()),
    });
    Some(Receiver {
        to: words,
        count: rows.iter().filter(|r| r.to.is_some()).count() as u64,
        task: task.unwrap_or_default(),
        rcvbuf: socket.and_then(|s| s.rcvbuf),
    })
}
