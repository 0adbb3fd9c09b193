//! SYN-ACKs that are lost on the way back.

use crate::analyses::opens::on_the_way_back::back;
use crate::facts::Facts;
use crate::reconstruct::opens::tables::{OpenEnd, OpenRow};
use crate::reconstruct::tcp::tables::{RetransmitClass, RetransmitRow};

const MS: i64 = 1_000_000;

/// Ten attempts, one each second, whose SYN-ACKs are sent again; packets are dropped at these times.
fn facts(drops: &[i64]) -> Facts {
    let mut f = Facts::empty();
    (f.capture.start_ns, f.capture.duration_ns) = (Some(0), 10_000 * MS);
    f.names.drop_reasons = Some(netmortem_formats::event_format::ValueTable {
        entries: vec![(4, "IP_INHDR".into())],
        kind: netmortem_formats::event_format::ValueTableKind::Symbolic,
    });
    f.names.locations.insert(0x10, "ip_forward".into());
    for n in 0..10u16 {
        let (from, to) = (
            ("10.0.0.1".parse().unwrap(), 40_000 + n),
            ("10.0.0.2".parse().unwrap(), 80),
        );
        let at = i64::from(n) * 1_000 * MS;
        f.opens.push(OpenRow {
            connection: None,
            from: Some(from),
            to: Some(to),
            pid: 7,
            task: crate::name::Name::default(),
            start_ns: at,
            end_ns: at + 900 * MS,
            end: OpenEnd::GivenUp,
            error: None,
            message: false,
            syns_again: None,
            confidence: crate::Confidence::Certain,
        });
        f.retransmits.push(RetransmitRow {
            original: None,
            index: 0,
            time_ns: at + 500 * MS,
            connection: None,
            synack: Some((to.into(), from.into())),
            class: RetransmitClass::Syn,
            err: None,
            bytes: None,
            segments: Some(1),
            confidence: crate::Confidence::Certain,
        });
    }
    for at in drops {
        let mut row = crate::testing::drop_at(*at);
        (row.reason, row.location, row.expected) = (Some(4), 0x10, Some(false));
        f.drops.push(row);
    }
    f
}

#[test]
fn answers_that_are_lost_on_the_way_back_are_told() {
    let at_once: Vec<i64> = (0..10).map(|n| (n * 1_000 + 500) * MS + 20_000).collect();
    let found = back(&facts(&at_once), "10.0.0.2:80").unwrap();
    assert_eq!((found.synacks, found.dropped), (10, 10));
    assert!(found.place.starts_with("IP_INHDR at ip_forward"), "{found:?}");
    // One drop behind many.
    let mut herd = facts(&[500 * MS + 20_000]);
    for r in &mut herd.retransmits {
        r.time_ns = 500 * MS;
    }
    assert_eq!(back(&herd, "10.0.0.2:80"), None);
    // To another end; half of them; much later; at a rate at which chance would do.
    assert_eq!(back(&facts(&at_once), "10.0.0.2:81"), None);
    assert_eq!(back(&facts(&at_once[..5]), "10.0.0.2:80"), None);
    let late: Vec<i64> = at_once.iter().map(|t| t + 5 * MS).collect();
    assert_eq!(back(&facts(&late), "10.0.0.2:80"), None);
    let often: Vec<i64> = (0..20_000).map(|n| n * MS / 2).collect();
    assert_eq!(back(&facts(&often), "10.0.0.2:80"), None);
}
