//! Kinds of qdiscs and byte queue limits from the bundle's texts.

use netmortem_formats::{Snapshot, SnapshotWhen};

use super::*;
use crate::Confidence;
use crate::reconstruct::xmits::StopCause;

/// One packet that waits through a silent stop, one that bypasses; the texts of the host beside them.
fn with(texts: &[(&str, &str)]) -> Facts {
    let mut s = script();
    dev(&mut s, 0, TASK, "queue", A, 100);
    qdisc(&mut s, 2, TASK, "dequeue", A, 1, 0);
    sent(&mut s, 10, TASK, A, 100);
    dev(&mut s, 100, TASK, "queue", B, 100);
    qdisc(&mut s, 101, TASK, "enqueue", B, 0, 0);
    soft(&mut s, 1000, "raise", 2);
    soft(&mut s, 1010, "entry", 2);
    qdisc(&mut s, 1020, SOFT, "dequeue", B, 1, 0);
    sent(&mut s, 1030, SOFT, B, 100);
    soft(&mut s, 1050, "exit", 2);
    on(&mut s, 2000, TASK, "queue", C, 100, "veth1");
    on(&mut s, 2010, TASK, "start_xmit", C, 100, "veth1");
    on(&mut s, 2020, TASK, "xmit", C, 100, "veth1");
    let mut c = s.capture();
    c.snapshots = texts
        .iter()
        .map(|(what, text)| Snapshot {
            what: what.to_string(),
            when: SnapshotWhen::End,
            text: text.as_bytes().to_vec(),
        })
        .collect();
    crate::analyze(&c, &Default::default())
}
const LINKS: &str = "netns=1 ifindex=3 name=eth0 qdisc=fq_codel\nnetns=1 ifindex=9 name=veth1 qdisc=noqueue\n";
const QDISCS: &str = "netns=1 ifindex=3 kind=fq_codel handle=0x00010000 parent=0xffffffff refcnt=2\n";

#[test]
fn the_kind_is_the_one_that_the_bundle_names() {
    let f = with(&[("links", LINKS), ("qdiscs", QDISCS)]);
    let kinds: Vec<_> = f.xmits.iter().map(|r| r.qdisc.text().into_owned()).collect();
    assert_eq!(kinds, ["fq_codel", "fq_codel", "noqueue"]);
    assert!(with(&[]).xmits.iter().all(|r| r.qdisc.is_empty()));
}

/// 3i-24: the same names and numbers in two network namespaces, with different qdiscs: nobody's guess.
#[test]
fn a_kind_that_two_namespaces_give_differently_is_not_said() {
    let links = format!("{LINKS}netns=2 ifindex=3 name=eth0 qdisc=tbf\nnetns=2 ifindex=4 name=veth1 qdisc=noqueue\n");
    let qdiscs = format!("{QDISCS}netns=2 ifindex=3 kind=tbf handle=0x00010000 parent=0xffffffff refcnt=2\n");
    let f = with(&[("links", &links), ("qdiscs", &qdiscs)]);
    let kinds: Vec<_> = f.xmits.iter().map(|r| r.qdisc.text().into_owned()).collect();
    assert_eq!(kinds, ["", "", "noqueue"]);
}

/// A driver without byte queue limits leaves the limit at 0: what silenced its queue was its ring.
#[test]
fn a_silent_stop_is_of_the_ring_where_no_byte_queue_limit_is_in_use() {
    for (limit, cause) in [("0", StopCause::Ring), ("21720", StopCause::Bql)] {
        let queues = format!("dev=eth0 queue=- speed=1000\ndev=eth0 queue=tx-0 xps_cpus=3 bql_limit={limit}\n");
        let f = with(&[("links", LINKS), ("queues", &queues)]);
        assert_eq!(
            (f.txq_stops[0].cause, f.txq_stops[0].confidence),
            (cause, Confidence::Strong)
        );
    }
}

/// Damaged texts name nothing.
#[test]
fn damaged_texts_are_not_used() {
    let junk = "netns= ifindex=x kind= handle=0xzz parent=\n\n=\u{fffd} name\n";
    let f = with(&[("links", junk), ("qdiscs", junk), ("queues", junk)]);
    assert!(f.xmits.iter().all(|r| r.qdisc.is_empty()));
    assert_eq!(f.txq_stops[0].confidence, Confidence::Weak);
}
