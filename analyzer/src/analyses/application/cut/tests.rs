//! The cut among slow answers.

use super::*;

const MS: i64 = 1_000_000;

#[test]
fn few_that_took_far_longer_are_not_told_as_many() {
    let of = |few: usize, long: i64, many: usize, short: i64| {
        let mut times = vec![long * MS; few];
        times.extend(vec![short * MS; many]);
        with_most(&times, MS / 2)
    };
    // Those of 900 ms have nine tenths of that time; three quarters of it, with the next far shorter; half of it.
    assert_eq!(of(50, 900, 239, 16), 50);
    assert_eq!(of(50, 900, 700, 16), 50);
    assert_eq!(of(50, 900, 2_800, 16), 2_850);
    // The next are no far shorter ones.
    assert_eq!(of(50, 900, 20, 300), 70);
}
