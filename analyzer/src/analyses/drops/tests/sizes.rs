//! Packets that are dropped by their size.

use super::drop_row;
use crate::Confidence;
use crate::analyses::drops::{Sizes, answer};
use crate::facts::{ConnectionId, Facts, SkbId};
use crate::name::Name;
use crate::reconstruct::receive::tables::RxRow;
use crate::reconstruct::skb::tables::{BirthKind, DeathKind, SkbClass, SkbRow};
use crate::reconstruct::whose::{Carries, Owner};

pub(super) fn skb(skb_id: SkbId, bytes: u32) -> SkbRow {
    SkbRow {
        skb_id,
        skbaddr: 0,
        class: SkbClass::Rx,
        birth_ns: 0,
        birth_kind: BirthKind::Seen,
        death_ns: Some(1),
        death_kind: DeathKind::Consumed,
        last_ns: 1,
        dev: Name::default(),
        last_dev: Name::default(),
        bytes: Some(bytes),
        hops: 1,
        gso_size: 0,
        death_location: 0,
        links: Confidence::Certain,
        confidence: Confidence::Certain,
    }
}

/// Of packets of 66 to 1514 bytes that came to two sockets from one server the nth with `dropped` were.
fn facts(sizes: &[(u32, usize)], dropped: impl Fn(u32, usize) -> bool) -> Facts {
    let mut f = Facts::empty();
    f.capture.start_ns = Some(0);
    f.names.drop_reasons = Some(netmortem_formats::event_format::ValueTable {
        entries: vec![(10, "TCP_CSUM".into())],
        kind: netmortem_formats::event_format::ValueTableKind::Symbolic,
    });
    for n in 0..2u32 {
        let mut c = crate::testing::tcp::connection(n);
        (c.sport, c.daddr, c.dport) = (50_000 + n as u16, Some("10.0.0.9".parse().unwrap()), 80);
        c.saddr = Some(std::net::Ipv4Addr::new(10, 0, 1, n as u8).into());
        f.connections.push(c);
    }
    for (bytes, n) in sizes {
        for nth in 0..*n {
            let id = SkbId(f.skbs.len() as u32);
            let c = ConnectionId(nth as u32 / 20 % 2);
            f.skbs.push(skb(id, *bytes));
            if !dropped(*bytes, nth) {
                f.rx.push(RxRow {
                    skb_id: id,
                    connection: Some(c),
                    bytes: Some(bytes - 66),
                    ..RxRow::default()
                });
                continue;
            }
            let mut row = drop_row(i64::from(id.0) * 1_000_000, 10, 0x10, Some(false));
            row.skb_id = Some(id);
            row.owner = Some(Owner {
                connection: Some(c),
                carries: Carries::Received,
                task: Name::default(),
                pid: 0,
                confidence: Confidence::Strong,
            });
            f.drops.push(row);
        }
    }
    f
}

fn found(f: &Facts) -> Option<Sizes> {
    answer(f).findings().unwrap().groups[0].sizes
}

#[test]
fn large_ones_alone_are_told_where_smaller_ones_would_be_among_them() {
    let damaged = |bytes: u32, nth: usize| bytes == 1514 && nth.is_multiple_of(20);
    let f = facts(&[(1514, 1000), (500, 150), (66, 900)], damaged);
    let expect = Sizes {
        least: 1514,
        most: 1514,
        dropped: 50,
        came: 1000,
        // Without data: no part of it.
        smaller: 150,
    };
    assert_eq!(found(&f), Some(expect));
    let said = crate::analyses::answer(&f).verdict;
    let said = &said.iter().find(|l| l.subject == "drops").unwrap().sentence;
    let says = "from 10.0.0.9:80, all of 1514 bytes: 5.0 % of the 1000 of that size that came to these sockets, none of the 150 smaller ones";
    assert!(said.contains(says), "{said}");
    // Too few smaller ones for one to be expected; one of them dropped, too; too few drops; a unit that GRO made.
    assert_eq!(found(&facts(&[(1514, 1000), (500, 70)], damaged)), None);
    let both = |bytes: u32, nth: usize| damaged(bytes, nth) || bytes == 500 && nth == 3;
    let of_both = found(&facts(&[(1514, 1000), (500, 150)], both));
    assert_eq!(of_both, None);
    assert_eq!(found(&facts(&[(1514, 180), (500, 150)], damaged)), None);
    assert_eq!(found(&facts(&[(1514, 1000), (500, 150), (2962, 1)], damaged)), None);
    // Of different sizes.
    let f = facts(&[(1514, 1000), (1200, 1000), (500, 150)], |bytes, nth| {
        bytes > 1000 && nth.is_multiple_of(20)
    });
    assert_eq!(
        found(&f).map(|s| (s.least, s.most, s.dropped, s.came)),
        Some((1200, 1514, 100, 2000))
    );
    let said = crate::analyses::answer(&f).verdict;
    let said = &said.iter().find(|l| l.subject == "drops").unwrap().sentence;
    assert!(
        said.contains("all of 1200 bytes or more: 5.0 % of the 2000 so large"),
        "{said}"
    );
}
