//! Work that is handed out ahead to who is busy.

use super::super::uneven::{Uneven, uneven};
use crate::analyses::units::Units;
use crate::facts::{ConnectionId, Facts, SkbId};
use crate::name::Name;
use crate::reconstruct::receive::tables::{RxEnd, RxRow};
use crate::testing::tcp::connection;

const MS: i64 = 1_000_000;

/// Three workers at 10.0.0.1 to .3 of 10.0.0.9:5671; the first lets each second of its twenty units lie for 400 ms.
fn facts() -> Facts {
    let mut f = Facts::empty();
    f.capture.start_ns = Some(0);
    for n in 0..3u32 {
        let mut row = connection(n);
        row.saddr = Some(format!("10.0.0.{}", n + 1).parse().unwrap());
        (row.daddr, row.dport, row.bytes_out) = (Some("10.0.0.9".parse().unwrap()), 5671, 900);
        f.connections.push(row);
        for nth in 0..20i64 {
            let lay = if n == 0 && nth % 2 == 1 { 400 * MS } else { MS };
            f.rx.push(RxRow {
                skb_id: SkbId(n * 20 + nth as u32),
                connection: Some(ConnectionId(n)),
                task: Name::new(b"worker"),
                pid: 7 + n as i32,
                bytes: Some(300),
                start_ns: nth * 500 * MS,
                total_ns: lay,
                end: RxEnd::Read,
                rcvq_ns: Some(lay),
                asleep_in: Name::new(if lay > MS { b"clock_nanosleep" } else { b"" }),
                asleep_in_ns: if lay > MS { lay } else { 0 },
                confidence: crate::Confidence::Certain,
                ..RxRow::default()
            });
        }
    }
    f
}

fn of(change: impl Fn(&mut Facts)) -> Option<Uneven> {
    let mut f = facts();
    change(&mut f);
    uneven(&f, &Units::of(&f.rx))
}

#[test]
fn work_lies_with_the_busy_while_others_read_theirs_at_once() {
    let expect = Uneven {
        of: "10.0.0.9:5671".into(),
        late: vec!["worker/7 at 10.0.0.1".into()],
        units: (10, 20),
        longest_ns: 400 * MS,
        first_ns: 500 * MS,
        asleep_in: "clock_nanosleep".into(),
        quick: vec!["worker/8 at 10.0.0.2".into(), "worker/9 at 10.0.0.3".into()],
        quick_units: 40,
        quick_longest_ns: MS,
    };
    assert_eq!(of(|_| {}), Some(expect));
}

#[test]
fn all_alike_transfers_listeners_and_other_programs_are_none() {
    // All are slow; one alone is there; large units; who says nothing there; programs of another name.
    assert_eq!(of(|f| f.rx.iter_mut().for_each(|r| r.rcvq_ns = Some(90 * MS))), None);
    assert_eq!(of(|f| f.rx.retain(|r| r.pid == 7)), None);
    assert_eq!(of(|f| f.rx.iter_mut().for_each(|r| r.bytes = Some(60_000))), None);
    assert_eq!(of(|f| f.connections[0].bytes_out = 0), None);
    let other = |f: &mut Facts| {
        let others = f.rx.iter_mut().filter(|r| r.pid != 7);
        others.for_each(|r| r.task = Name::new(b"viewer"));
    };
    assert_eq!(of(other), None);
    // It had work when the others had none.
    assert_eq!(of(|f| f.rx.retain(|r| r.pid == 7 || r.start_ns > 20_000 * MS)), None);
}
