use super::*;
use crate::analyses::drops::tests::causes::{connection, lose, rpc};
use crate::facts::ConnectionId;
use crate::reconstruct::tcp::tables::{RetransmitClass, RetransmitRow};
use crate::reconstruct::whose::Carries;
use crate::snapshots::memory::Holder;
use crate::snapshots::spaces::Spaces;
use crate::testing::listed;
use netmortem_formats::capture::SnapshotWhen::Start;

fn counted(name: &str, netns: u64, rose: u64) -> CounterRow {
    CounterRow {
        source: "netstat",
        netns: Some(netns),
        of: String::new(),
        name: name.into(),
        start: Some(3),
        end: Some(3 + rose),
    }
}

/// Segments to 10.0.0.1 (namespace 1) with a wrong checksum, and how many 10.0.0.2 and 10.0.0.3 sent there again.
fn facts(rose: u64, again: u32, others: u32) -> Facts {
    let mut f = Facts::empty();
    f.names.reasons_by_place = true;
    let addresses = "netns=1 ifindex=2 address=10.0.0.1/24\nnetns=2 ifindex=2 address=10.0.0.2/24\n";
    f.spaces = Spaces::of(&listed(&[("addresses", Start, addresses)]));
    f.connections = vec![
        connection(0, (1, 40_000), (2, 80)),
        connection(1, (2, 80), (1, 40_000)),
        connection(2, (1, 40_001), (3, 80)),
        connection(3, (3, 80), (1, 40_001)),
    ];
    let like = rpc();
    for (n, c) in [(again, 1u32), (others, 3)] {
        let one = || RetransmitRow {
            original: None,
            index: 0,
            time_ns: 0,
            connection: Some(ConnectionId(c)),
            synack: None,
            class: RetransmitClass::Fast,
            err: Some(0),
            bytes: Some(1514),
            segments: Some(1),
            confidence: crate::Confidence::Certain,
        };
        f.retransmits.extend((0..n).map(|_| one()));
    }
    for n in 0..600u32 {
        let mut r = like.rx[0].clone();
        (r.connection, r.bytes) = (Some(ConnectionId(if n < 400 { 0 } else { 2 })), Some(1448));
        f.rx.push(r);
    }
    f.counters = vec![counted("TcpInCsumErrors", 1, rose)];
    f
}

#[test]
fn what_was_sent_again_tells_between_whom_segments_were_damaged() {
    let told = untold(&facts(40, 40, 0));
    let [u] = told.as_slice() else { panic!("{told:?}") };
    assert_eq!((u.counter, u.rose), ("TcpInCsumErrors", 40));
    let d = u.damaged.as_ref().unwrap();
    assert_eq!((d.hosts.0.as_str(), d.hosts.1.as_str()), ("10.0.0.1", "10.0.0.2"));
    assert_eq!((d.damaged, d.came, d.others), ((40, 0), 440, 200));
    // From others as well; or so many that others were lost: not known between whom.
    for unknown in [facts(40, 30, 10), facts(40, 60, 0), facts(40, 10, 0)] {
        assert_eq!(untold(&unknown)[0].damaged, None);
    }
    // Few; a kernel that has the event; drops that say it already.
    assert!(untold(&facts(9, 9, 0)).is_empty());
    let mut newer = facts(40, 40, 0);
    newer.names.reasons_by_place = false;
    assert!(untold(&newer).is_empty());
    let mut said = facts(40, 40, 0);
    lose(&mut said, 1, 0, Carries::Received);
    said.drops[0].why = CHECKSUM;
    assert!(untold(&said).is_empty());
}

#[test]
fn memory_that_was_short_is_told_by_counters() {
    let of = |pressed, own| {
        let mut f = Facts::empty();
        f.names.reasons_by_place = true;
        f.capture.duration_ns = 10_000_000_000;
        f.counters = vec![
            counted("TcpExtTCPRcvQDrop", 7, 27),
            counted("TcpExtTCPMemoryPressures", 7, pressed),
            counted("TcpExtTCPMemoryPressuresChrono", 7, 8472),
            counted("TcpExtRcvPruned", 7, own),
        ];
        f.memory = [(8, "other/9", "10.9.1.2:1"), (7, "collector/12", "10.9.2.2:7436")]
            .map(|(netns, task, local)| Holder {
                netns,
                task: task.into(),
                local: local.into(),
                sockets: 6,
                bytes: 9_000_000,
            })
            .into();
        untold(&f)
    };
    let told = of(1, 0);
    let [u] = told.as_slice() else { panic!("{told:?}") };
    assert_eq!((u.counter, u.rose), ("TcpExtTCPRcvQDrop", 27));
    assert_eq!(
        u.says,
        "the memory that all TCP sockets of this host share was short (inferred: the kernel counted pressure for 8.472 s): \
         when the recording ended collector/12 at 10.9.2.2:7436 held 9.0 MB of it unread on 6 sockets"
    );
    let says = |pressed, own| {
        let told = of(pressed, own);
        let [u] = told.as_slice() else { panic!("{told:?}") };
        (u.says.clone(), u.told)
    };
    // Its own buffer, of all or of most; of some of them.
    let own = "the socket's own receive buffer was full, by the kernel's counter RcvPruned";
    assert_eq!(says(1, 27), (own.to_owned(), true));
    let most = "the socket's own receive buffer was full for 20 of them at least, by the kernel's counter RcvPruned";
    assert_eq!(says(1, 20), (most.to_owned(), true));
    let (some, told) = says(1, 9);
    assert!(told && some.starts_with("the memory that all TCP sockets"), "{some}");
    let rest = ", and for up to 9 of them the socket's own receive buffer was full (RcvPruned)";
    assert!(some.ends_with(rest), "{some}");
    // No pressure counted: it may have begun before the recording, or it was a cgroup's limit.
    for open in [says(0, 0), says(0, 9)] {
        assert!(open.0.starts_with("no memory to receive them") && !open.1, "{open:?}");
    }
}
