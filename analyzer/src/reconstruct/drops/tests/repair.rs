//! Repairs against a capture of packets at the sender, and by hand: what is dropped late, refused, or in pieces.

use std::path::PathBuf;

use crate::Confidence;
use crate::facts::{ConnectionId, SkbId};
use crate::reconstruct::drops::otherhost::Hindsight;
use crate::reconstruct::drops::repair::judge;
use crate::reconstruct::drops::tables::DropRow;
use crate::reconstruct::lineage::tables::{Conserved, LineageKind, LineageRow, Rule};
use crate::reconstruct::skb::tables::{DeathKind, SkbRow};
use crate::reconstruct::skb::{Identity, Sent};
use crate::reconstruct::tcp::tables::{RetransmitClass, RetransmitRow};
use crate::reconstruct::whose::{Carries, Owner};

/// The packets of the data connection as tshark reads them from the capture at the sender: what was sent again, with the first ACK
/// that reaches its end; times are of CLOCK_REALTIME.
fn repairs_by_tshark() -> Option<Vec<(i64, i64)>> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../sample-data/sawtooth/sender.pcap.zst");
    let pcap = zstd::decode_all(std::fs::File::open(path).ok()?).ok()?;
    let path = std::env::temp_dir().join(format!("netmortem-sawtooth-{}.pcap", std::process::id()));
    std::fs::write(&path, pcap).ok()?;
    let fields = [
        "frame.time_epoch",
        "tcp.srcport",
        "tcp.seq",
        "tcp.len",
        "tcp.ack",
        "tcp.analysis.retransmission",
    ];
    let mut tshark = std::process::Command::new("tshark");
    tshark
        .arg("-n")
        .arg("-r")
        .arg(&path)
        .args(["-Y", "tcp.port == 35914", "-T", "fields"]);
    for field in fields {
        tshark.args(["-e", field]);
    }
    let out = tshark.output();
    let _ = std::fs::remove_file(&path);
    let text = String::from_utf8(out.ok().filter(|o| o.status.success())?.stdout).ok()?;
    let ns = |epoch: &str| -> i64 {
        let (s, part) = epoch.split_once('.').unwrap();
        s.parse::<i64>().unwrap() * 1_000_000_000 + format!("{part:0<9}")[..9].parse::<i64>().unwrap()
    };
    let rows: Vec<Vec<&str>> = text.lines().map(|l| l.split('\t').collect()).collect();
    let number = |text: &str| text.parse::<u64>().unwrap();
    let mut repairs = vec![];
    for (at, row) in rows
        .iter()
        .enumerate()
        .filter(|(_, r)| r[1] == "35914" && !r[5].is_empty())
    {
        let end = number(row[2]) + number(row[3]);
        let ack = rows[at..].iter().find(|r| r[1] == "5201" && number(r[4]) >= end);
        repairs.push((ns(row[0]), ns(ack.unwrap()[0])));
    }
    Some(repairs)
}

/// Each of the ten drops was repaired by one retransmission: the one that the capture at the sender shows, and at the time of its ACK.
#[test]
fn drops_are_repaired_when_the_capture_says() {
    let Some(repairs) = repairs_by_tshark() else {
        println!("skipped: tshark is not installed");
        return;
    };
    let f = crate::tests::facts("sawtooth/sawtooth.nmb");
    let offset = f.capture.realtime_offset_ns.unwrap();
    let lost: Vec<_> = f.drops.iter().filter(|d| d.expected == Some(false)).collect();
    assert_eq!((lost.len(), repairs.len()), (10, 10));
    for (drop, (sent, acked)) in lost.iter().zip(repairs) {
        let repair = drop.repair.unwrap();
        let again = &f.retransmits[repair.retransmit as usize];
        // The event follows the frame; the capture's clock and the kernel's are read apart.
        assert!(
            (again.time_ns + offset - sent).abs() < 1_000_000,
            "{drop:?} {again:?} {sent}"
        );
        let ours = drop.time_ns + repair.after_ns.unwrap() + offset;
        assert!((ours - acked).abs() < 1_000_000, "{drop:?}: {ours}, {acked}");
    }
}

/// The original of all sendings here.
const X: SkbId = SkbId(0);

/// An original's sendings: frames by number, when each was queued, its length.
struct Case {
    identity: Identity,
    lineage: Vec<LineageRow>,
    retransmits: Vec<RetransmitRow>,
}

