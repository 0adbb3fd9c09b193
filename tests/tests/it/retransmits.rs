//! Segments sent again, as the product counts them, against the kernel's counters: `nstat` in the samples' PROVENANCE.md. (The
//! snapshots in these two bundles are of the host's own namespace, where nothing was sent again.)

use netmortem_analyzer::analyses;
use netmortem_tests::{facts, nstat, sample};

/// (sample, calls, segments): `tcp_retransmit_skb` in counts.txt, TcpRetransSegs in PROVENANCE.md.
const SAMPLES: [(&str, u64, u64); 2] = [("sawtooth/sawtooth.nmb", 11, 11), ("kernel-6.1/netem.nmb", 66, 117)];

#[test]
fn segments_are_the_kernels_and_calls_are_the_events() {
    for (path, calls, segments) in SAMPLES {
        let f = facts(path).unwrap();
        let beside = |name| std::fs::read_to_string(sample(path).with_file_name(name)).unwrap();
        assert_eq!(
            nstat(&beside("PROVENANCE.md"), "TcpRetransSegs"),
            Some(segments),
            "{path}"
        );
        let counts = beside("counts.txt");
        let counted = counts.lines().find(|l| l.contains("tcp_retransmit_skb")).unwrap();
        assert!(
            counted.split_whitespace().any(|w| w == calls.to_string()),
            "{path}: {counted}"
        );
        let answers = analyses::answer(&f);
        let tcp = answers.tcp.findings().unwrap();
        assert_eq!(
            (tcp.calls(), tcp.retransmit_segments, tcp.retransmits_unsized),
            (calls, segments, 0),
            "{path}"
        );
        let by_socket = f.connections.iter().map(|c| c.retransmit_segments.unwrap());
        assert_eq!(by_socket.sum::<u64>(), segments, "{path}");
        let line = answers.verdict.iter().find(|l| l.subject == "tcp").unwrap();
        let said = format!("{segments} TCP segments were retransmitted by {calls} calls");
        assert!(line.sentence.starts_with(&said), "{}", line.sentence);
    }
}
