//! Bytes of real recordings add up, and links agree with counts that other programs made of the same traffic.

use crate::confidence::Confidence;
use crate::facts::Facts;
use crate::reconstruct::balances::tables::{BalanceKind, BalanceRow};
use crate::reconstruct::lineage::tables::{Conserved, LineageKind};
use crate::reconstruct::transmit::Stage;

fn facts(path: &str) -> Facts {
    super::facts(path)
}
fn largest(f: &Facts, kind: BalanceKind) -> &BalanceRow {
    let of = f.balances.iter().filter(|b| b.kind == kind);
    of.max_by_key(|b| b.bytes_expected).unwrap()
}
fn edges(f: &Facts, kind: LineageKind) -> usize {
    f.lineage.iter().filter(|l| l.kind == kind).count()
}

/// Every packet that tbf cut is made up by its segments, though ten of them were dropped in the queue; what was sent is
/// what tcptrace saw on the sender's interface (9,646,613 bytes) less the 37 sent before the first probe.
#[test]
fn sawtooth_adds_up() {
    let f = facts("sawtooth/sawtooth.nmb");
    let cut = largest(&f, BalanceKind::GsoChildren);
    assert_eq!((cut.units, cut.matched, cut.unexplained_bytes), (1833, 1833, 0));
    assert_eq!(edges(&f, LineageKind::QdiscSegment), 6339);
    let sent = largest(&f, BalanceKind::TxPayload);
    assert_eq!(
        (sent.bytes_expected, sent.bytes_found),
        (9_646_613 - 37, 9_646_613 - 37)
    );
    assert_eq!(sent.unexplained_bytes, 0);
    assert_eq!(largest(&f, BalanceKind::CoalesceFifo).unexplained_bytes, 0);
    // tcpdump saw every frame of the sender.
    let tapped = f.lineage.iter().filter(|l| l.kind == LineageKind::Tap).count();
    assert_eq!(tapped, 2175);
}

/// 399 requests and 400 answers; 803 of the frames lie where only companions do, counted in trace-cmd's output.
#[test]
fn rpc_adds_up() {
    let f = facts("rpc/rpc.nmb");
    assert!(f.balances.iter().all(|b| b.unexplained_bytes == 0), "{:?}", f.balances);
    assert_eq!(edges(&f, LineageKind::Fclone), 803);
}

/// The device counted 425 frames, the kernel 38 IP packets of them: 387 merges. Each byte that was sent is in one of them or in a head.
#[test]
fn gro_merges_what_the_counters_say() {
    let f = facts("gro/gro.nmb.zst");
    let counted = |name: &str| {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../sample-data/gro/counters.csv");
        let text = std::fs::read_to_string(file).unwrap();
        let line = text.lines().find_map(|l| l.strip_prefix(name)?.strip_prefix(','));
        line.unwrap().parse::<usize>().unwrap()
    };
    assert_eq!(
        edges(&f, LineageKind::GroMerge),
        counted("frames") - counted("IpInReceives")
    );
    let heads = largest(&f, BalanceKind::GroHead);
    assert_eq!((heads.unexplained_bytes, heads.units), (0, heads.matched));
    let fifo = largest(&f, BalanceKind::CoalesceFifo);
    assert_eq!((fifo.bytes_expected, fifo.unexplained_bytes), (30 * 20_000, 0));
}

/// Less than 0.5 % of all bytes of a recording is unexplained, on every kernel; and what does not add up is nowhere sure.
/// There are bytes to explain: as many as other programs counted, with the protocols' own on top. Solid ones, but on 6.1.
#[test]
fn little_is_unexplained() {
    use BalanceKind::{CoalesceFifo, GroHead, GsoChildren, TxPayload};
    for (path, solid, least) in [
        // tcptrace: sent on the data connection, of which 37 bytes before the first probe; the bucket cut what is more than
        // a segment. iperf3 says that 9.16 MBytes arrived.
        (
            "sawtooth/sawtooth.nmb",
            true,
            vec![
                (GsoChildren, 9_000_000),
                (CoalesceFifo, 9_600_000),
                (TxPayload, 9_646_576),
            ],
        ),
        // 400 requests and answers by their formulas; the first request of 200 bytes was sent before the first probe.
        (
            "rpc/rpc.nmb",
            true,
            vec![(CoalesceFifo, 1_167_000), (TxPayload, 1_166_800)],
        ),
        // Copies by trace-cmd's sum. Without sock_recv_length what was read is counted by copies alone: all of it is weak.
        (
            "kernel-6.1/netem.nmb",
            false,
            vec![(CoalesceFifo, 12_333_534), (TxPayload, 12_333_534)],
        ),
        // iperf3 -n 8M.
        (
            "tracedat-loopback/trace.dat",
            true,
            vec![(CoalesceFifo, 8 << 20), (TxPayload, 8 << 20)],
        ),
    ] {
        let f = facts(path);
        for kind in [GroHead, GsoChildren, CoalesceFifo, TxPayload] {
            let of = f.balances.iter().filter(|b| b.kind == kind);
            let sum = |solid: bool| {
                let of = of.clone().filter(|b| !solid || b.confidence.is_solid());
                of.fold((0, 0), |(a, u), b| (a + b.bytes_expected, u + b.unexplained_bytes))
            };
            for (all, apart) in [sum(true), sum(false)] {
                assert!(apart * 200 <= all, "{path} {kind:?}: {apart} of {all}");
            }
            let least = least.iter().find(|l| l.0 == kind).map_or(0, |l| l.1);
            let (all, _) = sum(solid);
            assert!(all >= least, "{path} {kind:?}: {all} of {least} bytes are asked for");
        }
        let broken = f.lineage.iter().filter(|l| l.conserved == Conserved::No);
        assert!(broken.clone().all(|l| l.confidence <= Confidence::Weak), "{path}");
    }
}

