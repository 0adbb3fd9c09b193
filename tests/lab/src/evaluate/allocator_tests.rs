use netmortem_analyzer::Confidence;

use super::Oracle;
use super::allocator::{Life, NAMES, compared, seen};
use super::table::LINKS;
use crate::independent::kmem::{Slab, Slabs};

const SK_BUFF: u64 = 224;
/// An object with two sk_buffs, and one with one.
const PAIR: u64 = 0xa00;
const SINGLE: u64 = 0xb00;

fn life(address: u64, birth_ns: i64, last_ns: i64, confidence: Confidence) -> Life {
    Life {
        id: 1,
        address,
        birth_ns,
        last_ns,
        confidence,
        original: address == PAIR,
    }
}

fn event(us: i64, alloc: bool, address: u64) -> Slab {
    Slab {
        us,
        alloc,
        address,
        pair: address == PAIR,
    }
}

/// Checked, wrong, wrong and labelled: of originals, clones, others, and of originals cut in two.
fn count(lives: &[Life], events: &[Slab]) -> [(u64, u64, u64); 4] {
    let slabs = Slabs {
        sk_buff: SK_BUFF,
        events: events.to_vec(),
    };
    compared(lives, &slabs).map(|o| (o.checked, o.wrong, o.doubtful))
}

const NONE: (u64, u64, u64) = (0, 0, 0);

/// An allocation inside a life is two lives taken for one: a lie when it was called sure, a told doubt when not. A life is
/// one link, however many devices it passed.
#[test]
fn the_allocator_finds_lives_that_are_two() {
    let of = |birth, last, confidence, address| {
        count(&[life(SINGLE, birth, last, confidence)], &[event(5, true, address)])[2]
    };
    assert_eq!(of(4_000, 7_000, Confidence::Strong, SINGLE), (1, 1, 0));
    assert_eq!(of(4_000, 7_000, Confidence::Weak, SINGLE), (1, 0, 1));
    // At the edge of what µs can tell, and at another address.
    assert_eq!(of(5_500, 9_000, Confidence::Certain, SINGLE), (1, 0, 0));
    assert_eq!(of(4_000, 5_400, Confidence::Certain, SINGLE), (1, 0, 0));
    assert_eq!(of(4_600, 9_000, Confidence::Certain, SINGLE), (1, 0, 0));
    assert_eq!(of(4_400, 5_600, Confidence::Certain, SINGLE), (1, 1, 0));
    assert_eq!(of(4_000, 7_000, Confidence::Certain, SINGLE + 8), NONE);
}

/// What the first of a pair is, and where its clone lies, the allocator says: a free of the object inside of either is wrong.
#[test]
fn originals_and_clones_are_compared_with_their_object() {
    let object = [event(1, true, PAIR), event(50, false, PAIR), event(60, true, PAIR)];
    let strong = Confidence::Strong;
    let right = [
        life(PAIR, 2_000, 40_000, strong),
        life(PAIR + SK_BUFF, 3_000, 10_000, strong),
        life(PAIR + SK_BUFF, 20_000, 30_000, strong),
    ];
    assert_eq!(count(&right, &object), [(1, 0, 0), (2, 0, 0), NONE, (1, 0, 0)]);
    let merged = [
        life(PAIR, 2_000, 70_000, strong),
        life(PAIR + SK_BUFF, 3_000, 55_000, strong),
    ];
    assert_eq!(count(&merged, &object), [(1, 1, 0), (1, 1, 0), NONE, (1, 0, 0)]);
    // Something else lies beside it.
    assert_eq!(count(&[life(PAIR + 8, 2_000, 70_000, strong)], &object), [NONE; 4]);
}

/// Two lives of an original between its allocation and its free are one that was cut; of clones and single ones they may be
/// two; and of an object whose free was not seen nothing is said.
#[test]
fn the_allocator_finds_a_life_that_was_cut() {
    let object = [event(1, true, PAIR), event(50, false, PAIR)];
    let two = |address, second| {
        [
            life(address, 2_000, 20_000, Confidence::Strong),
            life(address, 30_000, 40_000, second),
        ]
    };
    assert_eq!(count(&two(PAIR, Confidence::Certain), &object)[3], (1, 1, 0));
    assert_eq!(count(&two(PAIR, Confidence::Weak), &object)[3], (1, 0, 1));
    assert_eq!(count(&two(PAIR + SK_BUFF, Confidence::Certain), &object)[3], NONE);
    assert_eq!(count(&two(PAIR, Confidence::Certain), &object[..1])[3], NONE);
    let single = [event(1, true, SINGLE), event(50, false, SINGLE)];
    assert_eq!(count(&two(SINGLE, Confidence::Certain), &single)[3], NONE);
    // One of before and one of after are not inside.
    let around = [
        life(PAIR, 100, 400, Confidence::Strong),
        life(PAIR, 2_000, 20_000, Confidence::Strong),
        life(PAIR, 60_000, 70_000, Confidence::Strong),
    ];
    assert_eq!(count(&around, &object)[3], (1, 0, 0));
}

/// A recording with TCP data of which the allocator named no original compares nothing: that is a failure, not a success.
#[test]
fn no_original_compared_is_a_failure() {
    let of = |lives: &[Life], events: &[Slab]| {
        let slabs = Slabs {
            sk_buff: SK_BUFF,
            events: events.to_vec(),
        };
        let o: Oracle = seen(lives, &slabs, &compared(lives, &slabs)).unwrap();
        assert!(!o.name.starts_with(LINKS), "it is no link");
        o.wrong
    };
    let original = life(PAIR, 2_000, 20_000, Confidence::Strong);
    let elsewhere = Life {
        address: 0xf00,
        ..original
    };
    let object = [event(1, true, PAIR), event(50, false, PAIR)];
    assert_eq!(of(&[original], &object), 0);
    assert_eq!(of(&[original], &[event(1, true, SINGLE)]), 1);
    assert_eq!(of(&[], &object), 1);
    // The ledger names no original, but clones of the allocator's pairs.
    let clone = life(PAIR + SK_BUFF, 2_000, 20_000, Confidence::Strong);
    assert_eq!((of(&[clone], &object), of(&[clone], &[event(1, true, SINGLE)])), (0, 1));
    // Most that the ledger knows must be known to the allocator.
    assert_eq!(of(&[original, elsewhere], &object), 1);
    assert_eq!(of(&[original, original, elsewhere], &object), 0);
    assert!(NAMES.iter().all(|n| n.starts_with(LINKS)));
}