impl Case {
    fn new(sent: &[(i64, u32)]) -> Case {
        let mut identity = Identity::default();
        identity.lives.push(life(X, None));
        for (ts_ns, bytes) in sent {
            let clone = SkbId(identity.lives.len() as u32);
            identity.lives.push(life(clone, Some(*bytes)));
            identity.clones.push(Sent {
                ts_ns: *ts_ns,
                original: X,
                clone,
                again: clone.0 > 1,
                confidence: Confidence::Certain,
            });
        }
        Case {
            identity,
            lineage: vec![],
            retransmits: vec![],
        }
    }
    /// Its event, of a frame of this length.
    fn again(mut self, time_ns: i64, bytes: u32) -> Case {
        self.retransmits.push(RetransmitRow {
            index: 0,
            time_ns,
            connection: Some(ConnectionId(0)),
            synack: None,
            class: RetransmitClass::Fast,
            err: None,
            bytes: Some(bytes),
            original: Some(X),
            segments: Some(1),
            confidence: Confidence::Strong,
        });
        self
    }
    /// A piece of the first frame that went on.
    fn piece(&mut self, bytes: u32) -> SkbId {
        let child = SkbId(self.identity.lives.len() as u32);
        self.identity.lives.push(life(child, Some(bytes)));
        self.lineage.push(LineageRow {
            ts_ns: 1,
            parent: SkbId(1),
            child,
            kind: LineageKind::QdiscSegment,
            rule: Rule::SegmentOrder,
            bytes: Some(bytes - 66),
            conserved: Conserved::Yes,
            why: crate::reconstruct::lineage::Why::default(),
            confidence: Confidence::Certain,
        });
        child
    }
    /// Which retransmission repaired each of these: life, or the packet that it was cut from, and when it was dropped.
    fn repairs(&self, dropped: &[(Option<u32>, i64)]) -> Vec<Option<u32>> {
        let mut rows: Vec<DropRow> = dropped
            .iter()
            .map(|(skb, ns)| DropRow {
                skb_id: skb.map(SkbId),
                owner: Some(Owner {
                    connection: Some(ConnectionId(0)),
                    carries: Carries::Data,
                    task: Default::default(),
                    pid: 0,
                    confidence: Confidence::Strong,
                }),
                ..crate::testing::drop_at(*ns)
            })
            .collect();
        for row in rows.iter_mut().filter(|row| row.skb_id.is_none()) {
            row.cut_from = Some(SkbId(1));
        }
        let known = Hindsight {
            counters: &[],
            devices: &Default::default(),
            resets: &[],
            identity: &self.identity,
            lineage: &self.lineage,
            tx: &[],
            connections: &[],
            retransmits: &self.retransmits,
            states: &[],
            comms: &Default::default(),
            sendings: true,
            lost: false,
        };
        judge(&mut rows, &known);
        rows.iter().map(|row| row.repair.map(|r| r.retransmit)).collect()
    }
}

fn life(skb_id: SkbId, bytes: Option<u32>) -> SkbRow {
    SkbRow {
        death_kind: DeathKind::Dropped,
        bytes,
        ..crate::testing::life(skb_id.0)
    }
}

const MS: i64 = 1_000_000;

/// A long queue drops the first copy after two others were sent: the first of these carried it again.
#[test]
fn what_is_dropped_late_was_repaired_by_what_was_sent_next() {
    let case = Case::new(&[(0, 1514), (100 * MS, 1514), (300 * MS, 1514)])
        .again(100 * MS + 1, 1514)
        .again(300 * MS + 1, 1514);
    // The second was dropped itself, before its event.
    let dropped = [(Some(2), 100 * MS), (Some(1), 400 * MS), (Some(3), 401 * MS)];
    assert_eq!(case.repairs(&dropped), [Some(1), Some(0), None]);
}

/// The sender's own qdisc refused the second sending: it has no event, and what was sent then repaired nothing.
#[test]
fn a_refused_retransmission_is_none() {
    let case = Case::new(&[(0, 1514), (100 * MS, 1514), (300 * MS, 1514), (500 * MS, 1514)])
        .again(300 * MS + 1, 1514)
        .again(500 * MS + 1, 1514);
    let dropped = [
        (Some(1), 5 * MS),
        (Some(2), 100 * MS),
        (Some(3), 301 * MS),
        (Some(4), 501 * MS),
    ];
    assert_eq!(case.repairs(&dropped), [Some(0), Some(0), Some(1), None]);
}

/// tbf drops pieces of a large packet: what is sent again may be its head alone.
#[test]
fn a_piece_is_repaired_by_what_must_have_carried_it() {
    let of = |again: u32, dropped: &[(Option<u32>, i64)]| {
        let mut case = Case::new(&[(0, 66 + 1448 * 3 + 100), (9 * MS, again)]).again(9 * MS + 1, again);
        for bytes in [1514, 1514, 166] {
            case.piece(bytes);
        }
        case.repairs(dropped)
    };
    // The one that never came to the driver is 1448 bytes long; the last was dropped on the way.
    let (unseen, last) = ((None, 1), (Some(5), 2));
    assert_eq!(of(1514, &[unseen]), [Some(0)]);
    assert_eq!(of(166, &[unseen]), [None]);
    assert_eq!(of(166, &[last]), [Some(0)]);
    assert_eq!(of(1514, &[unseen, last]), [None, None]);
    // The whole packet once more.
    assert_eq!(of(66 + 1448 * 3 + 100, &[unseen, last]), [Some(0), Some(0)]);
}
