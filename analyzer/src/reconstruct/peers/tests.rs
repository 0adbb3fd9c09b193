use super::peers;
use crate::facts::{ConnectionId, SkbId};
use crate::reconstruct::receive::tables::RxRow;
use crate::reconstruct::tcp::tables::ConnectionRow;
use crate::reconstruct::transmit::tables::TxRow;
use crate::testing::tcp::connection;

/// A socket with these ends, alive from the one time to the other.
fn socket(
    n: u32,
    (saddr, sport): (&str, u16),
    (daddr, dport): (&str, u16),
    (first_ns, last_ns): (i64, i64),
) -> ConnectionRow {
    ConnectionRow {
        saddr: Some(saddr.parse().unwrap()),
        sport,
        daddr: Some(daddr.parse().unwrap()),
        dport,
        first_ns,
        last_ns,
        ..connection(n)
    }
}

fn sent(skb: u32, c: u32) -> TxRow {
    TxRow {
        skb_id: SkbId(skb),
        connection: Some(ConnectionId(c)),
        ..crate::testing::sent()
    }
}

fn got(skb: u32, c: u32) -> RxRow {
    RxRow {
        skb_id: SkbId(skb),
        connection: Some(ConnectionId(c)),
        ..RxRow::default()
    }
}

fn found(all: &[ConnectionRow], tx: &[TxRow], rx: &[RxRow]) -> Vec<Option<u32>> {
    let all: Vec<&ConnectionRow> = all.iter().collect();
    peers(&all, tx, rx).into_iter().map(|p| p.map(|c| c.0)).collect()
}

const CLIENT: (&str, u16) = ("198.18.5.10", 46_604);
const PUBLISHED: (&str, u16) = ("198.18.5.1", 80);
const CONTAINER: (&str, u16) = ("172.20.0.10", 80);

#[test]
fn by_ends_where_one_lived_then() {
    let all = [
        socket(0, CLIENT, PUBLISHED, (0, 10)),
        socket(1, PUBLISHED, CLIENT, (1, 9)),
        // The port again, later.
        socket(2, PUBLISHED, CLIENT, (20, 30)),
    ];
    assert_eq!(found(&all, &[], &[]), [Some(1), Some(0), None]);
    // The same addresses in two namespaces at once.
    let both = [all[0].clone(), all[1].clone(), socket(2, PUBLISHED, CLIENT, (5, 30))];
    assert_eq!(found(&both, &[], &[]), [None, None, None]);
    // One of them got its packets.
    assert_eq!(found(&both, &[sent(7, 0)], &[got(7, 2)]), [Some(2), None, Some(0)]);
}

/// Thousands of sockets with the same ends: no search through all of them for each.
#[test]
fn of_very_many_alike_nothing_is_told() {
    let many = |n: u32| {
        let mut all = vec![socket(0, CLIENT, PUBLISHED, (1000 * i64::from(n), i64::MAX))];
        all.extend((1..=n).map(|k| socket(k, PUBLISHED, CLIENT, (1000 * i64::from(k), 1000 * i64::from(k) + 1))));
        found(&all, &[], &[])[0]
    };
    assert_eq!(
        (many(1), many(60), many(65), many(20_000)),
        (Some(1), Some(60), None, None)
    );
}

#[test]
fn behind_nat_by_the_packets_of_either() {
    let all = [
        socket(0, CLIENT, PUBLISHED, (0, 10)),
        socket(1, CONTAINER, CLIENT, (1, 9)),
        socket(2, CLIENT, ("192.0.2.1", 80), (0, 10)),
    ];
    assert_eq!(found(&all, &[], &[]), [None, None, None]);
    // What the client sent is enough for both; the third's packets came to none.
    let tx = [sent(3, 0), sent(4, 0), sent(5, 2)];
    assert_eq!(found(&all, &tx, &[got(3, 1), got(4, 1)]), [Some(1), Some(0), None]);
    // Packets of one that came to two sockets tell nothing.
    assert_eq!(found(&all, &tx, &[got(3, 1), got(4, 2)]), [None, None, None]);
    // One of many is a RST that is counted for another socket; one in twenty is too many.
    let many = |n: u32| {
        (100..100 + n)
            .map(|k| (sent(k, 0), got(k, 1)))
            .unzip::<_, _, Vec<_>, Vec<_>>()
    };
    for (n, expect) in [(19, [None, None, None]), (20, [Some(1), Some(0), None])] {
        let (mut tx, mut rx) = many(n);
        tx.extend([sent(5, 2)]);
        rx.insert(0, got(5, 1));
        assert_eq!(found(&all, &tx, &rx), expect, "{n}");
    }
    // What a socket sent itself it did not get from another.
    assert_eq!(found(&all, &tx, &[got(3, 0)]), [None, None, None]);
}
