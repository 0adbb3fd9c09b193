//! Fragments among dropped packets, and what became of the datagrams.

use super::drop_row;
use crate::Confidence;
use crate::analyses::drops::Fragments;
use crate::analyses::drops::fragments::fragments;
use crate::facts::{Facts, SkbId};
use crate::name::Name;
use crate::reconstruct::datagrams::sockets::SocketRow;
use crate::reconstruct::datagrams::tables::{TurnEnd, TurnRow};
use crate::reconstruct::drops::tables::DropRow;
use crate::reconstruct::transmit::tables::{TxKind, TxRow};
use crate::reconstruct::whose::{Carries, Owner};

/// Two packets of one send call whose payloads sum to what it wrote are a datagram's fragments; a datagram that left whole is none.
#[test]
fn fragments_are_told_by_what_the_call_wrote() {
    let of = |written: u64, dropped: &[u32]| {
        let mut f = Facts::empty();
        let row = |skb: u32, start_ns: i64, bytes: u32| TxRow {
            skb_id: SkbId(skb),
            kind: TxKind::Udp,
            pid: 7,
            start_ns,
            bytes: Some(bytes),
            ..crate::testing::sent()
        };
        let pairs = (0..3u32).flat_map(|n| {
            let at = i64::from(n) * 1_000;
            [row(n * 2, at, 1472), row(n * 2 + 1, at, 1128)]
        });
        f.tx = pairs.chain([row(6, 9_000, 176)]).collect();
        let turn = |skb: u32, bytes: u64| TurnRow {
            sends: 1,
            bytes,
            skb_id: Some(SkbId(skb)),
            ..TurnRow::begin(0, 7, 0)
        };
        f.udp_turns = vec![turn(0, written), turn(2, written), turn(4, written), turn(6, 176)];
        let rows: Vec<_> = dropped
            .iter()
            .map(|skb| {
                let mut row = drop_row(2_000_000_000, 6, 1, Some(false));
                row.skb_id = Some(SkbId(*skb));
                row.owner = Some(Owner {
                    connection: None,
                    carries: Carries::Datagram,
                    task: Name::default(),
                    pid: 7,
                    confidence: Confidence::Strong,
                });
                row
            })
            .collect();
        fragments(&f, &rows.iter().collect::<Vec<_>>())
    };
    let told = |datagrams, nth| {
        Some(Fragments {
            datagrams,
            fragmented: 3,
            bytes: Some(2600),
            nth,
            packets: datagrams,
            sizes: (2600, 2600),
            behind: nth == Some(2),
            ..Fragments::default()
        })
    };
    assert_eq!(of(2600, &[1, 3, 5]), told(3, Some(2)));
    assert_eq!(of(2600, &[0, 3]), told(2, None));
    // Two datagrams of one call; a whole one among them, that is not one of many.
    assert_eq!(of(5200, &[1, 3]), None);
    assert_eq!(of(2600, &[1, 6]), None);
}

fn packet(f: &mut Facts, start_ns: i64, bytes: u32) -> SkbId {
    let skb_id = SkbId(f.tx.len() as u32);
    f.tx.push(TxRow {
        skb_id,
        kind: TxKind::Udp,
        pid: 7,
        start_ns,
        bytes: Some(bytes),
        ..crate::testing::sent()
    });
    skb_id
}

/// One socket asks 172.20.50.18:1812: 20 questions in one packet come there and are answered, 10 of two packets whose second one is dropped do not;
/// `landed` of them do. Of the last large one the thread asked a small one at once, in the same turn.
fn asked(landed: u32, small: u32) -> Facts {
    let mut f = Facts::empty();
    let mut s = SocketRow::begin(1, 0);
    (s.pid, s.remote) = (7, "172.20.50.18:1812".into());
    f.udp_sockets.push(s);
    for n in 0..30i64 {
        let mut t = TurnRow::begin(0, 7, n * 1_000);
        t.sends = 1;
        let large = n % 3 == 0;
        let first = packet(&mut f, n * 1_000, if large { 1472 } else { 176 });
        (t.skb_id, t.bytes) = (Some(first), 176);
        if large {
            let second = packet(&mut f, n * 1_000, 700 + n as u32);
            t.bytes = 2172 + n as u64;
            t.landed = landed;
            let mut row = drop_row(n * 1_000 + 9, 6, 1, Some(false));
            (row.skb_id, row.owner) = (Some(second), Some(owner()));
            f.drops.push(row);
        } else {
            (t.landed, t.end) = (small, TurnEnd::Answered);
        }
        if n == 27 {
            packet(&mut f, n * 1_000 + 500, 200);
            (t.sends, t.bytes, t.landed) = (2, t.bytes + 200, 1);
        }
        f.udp_turns.push(t);
    }
    f
}

fn owner() -> Owner {
    Owner {
        connection: None,
        carries: Carries::Datagram,
        task: Name::default(),
        pid: 7,
        confidence: Confidence::Strong,
    }
}

fn found(f: &Facts) -> Option<Fragments> {
    fragments(f, &f.drops.iter().collect::<Vec<&DropRow>>())
}

#[test]
fn large_ones_that_never_came_are_told_beside_small_ones_that_did() {
    let f = asked(0, 1);
    let found = found(&f).unwrap();
    assert_eq!(
        (found.datagrams, found.fragmented, found.packets, found.nth),
        (10, 10, 10, Some(2))
    );
    assert_eq!((found.bytes, found.sizes, found.behind), (None, (2172, 2199), true));
    assert_eq!(found.to.as_deref(), Some("172.20.50.18:1812"));
    let beside = found.beside.unwrap();
    assert_eq!((beside.sent, beside.came, beside.answered), (20, 20, 20));
    // Where the host is nothing tells, nor what its counters say.
    assert_eq!((beside.held, beside.counted), (0, None));
}

/// Large ones came, too; nobody knows where the small ones came; too few small ones: nothing is told of what became of them.
#[test]
fn nothing_is_told_beside_where_it_may_be_otherwise() {
    for f in [asked(1, 1), asked(0, 0)] {
        let found = found(&f).unwrap();
        assert_eq!((found.datagrams, found.beside), (10, None));
    }
    let mut few = asked(0, 1);
    few.udp_turns
        .retain(|t| t.landed == 0 || t.start_ns < 5_000 || t.sends == 2);
    assert_eq!(found(&few).unwrap().beside, None);
}

/// One that is not known among many does not hide them; one of two does, as a packet of another kind may be lost for another reason.
#[test]
fn a_few_that_are_not_known_do_not_hide_the_others() {
    let mut f = asked(0, 1);
    let mut row = drop_row(99_000, 6, 1, Some(false));
    row.owner = Some(owner());
    f.drops.push(row.clone());
    let known = found(&f).unwrap();
    assert_eq!((known.packets, known.datagrams), (10, 10));
    f.drops.push(row);
    assert_eq!(found(&f), None);
}
