//! The same questions to a recording of Linux 6.1, which lacks events and fields that newer kernels have: answers that need
//! them are weaker or absent and say so; the others agree with the kernel's counters as exactly as on a new kernel.

use std::collections::BTreeMap;

use netmortem_analyzer::Confidence;
use netmortem_analyzer::reconstruct::lineage::tables::LineageKind;
use netmortem_analyzer::reconstruct::receive::tables::RxEnd;
use netmortem_analyzer::reconstruct::skb::tables::SkbClass;
use netmortem_analyzer::reconstruct::tcp::tables::RetransmitClass;
use netmortem_tests::{facts, nstat, sample};

const PATH: &str = "kernel-6.1/netem.nmb";
/// Ethernet, IPv4, TCP with timestamps.
const HEADERS: u64 = 66;

fn provenance() -> String {
    std::fs::read_to_string(sample(PATH).with_file_name("PROVENANCE.md")).unwrap()
}

#[test]
fn retransmits_and_drops_agree_with_the_kernels_counters() {
    let f = facts(PATH).unwrap();
    let text = provenance();
    // A retransmitted GSO skb of k segments is one event and counts k.
    let segments = |class: RetransmitClass| -> u64 {
        let of = f.retransmits.iter().filter(|r| r.class == class);
        of.map(|r| r.bytes.map_or(1, |b| (u64::from(b) - HEADERS).div_ceil(1448).max(1)))
            .sum()
    };
    let syn = segments(RetransmitClass::Syn);
    let recovered = segments(RetransmitClass::Fast) + segments(RetransmitClass::RackTimer);
    assert_eq!(Some(syn), nstat(&text, "TcpExtTCPSynRetrans"));
    assert_eq!(Some(recovered), nstat(&text, "TcpExtTCPFastRetrans"));
    assert_eq!(Some(syn + recovered), nstat(&text, "TcpRetransSegs"));
    let entered = f
        .tcp_states
        .iter()
        .filter(|s| s.kind == "cong" && s.name == "Recovery")
        .count() as u64;
    assert_eq!(Some(entered), nstat(&text, "TcpExtTCPSackRecovery"));
    let lost = f.drops.iter().filter(|d| d.expected == Some(false)).count();
    assert_eq!(lost, 36, "netem dropped 36 packets");
}

#[test]
fn what_the_kernel_does_not_say_is_not_claimed() {
    let f = facts(PATH).unwrap();
    let missing = f.capture.missing_events.join("\n");
    for event in ["tcp:tcp_sendmsg_locked", "sock:sk_data_ready", "sock:sock_recv_length"] {
        assert!(missing.contains(event), "{event} is not reported missing: {missing}");
    }
    // No pointer ties a segment to its socket, so no row of the ledger is certain; and bytes read are unknown, not 0.
    assert!(f.rx.iter().all(|r| r.confidence <= Confidence::Strong));
    assert!(
        f.connections
            .iter()
            .all(|c| c.bytes_read.is_none() && c.bytes_written.is_none())
    );
    assert!(
        f.rx.iter()
            .any(|r| r.end == RxEnd::Read && r.confidence == Confidence::Strong && r.pid > 0)
    );
    // No event names an original before it is sent again: its clone's place in the slab tells it, never for certain.
    let originals: Vec<_> = f.skbs.iter().filter(|s| s.class == SkbClass::TxOriginal).collect();
    assert!(originals.iter().all(|s| s.confidence <= Confidence::Strong));
    // Frames at addresses = 232 mod 512, counted in trace-cmd's output, and its 66 tcp_retransmit_skb events.
    let clones: Vec<_> = f.lineage.iter().filter(|l| l.kind == LineageKind::Fclone).collect();
    assert_eq!(clones.len(), 2785);
    let mut sent = BTreeMap::<_, u32>::new();
    for c in &clones {
        *sent.entry(c.parent).or_default() += 1;
    }
    assert_eq!(sent.len(), originals.len());
    let again: u32 = sent.values().map(|n| n - 1).sum();
    // The others sent what tcp_fragment had cut off (117 segments by 66 calls), at an address whose original snd_una had passed:
    // taken for that original, 64 seemed to be sent again; with an address that was taken again at once held for a bridge's second
    // hop, 40. No event of this recording counts these (66 is the only bound that is not our own); in three recordings with the slab
    // allocator's events beside them the same rules had no wrong one (docs/truth.md).
    assert_eq!(again, 36, "of 66 retransmits are of an original sent before");
    // 5 ms of netem and an emulated receiver: 630 ms lives were seen here before forwards were tied to their softirq. (A TCP
    // original lives until its bytes are acknowledged.)
    let longest = f
        .skbs
        .iter()
        .filter(|s| s.confidence.is_solid() && s.class != SkbClass::TxOriginal)
        .filter_map(|s| s.life_ns())
        .max()
        .unwrap();
    assert!(longest < 60_000_000, "{longest}");
}
