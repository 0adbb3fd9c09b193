//! Packets as long as IGMP's.

use super::drop_row;
use super::sizes::skb;
use crate::analyses::drops::answer;
use crate::facts::{Facts, SkbId};
use crate::reconstruct::skb::tables::SkbClass;
use crate::reconstruct::transmit::tables::{TxKind, TxRow};

/// So many packets of so many bytes that a rule dropped, sent by a thread (0: the kernel) or forwarded.
fn told(n: u32, bytes: u32, pid: Option<i32>) -> (Option<u64>, String) {
    let mut f = Facts::empty();
    f.capture.start_ns = Some(0);
    f.names.drop_reasons = Some(netmortem_formats::event_format::ValueTable {
        entries: vec![(12, "NETFILTER_DROP".into())],
        kind: netmortem_formats::event_format::ValueTableKind::Symbolic,
    });
    for id in (0..n).map(SkbId) {
        f.skbs.push(skb(id, bytes));
        if let Some(pid) = pid {
            f.skbs.last_mut().unwrap().class = SkbClass::Tx;
            f.tx.push(TxRow {
                skb_id: id,
                kind: TxKind::Other,
                pid,
                ..crate::testing::sent()
            });
        }
        let mut row = drop_row(i64::from(id.0) * 1_000_000, 12, 0x10, Some(false));
        row.skb_id = Some(id);
        row.protocol = 0x800;
        f.drops.push(row);
    }
    let found = answer(&f).findings().unwrap().groups[0].membership;
    let said = crate::analyses::answer(&f).verdict;
    (found, said.into_iter().find(|l| l.subject == "drops").unwrap().sentence)
}

#[test]
fn what_a_kernel_sent_of_that_length_is_told() {
    let says = "all as long as IGMP's queries and reports, that a kernel sent for itself (inferred), without which a snooping switch forgets the members of a multicast group";
    for (bytes, pid) in [(46, Some(0)), (50, Some(0)), (32, None)] {
        let (found, said) = told(8, bytes, pid);
        assert_eq!(found, Some(8), "{bytes}");
        assert!(said.contains(says), "{said}");
    }
    // Of a task; as long as a segment; two; received over a wire, where each SYN of a scan is padded to that.
    for (n, bytes, pid) in [(8, 46, Some(7)), (8, 54, Some(0)), (2, 46, Some(0)), (500, 46, None)] {
        let (found, said) = told(n, bytes, pid);
        assert_eq!(found, None, "{n} {bytes}");
        assert!(!said.contains("IGMP"), "{said}");
    }
}
