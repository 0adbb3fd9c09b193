use super::answer;
use crate::Confidence::{self, Certain, Weak};
use crate::analyses::Outcome;
use crate::facts::Facts;
use crate::reconstruct::skb::tables::{BirthKind, DeathKind, SkbClass, SkbRow};

fn life(n: u32, class: SkbClass, birth_kind: BirthKind, death: Option<i64>, confidence: Confidence) -> SkbRow {
    SkbRow {
        skbaddr: u64::from(n / 2),
        class,
        birth_ns: 100,
        birth_kind,
        death_ns: death,
        death_kind: if death.is_some() {
            DeathKind::Consumed
        } else {
            DeathKind::Unseen
        },
        last_ns: 100,
        links: confidence,
        confidence,
        ..crate::testing::life(n)
    }
}

/// Pitfalls 1 and 26: unseen deaths and censored births are counted apart, never taken for short lives.
#[test]
fn lives_without_an_end_are_counted_not_averaged() {
    let mut f = Facts::empty();
    f.skbs = vec![
        life(0, SkbClass::Rx, BirthKind::Seen, Some(110), Certain),
        life(1, SkbClass::Rx, BirthKind::Seen, Some(130), Certain),
        life(2, SkbClass::Rx, BirthKind::Seen, None, Certain),
        life(3, SkbClass::Rx, BirthKind::CensoredStart, Some(101), Certain),
        life(4, SkbClass::Rx, BirthKind::Seen, Some(900), Weak),
        life(5, SkbClass::TxClone, BirthKind::Seen, Some(105), Certain),
    ];
    let Outcome::Findings(a) = answer(&f) else { panic!() };
    assert_eq!((a.lives, a.measured, a.addresses), (6, 4, 3));
    let rx = &a.groups[0];
    assert_eq!((rx.class, rx.dev.as_str()), ("rx", "eth0"));
    assert_eq!((rx.solid.n, rx.solid.unknown, rx.solid.max_ns), (2, 2, Some(30)));
    assert_eq!((rx.all.n, rx.all.unknown, rx.all.max_ns), (3, 2, Some(800)));
    assert_eq!(rx.deaths.values().sum::<u64>(), 5);
    assert_eq!((a.groups[1].class, a.groups[1].all.p50_ns), ("tx_clone", Some(5)));
}

#[test]
fn without_lives_the_reason_is_given() {
    let mut f = Facts::empty();
    assert!(matches!(answer(&f), Outcome::Unknown(r) if r.len() == 1));
    f.unknown.push(crate::Reason {
        subject: "skbs",
        because: "why".into(),
    });
    assert!(matches!(answer(&f), Outcome::Unknown(r) if r[0].because == "why"));
}
