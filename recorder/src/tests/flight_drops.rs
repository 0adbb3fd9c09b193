//! A flight that waits for `drops>N/s`, and drops that are planted: it fires on more, and not on fewer.

use std::time::Duration;

use super::flight::{Folder, flight_of, fly, flying, hold, mono, until_noticed};
use super::harness::{open, tracefs_or_skip};
use super::kernel_state::{assert_restored, kernel_state};
use super::overflow::overflow;

/// A plant is 2,000 datagrams, of which a full socket refuses most; two readings are half a second apart at least.
const FEWER: &str = "drops>20000/s";

#[test]
fn drops_per_second_trigger_above_their_limit_only() {
    let Some((root, _one)) = tracefs_or_skip() else { return };
    let state = kernel_state(&root);
    let folder = Folder::new("drops-rate");
    let mut o = folder.options();
    // Of the two the first is looked at first: it would be what fired.
    let f = flying(&[FEWER, "drops>100/s"]);
    let on = mono();
    let (summary, planted) = fly(&o, &f, until_noticed);
    assert_eq!(summary.bundles, 1);
    let (c, m, end) = open(&folder.bundles()[0]);
    hold(&c, &m, &end, on);
    let t = flight_of(&m).trigger;
    assert_eq!((t.on.as_str(), t.threshold_per_s), ("drops>100/s", Some(100)), "{t:?}");
    let (count, interval) = (t.count.unwrap(), t.interval_ns.unwrap());
    assert!(
        count > 100 * interval / 1_000_000_000 && count < 20_000 * interval / 1_000_000_000,
        "{t:?}"
    );
    // The counter of what was planted is named.
    let named: Vec<u64> = t
        .evidence
        .iter()
        .filter_map(|e| e.strip_prefix("Udp.RcvbufErrors +")?.parse().ok())
        .collect();
    assert!(matches!(named[..], [n] if n > 0 && n <= count), "{t:?}");
    assert!(t.sentence.contains("more than 100"), "{t:?}");
    for plant in planted.iter().filter(|p| p.is_in(&flight_of(&m))) {
        plant.assert_recorded(&c);
    }
    // The same drops, and a limit that they do not reach: nothing is written.
    o.duration = Some(Duration::from_secs(4));
    let (summary, fewer) = fly(&o, &flying(&[FEWER]), |_| [overflow(), overflow()]);
    assert!(fewer.iter().all(|p| p.refused >= 500), "{fewer:?}");
    assert_eq!((summary.bundles, summary.stop_reason.as_str()), (0, "duration"));
    assert_eq!(folder.bundles().len(), 1);
    assert_restored(&root, &state);
}
