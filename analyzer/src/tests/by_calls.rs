//! UDP sockets that are told by calls, as on kernels before 6.3, are those that the kernel's own events named.

use std::collections::{BTreeMap, BTreeSet};

use super::sample;
use crate::facts::Facts;
use crate::reconstruct::datagrams::tables::{TurnEnd, TurnRow};

const SINCE_6_3: [&str; 4] = [
    "sock:sk_data_ready",
    "sock:sock_send_length",
    "sock:sock_recv_length",
    "tcp:tcp_sendmsg_locked",
];

/// Its frees tell which datagram a call read.
const FREES: &str = "kernel-6.12/lookups.nmb.zst";
/// Theirs do not.
const NO_FREES: [&str; 2] = ["lookups/lookups.nmb.zst", "datagrams/datagrams.nmb.zst"];

fn both(name: &str) -> (Facts, Facts) {
    let mut c = sample(name);
    let whole = crate::analyze(&c, &Default::default());
    // Events that nothing knows.
    for f in c
        .event_formats
        .iter_mut()
        .filter(|f| SINCE_6_3.contains(&f.key().as_str()))
    {
        f.system = format!("absent_{}", f.system);
    }
    for f in c.event_formats.iter_mut().filter(|f| f.key() == "skb:consume_skb") {
        f.fields.retain(|x| x.name != "location");
    }
    let less = crate::analyze(&c, &Default::default());
    assert!(!whole.names.udp_by_calls && less.names.udp_by_calls, "{name}");
    (whole, less)
}

/// Turns of sockets that asked, by thread and begin of their first send call.
fn turns(f: &Facts) -> BTreeMap<(i32, i64), &TurnRow> {
    let served = |t: &TurnRow| f.udp_sockets[t.socket as usize].served;
    let asked = f.udp_turns.iter().filter(|t| !served(t));
    asked.map(|t| ((t.pid, t.start_ns), t)).collect()
}

/// Who has the socket that a turn came to.
fn there(f: &Facts, t: &TurnRow) -> Option<(i32, String)> {
    let s = f.udp_sockets.get(t.there? as usize)?;
    Some((s.pid, s.local.clone()))
}

#[test]
fn frees_of_readers_tell_what_the_kernel_named() {
    let (whole, less) = both(FREES);
    let (was, by_calls) = (turns(&whole), turns(&less));
    // One of which the begin of the first read lies before the recording.
    assert!(
        was.len() >= 100 && by_calls.len().abs_diff(was.len()) <= 1,
        "{} and {}",
        was.len(),
        by_calls.len()
    );
    let mut places = BTreeSet::new();
    for (at, t) in by_calls.iter().filter(|(at, _)| was.contains_key(at)) {
        let w = was[at];
        let same = |t: &TurnRow| (t.sends, t.bytes, t.skb_id, t.end, t.reads, t.awaited, t.confidence);
        assert_eq!(same(t), same(w), "{at:?}");
        assert_eq!(there(&less, t), there(&whole, w), "{at:?}");
        if t.end == TurnEnd::Answered {
            // Its call was over then, and it had come to its host before the socket had it.
            let (read, ready) = (
                t.read_ns.unwrap() - w.read_ns.unwrap(),
                w.ready_ns.unwrap() - t.ready_ns.unwrap(),
            );
            assert!(
                (0..500_000).contains(&read) && (0..500_000).contains(&ready),
                "{at:?}: {read} {ready}"
            );
        }
        places.extend(there(&less, t).map(|p| p.1));
    }
    assert_eq!(places.into_iter().collect::<Vec<_>>(), ["10.9.2.3:53", "10.9.3.2:53"]);
}

#[test]
fn without_frees_sends_are_told_and_reads_are_weak() {
    let mut solid = 0;
    for name in NO_FREES {
        let (whole, less) = both(name);
        let was: BTreeMap<_, _> = whole.udp_turns.iter().map(|t| ((t.pid, t.start_ns), t)).collect();
        let by_calls = turns(&less);
        let sent = |f: &Facts| f.udp_sockets.iter().map(|s| s.sent).sum::<u64>();
        assert_eq!(sent(&less), sent(&whole), "{name}");
        // Who serves is not known so where its first read began before the recording and frees nothing.
        let serves: BTreeSet<i32> = whole.udp_sockets.iter().filter(|s| s.served).map(|s| s.pid).collect();
        let solid_turns = by_calls
            .iter()
            .filter(|(at, t)| t.confidence.is_solid() && !serves.contains(&at.0));
        for (at, t) in solid_turns {
            solid += 1;
            assert_ne!(t.end, TurnEnd::Answered, "{name}: {at:?}");
            let Some(w) = was.get(at) else {
                panic!("{name}: nobody sent a datagram at {at:?}: {t:?}")
            };
            assert_eq!((t.bytes, t.skb_id), (w.bytes, w.skb_id), "{name}: {at:?}");
        }
    }
    assert!(solid >= 10, "{solid}");
}