/// On 6.1 no event counts reads: copies do, which trace-cmd sums to 12,333,534 bytes, 793 of them on the two control
/// connections. All of it was found, and what arrived is that: units that no event names at their read are counted too.
#[test]
fn what_6_1_copied_is_what_arrived() {
    let f = facts("kernel-6.1/netem.nmb");
    let of = f.balances.iter().filter(|b| b.kind == BalanceKind::CoalesceFifo);
    let found: u64 = of.clone().map(|b| b.bytes_found).sum();
    let apart: u64 = of.map(|b| b.unexplained_bytes).sum();
    assert_eq!((found, apart), (12_333_534, 0));
    let b = largest(&f, BalanceKind::CoalesceFifo);
    assert_eq!(b.bytes_found, 12_333_534 - 793, "{b:?}");
}

/// iperf3 writes far more than a segment at a time, so hardly anything of it waits for Nagle. (The time that an ACK's own
/// processing took, on emulated CPUs, was once taken for such a wait: 11.8 s.)
#[test]
fn full_segments_of_6_1_do_not_wait_for_nagle() {
    let f = facts("kernel-6.1/netem.nmb");
    let bulk = largest(&f, BalanceKind::TxPayload).connection;
    let rows = f.tx.iter().filter(|r| r.connection == bulk);
    let held = |stage| rows.clone().filter_map(|r| r.stage(stage)).sum::<i64>();
    let [nagle, cwnd] = [Stage::Nagle, Stage::Cwnd].map(held);
    assert!(cwnd > 200_000_000_000 && nagle * 400 <= cwnd, "{nagle} of {cwnd} ns");
}

/// The router's tbf was set to 20 Mbit/s (PROVENANCE): that is what its queue gave while it held packets.
#[test]
fn a_queue_gives_what_it_was_set_to() {
    let answers = crate::analyses::answer(&facts("sawtooth/sawtooth.nmb"));
    let queues = &answers.transmit.findings().unwrap().queues;
    let q = queues.first().unwrap();
    let rate = q.mbit_per_s().unwrap();
    assert_eq!((q.dev.as_str(), q.wait.n), ("rb", 6683));
    assert!((19.8..20.2).contains(&rate), "{rate}");
}

/// Every 25th read of a program was one that no event tells the length of. Its own count says how many bytes these were: they are what does not
/// add up, and the verdict's line on the quality says so, in the colour of a loss.
#[test]
fn bytes_read_without_an_event_are_said_of_the_quality() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../sample-data/unread/reads.txt");
    let text = std::fs::read_to_string(file).unwrap();
    let words: Vec<&str> = text.split_whitespace().collect();
    let [by_recv, by_zerocopy] = [1, 3].map(|at| words[at].parse::<u64>().unwrap());
    let f = facts("unread/unread.nmb.zst");
    let answers = crate::analyses::answer(&f);
    let q = &answers.quality;
    let of: Vec<_> = q
        .unexplained
        .iter()
        .map(|u| (u.kind, u.bytes, u.bytes_expected))
        .collect();
    assert_eq!(of, [("coalesce_fifo", by_zerocopy, by_recv + by_zerocopy)]);
    assert_eq!(q.level, crate::analyses::quality::Level::Degraded);
    let says = format!(
        "{by_zerocopy} of {} bytes (1.00 %) do not add up",
        by_recv + by_zerocopy
    );
    assert!(q.sentence.contains(&says), "{}", q.sentence);
    let line = &answers.verdict[0];
    assert!(line.sentence.contains(&says) && line.subject == "quality", "{line:?}");
    // Nothing of a recording whose bytes add up.
    let whole = crate::analyses::answer(&facts("rpc/rpc.nmb")).quality;
    assert!(whole.unexplained.is_empty());
}
