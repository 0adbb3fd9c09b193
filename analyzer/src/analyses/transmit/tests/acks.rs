//! ACKs behind another connection's data, planted: what is counted is what was put there.

use super::answer;
use crate::analyses::Outcome;
use crate::analyses::transmit::LateAcks;
use crate::facts::{ConnectionId, Facts, SkbId};
use crate::name::Name;
use crate::reconstruct::skb::tables::{BirthKind, DeathKind, SkbClass, SkbRow};
use crate::reconstruct::tcp::tables::ConnectionRow;
use crate::reconstruct::transmit::tables::{TxKind, TxRow};
use crate::reconstruct::xmits::tables::Pass;

const MS: i64 = 1_000_000;

fn connection(n: u32, (sport, dport): (u16, u16), upwards: bool, (bytes_in, bytes_out): (u64, u64)) -> ConnectionRow {
    let [a, b] = ["10.9.1.2", "10.9.2.2"].map(|a| Some(a.parse().unwrap()));
    ConnectionRow {
        saddr: if upwards { a } else { b },
        sport,
        daddr: if upwards { b } else { a },
        dport,
        bytes_in,
        bytes_out,
        ..crate::testing::tcp::connection(n)
    }
}

struct Planted {
    facts: Facts,
    next: u32,
}

impl Planted {
    /// A packet of a connection, which lay in the queue of a device.
    fn packet(&mut self, c: u32, kind: TxKind, bytes: u32, dev: &[u8], (at, waited): (i64, i64)) {
        let skb = SkbId(self.next);
        self.next += 1;
        self.facts.skbs.push(SkbRow {
            skb_id: skb,
            skbaddr: u64::from(skb.0),
            class: SkbClass::TxClone,
            birth_ns: at,
            birth_kind: BirthKind::Seen,
            death_ns: None,
            death_kind: DeathKind::Unseen,
            last_ns: at,
            dev: Name::new(dev),
            last_dev: Name::new(dev),
            bytes: Some(bytes + 66),
            hops: 1,
            gso_size: 0,
            death_location: 0,
            links: crate::Confidence::Certain,
            confidence: crate::Confidence::Certain,
        });
        self.facts.tx.push(TxRow {
            skb_id: skb,
            connection: Some(ConnectionId(c)),
            kind,
            bytes: Some(bytes),
            start_ns: at,
            t_sched_ns: at,
            ..crate::testing::sent()
        });
        self.facts.xmits.push(Pass {
            skb_id: Some(skb),
            dev: Name::new(dev),
            qdisc: Name::new(b"tbf"),
            bytes: Some(bytes + 66),
            queued_ns: Some(at),
            started_ns: Some(at + waited),
            qdisc_ns: Some(waited),
            ..crate::testing::pass()
        });
    }
}

/// A download of 1 kB a ms for a second, then of 1 kB in 20 ms for a second, in which an upload fills the queue of `rs`: 25 ACKs of 40
/// lie there for 400 ms. The data lies in that of `rc` for so long.
fn download(data_waits: i64, acks: usize) -> Option<LateAcks> {
    let mut p = Planted {
        facts: Facts::empty(),
        next: 0,
    };
    p.facts.connections = vec![
        connection(0, (41_258, 7211), true, (4_000_000, 1)),
        connection(1, (7211, 41_258), false, (1, 4_000_000)),
        connection(2, (48_676, 7261), true, (0, 400_000)),
    ];
    for n in 0..1000 {
        p.packet(1, TxKind::Tcp, 1_000, b"rc", (n * MS, 1_000));
    }
    for n in 0..50 {
        p.packet(1, TxKind::Tcp, 1_000, b"rc", ((1_000 + n * 20) * MS, data_waits));
        p.packet(2, TxKind::Tcp, 1_434, b"rs", ((900 + n * 20) * MS, 400 * MS));
    }
    for n in 0..15 {
        p.packet(0, TxKind::TcpControl, 0, b"rs", (n * 50 * MS, 3_000));
    }
    for n in 0..acks {
        p.packet(
            0,
            TxKind::TcpControl,
            0,
            b"rs",
            ((1_000 + n as i64 * 25) * MS, 400 * MS),
        );
    }
    let Outcome::Findings(t) = answer(&p.facts) else {
        panic!()
    };
    t.late_acks
}

#[test]
fn acks_behind_an_upload_are_said_with_whose_bytes_they_were_behind() {
    let a = download(1_000, 25).unwrap();
    assert_eq!(a.data, "10.9.2.2:7211 > 10.9.1.2:41258");
    assert_eq!((a.dev.as_str(), a.qdisc.as_str()), ("rs", "tbf"));
    assert_eq!(
        (a.wait.n, a.wait.p50_ns, a.wait.max_ns),
        (25, Some(400 * MS), Some(400 * MS))
    );
    assert_eq!(a.within_ns, (1_000 * MS, 2_000 * MS));
    // Frames of 1500 bytes, and ACKs of 66.
    let (who, share) = a.filled_by.unwrap();
    assert!(who == "10.9.1.2:48676 > 10.9.2.2:7261" && share > 0.9, "{who} {share}");
    assert_eq!(a.data_wait_ns, Some(1_000));
    let (before, meanwhile) = a.mbit_per_s.unwrap();
    assert!(
        (before - 8.0).abs() < 0.01 && (meanwhile - 0.4).abs() < 0.01,
        "{before} {meanwhile}"
    );
}

#[test]
fn late_data_or_few_late_acks_are_another_thing() {
    // The data itself waits as long as a tenth of what its ACKs do.
    assert_eq!(download(41 * MS, 25), None);
    assert_eq!(download(1_000, 19), None);
}
